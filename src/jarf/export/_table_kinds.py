"""The table encoder and its parts in a model file, and their checks."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from jarf.export._checks import require
from jarf.export._kinds import Kind, bytes_of
from jarf.table import (
    ForestFill,
    Levels,
    LinearFill,
    Numbers,
    OneHot,
    Ordered,
    Part,
    TableEncoder,
    TableState,
    TargetMeans,
)


def table_kinds() -> list[Kind]:
    """List the classes of the table stage."""
    numbers = {"fill": "number", "has_apart": "bool", "is_empty": "bool", "kind": "text"}
    numbers |= {"apart": "number", "low": "number"}
    filling = dict.fromkeys(("unit", "mean", "spread", "low", "high"), "vector")
    filling["weights"] = "matrix"
    means = {"levels": "Levels", "class_names": "list", "seed": "count", "means": "matrix"}
    table = {
        "categorical_features": "any",
        "fill_values": "holes",
        "parts": "list|none",
        "filling": "LinearFill|ForestFill|none",
        "classes": "labels|none",
        "seed": "count|none",
    }
    return [
        Kind(Numbers, numbers, _check_numbers),
        Kind(Levels, {"codes": "dict", "label": "text"}, _check_levels),
        Kind(OneHot, {"levels": "Levels"}),
        Kind(Ordered, {"levels": "Levels", "has_missing": "bool"}),
        Kind(TargetMeans, means, _check_means),
        Kind(LinearFill, filling, _check_filling),
        Kind(ForestFill, {**filling, "forests": "dict"}, _check_forest_fill),
        _TableKind(TableEncoder, table, _check_filled),
    ]


class _TableKind(Kind):
    """The encoded columns are derived from the parts, not read from the file."""

    def state(self, value: TableEncoder) -> dict[str, Any]:
        state = value.state()
        return {field.name: getattr(state, field.name) for field in fields(state)}

    def cost(self, state: dict[str, Any]) -> int:
        return super().cost(state) + 8 * bytes_of(state)  # kinds and columns of the encoded columns

    def make(self, state: dict[str, Any]) -> TableEncoder:
        found = TableState(**state)
        require(len(found.fill_values) > 0, "a table without columns")
        if found.parts is None:
            require(np.isfinite(found.fill_values).all(), "a table without fill values")
        else:
            known = all(isinstance(part, Part) for part in found.parts)
            fits = 0 < len(found.parts) == len(found.fill_values)
            require(known and fits, "a table's columns are wrong")
        return TableEncoder.of_state(found)


def _check_filled(table: TableEncoder) -> None:
    filling = table.filling_
    fits = filling is None or len(filling.mean) == len(table.number_columns_)
    require(fits, "the filling does not match the columns of the table")


def _check_numbers(part: Numbers) -> None:
    require(part.kind in ("number", "level"), "a column of unknown kind")
    require(np.isfinite(part.fill), "a fill value is not a number")
    require(not part.has_apart or np.isfinite(part.apart), "missing values have no replacement")


def _check_levels(levels: Levels) -> None:
    fine = list(levels.codes.values()) == list(range(len(levels.codes)))
    require(fine and len(levels.codes) > 0, "the levels of a category are not numbered")
    plain = all(level is None or isinstance(level, str | float | int) for level in levels.codes)
    require(plain, "a level is neither text nor a number")


def _check_means(part: TargetMeans) -> None:
    shape = (len(part.levels) + 1, len(part.class_names))
    fits = part.means.shape == shape and shape[1] > 0
    require(fits, "target means and levels differ in number")
    require(all(isinstance(name, str) for name in part.class_names), "a class without a name")


def _check_filling(filling: LinearFill) -> None:
    d = len(filling.mean)
    sizes = {len(getattr(filling, name)) for name in ("unit", "spread", "low", "high")}
    require(sizes == {d} and filling.weights.shape == (d, d), "the filling's shapes are wrong")
    require((filling.unit != 0).all() and (filling.spread != 0).all(), "the filling's units are 0")


def _check_forest_fill(filling: ForestFill) -> None:
    _check_filling(filling)
    d = len(filling.mean)
    for j, forest in filling.forests.items():
        fine = isinstance(j, int) and 0 <= j < d and isinstance(forest, ExtraTreesRegressor)
        require(
            fine and forest.n_features_in_ == d - 1,
            "a filling forest does not match the columns of the table",
        )
