"""Checks of arrays that were read from a file, before anything uses them."""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.export._members import UnsoundFile
from jarf.geometry import LinearMap
from jarf.trees import NODE, Forest

# Sums of boosted trees stay below these: the exponential of the first is still finite.
LARGEST_LOG, LARGEST_SUM = 700.0, 1e307


def require(holds: Any, what: str) -> None:
    """Reject the file unless a condition holds."""
    if not holds:
        raise UnsoundFile(what)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _array(value: Any, ndim: int, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == ndim and value.dtype.kind in kinds


CHECKS = {
    "any": lambda value: True,
    "count": lambda value: _whole(value) and value >= 0,
    "number": lambda value: _whole(value) or isinstance(value, float),
    "bool": lambda value: isinstance(value, bool),
    "text": lambda value: isinstance(value, str),
    "texts": lambda value: _array(value, 1, "OU") and all(isinstance(v, str) for v in value),
    "labels": lambda value: isinstance(value, np.ndarray) and value.ndim == 1 and len(value) > 0,
    "ints": lambda value: _array(value, 1, "iu"),
    "bools": lambda value: _array(value, 1, "b"),
    "floats": lambda value: isinstance(value, np.ndarray) and value.dtype.kind == "f",
    "bytes": lambda value: isinstance(value, bytes),
    "list": lambda value: isinstance(value, list),
    "dict": lambda value: isinstance(value, dict),
    "none": lambda value: value is None,
    "holes": lambda value: _array(value, 1, "f") and not np.isinf(value).any(),
    "vector": lambda value: _array(value, 1, "f") and np.isfinite(value).all(),
    "matrix": lambda value: _array(value, 2, "f") and np.isfinite(value).all(),
}


def check_field(owner: str, name: str, value: Any, kinds: str) -> None:
    """Check one attribute: ``kinds`` names checks or classes, divided by "|"."""
    for kind in kinds.split("|"):
        check = CHECKS.get(kind)
        if check(value) if check else type(value).__name__ == kind:
            return
    raise UnsoundFile(f"{owner}.{name} is not of the kind {kinds.replace('|', ' or ')}")


def check_children(left, right, is_leaf, starts, what: str) -> None:
    """Check that every inner node has two later children in its own tree: no cycles, no way out.

    Parameters
    ----------
    left, right : ndarray of shape (n_nodes,)
        Node numbers, counted through all trees; ignored where ``is_leaf``.
    is_leaf : ndarray of shape (n_nodes,) of bool
    starts : ndarray of shape (n_trees,)
        The first node of every tree.
    what : str
        For the message.
    """
    n_nodes = len(is_leaf)
    starts = np.asarray(starts, dtype=np.int64)
    fine = len(starts) > 0 and starts[0] == 0 and (starts[1:] > starts[:-1]).all()
    require(fine and starts[-1] < n_nodes, f"{what}: trees without a root")
    node = np.arange(n_nodes)
    end = np.append(starts[1:], n_nodes)[np.searchsorted(starts, node, side="right") - 1]
    for child in (left, right):
        inside = (child > node) & (child < end)
        require((inside | is_leaf).all(), f"{what}: a node points outside its tree or back")


def node_depths(left, right, is_leaf, starts, what: str) -> np.ndarray:
    """Return the depth of every node; nodes with two parents, or none, are rejected.

    Parameters
    ----------
    left, right, is_leaf, starts, what : as in :func:`check_children`

    Returns
    -------
    ndarray of shape (n_nodes,)
    """
    node = np.arange(len(is_leaf))
    inner = node[~is_leaf]
    children = np.concatenate([left[inner], right[inner]])
    n_parents = np.bincount(children, minlength=len(node))
    n_parents[starts] += 1
    require((n_parents == 1).all(), f"{what}: a node has two parents, or none")
    above = node.copy()
    above[children] = np.concatenate([inner, inner])
    depth = (above != node).astype(np.int64)
    while (above != above[above]).any():  # twice as far up in every round
        depth += depth[above]
        above = above[above]
    return depth


def check_shares(values: np.ndarray, what: str) -> None:
    """Check that rows are probabilities: non-negative, with sum one."""
    fine = (values >= 0).all() and (np.abs(values.sum(axis=-1) - 1.0) <= 1e-6).all()
    require(fine, f"{what}: class shares that are not probabilities")


def check_forest(forest: Forest) -> None:
    """Check the engine's arrays."""
    nodes, values = forest.nodes, forest.values
    require(nodes.dtype == NODE and nodes.ndim == 1, "the forest's nodes have the wrong fields")
    require(len(nodes) > 0, "the forest has no nodes")
    for name in ("roots", "starts", "features"):
        require(getattr(forest, name).dtype == np.int32, f"the forest's {name} are not int32")
    require(forest.loadings.dtype == np.float32, "the forest's loadings are not float32")
    require(values.dtype == np.float64, "the forest's values are not float64")
    require(len(forest.weights) == len(forest.gains) == len(nodes), "nodes without weights")
    feature, leaf = nodes["feature"], forest.is_leaf
    check_children(nodes["left"], nodes["right"], leaf, forest.roots, "forest")
    rows = nodes["left"][leaf]
    require((rows >= 0).all() and (rows < len(values)).all(), "a leaf points outside the values")
    n_projections = len(forest.starts) - 1
    require(
        (feature < forest.n_features).all() and (-2 - feature < n_projections).all(),
        "a cut is along a column or a projection that does not exist",
    )
    require(not np.isnan(nodes["threshold"][~leaf]).any(), "a threshold is not a number")
    starts = forest.starts
    fine = n_projections >= 0 and starts[0] == 0 and starts[-1] == len(forest.loadings)
    require(fine and (starts[1:] > starts[:-1]).all(), "projections overlap or are empty")
    require(len(forest.features) == len(forest.loadings), "loadings without a column")
    inside = (forest.features >= 0) & (forest.features < forest.n_features)
    require(inside.all(), "a loading belongs to a column that does not exist")
    weighed = (forest.weights >= 0).all() and (forest.weights[forest.roots] > 0).all()
    require(weighed, "a tree without weight")
    pure = forest.n_pure in (0, values.shape[1]) and forest.n_pure <= len(values)
    require(pure, "the number of pure leaves is wrong")
    ones = np.eye(forest.n_pure, values.shape[1])
    require((values[: forest.n_pure] == ones).all(), "pure leaves are not pure")
    forest.checked()


def check_sums(forest: Forest) -> None:
    """Check that no row can make the sum of the trees, or what its link gives, infinite."""
    leaf = forest.is_leaf
    largest = np.where(leaf, np.abs(forest.values).max(axis=1)[forest.nodes["left"] * leaf], 0.0)
    bound = np.maximum.reduceat(largest, forest.roots).sum() + np.abs(np.asarray(forest.base)).max()
    limit = LARGEST_LOG if forest.link == "log" else LARGEST_SUM
    require(bound <= limit, "sums of its trees overflow")


def check_map(linear: LinearMap) -> None:
    """Check that shapes fit and that nothing is divided by zero."""
    d = len(linear.mean)
    require(len(linear.scale) == d and (linear.scale != 0).all(), "a map's scale is wrong")
    require(linear.matrix is None or linear.matrix.shape[0] == d, "a map's matrix is wrong")
