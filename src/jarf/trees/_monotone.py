"""Monotone constraints on leaf values that were not set by the grower."""

from __future__ import annotations

import numpy as np

from jarf.trees._forest import GrownTree


def ordered_values(tree: GrownTree, values: np.ndarray, monotonic: np.ndarray) -> np.ndarray:
    """Clip leaf values so that every split on a constrained column has its sides in order.

    Leaves refitted by another loss have another scale than ``tree.bounds``. From the root down,
    sides that overlap are clipped to the middle of their weighted means. The range of a subtree
    only shrinks, so splits above stay in order.

    Parameters
    ----------
    tree : GrownTree
        Grown with ``NewtonTarget(..., monotonic=monotonic)``.
    values : ndarray of shape (n_values, 1)
        In the place of ``tree.values``.
    monotonic : ndarray of shape (n_columns,)
        1, -1 or 0 for each column.

    Returns
    -------
    ndarray of shape (n_values, 1)
    """
    values, nodes = values.copy(), tree.nodes
    leaves: list[list[int]] = [[] for _ in nodes]
    for at in range(len(nodes) - 1, -1, -1):  # children lie behind their parents
        _, _, left, right = nodes[at].tolist()
        leaves[at] = [at] if nodes["feature"][at] == -1 else leaves[left] + leaves[right]
    for at in np.flatnonzero(nodes["feature"] >= 0).tolist():
        sign = monotonic[nodes["feature"][at]]
        sides = [leaves[nodes[side][at]] for side in ("left", "right")]
        below, above = sides if sign > 0 else sides[::-1]
        low, high = nodes["left"][below], nodes["left"][above]
        if sign == 0 or values[low].max() <= values[high].min():
            continue
        middle = 0.5 * np.average(values[low, 0], weights=tree.weights[below])
        middle += 0.5 * np.average(values[high, 0], weights=tree.weights[above])
        both = values[np.append(low, high)]
        middle = np.clip(middle, both.min(), both.max())  # averages are rounded
        values[low] = np.minimum(values[low], middle)
        values[high] = np.maximum(values[high], middle)
    return values
