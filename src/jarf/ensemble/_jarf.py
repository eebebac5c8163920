"""The paper's estimators: a Jacobian preconditioner followed by an ordinary ensemble."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from jarf._progress import Stages
from jarf._sklearn import (
    BaseEstimator,
    ClassifierMixin,
    HasMethods,
    Interval,
    RegressorMixin,
    StrOptions,
    available_if,
    check_sample_weight,
    fit_context,
    is_classifier,
    validate_params,
    weigh_classes,
)
from jarf.ensemble._axes import AxisForestClassifier, AxisForestRegressor
from jarf.ensemble._bagged import BaggedForest, fit_on_matrix
from jarf.ensemble._forest_docs import documented
from jarf.ensemble._per_tree import grow_per_tree
from jarf.geometry import JacobianPreconditioner, fit_preconditioner, resampled_map
from jarf.surrogate import check_surrogate, default_surrogate, fit_copy, seeded_copy, thaw
from jarf.table import TableEncoder, encode_classes, fit_table, read_table, share_table, take_tables


def _final_has(method):
    def check(self):
        model = getattr(self, "estimator_", self.estimator)
        return model is None or hasattr(model, method)

    return check


class _JARF(BaseEstimator):
    """Base of the classifier and the regressor: everything but labels and defaults."""

    estimator: Any
    preconditioner: JacobianPreconditioner | None
    share: str
    n_estimators: int
    min_weight_fraction_leaf: float
    categorical_features: Any
    n_jobs: int | None
    random_state: Any
    verbose: int
    table_: TableEncoder
    estimator_: Any
    preconditioner_: JacobianPreconditioner

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), None],
        "preconditioner": [JacobianPreconditioner, None],
        "share": [StrOptions({"global", "per-tree"})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit surrogate, preconditioner and final ensemble.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers, booleans, text and categories; missing values are allowed.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in all three.

        Returns
        -------
        self
        """
        preconditioner = self._new_preconditioner()
        X, y = fit_table(
            self,
            X,
            y,
            classifies=self._classifies,
            dtype=[np.float64, np.float32],
            order="C",  # so that a DataFrame and an array give the same bits
            sample_weight=sample_weight,
            ensure_min_samples=2,
        )
        classes, target = self._encode(y)
        weights = self._row_weights(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        share_table(self, preconditioner)
        probes = fit_preconditioner(
            preconditioner,
            preconditioner.surrogate,
            X,
            target,
            classes,
            weights,
            random_state=self._first_generator(rng),
            keep_gradients=self.share == "per-tree",
        )
        self.preconditioner_ = preconditioner
        final = self._default_ensemble() if self.estimator is None else self.estimator
        n_classes = 0 if classes is None else len(classes)
        stages = Stages(type(self).__name__, self.verbose)
        with stages.stage("fit"):
            if probes is not None:
                self.estimator_ = grow_per_tree(
                    final,
                    partial(resampled_map, preconditioner, probes),
                    X,
                    target,
                    weights,
                    n_classes=n_classes,
                    random_state=rng,
                    n_jobs=self.n_jobs,
                )
            else:
                self.estimator_ = self._fit_final(final, X, target, weights, n_classes, rng)
        self.stage_times_ = {**preconditioner.stage_times_, **stages.times}
        return self

    def _fit_final(self, final, X, target, weights, n_classes: int, rng):
        """Fit the final ensemble on ``X H``; our own forests use the matrix directly."""
        if isinstance(final, BaggedForest):
            mapped = self.preconditioner_.map_.transform(X, order="F")
            forest = seeded_copy(final, random_state=rng, n_jobs=self.n_jobs)
            return fit_on_matrix(forest, mapped, target, weights, n_classes=n_classes)
        return fit_copy(
            final,
            self.preconditioner_.map_.transform(X),
            target,
            sample_weight=weights,
            random_state=rng,
            n_jobs=self.n_jobs,
            role="final estimator",
        )

    def _new_preconditioner(self) -> JacobianPreconditioner:
        """Return a copy of the preconditioner with JARF's parameters; check all models."""
        given = self.preconditioner
        made = JacobianPreconditioner() if given is None else clone(given)
        validate_params(made)
        self._check_categories(made.categorical_features)
        surrogate = made.surrogate
        made.set_params(
            surrogate=default_surrogate(self._classifies) if surrogate is None else surrogate,
            categorical_features=self.categorical_features,
            n_jobs=self.n_jobs if made.n_jobs is None else made.n_jobs,
            verbose=made.verbose or self.verbose,
        )
        self._check_models(made.surrogate)
        return made

    def _first_generator(self, rng):
        """Return the preconditioner's generator: its own ``random_state``, or JARF's."""
        given = None if self.preconditioner is None else self.preconditioner.random_state
        return rng if given is None else check_random_state(given)

    def _check_categories(self, nested) -> None:
        own = self.categorical_features
        default = isinstance(nested, str) and nested == "from_dtype"
        if default or np.array_equal(np.asarray(nested), np.asarray(own)):
            return
        raise ValueError(
            f"The preconditioner has categorical_features={nested!r}, but "
            f"{type(self).__name__} encodes the table, with categorical_features={own!r}. Set "
            f"categorical_features of {type(self).__name__} and leave the preconditioner's at its "
            "default."
        )

    def _check_models(self, surrogate):
        kind = "classifier" if self._classifies else "regressor"
        check_surrogate(surrogate, self._classifies)
        for role, model in (("surrogate", surrogate), ("final estimator", self.estimator)):
            own_gradients = role == "surrogate" and hasattr(thaw(model), "input_gradients")
            if model is None or own_gradients:
                continue
            if is_classifier(thaw(model)) != self._classifies:
                raise ValueError(
                    f"The {role} {type(thaw(model)).__name__} of {type(self).__name__} must be "
                    f"a {kind}."
                )

    def _row_weights(self, X, y, sample_weight):
        return None if sample_weight is None else check_sample_weight(sample_weight, X)

    def _mapped(self, X):
        """Return validated rows as the final ensemble sees them."""
        check_is_fitted(self)
        X = read_table(self, X, dtype=[np.float64, np.float32], order="C")
        if self.share == "per-tree":
            return X  # every tree has its own map
        return self.preconditioner_.map_.transform(X)

    @property
    def feature_importances_(self):
        """Importances of the original features; they sum to one.

        The final ensemble's importance of a column of ``X H`` is divided among the original
        features j in proportion to ``(H_jk * std_j)**2``, their shares of that column's variance if
        they were uncorrelated.
        """
        check_is_fitted(self)
        std = self.preconditioner_.learned_.std
        if self.share == "per-tree":
            credit = self.estimator_.credited_importances(std)
        else:
            credit = self.preconditioner_.map_.credit(self.estimator_.feature_importances_, std)
        return self.table_.per_column(credit)

    @property
    @abstractmethod
    def _classifies(self) -> bool: ...

    @abstractmethod
    def _default_ensemble(self): ...

    @abstractmethod
    def _encode(self, y): ...

    def __sklearn_tags__(self):
        return take_tables(super().__sklearn_tags__())


@documented
class JARFClassifier(ClassifierMixin, _JARF):
    """Jacobian aligned random forest for classification.

    A surrogate forest is fitted, the gradients of its class probabilities are averaged to the
    expected Jacobian outer product, and an ordinary forest is trained on ``X H``, where
    ``H = EJOP + gamma I``. Its cuts are axis-aligned in ``X H`` and oblique in ``X``.

    Parameters
    ----------
    estimator : classifier, default=None
        The final ensemble. None: a random forest with Gini impurity and
        ``max_features="sqrt"``, grown by the native engine
        (:class:`AxisForestClassifier`). Any scikit-learn compatible classifier works; with
        ``XGBClassifier`` this is the paper's JARF-XGB. It sees the classes as 0..C-1.
    <jarf>

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    <jarf attributes>

    References
    ----------
    S. Rauniyar. Jacobian Aligned Random Forests. ICLR 2026.

    Examples
    --------
    >>> from jarf import JARFClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(600, 5, angle=45, random_state=0)
    >>> model = JARFClassifier(n_estimators=50, random_state=0).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.85
    True
    >>> sorted(model.feature_importances_.argsort()[-2:].tolist())
    [0, 1]

    What concerns H is set on the nested preconditioner:

    >>> from jarf import JacobianPreconditioner
    >>> model = JARFClassifier(preconditioner=JacobianPreconditioner(n_components=2))
    >>> model.set_params(preconditioner__step=0.2).fit(X, y).estimator_.n_features_in_
    2
    """

    _classifies = True
    _parameter_constraints = {  # noqa: RUF012
        **_JARF._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        preconditioner: JacobianPreconditioner | None = None,
        share: str = "global",
        n_estimators: int = 200,
        min_weight_fraction_leaf: float = 0.0,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        class_weight: Any = None,
    ):
        self.estimator = estimator
        self.preconditioner = preconditioner
        self.share = share
        self.n_estimators = n_estimators
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.class_weight = class_weight

    def _row_weights(self, X, y, sample_weight):
        weights = super()._row_weights(X, y, sample_weight)
        if self.class_weight is None:
            return weights
        return weigh_classes(self.class_weight, y, weights)

    def _default_ensemble(self):
        return AxisForestClassifier(
            self.n_estimators,
            max_features="sqrt",
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
        )

    def _encode(self, y):
        self.classes_, codes = encode_classes(y)
        return self.classes_, codes

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        mapped = self._mapped(X)
        return self.classes_[np.asarray(self.estimator_.predict(mapped), dtype=np.intp)]

    @available_if(_final_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        mapped = self._mapped(X)
        return self.estimator_.predict_proba(mapped)

    @available_if(_final_has("predict_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Predict logarithms of class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


@documented
class JARFRegressor(RegressorMixin, _JARF):
    """Jacobian aligned random forest for regression.

    A surrogate forest is fitted, its gradients are averaged to the expected gradient outer
    product (EGOP), and an ordinary forest is trained on ``X H``, where ``H = EGOP + gamma I``.

    Parameters
    ----------
    estimator : regressor, default=None
        The final ensemble. None: a random forest with squared error that tries all features
        at a split, grown by the native engine (:class:`AxisForestRegressor`). Any
        scikit-learn compatible regressor works; with ``XGBRegressor`` this is the paper's
        JARF-XGB.
    <jarf>

    Attributes
    ----------
    <jarf attributes>

    References
    ----------
    S. Rauniyar. Jacobian Aligned Random Forests. ICLR 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JARFRegressor
    >>> X = np.random.default_rng(0).normal(size=(600, 4))
    >>> y = np.sin(X[:, 0] + X[:, 1])
    >>> model = JARFRegressor(n_estimators=50, random_state=0).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.9
    True
    """

    _classifies = False

    def __init__(
        self,
        estimator: Any = None,
        *,
        preconditioner: JacobianPreconditioner | None = None,
        share: str = "global",
        n_estimators: int = 200,
        min_weight_fraction_leaf: float = 0.0,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.preconditioner = preconditioner
        self.share = share
        self.n_estimators = n_estimators
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _default_ensemble(self):
        return AxisForestRegressor(
            self.n_estimators,
            max_features=1.0,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
        )

    def _encode(self, y):
        return None, y

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        mapped = self._mapped(X)
        return np.asarray(self.estimator_.predict(mapped))
