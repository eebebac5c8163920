"""Directions in ONNX round as in the forest, however their terms are added."""

import math

import numpy as np
import pytest

from jarf.export._graph import Graph
from jarf.export._trees_graph import _Directions, before_rounding, trees_graph
from jarf.inspection._trees import Part, Trees
from jarf.trees import NODE, Forest

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
N = 60


def stumps(thresholds, columns, loadings, n_features):
    """Return a tree of one oblique cut per threshold; tree k answers 1 in output k at its left."""
    nodes = []
    for k, threshold in enumerate(thresholds):
        nodes.append((-2 - k, threshold, 3 * k + 1, 3 * k + 2))
        nodes += [(-1, 0, 2 * k, 0), (-1, 0, 2 * k + 1, 0)]
    values = np.stack([np.eye(N), np.zeros((N, N))], axis=1).reshape(-1, N)
    forest = Forest.of_axes(
        np.array(nodes, NODE), 3 * np.arange(N), values, n_features, averaged=False
    )
    forest.starts = np.arange(0, columns.size + 1, columns.shape[1], dtype=np.int32)
    forest.features, forest.loadings = columns.ravel(), loadings.ravel()
    return forest


def answers(forest, rows):
    """Return onnxruntime's predictions of a forest, and the operators of the graph."""
    graph = Graph()
    graph.input("X", "double", forest.n_features)
    graph.add("Identity", trees_graph(graph, Trees([Part(None, forest)]), "X", False), name="y")
    model = graph.model([("y", graph.onnx.TensorProto.DOUBLE, [None, forest.n_raw])])
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {"X": rows.astype(np.float64)})[0]
    return found, {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(
    ("n_features", "n_terms", "operator"),
    [
        (3, 2, "MatMul"),
        (12, 7, "MatMul"),
        (40, 40, "MatMul"),
        (200, 1, "Transpose"),
        (200, 3, "Scan"),
        (900, 18, "Scan"),
    ],
)
def test_rows_on_thresholds_go_the_same_way(n_features, n_terms, operator, sign, above):
    """Row k lies on the threshold of tree k, or the next float above it."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, n_features)).astype(np.float32)
    columns = np.array([rng.permutation(n_features)[:n_terms] for _ in rows], np.int32)
    loadings = sign * rng.uniform(1, 2, size=columns.shape).astype(np.float32)
    for row, places in zip(rows, columns, strict=True):
        row[places[-1]] -= 100 * row[places[0]]  # digits cancel
    terms = loadings.astype(float) * np.take_along_axis(rows, columns, axis=1)
    thresholds = np.array([math.fsum(row) for row in terms], np.float32)
    if above:
        thresholds = np.nextafter(thresholds, np.float32(-np.inf))
    forest = stumps(thresholds, columns, loadings, n_features)
    found, operators = answers(forest, rows)
    assert operator in operators
    np.testing.assert_array_equal(found, forest.predict(rows))
    np.testing.assert_array_equal(np.diag(found), 0.0 if above else 1.0)


LARGEST, SMALLEST = np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("size", [0, SMALLEST, 3 * SMALLEST, 1, 1 + 2**-23, 1 / 3, 7e30, LARGEST])
def test_thresholds_of_doubles_decide_as_rounded_values_do(size, sign):
    """Look at the threshold itself, halfway to its neighbours, and one double beside these."""
    threshold = np.float32(sign * size)
    limit = before_rounding(threshold)
    with np.errstate(over="ignore"):
        near = [np.nextafter(threshold, np.float32(end)) for end in (-np.inf, np.inf)]
        middle = [(np.float64(threshold) + np.float64(other)) / 2 for other in near]
        values = np.array([threshold, limit, *near, *middle], np.float64)
        values = np.concatenate([values, *(np.nextafter(values, end) for end in (-np.inf, np.inf))])
        rounded = values.astype(np.float32)
        next_one = np.nextafter(limit, np.inf).astype(np.float32)
    np.testing.assert_array_equal(values <= limit, rounded <= threshold)
    assert np.float32(limit) == threshold
    assert next_one > threshold


def test_ties_of_two_classes_stay_ties():
    """Shares of a third and two thirds have no exact float32, but mirror images cancel."""
    trees, share = 3 * N, 1 / 3
    nodes = [(-1, 0, k, 0) for k in range(2 * trees)]
    first = np.tile([share, 1 - share], trees)
    values = np.column_stack([first, 1 - first])
    roots = np.arange(2 * trees)
    forest = Forest.of_axes(np.array(nodes, NODE), roots, values, 2, averaged=True)
    found, _ = answers(forest, np.zeros((4, 2), np.float32))
    np.testing.assert_array_equal(found, 0.5)


def test_equal_and_opposite_directions_are_computed_once():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3)).astype(np.float32)
    columns = np.tile(np.array([[0, 2], [2, 0]], np.int32), (N // 2, 1))
    loadings = np.tile(np.array([[1, -0.3], [-0.3, 1]], np.float32), (N // 2, 1))
    loadings[N // 2 :] *= -1
    forest = stumps(rng.normal(size=N), columns, loadings, 3)
    directions = _Directions.of(forest)
    assert directions.distinct.shape == (1, 3)
    assert np.count_nonzero(directions.opposite) == N // 2
    np.testing.assert_array_equal(answers(forest, rows)[0], forest.predict(rows))
