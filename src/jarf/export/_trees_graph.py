"""Linear maps, projections and trees as ONNX operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from jarf.export._graph import Graph
from jarf.geometry import FARTHEST, LinearMap
from jarf.inspection import Trees
from jarf.trees import Forest

# Maximum number of trees per operator, and of projected columns at a time; chosen by measurement.
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
    halves = _are_complementary(trees)  # the second of two probabilities says it all
    centre = np.full(1, 0.5) if halves else np.zeros(trees.n_outputs)
    if centred and trees.averaged:
        centre = _centre(trees)
    for linear, forest in trees.parts:
        rows = encoded if linear is None else map_graph(graph, linear, encoded)
        rows = graph.cast(rows, "float")
        directions = _Directions.of(forest) if len(forest.starts) > 1 else None
        doubles = rows if directions is None else graph.cast(rows, "double")
        values = forest.values[:, 1:] if halves else forest.values
        for chunk in _chunks(forest, directions):
            part = _chunk(graph, forest, directions, chunk, (rows, doubles), values - centre)
            sums.append(graph.cast(part, "double"))
    total = graph.add("Sum", *sums)
    if trees.averaged:
        total = graph.add("Div", total, graph.constant(float(trees.n_trees), np.float64))
    if centre.any():
        total = graph.add("Add", total, graph.constant(centre, np.float64))
    if halves:
        other = graph.add("Sub", graph.constant([1.0], np.float64), total)
        total = graph.add("Concat", other, total, axis=1)
    if trees.base.any():
        total = graph.add("Add", total, graph.constant(trees.base, np.float64))
    link = {"logit": "Sigmoid", "log": "Exp", "softmax": "Softmax"}
    return graph.add(link[trees.link], total) if trees.link in link else total


def _are_complementary(trees: Trees) -> bool:
    """Whether leaves hold two probabilities that sum to one."""
    return (
        trees.averaged
        and trees.n_outputs == 2
        and all(
            np.allclose(p.forest.values.sum(axis=1), 1, rtol=0, atol=1e-12) for p in trees.parts
        )
    )


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


@dataclass(frozen=True)
class _Directions:
    """The directions of a forest, each once; opposite directions are the same.

    Parameters
    ----------
    distinct : csr_array of shape (n_distinct, n_features)
    number : ndarray of shape (n_nodes,)
        Row of ``distinct`` that each node cuts along; -1 at leaves.
    opposite : ndarray of shape (n_nodes,), bool
        Where the node's own direction points the other way.
    """

    distinct: csr_array
    number: np.ndarray
    opposite: np.ndarray

    @classmethod
    def of(cls, forest: Forest) -> _Directions:
        inner, rows = forest.directions()
        rows.sort_indices()
        negative = rows.data[rows.indptr[:-1]] < 0
        rows.data *= np.repeat(np.where(negative, -1.0, 1.0), np.diff(rows.indptr))
        known: dict[tuple[bytes, bytes], int] = {}
        number = np.full(len(forest.nodes), -1)
        opposite = np.zeros(len(forest.nodes), bool)
        opposite[inner] = negative
        for node, start, end in zip(inner, rows.indptr[:-1], rows.indptr[1:], strict=True):
            key = (rows.indices[start:end].tobytes(), rows.data[start:end].tobytes())
            number[node] = known.setdefault(key, len(known))
        first = np.unique(number[inner], return_index=True)[1]
        return cls(rows[first], number, opposite)


def _chunks(forest: Forest, directions: _Directions | None) -> Iterator[range]:
    """Cut the trees into groups that are not too large."""
    ends = np.append(forest.roots, len(forest.nodes))
    start, found = 0, set[int]()
    for tree in range(forest.n_trees):
        more = found
        if directions is not None:
            more = found | set(directions.number[ends[tree] : ends[tree + 1]].tolist())
        if tree > start and (len(more) > MAX_PROJECTIONS or tree - start == MAX_TREES):
            yield range(start, tree)
            start, more = tree, more - found
        found = more
    yield range(start, forest.n_trees)


def _chunk(
    graph: Graph,
    forest: Forest,
    directions: _Directions | None,
    trees: range,
    rows: tuple[str, str],
    values: np.ndarray,
) -> str:
    """Sum some trees: floats of shape (n_rows, n_outputs).

    ``directions`` is None if all cuts are axes. ``rows`` are the columns in float32, and the same
    as doubles; ``values`` those of all leaves.
    """
    ends = np.append(forest.roots, len(forest.nodes))
    nodes = slice(ends[trees.start], ends[trees.stop])
    feature = forest.nodes["feature"][nodes].astype(np.int64)
    seen, opposite = rows[0], None
    if directions is not None and (feature < -1).any():
        inner, opposite = feature != -1, directions.opposite[nodes]
        used, feature[inner] = np.unique(directions.number[nodes][inner], return_inverse=True)
        seen = _projections(graph, directions.distinct[used], rows[1])
    walked, leaves = _walked(forest, trees, feature, opposite)
    weights = values[leaves.rows]
    said = weights != 0
    said[~said.any(axis=1), 0] = True  # every leaf needs a value
    at, target = np.nonzero(said)
    return _ensemble(graph, seen, walked, leaves, at, target, weights[at, target], weights.shape[1])


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
    """Project rows on directions: doubles of shape (n_rows, n_directions).

    Sums are taken in double precision, as in the forest, where the order of the terms does not
    matter: see native/projection.hpp. The forest rounds them to float32; :func:`before_rounding`
    gives thresholds that need no rounding.
    """
    columns, place = np.unique(directions.indices, return_inverse=True)
    picked = rows
    if 2 * len(columns) <= directions.shape[1]:  # a Gather is slower than some columns of zeros
        picked = graph.columns(rows, columns)
        shape = (directions.shape[0], len(columns))
        directions = csr_array((directions.data, place, directions.indptr), shape=shape)
    if directions.shape[1] > SPARSE_FROM * np.diff(directions.indptr).max():
        return _sparse_product(graph, directions, picked)
    return graph.add("MatMul", picked, graph.constant(directions.toarray().T))


def before_rounding(threshold: np.ndarray) -> np.ndarray:
    """Return the largest doubles that are at most ``threshold`` after rounding to float32.

    A value rounded to float32 is at most the threshold if and only if the value itself is at most
    the returned double.
    """
    threshold = np.asarray(threshold, np.float32)
    exact = threshold.astype(np.float64)
    with np.errstate(over="ignore"):
        below, above = (np.nextafter(threshold, np.float32(end)) for end in (-np.inf, np.inf))
        # The next float of the largest is infinite, but rounding treats it as one step away.
        step = np.where(np.isfinite(above), above - exact, exact - below)
        middle = exact + step / 2
        is_above = middle.astype(np.float32) > threshold
    return np.where(is_above, np.nextafter(middle, -np.inf), middle)


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


def _walked(
    forest: Forest, trees: range, feature, opposite: np.ndarray | None = None
) -> tuple[dict[str, Any], _Leaves]:
    """Node attributes of a TreeEnsemble operator, and the leaves; nodes count within their tree.

    ``opposite``: where the operator will see the negative value; None: it sees float32 values.
    Otherwise it sees doubles that are not rounded.
    """
    ends = np.append(forest.roots, len(forest.nodes)).astype(np.int64)
    start, sizes = ends[trees.start], np.diff(ends[trees.start : trees.stop + 1])
    nodes = forest.nodes[start : ends[trees.stop]]
    tree = np.repeat(np.arange(len(trees)), sizes)
    root = ends[trees.start + tree]
    within = start + np.arange(len(nodes)) - root
    leaf = nodes["feature"] == -1
    children = np.stack([nodes["left"], nodes["right"]], axis=1)
    threshold = np.where(leaf, np.float32(0), nodes["threshold"])
    if opposite is not None:
        threshold = before_rounding(threshold)
        # -v <= t on the left is v < -t on the right.
        threshold[opposite] = np.nextafter(-threshold[opposite], -np.inf)
        children[opposite] = children[opposite, ::-1]
    # XGBoost leaves nodes behind that it has pruned: nobody's children.
    known = within == 0
    known[(children[~leaf] - start).ravel()] = True
    child = np.where(leaf[:, None], 0, children - root[:, None])[known]
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
    return walked, leaves


def _ensemble(graph, rows, walked, leaves: _Leaves, at, target, weights, n_targets) -> str:
    """Add a TreeEnsembleRegressor: leaf ``at[k]`` adds ``weights[k]`` to output ``target[k]``."""
    attributes = walked | {
        "target_treeids": leaves.tree[at],
        "target_nodeids": leaves.node[at],
        "target_ids": target,
        "target_weights": weights,
    }
    given = {name: values.tolist() for name, values in attributes.items()}
    if walked["nodes_values"].dtype == np.float64:  # attributes are floats, tensors may be doubles
        for name in ("nodes_values", "target_weights"):
            del given[name]
            tensor = graph.onnx.numpy_helper.from_array(attributes[name].astype(np.float64))
            given[f"{name}_as_tensor"] = tensor
    return graph.add_ml(
        "TreeEnsembleRegressor",
        rows,
        n_targets=n_targets,
        aggregate_function="SUM",
        post_transform="NONE",
        **given,
    )
