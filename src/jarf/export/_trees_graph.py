"""Linear maps, projections and trees as ONNX operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jarf.ensemble import Forest
from jarf.export._graph import Graph
from jarf.geometry import LinearMap
from jarf.geometry._map import FARTHEST
from jarf.inspection._trees import Trees

# The trees of one operator, and the projected columns that exist at a time, at most.
MAX_TREES, MAX_PROJECTIONS = 64, 512


def trees_graph(graph: Graph, trees: Trees, encoded: str) -> str:
    """Add maps and trees; return the name of the doubles (n_rows, n_outputs) after the link.

    Parameters
    ----------
    graph : Graph
    trees : Trees
    encoded : str
        The table's outputs, doubles.

    Returns
    -------
    str
    """
    sums = []
    for linear, forest in trees.parts:
        rows = encoded if linear is None else map_graph(graph, linear, encoded)
        rows = graph.cast(rows, "float")
        sums += [_chunk(graph, forest, chunk, rows) for chunk in _chunks(forest)]
    total = graph.add("Sum", *[graph.cast(part, "double") for part in sums])
    if trees.link == "mean":
        return graph.add("Div", total, graph.constant(float(trees.n_trees), np.float64))
    score = graph.add("Add", total, graph.constant(trees.base, np.float64))
    link = {"logistic": "Sigmoid", "exp": "Exp", "softmax": "Softmax", "identity": "Identity"}
    return graph.add(link[trees.link], score)


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
    oblique = np.concatenate([[0], np.cumsum(forest.nodes[:, 0] < -1)])
    ends = np.append(forest.roots, len(forest.nodes))
    start = 0
    for tree in range(1, forest.n_trees + 1):
        full = tree == forest.n_trees or tree - start == MAX_TREES
        if full or oblique[ends[tree + 1]] - oblique[ends[start]] > MAX_PROJECTIONS:
            yield range(start, tree)
            start = tree


def _chunk(graph: Graph, forest: Forest, trees: range, rows: str) -> str:
    """Sum some trees: floats of shape (n_rows, n_outputs)."""
    ends = np.append(forest.roots, len(forest.nodes))
    part = slice(ends[trees.start], ends[trees.stop])
    nodes = forest.nodes[part]
    feature = nodes[:, 0].astype(np.int64)
    oblique = feature < -1
    if oblique.any():
        used, place = np.unique(-2 - feature[oblique], return_inverse=True)
        feature[oblique] = forest.n_features + place
        projected = _projections(graph, forest, used, rows)
        rows = graph.add("Concat", rows, projected, axis=1)
    attributes = _tree_attributes(forest, nodes, feature, part.start, ends[trees.start :], trees)
    return graph.add_ml(
        "TreeEnsembleRegressor",
        rows,
        n_targets=forest.values.shape[1],
        aggregate_function="SUM",
        post_transform="NONE",
        **attributes,
    )


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
        out, place, weight = graph.name("sum"), graph.name("place"), graph.name("weight")
        make = graph.onnx.helper.make_node
        body = [
            make("Gather", [columns, place], [f"{out}_column"], axis=0),
            make("Mul", [f"{out}_column", weight], [f"{out}_term"]),
            make("Add", [f"{out}_before", f"{out}_term"], [out]),
        ]
        sliced = [(graph.constant(features[1:]), place), (graph.constant(loadings[1:]), weight)]
        total = graph.scan(body, total, out, sliced, "float")
    return graph.add("Transpose", total, perm=[1, 0])


def _tree_attributes(forest: Forest, nodes, feature, start, ends, trees: range) -> dict[str, Any]:
    """Attributes of a TreeEnsemble operator; nodes count within their tree."""
    sizes = np.diff(ends[: len(trees) + 1])
    tree = np.repeat(np.arange(len(trees)), sizes)
    within = np.arange(len(nodes)) - np.repeat(ends[: len(trees)] - start, sizes)
    leaf = nodes[:, 0] == -1
    root = within == 0
    child = nodes[:, 2:].astype(np.int64) - (start + np.arange(len(nodes)) - within)[:, None]
    # XGBoost leaves nodes behind that it has pruned: nobody's children.
    known = root.copy()
    known[(nodes[~leaf, 2:] - start).ravel()] = True
    weights = forest.values[np.where(leaf, nodes[:, 2], 0)].astype(np.float32)
    said = (weights != 0) & (leaf & known)[:, None]
    said[leaf & known & ~said.any(axis=1), 0] = True  # every leaf says something
    at, target = np.nonzero(said)
    return {
        "nodes_treeids": tree[known].tolist(),
        "nodes_nodeids": within[known].tolist(),
        "nodes_featureids": np.where(leaf, 0, feature)[known].tolist(),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ")[known].tolist(),
        "nodes_values": np.where(leaf, 0, nodes[:, 1].copy().view(np.float32))[known].tolist(),
        "nodes_truenodeids": np.where(leaf, 0, child[:, 0])[known].tolist(),
        "nodes_falsenodeids": np.where(leaf, 0, child[:, 1])[known].tolist(),
        "target_treeids": tree[at].tolist(),
        "target_nodeids": within[at].tolist(),
        "target_ids": target.tolist(),
        "target_weights": weights[at, target].tolist(),
    }
