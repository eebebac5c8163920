"""Paired comparisons over datasets: Wilcoxon from SciPy, Holm's correction, mean ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

__all__ = ["best_or_close", "holm", "mean_ranks", "standard_error", "wilcoxon_p", "worse_by_se"]


def standard_error(values: Any) -> float:
    """Standard error of the mean over splits (taken as if the splits were independent)."""
    values = np.asarray(values, dtype=float)
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def wilcoxon_p(differences: Any) -> float:
    """Two-sided p-value of the signed-rank test; 1 when all differences are zero.

    Examples
    --------
    >>> from jarf.bench import wilcoxon_p
    >>> round(wilcoxon_p([0.1, 0.2, 0.3, 0.4, 0.5]), 4)
    0.0625
    """
    differences = np.asarray(differences, dtype=float)
    differences = differences[np.isfinite(differences)]
    if not differences.size or not np.any(differences):
        return 1.0
    # SciPy drops zeros itself ("wilcox") and warns when few are left for its normal limit
    nonzero = differences[differences != 0]
    return float(stats.wilcoxon(nonzero, method="auto").pvalue)


def holm(p_values: Any) -> np.ndarray:
    """Holm's step-down correction.

    Examples
    --------
    >>> from jarf.bench import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = (len(p) - np.arange(len(p))) * p[order]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def mean_ranks(scores: Any) -> np.ndarray:
    """Mean rank of each column over rows, 1 is best (highest), ties share their ranks.

    Examples
    --------
    >>> from jarf.bench import mean_ranks
    >>> mean_ranks([[0.9, 0.8, 0.8], [0.5, 0.7, 0.6]])
    array([2.  , 1.75, 2.25])
    """
    return stats.rankdata(-np.asarray(scores, dtype=float), axis=1).mean(axis=0)


def best_or_close(scores: Any, margin: float = 0.01) -> np.ndarray:
    """For each column, on how many rows it is best or within ``margin`` of the best."""
    scores = np.asarray(scores, dtype=float)
    return (scores >= np.nanmax(scores, axis=1, keepdims=True) - margin).sum(axis=0)


def worse_by_se(differences: Any) -> bool:
    """Whether paired differences to a reference lie below zero by more than one s.e.

    The standard error is that of the mean paired difference over splits.

    Examples
    --------
    >>> from jarf.bench import worse_by_se
    >>> worse_by_se([-0.03, -0.02, -0.025]), worse_by_se([-0.03, 0.02, 0.0])
    (True, False)
    """
    differences = np.asarray(differences, dtype=float)
    se = standard_error(differences)
    return bool(differences.mean() + (0.0 if np.isnan(se) else se) < 0)
