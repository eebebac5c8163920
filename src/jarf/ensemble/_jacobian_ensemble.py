"""Ensemble of forest, booster and kernel machine, weighted on held-out rows."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from jarf._progress import Stages
from jarf._sklearn import (
    BaseEstimator,
    ClassifierMixin,
    Interval,
    RegressorMixin,
    StrOptions,
    check_sample_weight,
    fit_context,
    rows_of,
)
from jarf.ensemble._calibration import Calibration
from jarf.ensemble._conformal import IntervalMixin, SetMixin
from jarf.ensemble._cross_fit import HeldOut, held_out_splits, keep_calibration
from jarf.ensemble._ensemble_fit import Clock, Decision, blend
from jarf.ensemble._ensemble_members import Task, make_members
from jarf.ensemble._ensemble_report import EnsembleReport
from jarf.table import TableEncoder, encode_classes, fit_table, row_groups, take_tables
from jarf.trees import stream


class JacobianEnsemble(BaseEstimator, metaclass=ABCMeta):
    """Base of both Jacobian ensembles."""

    table_: TableEncoder
    members_: dict[str, Any]
    weights_: dict[str, float]
    report_: EnsembleReport

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "members": [list, tuple],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "calibrate": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    }

    def __init__(
        self,
        members: Any = ("forest", "boosting", "kernel"),
        *,
        time_limit: float | None = None,
        calibrate: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        categorical_features: Any = "from_dtype",
    ):
        self.members = members
        self.time_limit = time_limit
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.categorical_features = categorical_features

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the members given as pairs, by name, and their parameters, as
            ``name__parameter``.

        Returns
        -------
        params : dict
        """
        found = super().get_params(deep=deep)
        for name, model in self._pairs() if deep else ():
            if name not in found and hasattr(model, "get_params"):
                found[name] = model
                found |= {f"{name}__{key}": value for key, value in model.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params : dict
            Parameters of the ensemble, of a member given as a pair (``name__parameter``), or a
            model in its place (``name``).

        Returns
        -------
        self : object
        """
        if "members" in params:
            self.members = params.pop("members")
        own = super().get_params(deep=False)
        names = {name for name, _ in self._pairs()} - set(own)
        new = {name: params.pop(name) for name in names & set(params)}
        if new:
            self.members = [
                (item[0], new.get(item[0], item[1])) if isinstance(item, tuple | list) else item
                for item in self.members
            ]
        return super().set_params(**params)

    def _pairs(self) -> list[tuple[str, Any]]:
        """Return the members that are pairs of a name and a model."""
        given = self.members if isinstance(self.members, list | tuple) else ()
        return [(x[0], x[1]) for x in given if isinstance(x, tuple | list) and len(x) == 2]

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members, score them on held-out rows and choose their weights.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers, booleans, text and categories; missing values are allowed.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows with zero weight are ignored.

        Returns
        -------
        self : object
        """
        clock = Clock(self.time_limit)
        classifies = isinstance(self, ClassifierMixin)
        matrix, y = fit_table(
            self,
            X,
            y,
            classifies=classifies,
            dtype=[np.float64, np.float32],
            order="C",
            sample_weight=sample_weight,
        )
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, matrix, ensure_non_negative=True)
            if not weights.any():
                raise ValueError("All sample weights are zero: there is nothing to learn from.")
        task = Task(X, self._encoded(y), weights, getattr(self, "n_classes_", 0))
        if weights is None or weights.all():
            task = Task(rows_of(X, np.arange(len(y))), task.y, weights, task.n_classes)
        else:
            used = np.flatnonzero(weights)
            task, matrix = task.only(used), matrix[used]
        self._decide(task, matrix, clock)
        if len(matrix) < len(y):  # members saw the rows of positive weight only
            for model in self.members_.values():
                if hasattr(model, "validation_rows_"):
                    model.validation_rows_ = [used[rows] for rows in model.validation_rows_]
        return self

    def _decide(self, task: Task, matrix: np.ndarray, clock: Clock) -> None:
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        members = make_members(
            self.members, task.n_classes > 0, len(matrix), self.categorical_features
        )
        stages = Stages(type(self).__name__, self.verbose)
        splits = held_out_splits(matrix, stream(seed, "splits"))
        decision = Decision(members, task, splits, seed, self.n_jobs, clock, row_groups(matrix))
        decision.run(stages, self.calibrate)
        self.weights_ = {m.name: decision.weights.get(m.name, 0.0) for m in members}
        self.members_ = {m.name: m.fitted for m in members if self.weights_[m.name] > 0}
        self.report_ = decision.report()
        self.stage_times_ = stages.times
        for name in ("calibration_", "conformal_"):
            vars(self).pop(name, None)
        self._keep_errors(decision.held_out if self.calibrate else None)

    @abstractmethod
    def _encoded(self, y: np.ndarray) -> np.ndarray:
        """Return class numbers or responses; set attributes that depend on them."""

    @abstractmethod
    def _keep_errors(self, held_out: HeldOut | None) -> None:
        """Store the errors at held-out rows; None: no rows were held out."""

    def _blended(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Average the members: mean and spread, both of shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        task = Task(X, np.empty(0), None, getattr(self, "n_classes_", 0))
        models = self.members_.values()
        return blend(
            [task.predictions(model, X) for model in models],
            [None if task.n_classes else task.spreads(model, X) for model in models],
            [self.weights_[name] for name in self.members_],
        )

    @property
    def feature_importances_(self) -> np.ndarray:
        """Weighted mean of the members' importances of the original columns; sums to one."""
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        for name, model in self.members_.items():
            found = getattr(model, "feature_importances_", None)
            if found is None or len(found) != len(total):
                raise AttributeError(
                    f"The member {name!r}, {type(model).__name__}, has no importances of the "
                    "original columns."
                )
            total += self.weights_[name] * found / max(found.sum(), 1e-300)
        return total

    def __sklearn_tags__(self):
        return take_tables(super().__sklearn_tags__())


class JacobianEnsembleClassifier(SetMixin, ClassifierMixin, JacobianEnsemble):
    """Weighted mean of a Jacobian forest, a Jacobian booster and a kernel machine.

    All three use gradients, for splits or for distances, and each is best on different tables. The
    members are first fitted to a part of the rows and predict the others: the rows that the booster
    held out, or without a booster 4 folds below 2,000 rows, otherwise a quarter. These predictions
    determine each member's temperature and the weights (greedy selection by log loss). A member
    that does not reduce the loss gets weight zero and is not kept. The others are then fitted to
    all rows: the forest with trees in proportion to its weight, the booster with larger steps if
    its weight is small. The held-out rows also calibrate the probabilities of the ensemble and the
    sets of ``predict_set``.

    Parameters
    ----------
    members : list of str or (str, estimator), default=("forest", "boosting", "kernel")
        Names of built-in models, or pairs of a name and any classifier with ``predict_proba``.
        Members see the classes as 0..C-1. Our own models are fitted with ``calibrate=False``: the
        ensemble calibrates them. Once a race has decided, they are fitted with its decisions as
        parameters.
    time_limit : float, default=None
        Approximate limit of ``fit`` in seconds. Members expected to take longer, judging by a trial
        on few rows, are not fitted. At least one member is always fitted, in a simpler form if
        time is short.
    calibrate : bool, default=True
        Whether to fit temperatures and the sets of ``predict_set`` on the held-out rows.
    n_jobs : int, default=None
        Number of threads of each member.
    random_state : int, RandomState instance or None, default=None
        Seeds members and held-out rows.
    verbose : int, default=0
        Positive: show each stage and its time on stderr.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Columns that are categories: those of text or category type in a DataFrame, none, or names,
        indices or a mask. Custom estimators get the table unchanged.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    members_ : dict of str to estimator
        The fitted members that have a positive weight.
    weights_ : dict of str to float
        The weight of every member; they sum to one.
    report_ : EnsembleReport
        Held-out loss, weight and seconds of each member; print it.
    calibration_ : Calibration
        The temperature of the weighted mean; print it.
    conformal_ : ConformalSets
        Held-out scores used by ``predict_set``; not set if no rows were held out.
    feature_importances_ : ndarray of shape (n_features,)
        The weighted mean of the members' importances of the original columns.
    table_ : TableEncoder
        Encoder that read the columns.
    stage_times_ : dict
        Seconds spent on each member.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from jarf import JacobianEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = JacobianEnsembleClassifier(["forest", "kernel"], random_state=0)
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    >>> round(sum(model.weights_.values()), 6)
    1.0
    """

    calibration_: Calibration
    classes_: np.ndarray
    n_classes_: int

    def _encoded(self, y: np.ndarray) -> np.ndarray:
        self.classes_, codes = encode_classes(y)
        self.n_classes_ = len(self.classes_)
        return np.asarray(codes)

    def _keep_errors(self, held_out: HeldOut | None) -> None:
        keep_calibration(self, held_out)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Average the members' probabilities and calibrate them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        means = self._blended(X)[0]
        return self.calibration_.apply(means)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


class JacobianEnsembleRegressor(IntervalMixin, RegressorMixin, JacobianEnsemble):
    """Weighted mean of a Jacobian forest, a Jacobian booster and a kernel machine.

    See :class:`JacobianEnsembleClassifier`. Weights are chosen by squared error. Intervals are
    scaled by the spread of the members around their mean and of the forest's trees.

    Parameters
    ----------
    members : list of str or (str, estimator), default=("forest", "boosting", "kernel")
        Names of built-in models, or pairs of a name and any regressor.
    time_limit : float, default=None
        Approximate limit of ``fit`` in seconds. Members expected to take longer, judging by a trial
        on few rows, are not fitted. At least one member is always fitted, in a simpler form if
        time is short.
    calibrate : bool, default=True
        Whether to keep the errors at held-out rows, for ``predict_interval`` and
        ``predict_quantiles``.
    n_jobs : int, default=None
        Number of threads of each member.
    random_state : int, RandomState instance or None, default=None
        Seeds members and held-out rows.
    verbose : int, default=0
        Positive: show each stage and its time on stderr.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Columns that are categories: those of text or category type in a DataFrame, none, or names,
        indices or a mask. Custom estimators get the table unchanged.

    Attributes
    ----------
    members_ : dict of str to estimator
        The fitted members that have a positive weight.
    weights_ : dict of str to float
        The weight of every member; they sum to one.
    report_ : EnsembleReport
        Held-out loss, weight and seconds of each member; print it.
    conformal_ : ConformalResiduals
        Held-out errors used for intervals and quantiles; not set if no rows were held out.
    feature_importances_ : ndarray of shape (n_features,)
        The weighted mean of the members' importances of the original columns.
    table_ : TableEncoder
        Encoder that read the columns.
    stage_times_ : dict
        Seconds spent on each member.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X has column names.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JacobianEnsembleRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> y = np.sin(X[:, 0] + X[:, 1])
    >>> model = JacobianEnsembleRegressor(["forest", "kernel"], random_state=0)
    >>> model.fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.9
    True
    >>> model.predict_interval(X[:5]).shape
    (5, 2)
    """

    def _encoded(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y, np.float64)

    def _keep_errors(self, held_out: HeldOut | None) -> None:
        if held_out is not None:
            self.conformal_ = held_out.residuals()

    def predict(self, X: Any) -> np.ndarray:
        """Average the members' predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        responses : ndarray of shape (n_samples,)
        """
        means = self._blended(X)[0]
        return means[:, 0]

    def _predict_with_spread(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        return self._blended(X)
