"""Exact finite differences of a forest's predictions, oblique nodes and links included."""

from __future__ import annotations

import numpy as np

from jarf._native import engine
from jarf.trees._forest import Forest
from jarf.trees._links import apply_link

_NO_OUTPUT = np.empty(0, dtype=np.int32)
_NOT_APART = np.empty((0, 0, 0))


def forest_differences(forest: Forest, centre, upper, lower, output=None) -> np.ndarray:
    """Compute ``f(upper_j) - f(lower_j)`` for every row and feature.

    Parameters
    ----------
    forest : Forest
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
    if forest.link == "identity":
        n_kept = forest.n_raw if output is None else 1
        change = np.zeros((len(centre), n_kept, forest.n_features))
        kept = _NO_OUTPUT if output is None else np.ascontiguousarray(output, np.int32)
        engine().tree_differences(forest.checked(), centre, upper, lower, kept, change, _NOT_APART)
        if forest.averaged:
            change /= forest.n_trees
        return change
    return _linked_differences(forest, centre, upper, lower, output)


def _linked_differences(forest: Forest, centre, upper, lower, output) -> np.ndarray:
    """Pass the sums on both sides through the link before they are subtracted."""
    shape = (len(centre), forest.n_raw, forest.n_features)
    above, below = np.zeros(shape), np.zeros(shape)
    engine().tree_differences(forest.checked(), centre, upper, lower, _NO_OUTPUT, above, below)
    if forest.averaged:
        above /= forest.n_trees
        below /= forest.n_trees
    # Most probes change nothing: links are taken of the others only.
    changed = above[:, 0] != 0
    for side in (above, below):
        for k in range(forest.n_raw):
            changed |= side[:, k] != 0
    rows, features = np.nonzero(changed)
    raw = forest.raw(centre, 1)[rows]
    upper = apply_link(forest.link, raw + above[rows, :, features])
    moved = upper - apply_link(forest.link, raw + below[rows, :, features])
    n_kept = forest.n_outputs if output is None else 1
    change = np.zeros((len(centre), n_kept, forest.n_features))
    if output is not None:
        moved = np.take_along_axis(moved, np.asarray(output)[rows, None], axis=1)
    change[rows, :, features] = moved
    return change
