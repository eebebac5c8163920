"""Finite differences of a packed forest: the native kernel and its plain reference."""

from __future__ import annotations

import numpy as np

from jarf._native import kernels
from jarf.surrogate import PackedForest

_NO_OUTPUT = np.empty(0, dtype=np.int32)


def forest_differences(forest: PackedForest, centre, upper, lower, output=None) -> np.ndarray:
    """``f(upper_j) - f(lower_j)`` for every row and feature, of the mean over trees.

    Parameters
    ----------
    forest : PackedForest
    centre, upper, lower : ndarray of shape (n_rows, n_features)
        The rows and their two positions; compared in float32, as scikit-learn's trees do.
    output : ndarray of shape (n_rows,), dtype int32, default=None
        The output to differentiate in each row; None means all outputs.

    Returns
    -------
    ndarray of shape (n_rows, 1 or n_outputs, n_features)
    """
    centre, upper, lower = (
        np.ascontiguousarray(rows, dtype=np.float32) for rows in (centre, upper, lower)
    )
    native = forest.native()
    if native is None:
        return reference_differences(forest, centre, upper, lower, output)
    n_kept = forest.n_outputs if output is None else 1
    sums = np.zeros((len(centre), n_kept, forest.n_features))
    output = _NO_OUTPUT if output is None else output
    kernels().tree_differences(native, centre, upper, lower, output, sums)  # type: ignore[union-attr]
    sums /= forest.n_trees
    return sums


def reference_differences(forest: PackedForest, centre, upper, lower, output=None) -> np.ndarray:
    """The same by definition: two predictions for every row and feature."""
    n_rows, n_features = centre.shape
    n_kept = forest.n_outputs if output is None else 1
    differences = np.zeros((n_rows, n_kept, n_features))
    moved = centre.copy()
    for j in range(n_features):
        moved[:, j] = upper[:, j]
        change = forest_outputs(forest, moved)
        moved[:, j] = lower[:, j]
        change -= forest_outputs(forest, moved)
        moved[:, j] = centre[:, j]
        if output is not None:
            change = change[np.arange(n_rows), output][:, None]
        differences[:, :, j] = change
    return differences


def forest_outputs(forest: PackedForest, X: np.ndarray) -> np.ndarray:
    """Mean over trees of the leaf values that the rows of ``X`` reach."""
    total = np.zeros((len(X), forest.n_outputs))
    rows = np.arange(len(X))
    for root in forest.roots:
        at = np.full(len(X), root)
        while True:
            node = forest.nodes[at]
            inner = node["feature"] >= 0
            if not inner.any():
                break
            goes_left = X[rows, node["feature"]] <= node["threshold"]
            at = np.where(inner, np.where(goes_left, node["left"], node["right"]), at)
        total += forest.values[node["left"]]
    return total / forest.n_trees
