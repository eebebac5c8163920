"""Predictions of a forest at rows that none of its trees and surrogates saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jarf.ensemble._calibration import Calibration
from jarf.ensemble._conformal import ConformalResiduals, ConformalSets
from jarf.ensemble._holdout import MAX_SCORE, MIN_ROWS, score_splits

# Trees of the forests that predict held-out rows.
N_TREES = 60
# With fewer rows than this, every row is held out in turn, in this many folds; otherwise a quarter.
FOLDS_BELOW, N_FOLDS = 2000, 4


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows with predictions of models that did not see them.

    Parameters
    ----------
    means, spreads, observed : ndarray of shape (n_rows, n_outputs)
        Predictions, the standard deviations of the trees, and class indicators or responses.
    weights : ndarray of shape (n_rows,)
    error_scale : float, default=1.0
        Errors of the final model, as a multiple of the errors at these rows.
    """

    means: np.ndarray
    spreads: np.ndarray
    observed: np.ndarray
    weights: np.ndarray
    error_scale: float = 1.0

    def calibration(self) -> tuple[Calibration, ConformalSets]:
        """Fit the temperature of a classifier and the scores of its sets."""
        labels = self.observed.argmax(axis=1)
        found = Calibration.fit(self.means, labels, self.weights)
        return found, ConformalSets.fit(found.apply(self.means), labels, self.weights)

    def residuals(self) -> ConformalResiduals:
        """Scale the residuals of a regressor."""
        residuals = self.error_scale * (self.observed - self.means)
        return ConformalResiduals.fit(residuals, self.spreads, self.weights)


def keep_calibration(model: Any, held_out: HeldOut | None) -> None:
    """Set ``calibration_`` and ``conformal_`` of a classifier; None: no rows were held out."""
    if held_out is None:
        reason = "no rows were held out" if model.calibrate else "calibrate=False"
        model.calibration_ = Calibration(reason=reason)
    else:
        model.calibration_, model.conformal_ = held_out.calibration()


Split = tuple[np.ndarray, np.ndarray]


def held_out_splits(X: np.ndarray, rng) -> list[Split]:
    """Split rows into those to learn from and those to predict.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    rng : RandomState

    Returns
    -------
    list of (learn, score)
        Row numbers; empty where there are too few rows or all are identical.
    """
    n = len(X)
    if n < MIN_ROWS:
        return []
    return score_splits(
        X, rng, (n - scored_rows(n), n), max_learn=n, folds_below=FOLDS_BELOW, n_folds=N_FOLDS
    )


def scored_rows(n: int) -> int:
    """Return how many of ``n`` rows are held out if they are held out once."""
    return min(n // N_FOLDS, MAX_SCORE)


# Rows that were held out, the predictions for them and the spreads of these.
Predicted = tuple[np.ndarray, np.ndarray, np.ndarray]


def gather(parts: list[Predicted], observed: np.ndarray, weights: np.ndarray) -> HeldOut | None:
    """Combine the predictions of all splits; None if there are no splits.

    Parameters
    ----------
    parts : list of (rows, means, spreads)
        Row numbers, and predictions of a model that saw none of these rows.
    observed : ndarray of shape (n_rows, n_outputs)
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    HeldOut or None
    """
    if not parts:
        return None
    rows, means, spreads = (np.concatenate(each) for each in zip(*parts, strict=True))
    return HeldOut(means, spreads, observed[rows], weights[rows])
