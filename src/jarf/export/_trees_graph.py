"""Linear maps, projections and trees as ONNX operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from jarf.export._graph import Graph
from jarf.geometry import FARTHEST, LinearMap
from jarf.inspection import Trees
from jarf.trees import Forest

# Maximum number of trees per operator, and of projected columns at a time.
MAX_TREES, MAX_PROJECTIONS = 64, 512
# Directions are added up loading by loading where their columns are more than this many times their
# loadings; a matrix product, which multiplies by the zeros too, is faster elsewhere.
SPARSE_FROM = 16


def trees_graph(graph: Graph, trees: Trees, encoded: str, centred: bool) -> str:
    """Add maps and trees; return the name of the doubles (n_rows, n_outputs) after the link.

    Parameters
    ----------
    graph : Graph
    trees : Trees
    encoded : str
        The encoded columns, doubles.
    centred : bool
        Whether leaf values are responses. Leaves are float32 and added in float32: so the median of
        the responses is subtracted from them and added back in double precision.

    Returns
    -------
    str
    """
    sums = []
    centred = centred and trees.averaged
    centre = _centre(trees) if centred else np.zeros(trees.n_outputs)
    for linear, forest in trees.parts:
        rows = encoded if linear is None else map_graph(graph, linear, encoded)
        rows = graph.cast(rows, "float")
        directions = forest.directions()[1] if len(forest.starts) > 1 else None
        for chunk in _chunks(forest):
            sums.append(_chunk(graph, forest, directions, chunk, rows, centre))
    total = graph.add("Sum", *[graph.cast(part, "double") for part in sums])
    if trees.averaged:
        total = graph.add("Div", total, graph.constant(float(trees.n_trees), np.float64))
    if centred:
        total = graph.add("Add", total, graph.constant(centre, np.float64))
    if trees.base.any():
        total = graph.add("Add", total, graph.constant(trees.base, np.float64))
    link = {"logit": "Sigmoid", "log": "Exp", "softmax": "Softmax"}
    return graph.add(link[trees.link], total) if trees.link in link else total


def _centre(trees: Trees) -> np.ndarray:
    """Return the median leaf value of each output, which is robust to outliers."""
    return np.median(np.concatenate([part.forest.values for part in trees.parts]), axis=0)


def map_graph(graph: Graph, linear: LinearMap, encoded: str) -> str:
    """Add ``((x - mean) / scale) @ matrix`` in doubles."""
    if not isinstance(linear.matrix, np.ndarray):
        raise ValueError(
            "H of a table this wide is kept in factors and not exported. Fit with n_components, or "
            "on fewer columns."
        )
    centred = graph.add("Sub", encoded, graph.constant(linear.mean, np.float64))
    scaled = graph.add("Div", centred, graph.constant(linear.scale, np.float64))
    ends = [graph.constant(end, np.float64) for end in (-FARTHEST, FARTHEST)]
    near = graph.add("Clip", scaled, *ends)
    return graph.add("MatMul", near, graph.constant(linear.matrix, np.float64))


def _chunks(forest: Forest) -> Iterator[range]:
    """Cut the trees into groups that are not too large."""
    oblique = np.concatenate([[0], np.cumsum(forest.nodes["feature"] < -1)])
    ends = np.append(forest.roots, len(forest.nodes))
    start = 0
    for tree in range(1, forest.n_trees + 1):
        full = tree == forest.n_trees or tree - start == MAX_TREES
        if full or oblique[ends[tree + 1]] - oblique[ends[start]] > MAX_PROJECTIONS:
            yield range(start, tree)
            start = tree


def _chunk(
    graph: Graph,
    forest: Forest,
    directions: csr_array | None,
    trees: range,
    rows: str,
    centre: np.ndarray,
) -> str:
    """Sum some trees, minus the centre each: floats of shape (n_rows, n_outputs).

    ``directions`` holds a row for every inner node of the forest; None: all cuts are axes.
    """
    ends = np.append(forest.roots, len(forest.nodes))
    feature = forest.nodes["feature"][ends[trees.start] : ends[trees.stop]].astype(np.int64)
    if directions is not None and (feature < -1).any():
        inner = feature != -1
        _, first, feature[inner] = np.unique(feature[inner], return_index=True, return_inverse=True)
        before = np.count_nonzero(~forest.is_leaf[: ends[trees.start]])
        rows = _projections(graph, directions[before + first], rows)
    walked, leaves = _walked(forest, trees, feature)
    weights = (forest.values[leaves.rows] - centre).astype(np.float32)
    said = weights != 0
    said[~said.any(axis=1), 0] = True  # every leaf needs a value
    at, target = np.nonzero(said)
    return _ensemble(graph, rows, walked, leaves, at, target, weights[at, target], weights.shape[1])


def mean_graph(graph: Graph, forest: Forest, rows: str) -> str:
    """Average the trees of a small regression forest to nearly double precision: (n_rows, 1).

    Each tree has two outputs of its own, the float32 nearest to its leaf's value and what is
    left; they are added in doubles.
    """
    walked, leaves = _walked(forest, range(forest.n_trees), forest.nodes["feature"])
    values = forest.values[leaves.rows, 0]
    high = values.astype(np.float32)
    weights = np.stack([high, (values - high).astype(np.float32)], axis=1).ravel()
    at = np.repeat(np.arange(len(values)), 2)
    target = (2 * leaves.tree[:, None] + [0, 1]).ravel()
    n_targets = 2 * forest.n_trees
    parts = _ensemble(graph, rows, walked, leaves, at, target, weights, n_targets)
    share = graph.constant(np.full((n_targets, 1), 1.0 / forest.n_trees))
    return graph.add("MatMul", graph.cast(parts, "double"), share)


def _projections(graph: Graph, directions: csr_array, rows: str) -> str:
    """Project rows on directions: floats of shape (n_rows, n_directions).

    Sums are taken in double precision and rounded once to float32, as in the forest, where the
    order of the terms does not matter: see native/projection.hpp.
    """
    columns, place = np.unique(directions.indices, return_inverse=True)
    picked = graph.columns(graph.cast(rows, "double"), columns)
    shape = (directions.shape[0], len(columns))
    directions = csr_array((directions.data, place, directions.indptr), shape=shape)
    if len(columns) > SPARSE_FROM * np.diff(directions.indptr).max():
        total = _sparse_product(graph, directions, picked)
    else:
        total = graph.add("MatMul", picked, graph.constant(directions.toarray().T))
    return graph.cast(total, "float")


def _sparse_product(graph: Graph, directions: csr_array, rows: str) -> str:
    """Add up loadings times columns, one loading of every direction at a time."""
    sizes = np.diff(directions.indptr)
    inside = np.arange(sizes.max()) < sizes[:, None]
    features, loadings = np.zeros(inside.shape, np.int64), np.zeros(inside.shape)
    features[inside], loadings[inside] = directions.indices, directions.data
    columns = graph.add("Transpose", rows, perm=[1, 0])

    def add_loading(before: str, place: str, weight: str) -> str:
        return graph.add("Add", before, _term(graph, columns, place, weight))

    first = (graph.constant(features[:, 0]), graph.constant(loadings[:, :1]))
    total = _term(graph, columns, *first)
    if len(inside[0]) > 1:
        rest = [graph.constant(features.T[1:]), graph.constant(loadings.T[1:, :, None])]
        total = graph.scan(total, "double", rest, add_loading)
    return graph.add("Transpose", total, perm=[1, 0])


def _term(graph: Graph, columns: str, place: str, weight: str) -> str:
    return graph.add("Mul", graph.add("Gather", columns, place, axis=0), weight)


class _Leaves(NamedTuple):
    """The leaves of some trees: their tree, number within it and row of the forest's values."""

    tree: np.ndarray
    node: np.ndarray
    rows: np.ndarray


def _walked(forest: Forest, trees: range, feature) -> tuple[dict[str, Any], _Leaves]:
    """Node attributes of a TreeEnsemble operator, and the leaves; nodes count within their tree."""
    ends = np.append(forest.roots, len(forest.nodes)).astype(np.int64)
    start, sizes = ends[trees.start], np.diff(ends[trees.start : trees.stop + 1])
    nodes = forest.nodes[start : ends[trees.stop]]
    tree = np.repeat(np.arange(len(trees)), sizes)
    root = ends[trees.start + tree]
    within = start + np.arange(len(nodes)) - root
    leaf = nodes["feature"] == -1
    children = np.stack([nodes["left"], nodes["right"]], axis=1)
    # XGBoost leaves nodes behind that it has pruned: nobody's children.
    known = within == 0
    known[(children[~leaf] - start).ravel()] = True
    child = np.where(leaf[:, None], 0, children - root[:, None])[known]
    threshold = np.where(leaf, 0, nodes["threshold"])
    walked = {
        "nodes_treeids": tree[known],
        "nodes_nodeids": within[known],
        "nodes_featureids": np.where(leaf, 0, feature)[known],
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ")[known],
        "nodes_values": threshold[known],
        "nodes_truenodeids": child[:, 0],
        "nodes_falsenodeids": child[:, 1],
    }
    kept = leaf & known
    leaves = _Leaves(tree[kept], within[kept], nodes["left"][kept])
    return {name: values.tolist() for name, values in walked.items()}, leaves


def _ensemble(graph, rows, walked, leaves: _Leaves, at, target, weights, n_targets) -> str:
    """Add a TreeEnsembleRegressor: leaf ``at[k]`` adds ``weights[k]`` to output ``target[k]``."""
    return graph.add_ml(
        "TreeEnsembleRegressor",
        rows,
        n_targets=n_targets,
        aggregate_function="SUM",
        post_transform="NONE",
        target_treeids=leaves.tree[at].tolist(),
        target_nodeids=leaves.node[at].tolist(),
        target_ids=target.tolist(),
        target_weights=weights.tolist(),
        **walked,
    )
