"""Columns that leak the target: copies of it, and columns that predict it almost perfectly."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score, r2_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["near_copies", "target_copies"]

_ROWS = 2000
_LEAVES = 64
NEARLY = {"classification": 0.95, "regression": 0.98}


def target_copies(X: Any, y: np.ndarray, task: str) -> list[str]:
    """Return columns that are the target under another name, coding or unit."""
    same = _same_numbers if task == "regression" else _same_classes
    return [name for name in X.columns if same(X[name], y)]


def _same_classes(column: Any, y: np.ndarray) -> bool:
    """Return whether both divide the rows into the same groups."""
    codes = np.unique(y, return_inverse=True)[1]
    n = codes.max() + 1
    if column.nunique(dropna=False) != n:
        return False
    other = np.unique(column.astype(str).to_numpy(dtype=str), return_inverse=True)[1]
    return len(np.unique(codes * n + other)) == n


def _same_numbers(column: Any, y: np.ndarray) -> bool:
    """Return whether one is a scaled and shifted copy of the other."""
    if column.dtype.kind not in "iuf":
        return False
    values = column.to_numpy(dtype=float)
    if not np.isfinite(values).all() or np.ptp(values) == 0:
        return False
    return bool(abs(np.corrcoef(values, y)[0, 1]) > 1 - 1e-12)


def near_copies(X: Any, y: np.ndarray, task: str) -> dict[str, float]:
    """Return columns that alone predict the target almost perfectly, with their held-out scores.

    A small tree learns from every other row of at most 2,000 and is scored on the rest: Cohen's
    kappa of at least 0.95, or R2 of at least 0.98, is suspicious.
    """
    some = np.random.default_rng(0).permutation(len(y))[:_ROWS]
    target = y[some]
    if task == "classification":
        target = np.unique(target, return_inverse=True)[1]
    scores = {name: _alone(X[name].iloc[some], target, task) for name in X.columns}
    return {name: score for name, score in scores.items() if score >= NEARLY[task]}


def _alone(column: Any, y: np.ndarray, task: str) -> float:
    """Return how well one column predicts the target."""
    train = np.arange(len(y)) % 2 == 0
    if len(np.unique(y[train])) < 2 or len(np.unique(y[~train])) < 2:
        return 0.0
    values = _ordered(column, y, train)
    kind = DecisionTreeClassifier if task == "classification" else DecisionTreeRegressor
    tree = kind(max_leaf_nodes=_LEAVES, min_samples_leaf=3, random_state=0)
    guess = tree.fit(values[train], y[train]).predict(values[~train])
    score = cohen_kappa_score if task == "classification" else r2_score
    return float(score(y[~train], guess))


def _ordered(column: Any, y: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Keep numbers; replace levels by the mean and the most common target in training."""
    import pandas as pd

    if column.dtype.kind in "iuf":
        # Ranks cut in the same places, and no value is too large for a tree.
        return column.rank(method="dense").to_numpy(dtype=float)[:, None]
    levels = pd.Series(column.astype(str).to_numpy())
    groups = pd.Series(y[train]).groupby(levels[train].to_numpy())
    means, modes = groups.mean(), groups.agg(lambda part: part.mode().iloc[0])
    encoded = [levels.map(found).fillna(float(np.mean(y))) for found in (means, modes)]
    return np.column_stack(encoded).astype(float)
