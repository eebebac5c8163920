"""Paired tests: Wilcoxon's over datasets, a corrected t-test over the splits of one dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

__all__ = [
    "PairedTest",
    "best_or_close",
    "corrected_t_test",
    "critical_difference",
    "holm",
    "mean_ranks",
    "standard_error",
    "wilcoxon_p",
    "worse_by_se",
]


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
    """Return the mean rank of each column over rows; 1 is best (highest), ties share their ranks.

    Examples
    --------
    >>> from jarf.bench import mean_ranks
    >>> mean_ranks([[0.9, 0.8, 0.8], [0.5, 0.7, 0.6]])
    array([2.  , 1.75, 2.25])
    """
    return stats.rankdata(-np.asarray(scores, dtype=float), axis=1).mean(axis=0)


def critical_difference(n_methods: int, n_tables: int, alpha: float = 0.05) -> float:
    """Least difference of two mean ranks that Nemenyi's test finds significant (Demsar 2006).

    Examples
    --------
    >>> from jarf.bench import critical_difference
    >>> round(critical_difference(5, 30), 3)
    1.114
    """
    range_ = float(stats.studentized_range.ppf(1 - alpha, n_methods, np.inf))
    return float(range_ * np.sqrt(n_methods * (n_methods + 1) / (12 * n_tables)))


def best_or_close(scores: Any, margin: float = 0.01) -> np.ndarray:
    """Count, for each column, the rows on which it is best or within ``margin`` of the best."""
    scores = np.asarray(scores, dtype=float)
    return (scores >= np.nanmax(scores, axis=1, keepdims=True) - margin).sum(axis=0)


def worse_by_se(differences: Any) -> bool:
    """Return whether paired differences to a reference are below zero by more than one s.e.

    The standard error is that of the mean paired difference over splits. If only one split differs,
    mean and standard error are equal; rounding must not decide then.

    Examples
    --------
    >>> from jarf.bench import worse_by_se
    >>> worse_by_se([-0.03, -0.02, -0.025]), worse_by_se([-0.03, 0.02, 0.0])
    (True, False)
    """
    differences = np.asarray(differences, dtype=float)
    se = standard_error(differences)
    return bool(differences.mean() < (0.0 if np.isnan(se) else -se * (1.0 + 1e-9)))


@dataclass(frozen=True)
class PairedTest:
    """A mean difference over splits, its standard error, its 95 % interval and its p-value.

    Examples
    --------
    >>> from jarf.bench import corrected_t_test
    >>> found = corrected_t_test([0.02, 0.03, 0.01, 0.02, 0.03], test_share=0.25)
    >>> round(found.mean, 3), found.p < 0.05
    (0.022, True)
    """

    mean: float
    se: float
    low: float
    high: float
    p: float


def corrected_t_test(differences: Any, test_share: float) -> PairedTest:
    """Corrected resampled t-test of paired differences over the splits of one table.

    Splits share training rows, so their differences are not independent, and the plain t-test finds
    far too many differences. Nadeau and Bengio (2003) replace ``1 / J`` by ``1 / J + n_test /
    n_train``; Bouckaert and Frank (2004) use it for repeated cross-validation.

    Parameters
    ----------
    differences : array-like of shape (J,)
    test_share : float
        ``n_test / n_train``, 1 / (k - 1) for k folds.

    Returns
    -------
    PairedTest
        All fields but the mean are NaN for fewer than two splits.

    Examples
    --------
    >>> from jarf.bench import corrected_t_test
    >>> test = corrected_t_test([0.02, 0.01, 0.03, 0.02, 0.01], test_share=0.25)
    >>> round(test.mean, 3), round(test.p, 3)
    (0.018, 0.033)
    """
    values = np.asarray(differences, dtype=float)
    mean, nan = float(values.mean()), float("nan")
    if len(values) < 2:
        return PairedTest(mean, nan, nan, nan, nan)
    se = float(values.std(ddof=1) * np.sqrt(1 / len(values) + test_share))
    if se <= 1e-12 * max(abs(mean), 1e-12):
        return PairedTest(mean, 0.0, mean, mean, 1.0 if mean == 0 else 0.0)
    t = stats.t(len(values) - 1)
    reach = float(t.ppf(0.975)) * se
    return PairedTest(mean, se, mean - reach, mean + reach, float(2 * t.sf(abs(mean) / se)))
