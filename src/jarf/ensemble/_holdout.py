"""Held-out rows: how they are chosen, and the standard error of differences on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jarf.table import row_groups

# Maximum numbers of rows that pilots learn from and are scored on.
MAX_LEARN, MAX_SCORE = 2000, 4000
# With fewer rows than this, every row is scored in turn (cross-fitting).
CROSS_FIT_BELOW = 1500
N_FOLDS = 3
# With fewer rows than this there is no race: plain axes.
MIN_ROWS = 20
# A difference of more than this many standard errors is clear.
CLEAR = 2.0
# The best of several geometries must lead plain axes by more: eight competitors are compared on the
# same rows, and a normal variable exceeds 2.5 with a probability of 5 % / 8 (Bonferroni). With
# random labels, plain axes lost 13.5 % of 200 races at a threshold of 2.0, and lose 4.5 % at this
# one.
CLEAR_OF_SEVERAL = 2.5


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows on which losses are compared.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,)
    groups : ndarray of shape (n_rows,) of int, default=None
        Rows of one group are copies of each other and count as one observation; None: no copies.
    """

    weights: np.ndarray
    groups: np.ndarray | None = None

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray) -> ScoredRows:
        """Find copies among the rows of a matrix."""
        return cls(weights, row_groups(X))

    def mean(self, values: np.ndarray) -> float:
        """Return the weighted mean."""
        return float(np.average(values, weights=self.weights))

    def mean_and_error(self, values: np.ndarray) -> tuple[float, float]:
        """Return the weighted mean and its standard error."""
        mean = self.mean(values)
        parts = np.asarray(self.weights * (values - mean), np.float64)
        if self.groups is not None:
            parts = np.bincount(self.groups, parts).astype(np.float64)
        return mean, float(np.sqrt(np.sum(parts**2)) / np.sum(self.weights))


def score_splits(
    X: np.ndarray,
    rng,
    share: tuple[int, int] = (1, 2),
    max_learn: int = MAX_LEARN,
    max_score: int = MAX_SCORE,
    n_folds: int = N_FOLDS,
    folds_below: int = CROSS_FIT_BELOW,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split rows into those to learn from and those to score on; use folds if rows are few.

    If identical rows are frequent, they stay on one side: a copy among the learning rows would
    reveal the label of a scored row.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    rng : RandomState
    share : tuple of two int, default=(1, 2)
        Numerator and denominator of the share to learn from.
    max_learn, max_score : int
        Most rows of either part where rows are many.
    n_folds : int, default=3
        Number of folds where rows are few.
    folds_below : int, default=1500
        With fewer rows than this, every row is scored in turn.

    Returns
    -------
    list of (learn, score)
        Row numbers, neither part empty; an empty list if all rows are identical.
    """
    n = len(X)
    groups = row_groups(X)
    order = rng.permutation(n)
    if groups is not None:
        first = np.full(groups.max() + 1, n)
        np.minimum.at(first, groups[order], np.arange(n))
        order = order[np.argsort(first[groups[order]], kind="stable")]

    def cut(at: int) -> int:
        """Move a cut behind the group that it would divide."""
        while groups is not None and 0 < at < n and groups[order[at - 1]] == groups[order[at]]:
            at += 1
        return at

    if n < folds_below:
        sizes = [len(fold) for fold in np.array_split(order, n_folds)]
        folds = np.split(order, [cut(at) for at in np.cumsum(sizes)[:-1]])
        splits = [
            (np.concatenate([fold for j, fold in enumerate(folds) if j != k]), folds[k])
            for k in range(n_folds)
        ]
    else:
        n_learn = cut(min(max_learn, n * share[0] // share[1]))
        splits = [(order[:n_learn], order[n_learn : n_learn + max_score])]
    return [(learn, score) for learn, score in splits if len(learn) and len(score)]


def with_more_to_learn(
    X: np.ndarray, score: np.ndarray, n_score: int
) -> tuple[np.ndarray, np.ndarray]:
    """Score at most ``n_score`` of the scored rows and learn from all others.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    score : ndarray of int
        Rows whose labels the surrogates did not see.
    n_score : int

    Returns
    -------
    learn, score : ndarray of int
        If identical rows are frequent, copies of scored rows are left out.
    """
    score = score[:n_score]
    groups = row_groups(X)
    if groups is None:
        groups = np.arange(len(X))
    return np.flatnonzero(~np.isin(groups, groups[score])), score
