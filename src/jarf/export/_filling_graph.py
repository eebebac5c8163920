"""Imputation of missing numbers as ONNX operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.export._graph import Graph
from jarf.export._trees_graph import mean_graph
from jarf.inspection import forest_of
from jarf.table import N_FOREST_SWEEPS, N_SWEEPS, ForestFill, LinearFill


def filling_graph(graph: Graph, filling: LinearFill, values: str) -> str:
    """Impute missing numbers in doubles (n_rows, n_columns); complete rows cost nothing.

    Parameters
    ----------
    graph : Graph
    filling : LinearFill or ForestFill
    values : str

    Returns
    -------
    str
    """
    missing = graph.add("IsNaN", values)
    count = graph.add("ReduceSum", graph.cast(missing, "float"), keepdims=0)
    return graph.when(
        graph.cast(count, "bool"),
        lambda: graph.add("Where", missing, _guess(graph, filling, values, missing), values),
        values,
        "double",
    )


def _guess(graph: Graph, filling: LinearFill, values: str, missing: str) -> str:
    def number(value: Any) -> str:
        return graph.constant(value, np.float64)

    scaled = graph.add("Div", values, number(filling.unit))
    centred = graph.add("Sub", scaled, number(filling.mean))
    start = graph.add("Div", centred, number(filling.spread))
    start = graph.add("Where", missing, number(0.0), start)
    start = graph.add("Clip", start, number(-1e6), number(1e6))
    swept = _regressed(graph, filling, start, missing)
    if isinstance(filling, ForestFill):
        swept = _improved(graph, filling, swept, missing)
    spread = graph.add("Mul", swept, number(filling.spread))
    moved = graph.add("Add", spread, number(filling.mean))
    guess = graph.add("Mul", moved, number(filling.unit))
    low = graph.add("Max", guess, number(filling.low))
    return graph.add("Min", low, number(filling.high))


def _regressed(graph: Graph, filling: LinearFill, start: str, missing: str) -> str:
    """Sweep over the columns: a missing value becomes its regression on all others."""
    d = len(filling.mean)
    weights = graph.constant(np.tile(filling.weights.T[:, :, None], (N_SWEEPS, 1, 1)))
    places = graph.constant(np.tile(np.eye(d, dtype=bool)[:, None, :], (N_SWEEPS, 1, 1)))

    def step(before: str, weight: str, place: str) -> str:
        where = graph.add("And", missing, place)
        return graph.add("Where", where, graph.add("MatMul", before, weight), before)

    return graph.scan(start, "double", [weights, places], step)


def _improved(graph: Graph, filling: ForestFill, start: str, missing: str) -> str:
    """Sweep over the columns with a forest: a missing value becomes its prediction."""
    d = len(filling.mean)

    def step(before: str, _: str) -> str:
        for j, forest in filling.forests.items():
            others = graph.columns(before, np.delete(np.arange(d), j))
            answer = mean_graph(graph, forest_of(forest), graph.cast(others, "float"))
            where = graph.add("And", missing, graph.constant(np.arange(d) == j))
            before = graph.add("Where", where, answer, before)
        return before

    return graph.scan(start, "double", [graph.constant(np.arange(N_FOREST_SWEEPS))], step)
