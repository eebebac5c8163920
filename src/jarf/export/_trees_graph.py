"""Linear maps, projections and trees as ONNX operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jarf.export._graph import Graph
from jarf.geometry import FARTHEST, LinearMap
from jarf.inspection import Trees
from jarf.trees import Forest

# Maximum number of trees per operator, and of projected columns at a time.
MAX_TREES, MAX_PROJECTIONS = 64, 512


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
        sums += [_chunk(graph, forest, chunk, rows, centre) for chunk in _chunks(forest)]
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


def _chunk(graph: Graph, forest: Forest, trees: range, rows: str, centre: np.ndarray) -> str:
    """Sum some trees, minus the centre each: floats of shape (n_rows, n_outputs)."""
    ends = np.append(forest.roots, len(forest.nodes))
    part = slice(ends[trees.start], ends[trees.stop])
    nodes = forest.nodes[part]
    feature = nodes["feature"].astype(np.int64)
    oblique = feature < -1
    if oblique.any():
        used, place = np.unique(-2 - feature[oblique], return_inverse=True)
        feature[oblique] = forest.n_features + place
        projected = _projections(graph, forest, used, rows)
        rows = graph.add("Concat", rows, projected, axis=1)
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


def _projections(graph: Graph, forest: Forest, used: np.ndarray, rows: str) -> str:
    """Project rows on some directions.

    Loadings are added one after the other in float32, as in the forest, so that not even the
    rounding differs; a matrix product would send a few rows to other leaves.
    """
    sizes = np.diff(forest.starts)[used]
    source = forest.starts[used][:, None] + np.arange(sizes.max())
    inside = np.arange(sizes.max()) < sizes[:, None]
    source = np.where(inside, source, 0)
    features = np.where(inside, forest.features[source], 0).T.astype(np.int64)
    loadings = np.where(inside, forest.loadings[source], np.float32(0)).T[:, :, None]
    columns = graph.add("Transpose", rows, perm=[1, 0])
    first = graph.add("Gather", columns, graph.constant(features[0]), axis=0)
    total = graph.add("Mul", first, graph.constant(loadings[0]))
    if len(features) > 1:

        def add_loading(before: str, place: str, weight: str) -> str:
            column = graph.add("Gather", columns, place, axis=0)
            return graph.add("Add", before, graph.add("Mul", column, weight))

        rest = [graph.constant(features[1:]), graph.constant(loadings[1:])]
        total = graph.scan(total, "float", rest, add_loading)
    return graph.add("Transpose", total, perm=[1, 0])


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
