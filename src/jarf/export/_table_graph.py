"""The table stage as ONNX operators: levels, target means, missing values."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from jarf.export._graph import Graph
from jarf.inspection._models import column_names
from jarf.table import TableEncoder
from jarf.table._filling import N_SWEEPS, LinearFill
from jarf.table._parts import Levels, Numbers, OneHot, TargetMeans

# How a missing text is written: ONNX's strings have no sign for it.
MISSING_TEXT = ""


def has_text(table: TableEncoder) -> bool:
    """Whether any column holds text, so that every column is an input of its own."""
    return any(_is_text(part) for part in table._parts or [])


def _is_text(part: Any) -> bool:
    return hasattr(part, "levels") and part.levels.text


def table_graph(graph: Graph, model: Any) -> str:
    """Add inputs and encoding; return the name of the encoded (n_rows, n_outputs) doubles.

    Parameters
    ----------
    graph : Graph
    model : estimator

    Returns
    -------
    str
    """
    table: TableEncoder = model.table_
    if has_text(table):
        columns = [
            graph.input(str(name), "string" if _is_text(part) else "double", 1)
            for name, part in zip(column_names(model), table._all_parts(), strict=True)
        ]
    else:
        rows = graph.input("X", "double", model.n_features_in_)
        if table.is_identity_:
            return _filled(graph, rows, table.fill_values_)
        columns = [graph.columns(rows, [j]) for j in range(model.n_features_in_)]
    blocks = [
        _encode(graph, part, column)
        for part, column in zip(table._all_parts(), columns, strict=True)
    ]
    filling = getattr(table, "_filling", None)
    if filling is not None:
        _refill(graph, filling, table._numbers, columns, blocks)
    return graph.add("Concat", *[output for block in blocks for output in block], axis=1)


def _filled(graph: Graph, column: str, fill: Any) -> str:
    missing = graph.add("IsNaN", column)
    return graph.add("Where", missing, graph.constant(fill, np.float64), column)


def _encode(graph: Graph, part: Any, column: str) -> list[str]:
    if isinstance(part, OneHot):
        return [_one_hot(graph, part.levels, column)]
    if isinstance(part, TargetMeans):
        return [_target_means(graph, part, column)]
    assert isinstance(part, Numbers)
    if part.is_empty:
        zero = graph.constant([0.0])
        return [graph.add("Where", graph.add("IsNaN", column), zero, zero)]
    outputs = [_filled(graph, column, part.fill)]
    if part.has_apart:
        outputs.append(_filled(graph, column, part.apart))
    return outputs


def _one_hot(graph: Graph, levels: Levels, column: str) -> str:
    """(n_rows, n_levels) of zeros and ones; an unknown level is all zeros."""
    if levels.text:
        known = graph.add_ml("OneHotEncoder", column, cats_strings=_texts(levels), zeros=1)
        flat = graph.add("Reshape", known, graph.constant([-1, len(levels)], np.int64))
        return graph.cast(flat, "double")
    return graph.cast(_is_level(graph, levels, column), "double")


def _is_level(graph: Graph, levels: Levels, column: str) -> str:
    """Compare numbers with the levels, of which NaN may be one: (n_rows, n_levels) of bool."""
    known = [level for level in levels.codes if level is not None]
    if not all(isinstance(level, Real) for level in known):
        raise ValueError(
            f"The {levels.label} has levels that are neither text nor numbers: ONNX has no such "
            "inputs. Convert it to text before fitting."
        )
    parts = [graph.add("Equal", column, graph.constant([known], np.float64))] if known else []
    if None in levels.codes:  # always the last one
        parts.append(graph.add("IsNaN", column))
    return parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)


def _texts(levels: Levels) -> list[str]:
    """The levels as strings; a missing value is the empty one."""
    if MISSING_TEXT in levels.codes and None in levels.codes:
        raise ValueError(
            f"The {levels.label} has missing values and the empty text as a level: ONNX cannot "
            "tell them apart. Replace one of them before fitting."
        )
    return [MISSING_TEXT if level is None else level for level in levels.codes]


def _target_means(graph: Graph, part: TargetMeans, column: str) -> str:
    n_levels = len(part.levels)
    if part.levels.text:
        texts = _texts(part.levels)
        code = graph.add_ml(
            "LabelEncoder",
            column,
            keys_strings=texts,
            values_int64s=list(range(n_levels)),
            default_int64=n_levels,
        )
        code = graph.add("Reshape", code, graph.constant([-1], np.int64))
    else:
        found = graph.cast(_is_level(graph, part.levels, column), "float")
        none = graph.add("ReduceSum", found, graph.constant([1], np.int64), keepdims=1)
        unknown = graph.add("Sub", graph.constant([1.0], np.float32), none)
        both = graph.add("Concat", found, unknown, axis=1)
        code = graph.add("ArgMax", both, axis=1, keepdims=0)
    return graph.add("Gather", graph.constant(part.means, np.float64), code, axis=0)


def _refill(graph: Graph, filling: LinearFill, numbers, columns, blocks) -> None:
    """Replace the medians in the numbers' first outputs by guesses from the other numbers."""
    values = graph.add("Concat", *[columns[j] for j in numbers], axis=1)
    missing = graph.add("IsNaN", values)
    filled = graph.add("Where", missing, _guess(graph, filling, values, missing), values)
    for place, j in enumerate(numbers):
        blocks[j][0] = graph.columns(filled, [place])


def _guess(graph: Graph, filling: LinearFill, values: str, missing: str) -> str:
    """Sweep over the columns: a missing one becomes its regression on all others."""

    def number(value: Any) -> str:
        return graph.constant(value, np.float64)

    scaled = graph.add("Div", values, number(filling.unit))
    centred = graph.add("Sub", scaled, number(filling.mean))
    start = graph.add("Div", centred, number(filling.spread))
    start = graph.add("Where", missing, number(0.0), start)
    start = graph.add("Clip", start, number(-1e6), number(1e6))
    d = len(filling.mean)
    weights = number(np.tile(filling.weights.T[:, :, None], (N_SWEEPS, 1, 1)))
    places = graph.constant(np.tile(np.eye(d, dtype=bool)[:, None, :], (N_SWEEPS, 1, 1)))
    out, weight, place = graph.name("filled"), graph.name("weights"), graph.name("place")
    make = graph.onnx.helper.make_node
    body = [
        make("MatMul", [f"{out}_before", weight], [f"{out}_guess"]),
        make("And", [missing, place], [f"{out}_where"]),
        make("Where", [f"{out}_where", f"{out}_guess", f"{out}_before"], [out]),
    ]
    swept = graph.scan(body, start, out, [(weights, weight), (places, place)], "double")
    spread = graph.add("Mul", swept, number(filling.spread))
    moved = graph.add("Add", spread, number(filling.mean))
    guess = graph.add("Mul", moved, number(filling.unit))
    low = graph.add("Max", guess, number(filling.low))
    return graph.add("Min", low, number(filling.high))
