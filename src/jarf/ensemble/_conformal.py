"""Conformal prediction: intervals, quantiles and class sets of a given coverage.

The errors of a model at held-out rows show how far the truth lies from its predictions. Errors are
measured in units of the local spread of the model, so that intervals are wide where the model is
uncertain.

To provide these methods, an estimator inherits from :class:`IntervalMixin` or :class:`SetMixin`,
implements ``_predict_with_spread(X)`` (regressors) or ``predict_proba(X)`` (classifiers), and sets
``conformal_`` in ``fit`` to the result of :meth:`ConformalResiduals.fit` or
:meth:`ConformalSets.fit` on held-out rows.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

# One of these multiples of its mean is added to the spread, whichever gives the narrowest
# intervals; the last one makes all intervals equally wide.
FLOORS = (0.1, 0.3, 1.0, 3.0, 1e6)
# Coverage at which widths are compared.
TYPICAL = 0.9


def conformal_quantile(scores: np.ndarray, weights: np.ndarray, level: float) -> float:
    """Return an upper bound on the score of a new row that holds with probability ``level``.

    The new row counts as an additional row of mean weight with an unknown score. With n rows of
    equal weight, the bound is the score of rank ``ceil((n + 1) level)``.

    Parameters
    ----------
    scores, weights : ndarray of shape (n_rows,)
    level : float
        Between 0 and 1.

    Returns
    -------
    float
        Infinity if there are too few rows.
    """
    used = weights > 0
    scores, weights = scores[used], weights[used]
    if len(scores) == 0:
        return np.inf
    order = np.argsort(scores, kind="stable")
    total = weights.sum()
    reached = np.cumsum(weights[order])
    needed = level * (total + total / len(scores))
    place = np.searchsorted(reached, needed * (1 - 1e-12))
    return float(scores[order[place]]) if place < len(scores) else np.inf


@dataclass(frozen=True, eq=False)
class ConformalResiduals:
    """Errors of a regressor at held-out rows, in units of its local spread.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_outputs)
        Residuals, divided by the spread plus the floor.
    weights : ndarray of shape (n_rows,)
    floors : ndarray of shape (n_outputs,)
        Added to the spread.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JacobianForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = JacobianForestRegressor(20, random_state=0).fit(X, X[:, 0])
    >>> len(model.conformal_.scores)
    200
    """

    scores: np.ndarray
    weights: np.ndarray
    floors: np.ndarray

    @classmethod
    def fit(
        cls, residuals: np.ndarray, spreads: np.ndarray, weights: np.ndarray
    ) -> ConformalResiduals:
        """Scale residuals by spreads plus the floor that gives the narrowest intervals.

        Parameters
        ----------
        residuals : ndarray of shape (n_rows, n_outputs)
            Observed minus predicted, at rows that the model did not see.
        spreads : ndarray of shape (n_rows, n_outputs)
            Non-negative, in units of the target; all equal if the model has no local spread.
        weights : ndarray of shape (n_rows,)

        Returns
        -------
        ConformalResiduals
        """
        floors = np.ones(residuals.shape[1])
        for output, (residual, spread) in enumerate(zip(residuals.T, spreads.T, strict=True)):
            mean = np.average(spread, weights=weights) if len(spread) else 0.0
            if mean > 0:
                tried = [mean * floor for floor in FLOORS]
                widths = [_mean_width(residual, spread + floor, weights) for floor in tried]
                floors[output] = tried[int(np.argmin(widths))]
        return cls(residuals / (spreads + floors), weights, floors)

    def half_widths(self, spreads: np.ndarray, coverage: float) -> np.ndarray:
        """Return half the width of the intervals at rows with these spreads."""
        bounds = [conformal_quantile(s, self.weights, coverage) for s in np.abs(self.scores).T]
        self._check(bounds, "coverage", coverage)
        return np.asarray(bounds) * (spreads + self.floors)

    def offsets(self, spreads: np.ndarray, q: float) -> np.ndarray:
        """Return the distance of a quantile from the prediction at rows with these spreads."""
        if q < 0.5:
            bounds = [-conformal_quantile(-s, self.weights, 1 - q) for s in self.scores.T]
        else:
            bounds = [conformal_quantile(s, self.weights, q) for s in self.scores.T]
        self._check(bounds, "q", q)
        return np.asarray(bounds) * (spreads + self.floors)

    def _check(self, bounds: list[float], name: str, level: float) -> None:
        if np.isfinite(bounds).all():
            return
        n = int((self.weights > 0).sum())
        raise ValueError(
            f"{name}={level} cannot be reached with the {n} rows that were held out in fit: n rows "
            f"give levels of 1/(n + 1) to n/(n + 1). Choose a level that is less extreme, or fit "
            "on more rows."
        )


def _mean_width(residual: np.ndarray, scale: np.ndarray, weights: np.ndarray) -> float:
    bound = conformal_quantile(np.abs(residual) / scale, weights, TYPICAL)
    return bound * float(np.average(scale, weights=weights))


class IntervalMixin(metaclass=ABCMeta):
    """Mixin that adds intervals and quantiles to a regressor.

    The estimator sets ``conformal_`` (a :class:`ConformalResiduals`) in ``fit`` and has
    ``_predict_with_spread(X)``, which returns predictions and spreads, both of shape (n_samples,
    n_outputs); without a local spread it returns ones.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JacobianForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = JacobianForestRegressor(20, random_state=0).fit(X, X[:, 0])
    >>> model.predict_interval(X[:5], coverage=0.8).shape
    (5, 2)
    """

    conformal_: ConformalResiduals

    @abstractmethod
    def _predict_with_spread(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions and their local spread, both of shape (n_samples, n_outputs)."""

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Predict an interval for each row that covers the response with a given probability.

        The interval is the prediction plus and minus a multiple of the local spread. The multiple
        comes from the errors at rows held out in ``fit`` (conformal prediction). If new rows have
        the distribution of the training rows, whatever it is, a share of ``coverage`` of them
        falls inside. This holds on average over rows, not for each single row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends.
        """
        _check_level("coverage", coverage)
        conformal = _conformal(self)
        means, spreads = self._predict_with_spread(X)
        half = conformal.half_widths(spreads, coverage)
        found = np.stack([means - half, means + half], axis=-1)
        return found[:, 0] if found.shape[1] == 1 else found

    def predict_quantiles(self, X: Any, q: Any) -> np.ndarray:
        """Predict quantiles of the response of each row.

        They use the signed errors at the held-out rows of the intervals: a share of about ``q`` of
        new responses lies below the quantile.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        q : float or array-like of shape (n_quantiles,)
            Between 0 and 1.

        Returns
        -------
        quantiles : ndarray of shape (n_samples,) or (n_samples, n_quantiles)
            With n_outputs as the second axis if there are several outputs.
        """
        levels = np.atleast_1d(np.asarray(q, dtype=object))
        for level in levels.ravel():
            _check_level("q", level)
        if not levels.size:
            raise ValueError("q is empty: give at least one quantile between 0 and 1.")
        if levels.ndim != 1:
            raise ValueError(f"q must be a number or a list of numbers, got {levels.ndim} axes.")
        conformal = _conformal(self)
        means, spreads = self._predict_with_spread(X)
        parts = [means + conformal.offsets(spreads, float(level)) for level in levels]
        found = np.stack(parts, axis=-1)
        found = found[:, 0] if found.shape[1] == 1 else found
        return found[..., 0] if np.ndim(q) == 0 else found


@dataclass(frozen=True, eq=False)
class ConformalSets:
    """Nonconformity scores of a classifier at held-out rows.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        One minus the probability of the observed class.
    weights : ndarray of shape (n_rows,)

    Examples
    --------
    >>> from jarf import JacobianForestClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(200, 3, random_state=0)
    >>> model = JacobianForestClassifier(20, random_state=0).fit(X, y)
    >>> len(model.conformal_.scores)
    200
    """

    scores: np.ndarray
    weights: np.ndarray

    @classmethod
    def fit(
        cls, probabilities: np.ndarray, labels: np.ndarray, weights: np.ndarray
    ) -> ConformalSets:
        """Collect the scores of rows that the model did not see."""
        return cls(1.0 - probabilities[np.arange(len(labels)), labels], weights)

    def sets(self, probabilities: np.ndarray, coverage: float) -> np.ndarray:
        """Return which classes are in the set of each row; the most probable one always is."""
        bound = conformal_quantile(self.scores, self.weights, coverage)
        found = 1.0 - probabilities <= bound
        found[np.arange(len(found)), probabilities.argmax(axis=1)] = True
        return found


class SetMixin:
    """Mixin that adds prediction sets to a classifier.

    The estimator sets ``conformal_`` (a :class:`ConformalSets`) in ``fit``.

    Examples
    --------
    >>> from jarf import JacobianForestClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(200, 3, random_state=0)
    >>> model = JacobianForestClassifier(20, random_state=0).fit(X, y)
    >>> model.predict_set(X[:5], coverage=0.8).shape
    (5, 2)
    """

    conformal_: ConformalSets
    predict_proba: Any

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Predict a set of classes that contains the true one with a given probability.

        A class is in the set if its probability reaches a threshold, a quantile of the observed
        classes' probabilities at rows held out in ``fit`` (conformal prediction). If new rows have
        the distribution of the training rows, a share of at least ``coverage`` of the sets contains
        the true class. This holds on average over rows, not for each single row. The predicted
        class is always in its set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        sets : ndarray of shape (n_samples, n_classes) of bool
            Whether each class, in the order of ``classes_``, is in the set.
        """
        _check_level("coverage", coverage)
        conformal = _conformal(self)
        probabilities = self.predict_proba(X)
        return conformal.sets(probabilities, coverage)


def _check_level(name: str, value: Any) -> None:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < 1:
        raise ValueError(f"{name} must lie between 0 and 1, both excluded; got {value!r}.")


def _conformal(model: Any) -> Any:
    check_is_fitted(model)
    found = getattr(model, "conformal_", None)
    if found is None:
        raise ValueError(
            f"This {type(model).__name__} held no rows out in fit, because calibrate=False or "
            "there were too few rows. Fit with calibrate=True on at least 20 rows."
        )
    return found
