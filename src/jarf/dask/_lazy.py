"""Apply a fitted local estimator to partitions lazily."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask import delayed

from jarf.dask._cluster import compute, shared, tree_reduced
from jarf.dask._partitions import check_table, read_rows, split


def lazily(local: Any, method: str, X: Any, like: np.ndarray) -> da.Array:
    """Call a method of a fitted estimator on every partition.

    Parameters
    ----------
    local : estimator
    method : str
    X : dask array or DataFrame
    like : ndarray
        An example prediction: its dtype and, for two dimensions, its number of columns.

    Returns
    -------
    dask array
        One block per partition; the number of rows is unknown if that of ``X`` is.
    """
    meta = check_table(X)
    parts = split(X)
    sizes = X.chunks[0] if isinstance(X, da.Array) else [np.nan] * len(parts)
    model, apply = shared(local), delayed(_apply, pure=False)
    return da.concatenate(
        [
            da.from_delayed(
                apply(index, model, method, part, meta, like[:0]),
                shape=(size, *like.shape[1:]),
                dtype=like.dtype,
            )
            for index, (part, size) in enumerate(zip(parts, sizes, strict=True))
        ]
    )


def _apply(index: int, model: Any, method: str, X: Any, meta: Any, nothing: np.ndarray) -> Any:
    X = read_rows(index, X, meta)
    if len(X) == 0:
        return nothing
    return np.asarray(getattr(model, method)(X), dtype=nothing.dtype)


def distributed_score(local: Any, parts: Any) -> float:
    """Return accuracy or R2, computed from sums over the partitions."""
    model, score = shared(local), delayed(_score_sums, pure=False)
    tasks = [score(model, block, parts.classifies) for block in parts.blocks()]
    weight, sums, _, spread = compute([tree_reduced(_merged, tasks)])[0]
    if parts.classifies:
        return float(sums / weight)
    return float(1 - sums / spread) if spread > 0 else float(sums == 0)


def _score_sums(model: Any, block: Any, classifies: bool) -> np.ndarray:
    """Return weight, correct predictions or squared errors, mean and spread of the responses."""
    if len(block.y) == 0:
        return np.zeros(4)
    weights = np.ones(len(block.y)) if block.weights is None else block.weights
    answer = model.predict(block.X)
    if classifies:
        return np.array([weights.sum(), weights @ (answer == block.y), 0.0, 0.0])
    y = block.y.astype(float)
    mean = np.average(y, weights=weights)
    return np.array([weights.sum(), weights @ (answer - y) ** 2, mean, weights @ (y - mean) ** 2])


def _merged(parts: list[np.ndarray]) -> np.ndarray:
    weight, sums, mean, spread = np.array(parts).T
    common = np.average(mean, weights=weight) if weight.any() else 0.0
    return np.array(
        [weight.sum(), sums.sum(), common, (spread + weight * (mean - common) ** 2).sum()]
    )
