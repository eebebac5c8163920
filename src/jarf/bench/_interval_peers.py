"""Prediction intervals of other models, to compare ours with."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone

__all__ = ["INTERVALS", "QuantilePair", "SplitConformal"]

# The variant of a method that predicts intervals.
INTERVALS = "intervals"


class SplitConformal(RegressorMixin, BaseEstimator):
    """A regressor with split-conformal intervals of constant width.

    A random quarter of the training rows is held out. The half width is the quantile of the
    absolute residuals there that guarantees the coverage (Lei et al., JASA 2018).

    Parameters
    ----------
    estimator : regressor
        Its ``random_state`` also draws the rows that are held out.
    """

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(self, X: Any, y: np.ndarray) -> SplitConformal:
        """Fit on three quarters of the rows and keep the residuals of the others."""
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
        seed = getattr(self.estimator, "random_state", None) or 0
        order = np.random.default_rng(seed).permutation(len(y))
        held_out, learn = np.split(order, [max(1, len(y) // 4)])
        self.estimator_ = clone(self.estimator).fit(X[learn], y[learn])
        self.residuals_ = np.sort(np.abs(y[held_out] - self.estimator_.predict(X[held_out])))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the response."""
        return self.estimator_.predict(np.asarray(X, dtype=np.float64))

    def predict_interval(self, X: Any, coverage: float) -> np.ndarray:
        """Lower and upper ends, of shape (n_samples, 2)."""
        n = len(self.residuals_)
        place = min(n, int(np.ceil((n + 1) * coverage)))
        middle = self.predict(X)
        return np.column_stack([middle, middle]) + self.residuals_[place - 1] * np.array([-1, 1])


class QuantilePair(RegressorMixin, BaseEstimator):
    """Intervals between two models of CatBoost's quantile loss.

    Parameters
    ----------
    estimator : CatBoostRegressor
        Its loss function is replaced: the median for `predict`, and two quantiles.
    coverage : float, default=0.9
    """

    def __init__(self, estimator: Any, coverage: float = 0.9):
        self.estimator = estimator
        self.coverage = coverage

    def fit(self, X: Any, y: np.ndarray) -> QuantilePair:
        """Fit one model per quantile."""
        X = np.asarray(X, dtype=np.float64)
        tails = (1 - self.coverage) / 2, 0.5, (1 + self.coverage) / 2
        self.models_ = [
            clone(self.estimator).set_params(loss_function=f"Quantile:alpha={tail}").fit(X, y)
            for tail in tails
        ]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the median."""
        return self.models_[1].predict(np.asarray(X, dtype=np.float64))

    def predict_interval(self, X: Any, coverage: float) -> np.ndarray:
        """Lower and upper ends, of shape (n_samples, 2); crossed ends are swapped."""
        if coverage != self.coverage:
            raise ValueError(f"The quantiles were fitted for a coverage of {self.coverage}.")
        X = np.asarray(X, dtype=np.float64)
        return np.sort(np.column_stack([self.models_[k].predict(X) for k in (0, 2)]), axis=1)
