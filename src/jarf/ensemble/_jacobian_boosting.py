"""Jacobian boosting: Newton boosting whose trees also cut along the gradients of surrogates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer

from jarf._sklearn import (
    ClassifierMixin,
    Interval,
    RegressorMixin,
    StrOptions,
    weigh_classes,
)
from jarf.ensemble._boosting import LOSSES, JacobianBoosting
from jarf.ensemble._boosting_race import Chosen, fold_error_scale
from jarf.ensemble._calibration import Calibration
from jarf.ensemble._conformal import IntervalMixin, SetMixin
from jarf.ensemble._cross_fit import HeldOut, keep_calibration
from jarf.ensemble._forest_docs import documented
from jarf.ensemble._losses import (
    REGRESSION_LOSSES,
    Loss,
    classification_loss,
    regression_loss,
)
from jarf.ensemble._scored_answers import Answers, ClassAnswers
from jarf.table import encode_classes
from jarf.trees import Forest, apply_link


@documented
class JacobianBoostingClassifier(SetMixin, ClassifierMixin, JacobianBoosting):
    """Gradient boosting with splits along gradients of surrogate models, if they help.

    Every round grows one small tree on the gradients and hessians of the log loss; with several
    classes, its leaves hold one step per class. A node tries all plain axes and, in addition,
    directions drawn from the gradients of surrogates and of the model so far, and the canonical
    direction of its own residuals. Some trees are symmetric instead: one axis cuts all nodes of a
    level. The *geometry* determines which of these it tries. It is chosen by a race on rows held
    out from both trees and surrogates, which also tunes the number of rounds. The final model is
    fitted on all rows.

    Parameters
    ----------
    loss : {"log_loss"}, default="log_loss"
        The loss.
    <boosting>

    Attributes
    ----------
    <boosting attributes>

    See Also
    --------
    JacobianForestClassifier : A forest with the same geometries.
    JacobianBoostingRegressor : The same for regression.

    Examples
    --------
    >>> from jarf import JacobianBoostingClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(800, 5, angle=45, random_state=0)
    >>> model = JacobianBoostingClassifier(random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.85
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **JacobianBoosting._parameter_constraints,
        "loss": [StrOptions({"log_loss"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    class_weight: Any
    calibration_: Calibration
    classes_: np.ndarray
    n_classes_: int

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        learning_rate: float | str = "auto",
        max_iter: int = 3000,
        max_leaf_nodes: int | None = 16,
        max_depth: int | None = 6,
        min_samples_leaf: int | str = "auto",
        l2_regularization: float = 1.0,
        max_features: float | str = "auto",
        subsample: float = 0.8,
        monotonic_cst: Any = None,
        geometry: Any = "auto",
        surrogate_rows: int | None = 50_000,
        categorical_features: Any = "from_dtype",
        early_stopping: bool | str = "auto",
        scoring: Any = "auto",
        validation_fraction: float = 0.2,
        n_iter_no_change: int = 25,
        tol: float = 1e-7,
        calibrate: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        class_weight: Any = None,
    ):
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.monotonic_cst = monotonic_cst
        self.geometry = geometry
        self.surrogate_rows = surrogate_rows
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.calibrate = calibrate
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.class_weight = class_weight

    def _row_weights(self, X, y, sample_weight) -> np.ndarray:
        weights = super()._row_weights(X, y, sample_weight)
        if self.class_weight is None:
            return weights
        return weigh_classes(self.class_weight, y, weights)

    def _read_target(self, y, weights, more: bool) -> np.ndarray:
        classes, codes = encode_classes(y)
        if more and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start=True needs the same classes as the first fit.")
        self.classes_, self.n_classes_ = classes, len(classes)
        if self.monotonic_cst_ is not None and len(classes) > 2:
            raise ValueError(
                f"monotonic_cst needs two classes, but y has {len(classes)}: a constraint is on "
                "the probability of the second."
            )
        return codes

    @property
    def _n_classes(self) -> int:
        return self.n_classes_

    def _loss(self) -> Loss:
        return classification_loss(self.n_classes_)

    def _measure(self):
        if self.scoring in (None, *LOSSES):
            return None
        scorer = get_scorer(self.scoring) if isinstance(self.scoring, str) else self.scoring
        link = self._loss().link

        def measure(raw, y, weights) -> float:
            answers = ClassAnswers(self.classes_, apply_link(link, raw))
            return -scorer(answers, np.arange(len(y)), self.classes_[y], sample_weight=weights)

        return measure

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        probabilities = self._predictions(X)
        return self.calibration_.apply(probabilities)

    def _held_out(self, chosen: Chosen) -> HeldOut:
        means = apply_link(self._loss().link, chosen.held_out)
        observed = np.eye(self.n_classes_)[chosen.observed]
        return HeldOut(means, np.ones_like(means), observed, chosen.weights)

    def _keep_errors(self, held_out: HeldOut | None) -> None:
        keep_calibration(self, held_out)

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

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the sums of the trees before the link function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Log-odds of the second of two classes, or one score per class.
        """
        X = self._rows(X)
        raw = self.forest_.raw(X, self.n_jobs)
        return raw[:, 0] if self.n_classes_ == 2 else raw

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Predict the probability of each class after every round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
        """
        yield from self._staged(X)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predict the most probable class after every round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        for probabilities in self._staged(X):
            yield self.classes_[probabilities.argmax(axis=1)]


@documented
class JacobianBoostingRegressor(IntervalMixin, RegressorMixin, JacobianBoosting):
    """Gradient boosting regressor with splits along gradients of surrogates, if they help.

    See :class:`JacobianBoostingClassifier`.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma"}, \
default="squared_error"
        The loss. Leaves of "absolute_error", "huber" and "quantile" are refitted with the rows they
        hold; "huber" is linear for the largest tenth of the residuals; "poisson" and "gamma"
        predict the exponential of the trees' sum.
    quantile : float, default=None
        The quantile that ``loss="quantile"`` predicts.
    <boosting>

    Attributes
    ----------
    <boosting attributes>
    n_outputs_ : int
        The number of responses; several only with the squared error.

    See Also
    --------
    JacobianForestRegressor : A forest with the same geometries.
    JacobianBoostingClassifier : The same for classification.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JacobianBoostingRegressor
    >>> X = np.random.default_rng(0).normal(size=(800, 4))
    >>> y = np.sin(X[:, 0] + X[:, 1])
    >>> model = JacobianBoostingRegressor(random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.9
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **JacobianBoosting._parameter_constraints,
        "loss": [StrOptions(set(REGRESSION_LOSSES))],
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither"), None],
    }

    loss: str
    quantile: float | None
    n_outputs_: int
    response_means_: np.ndarray
    response_scales_: np.ndarray

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        quantile: float | None = None,
        learning_rate: float | str = "auto",
        max_iter: int = 3000,
        max_leaf_nodes: int | None = 16,
        max_depth: int | None = 6,
        min_samples_leaf: int | str = "auto",
        l2_regularization: float = 1.0,
        max_features: float | str = "auto",
        subsample: float = 0.8,
        monotonic_cst: Any = None,
        geometry: Any = "auto",
        surrogate_rows: int | None = 50_000,
        categorical_features: Any = "from_dtype",
        early_stopping: bool | str = "auto",
        scoring: Any = "auto",
        validation_fraction: float = 0.2,
        n_iter_no_change: int = 25,
        tol: float = 1e-7,
        calibrate: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ):
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.monotonic_cst = monotonic_cst
        self.geometry = geometry
        self.surrogate_rows = surrogate_rows
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.calibrate = calibrate
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _read_target(self, y, weights, more: bool) -> np.ndarray:
        y = np.ascontiguousarray(y, np.float64).reshape(len(y), -1)
        if y.shape[1] > 1 and self.loss != "squared_error":
            raise ValueError(
                f"loss={self.loss!r} takes one response, but y has {y.shape[1]} columns. Use "
                "loss='squared_error', or sklearn.multioutput.MultiOutputRegressor."
            )
        if self.monotonic_cst_ is not None and y.shape[1] > 1:
            raise ValueError(
                f"monotonic_cst needs one response, but y has {y.shape[1]} columns. Fit one model "
                "for each, with sklearn.multioutput.MultiOutputRegressor."
            )
        if more and y.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y has {y.shape[1]} outputs, but warm_start=True keeps trees of {self.n_outputs_}."
            )
        self.n_outputs_ = y.shape[1]
        loss = self._loss()
        loss.check(y[weights > 0])
        if not more:
            self._set_units(y, weights, loss)
        return (y - self.response_means_) / self.response_scales_

    def _set_units(self, y, weights, loss: Loss) -> None:
        """Set mean 0 and a variance near 1 for the responses if the link allows it.

        Scales are powers of two, so that scaled leaf values are exact.
        """
        self.response_means_ = np.zeros(self.n_outputs_)
        self.response_scales_ = np.ones(self.n_outputs_)
        if loss.link != "identity":
            return
        self.response_means_ = np.average(y, axis=0, weights=weights)
        spread = np.sqrt(np.average((y - self.response_means_) ** 2, axis=0, weights=weights))
        self.response_scales_ = np.exp2(np.round(np.log2(np.where(spread > 0, spread, 1.0))))

    def _loss(self) -> Loss:
        return regression_loss(self.loss, self.quantile, self.n_outputs_)

    def _in_units(self, forest: Forest) -> Forest:
        return replace(
            forest,
            values=forest.values * self.response_scales_,
            base=forest.base * self.response_scales_ + self.response_means_,
            _checked=None,
        )

    def _in_raw_units(self, forest: Forest) -> Forest:
        return replace(
            forest,
            values=forest.values / self.response_scales_,
            base=(forest.base - self.response_means_) / self.response_scales_,
            _checked=None,
        )

    def _storable(self, base: np.ndarray) -> np.ndarray:
        for _ in range(2):  # the second time changes nothing more
            base = base * self.response_scales_ + self.response_means_
            base = (base - self.response_means_) / self.response_scales_
        return base

    def _measure(self):
        if self.scoring in (None, *LOSSES):
            return None
        scorer = get_scorer(self.scoring) if isinstance(self.scoring, str) else self.scoring
        link = self._loss().link

        def in_units(raw) -> np.ndarray:
            answers = raw * self.response_scales_ + self.response_means_
            return answers[:, 0] if self.n_outputs_ == 1 else answers

        def measure(raw, y, weights) -> float:
            answers = Answers(in_units(apply_link(link, raw)))
            return -scorer(answers, np.arange(len(y)), in_units(y), sample_weight=weights)

        return measure

    def predict(self, X: Any) -> np.ndarray:
        """Predict the response.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        responses : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._squeezed(self._predictions(X))

    def _held_out(self, chosen: Chosen) -> HeldOut:
        means, observed = (
            part * self.response_scales_ + self.response_means_
            for part in (apply_link(self._loss().link, chosen.held_out), chosen.observed)
        )
        scale = fold_error_scale(len(chosen.rows))
        return HeldOut(means, self._spreads(means), observed, chosen.weights, scale)

    def _keep_errors(self, held_out: HeldOut | None) -> None:
        if held_out is not None:
            self.conformal_ = held_out.residuals()

    def _predict_with_spread(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        means = self._predictions(X)
        return means, self._spreads(means)

    def _spreads(self, means: np.ndarray) -> np.ndarray:
        """Return the error scale: the prediction under a log link, otherwise constant."""
        return means if self._loss().link == "log" else np.ones_like(means)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predict the response after every round.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        for responses in self._staged(X):
            yield self._squeezed(responses)

    def _squeezed(self, responses: np.ndarray) -> np.ndarray:
        return responses[:, 0] if self.n_outputs_ == 1 else responses

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
