"""Directions in ONNX round as in the forest, however their terms are added."""

import math

import numpy as np
import pytest

from jarf.export._graph import Graph
from jarf.export._trees_graph import trees_graph
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
    model = graph.model([("y", graph.onnx.TensorProto.DOUBLE, [None, N])])
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {"X": rows.astype(np.float64)})[0]
    return found, {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("above", [False, True])
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
def test_rows_on_thresholds_go_the_same_way(n_features, n_terms, operator, above):
    """Row k lies on the threshold of tree k, or the next float above it."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, n_features)).astype(np.float32)
    columns = np.array([rng.permutation(n_features)[:n_terms] for _ in rows], np.int32)
    loadings = rng.uniform(1, 2, size=columns.shape).astype(np.float32)
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
