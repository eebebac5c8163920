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

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_checked": None}  # the compiled view stays in its process

    @property
    def n_trees(self) -> int:
        return len(self.roots)

    @property
    def n_outputs(self) -> int:
        return self.values.shape[1]

    def native(self):
        """The compiled view of this forest, checked once; ``None`` on the reference path.

        The arrays cannot be written to from then on: a change would go unchecked.
        """
        module = kernels()
        if module is None:
            return None
        if self._checked is None:
            for array in (self.nodes, self.roots, self.values):
                array.flags.writeable = False
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
    estimators = model.estimators_ if isinstance(model, _FORESTS) else [model]
    trees = [estimator.tree_ for estimator in estimators]
    sizes = np.array([tree.node_count for tree in trees])
    roots = np.cumsum(sizes) - sizes
    if sizes.sum() > np.iinfo(np.int32).max:
        raise ValueError(
            f"The surrogate has {sizes.sum()} nodes, more than 2**31 - 1. "
            "Use fewer or shallower trees."
        )
    left = np.concatenate([tree.children_left for tree in trees])
    is_leaf = left < 0
    start = np.repeat(roots, sizes)
    nodes = np.empty(len(left), dtype=NODE)
    nodes["feature"] = np.concatenate([tree.feature for tree in trees])
    nodes["threshold"] = round_down(np.concatenate([tree.threshold for tree in trees]))
    nodes["left"] = left + start
    nodes["right"] = np.concatenate([tree.children_right for tree in trees]) + start
    nodes["feature"][is_leaf] = -1
    nodes["left"][is_leaf] = np.arange(is_leaf.sum())
    values = [
        tree.value[leaves, 0, :]
        for tree, leaves in zip(trees, np.split(is_leaf, roots[1:]), strict=True)
    ]
    return PackedForest(nodes, roots.astype(np.int32), np.concatenate(values), model.n_features_in_)


def round_down(threshold: np.ndarray) -> np.ndarray:
    """The largest float32 not above each float64.

    ``x <= threshold`` then has the same answer for every float32 ``x``.
    """
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32)
    return np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
