"""Imputation of missing numbers from the other numbers of the row.

Under a normal distribution with the table's means and correlations, the best estimate of the
missing numbers solves a linear system in the observed ones. It is found column by column, each by
its regression on all others, in a few sweeps. For columns with missing values in training, small
forests, one per column, then improve the estimates with non-linear relations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

# Tables with fewer rows or more columns than this are imputed by medians.
FEWEST_ROWS = 20
MOST_COLUMNS = 500
N_SWEEPS = 5
# Added to the diagonal of the correlations, for collinear columns.
RIDGE = 0.01
# Forests are grown in tables of at most this many columns, each on at most this many rows.
MOST_FOREST_COLUMNS = 50
MOST_FOREST_ROWS = 4_000
N_TREES = 10
MIN_LEAF = 3
N_FOREST_SWEEPS = 2


def make_filling(
    values: Callable[[], np.ndarray], n_rows: int, n_columns: int
) -> LinearFill | None:
    """Learn to impute numbers from each other; None if rows are too few or columns too many.

    Parameters
    ----------
    values : callable
        Makes the training rows, a float64 array with NaN where missing; no column is all missing.
    n_rows, n_columns : int
        Its shape.
    """
    if n_rows < FEWEST_ROWS or not 2 <= n_columns <= MOST_COLUMNS:
        return None
    V = values()
    if n_columns > MOST_FOREST_COLUMNS or not np.isnan(V).any():
        return LinearFill(V)
    return ForestFill(V)


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
        # In units of the largest value, to avoid overflow.
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
        guess = (self._guess(V, missing) * self.spread + self.mean) * self.unit
        return np.where(missing, np.clip(guess, self.low, self.high), V)

    def _guess(self, V: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """Fill standardised rows by regression."""
        Z = np.where(missing, 0.0, (V / self.unit - self.mean) / self.spread)
        np.clip(Z, -1e6, 1e6, out=Z)
        columns = np.flatnonzero(missing.any(axis=0))
        for _ in range(N_SWEEPS):
            for j in columns:
                rows = missing[:, j]
                Z[rows, j] = Z[rows] @ self.weights[:, j]
        return Z


class ForestFill(LinearFill):
    """The same, improved by a forest for each column with missing values in training.

    Parameters
    ----------
    V : ndarray of shape (n_rows, n_columns)
        float64, NaN where missing; no column is all missing.
    """

    def __init__(self, V: np.ndarray) -> None:
        super().__init__(V)
        missing = np.isnan(V)
        Z = super()._guess(V, missing)
        self.forests: dict[int, ExtraTreesRegressor] = {}
        for j in np.flatnonzero(missing.any(axis=0)).tolist():
            known = np.flatnonzero(~missing[:, j])
            known = known[:: -(-len(known) // MOST_FOREST_ROWS)]
            forest = ExtraTreesRegressor(N_TREES, min_samples_leaf=MIN_LEAF, random_state=0)
            self.forests[j] = forest.fit(np.delete(Z[known], j, axis=1), Z[known, j])
            self._improve(Z, missing, j)

    def _guess(self, V: np.ndarray, missing: np.ndarray) -> np.ndarray:
        Z = super()._guess(V, missing)
        for _ in range(N_FOREST_SWEEPS):
            for j in self.forests:
                self._improve(Z, missing, j)
        return Z

    def _improve(self, Z: np.ndarray, missing: np.ndarray, j: int) -> None:
        rows = missing[:, j]
        if rows.any():
            Z[rows, j] = _mean_of_trees(self.forests[j], np.delete(Z[rows], j, axis=1))


def _mean_of_trees(forest: ExtraTreesRegressor, rows: np.ndarray) -> np.ndarray:
    """``forest.predict`` of rows that need no check: its checks take a millisecond."""
    rows = rows.astype(np.float32)
    total = np.zeros(len(rows))
    for tree in forest.estimators_:
        total += tree.tree_.predict(rows)[:, 0]
    return total / len(forest.estimators_)


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
