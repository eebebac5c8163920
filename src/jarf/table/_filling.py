"""Missing numbers filled from the other numbers of the row.

Under a normal distribution with the table's means and correlations, the best guess of what is
missing solves a linear system in what is there. It is found column by column, each by its
regression on all others, in a few sweeps.
"""

from __future__ import annotations

import numpy as np

# Fewer rows or more columns than this are filled by medians.
FEWEST_ROWS = 20
MOST_COLUMNS = 500
N_SWEEPS = 5
# Added to the diagonal of the correlations: collinear columns do no harm.
RIDGE = 0.01


class LinearFill:
    """Conditional means of missing numbers, kept within each column's range.

    Parameters
    ----------
    V : ndarray of shape (n_rows, n_columns)
        float64, NaN where missing; no column is all missing.
    """

    def __init__(self, V: np.ndarray) -> None:
        known = ~np.isnan(V)
        counts = known.sum(axis=0)
        # In units of the largest value nothing overflows.
        self.unit = np.nanmax(np.abs(V), axis=0)
        self.unit[self.unit == 0] = 1.0
        scaled = np.where(known, V, 0.0) / self.unit
        self.mean = scaled.sum(axis=0) / counts
        Z = np.where(known, scaled - self.mean, 0.0)
        spread = np.sqrt(np.square(Z).sum(axis=0) / counts)
        self.spread = np.where(spread > 0, spread, 1.0)
        Z /= self.spread
        self.low, self.high = np.nanmin(V, axis=0), np.nanmax(V, axis=0)
        self.weights = _regressions(Z, known)

    def fill(self, V: np.ndarray) -> np.ndarray:
        """Return a copy of rows with their missing values filled."""
        missing = np.isnan(V)
        Z = np.where(missing, 0.0, (V / self.unit - self.mean) / self.spread)
        np.clip(Z, -1e6, 1e6, out=Z)
        columns = np.flatnonzero(missing.any(axis=0))
        for _ in range(N_SWEEPS):
            for j in columns:
                rows = missing[:, j]
                Z[rows, j] = Z[rows] @ self.weights[:, j]
        guess = (Z * self.spread + self.mean) * self.unit
        return np.where(missing, np.clip(guess, self.low, self.high), V)


def _regressions(Z: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Weights of every column's regression on the others, from pairwise correlations."""
    pairs = known.T.astype(np.float64) @ known
    correlations = (Z.T @ Z) / np.maximum(pairs, 1.0)
    values, vectors = np.linalg.eigh(correlations)
    values = np.maximum(values, 0.0) + RIDGE  # pairs need not fit together
    precision = (vectors / values) @ vectors.T
    weights = -precision / np.diag(precision)
    np.fill_diagonal(weights, 0.0)
    return weights
