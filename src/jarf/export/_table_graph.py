"""The table stage as ONNX operators: levels, target means, missing values."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from jarf.ensemble import TreeEnsemble
from jarf.export._filling_graph import filling_graph
from jarf.export._graph import Graph
from jarf.inspection import column_names
from jarf.table import Levels, Numbers, OneHot, Ordered, TableEncoder, TargetMeans

# Stands for missing text, which ONNX strings cannot represent.
MISSING_TEXT = ""


def has_text(table: TableEncoder) -> bool:
    """Return whether any column holds text, so that every column is a separate input."""
    return any(_is_text(part) for part in table.parts()) if table.levels_ else False


def _is_text(part: Any) -> bool:
    return hasattr(part, "levels") and part.levels.text


def table_graph(graph: Graph, model: Any) -> str:
    """Add inputs and encoding; return the name of the encoded (n_rows, n_encoded) doubles.

    Parameters
    ----------
    graph : Graph
    model : estimator

    Returns
    -------
    str
    """
    table: TableEncoder = model.table_
    parts = table.parts()
    if has_text(table):
        columns = [
            graph.input(str(name), "string" if _is_text(part) else "double", 1)
            for name, part in zip(column_names(model), parts, strict=True)
        ]
    else:
        rows = graph.input("X", "double", model.n_features_in_)
        if table.is_identity_:
            return _numbers(graph, table, _rounded(graph, model, rows))
        columns = [graph.columns(rows, [j]) for j in range(model.n_features_in_)]
    columns = [
        _rounded(graph, model, column) if isinstance(part, Numbers) else column
        for part, column in zip(parts, columns, strict=True)
    ]
    blocks = [_encode(graph, part, column) for part, column in zip(parts, columns, strict=True)]
    if table.filling_ is not None:
        values = graph.add("Concat", *[columns[j] for j in table.number_columns_], axis=1)
        filled = filling_graph(graph, table.filling_, values)
        for place, j in enumerate(table.number_columns_):
            blocks[j][0] = graph.columns(filled, [place])
    return graph.add("Concat", *[output for block in blocks for output in block], axis=1)


def _rounded(graph: Graph, model: Any, column: str) -> str:
    """Round numbers to float32 if the model does."""
    if not isinstance(model, TreeEnsemble):
        return column
    return graph.cast(graph.cast(column, "float"), "double")


def _numbers(graph: Graph, table: TableEncoder, rows: str) -> str:
    """Impute a table of numbers that had no missing values in training."""
    if table.filling_ is None:
        return _filled(graph, rows, table.fill_values_)
    return filling_graph(graph, table.filling_, rows)


def _filled(graph: Graph, column: str, fill: Any) -> str:
    missing = graph.add("IsNaN", column)
    return graph.add("Where", missing, graph.constant(fill, np.float64), column)


def _encode(graph: Graph, part: Any, column: str) -> list[str]:
    if isinstance(part, OneHot):
        return [_one_hot(graph, part.levels, column)]
    if isinstance(part, TargetMeans):
        return [_target_means(graph, part, column)]
    if isinstance(part, Ordered):
        return [_places(graph, part.levels, column)]
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


def _places(graph: Graph, levels: Levels, column: str) -> str:
    """(n_rows, 1): the place of the level, -1 where it is missing or unknown."""
    if levels.text:
        places = graph.add_ml(
            "LabelEncoder",
            column,
            keys_strings=_texts(levels, may_miss=True),
            values_int64s=list(range(len(levels))),
            default_int64=-1,
        )
        return graph.cast(places, "double")
    found = graph.cast(_is_level(graph, levels, column), "double")
    place = graph.constant(np.arange(1.0, len(levels) + 1)[:, None])
    return graph.add("Sub", graph.add("MatMul", found, place), graph.constant([1.0]))


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


def _texts(levels: Levels, may_miss: bool = False) -> list[str]:
    """The levels as strings; a missing value is the empty one."""
    if MISSING_TEXT in levels.codes and (may_miss or None in levels.codes):
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
