"""Every fitted tree ensemble as the engine's arrays, with the linear maps before them.

Cuts in words, the alignment of cuts, ONNX files and checks of loaded models read these arrays only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from jarf.ensemble import Forest, JARFClassifier, JARFRegressor
from jarf.ensemble._oblique import ObliqueForest
from jarf.ensemble._per_tree import PerTreeForest
from jarf.geometry import LinearMap
from jarf.inspection._xgboost import boosted_trees, is_xgboost
from jarf.surrogate import PackedForest, is_packable, pack


class Part(NamedTuple):
    """Trees and the map whose outputs they cut; None where they cut the table's own."""

    linear: LinearMap | None
    forest: Forest


@dataclass(frozen=True)
class Trees:
    """A fitted model as sums of trees.

    Parameters
    ----------
    parts : list of Part
        Their trees are numbered through.
    link : {"mean", "identity", "logistic", "softmax", "exp"}
        "mean" divides the sum by the number of trees; the others are what XGBoost does to it.
    base : ndarray of shape (n_outputs,)
        Added to the sum.
    """

    parts: list[Part]
    link: str = "mean"
    base: np.ndarray = field(default_factory=lambda: np.zeros(1))

    @property
    def n_trees(self) -> int:
        return sum(part.forest.n_trees for part in self.parts)

    @property
    def n_outputs(self) -> int:
        """Number of outputs of the sum, before the link."""
        return self.parts[0].forest.values.shape[1]

    def locate(self, tree: int) -> tuple[Part, int]:
        """Find a tree: its part, and its number there."""
        if not 0 <= tree < self.n_trees:
            raise ValueError(f"tree={tree}: the model has trees 0 to {self.n_trees - 1}.")
        for part in self.parts:
            if tree < part.forest.n_trees:
                return part, tree
            tree -= part.forest.n_trees
        raise AssertionError

    def normals(self) -> csr_array:
        """Return the directions of all cuts over the table's outputs, in their units."""
        return csr_array(vstack([part_normals(part) for part in self.parts]))


def part_normals(part: Part) -> csr_array:
    """Undo the map of one part: the directions of its cuts over the table's outputs."""
    directions = part.forest.directions()[1]
    if part.linear is None:
        return directions
    used, place = np.unique(directions.indices, return_inverse=True)
    narrow = csr_array(
        (directions.data, place, directions.indptr), shape=(directions.shape[0], len(used))
    )
    matrix = part.linear.columns(used) / part.linear.scale[:, None]
    return csr_array(narrow @ matrix.T)


def trees_of(model: Any) -> Trees:
    """Read the trees of a fitted model.

    Parameters
    ----------
    model : estimator
        A forest of this library, JARF on one of them, on scikit-learn's forests or on XGBoost.

    Returns
    -------
    Trees
    """
    if isinstance(model, ObliqueForest):
        return Trees([Part(None, model.forest_)])
    if not isinstance(model, JARFClassifier | JARFRegressor):
        raise TypeError(
            f"{type(model).__name__} is no forest of this library; JARF and the oblique and "
            "Jacobian forests are read."
        )
    final = model.estimator_
    if isinstance(final, PerTreeForest):
        pairs = zip(final.maps_, final.trees_, strict=True)
        return Trees([Part(linear, forest_of(tree)) for linear, tree in pairs])
    linear = model.preconditioner_.map_
    if is_xgboost(final):
        forest, link, base = boosted_trees(final)
        return Trees([Part(linear, forest)], link, base)
    return Trees([Part(linear, forest_of(final))])


def forest_of(ensemble: Any) -> Forest:
    """Return the arrays of a forest, ours or scikit-learn's.

    Parameters
    ----------
    ensemble : estimator

    Returns
    -------
    Forest
    """
    if isinstance(ensemble, ObliqueForest):
        return ensemble.forest_
    if is_packable(ensemble):
        return _of_packed(pack(ensemble))
    raise TypeError(
        f"The trees of {type(ensemble).__name__} cannot be read. Final ensembles that can: the "
        "forests of this library, scikit-learn's random forests and extra trees, XGBoost."
    )


def _of_packed(packed: PackedForest) -> Forest:
    nodes = packed.nodes.view(np.int32).reshape(-1, 4).copy()
    leaf = nodes[:, 0] == -1
    nodes[leaf, 3] = nodes[leaf, 2]
    return Forest.of_axes(nodes, packed.roots, packed.values, packed.n_features)
