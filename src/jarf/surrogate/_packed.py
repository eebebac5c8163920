"""scikit-learn's trees and forests as flat arrays, ready for the exact difference kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from jarf._native import kernels

NODE = np.dtype([("feature", "<i4"), ("threshold", "<f4"), ("left", "<i4"), ("right", "<i4")])

_FORESTS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)
_TREES = (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)


@dataclass(frozen=True)
class PackedForest:
    """The nodes of all trees in one array, the values of all leaves in another.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes,), dtype NODE
        A leaf has ``feature == -1`` and its row of ``values`` in ``left``. Children lie
        behind their parent.
    roots : ndarray of shape (n_trees,), dtype int32
    values : ndarray of shape (n_leaves, n_outputs)
        Class probabilities, or the regression value, of each leaf.
    n_features : int
    """

    nodes: np.ndarray
    roots: np.ndarray
    values: np.ndarray
    n_features: int
    _checked: Any = field(init=False, repr=False, compare=False, default=None)

    @property
    def n_trees(self) -> int:
        return len(self.roots)

    @property
    def n_outputs(self) -> int:
        return self.values.shape[1]

    def native(self):
        """The compiled view of this forest, checked once; ``None`` on the reference path."""
        module = kernels()
        if module is None:
            return None
        if self._checked is None:
            words = self.nodes.view(np.int32).reshape(-1, 4)
            checked = module.CheckedForest(words, self.roots, self.values, self.n_features)
            object.__setattr__(self, "_checked", checked)
        return self._checked


def is_packable(model) -> bool:
    """Whether ``model`` is one of scikit-learn's own single-output trees or forests.

    Subclasses may predict differently, so they do not count.
    """
    return type(model) in _FORESTS + _TREES and getattr(model, "n_outputs_", 1) == 1


def pack(model) -> PackedForest:
    """Pack a fitted scikit-learn tree or forest.

    Parameters
    ----------
    model : estimator
        Fitted; see :func:`is_packable`.

    Returns
    -------
    PackedForest
    """
    trees = model.estimators_ if isinstance(model, _FORESTS) else [model]
    sizes = np.array([tree.tree_.node_count for tree in trees])
    leaves = np.array([tree.tree_.n_leaves for tree in trees])
    node_starts = np.concatenate([[0], np.cumsum(sizes)])
    leaf_starts = np.concatenate([[0], np.cumsum(leaves)])
    if node_starts[-1] > np.iinfo(np.int32).max:
        raise ValueError(
            f"The surrogate has {node_starts[-1]} nodes, more than 2**31 - 1. "
            "Use fewer or shallower trees."
        )
    nodes = np.empty(node_starts[-1], dtype=NODE)
    values = np.empty((leaf_starts[-1], trees[0].tree_.value.shape[2]))
    for tree, node_start, leaf_start in zip(trees, node_starts, leaf_starts, strict=False):
        _pack_tree(tree.tree_, nodes, values, node_start, leaf_start)
    return PackedForest(nodes, node_starts[:-1].astype(np.int32), values, model.n_features_in_)


def _pack_tree(tree, nodes, values, node_start, leaf_start):
    feature = tree.feature
    is_leaf = tree.children_left < 0
    rows = np.cumsum(is_leaf) - 1 + leaf_start
    block = nodes[node_start : node_start + tree.node_count]
    block["feature"] = np.where(is_leaf, -1, feature)
    block["threshold"] = round_down(tree.threshold)
    block["left"] = np.where(is_leaf, rows, tree.children_left + node_start)
    block["right"] = np.where(is_leaf, -1, tree.children_right + node_start)
    values[leaf_start : leaf_start + tree.n_leaves] = tree.value[is_leaf, 0, :]


def round_down(threshold: np.ndarray) -> np.ndarray:
    """The largest float32 not above each float64.

    ``x <= threshold`` then has the same answer for every float32 ``x``.
    """
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32)
    return np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
