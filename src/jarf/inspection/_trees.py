"""Every fitted tree ensemble as the engine's arrays, with the preceding linear maps.

Cuts in words, the alignment of cuts, ONNX files and checks of loaded models read these arrays only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from jarf.ensemble import JARFClassifier, JARFRegressor, PerTreeForest, TreeEnsemble
from jarf.geometry import LinearMap
from jarf.trees import Forest, read_trees


class Part(NamedTuple):
    """Trees, and the linear map before them; None if they cut encoded columns directly."""

    linear: LinearMap | None
    forest: Forest


@dataclass(frozen=True)
class Trees:
    """A fitted model as sums of trees.

    Parameters
    ----------
    parts : list of Part
        Their trees are numbered through; base, link and whether they are averaged are the same.
    """

    parts: list[Part]

    @property
    def n_trees(self) -> int:
        return sum(part.forest.n_trees for part in self.parts)

    @property
    def n_outputs(self) -> int:
        """Number of outputs of the sum, before the link."""
        return self.parts[0].forest.n_raw

    @property
    def averaged(self) -> bool:
        """Whether the sum is divided by the number of trees."""
        return self.parts[0].forest.averaged

    @property
    def link(self) -> str:
        """From the sum to the prediction."""
        return self.parts[0].forest.link

    @property
    def base(self) -> np.ndarray:
        """Added to the sum, or to the mean."""
        return np.asarray(self.parts[0].forest.base)

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
        """Return the directions of all cuts over the encoded columns, in their units."""
        return csr_array(vstack([part_normals(part) for part in self.parts]))


def part_normals(part: Part) -> csr_array:
    """Return the directions of one part's cuts over the encoded columns, with its map undone."""
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
        A forest or a booster of this library, JARF on one of them, on scikit-learn's forests or on
        XGBoost.

    Returns
    -------
    Trees
    """
    if isinstance(model, TreeEnsemble):
        return Trees([Part(None, model.forest_)])
    if not isinstance(model, JARFClassifier | JARFRegressor):
        raise TypeError(
            f"{type(model).__name__} is not a tree ensemble of this library. Pass JARF, an oblique "
            "or Jacobian forest, or Jacobian boosting."
        )
    final = model.estimator_
    if isinstance(final, PerTreeForest):
        pairs = zip(final.maps_, final.trees_, strict=True)
        return Trees([Part(linear, forest_of(tree)) for linear, tree in pairs])
    linear = model.preconditioner_.map_
    return Trees([Part(linear, forest_of(final))])


def forest_of(ensemble: Any) -> Forest:
    """Return the trees of a final ensemble, ours or another library's.

    Parameters
    ----------
    ensemble : estimator

    Returns
    -------
    Forest
    """
    return ensemble.forest_ if isinstance(ensemble, TreeEnsemble) else read_trees(ensemble)
