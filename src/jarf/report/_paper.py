"""The paper's printed numbers, and how a table of ours is set beside them."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from importlib.resources import files
from typing import Any

from jarf.bench import ResultTable

__all__ = ["beside_paper", "paper_cell", "paper_reference"]


@lru_cache(maxsize=1)
def _paper() -> dict[str, Any]:
    text = files("jarf.report").joinpath("paper.json").read_text(encoding="utf-8")
    return json.loads(text)["tables"]


def paper_cell(table: str, row: str, column: str) -> dict[str, Any] | None:
    """A printed number: ``value`` and, where printed, ``se`` and ``mark``.

    Examples
    --------
    >>> from jarf.report import paper_cell
    >>> paper_cell("classification", "adult", "JARF")
    {'value': 0.72, 'se': 0.0063}
    """
    return _paper().get(table, {}).get("cells", {}).get(row, {}).get(column)


def paper_reference(table: str) -> str:
    """Where in the paper the numbers of a table stand, or an empty text."""
    return _paper().get(table, {}).get("reference", "")


def beside_paper(table: ResultTable) -> dict[str, Any]:
    """A plain dict of a table, each cell with our number, the paper's and the difference."""
    rows: list[dict[str, Any]] = []
    for row in table.rows:
        cells = {}
        for column in table.columns:
            cell = _joined(table, row.key, column.key)
            if cell:
                cells[column.key] = cell
        rows.append(
            {"key": row.key, "kind": row.kind, "label": row.label or row.key, "cells": cells}
        )
    if table.best_by_row:
        for row_dict in rows:
            if row_dict["kind"] == "dataset":
                _mark_best(row_dict["cells"], [c.key for c in table.columns if c.kind == "method"])
    return {
        "id": table.id,
        "title": table.title,
        "reference": paper_reference(table.id),
        "row_header": table.row_header,
        "columns": [
            {
                "key": column.key,
                "kind": column.kind,
                "name": column.name or column.key,
                "label": column.label or column.key,
                "digits": column.digits,
                "better": column.better,
            }
            for column in table.columns
        ],
        "rows": rows,
        "notes": table.notes,
    }


def _joined(table: ResultTable, row: str, column: str) -> dict[str, Any]:
    ours, printed = table.cells.get((row, column)), paper_cell(table.id, row, column)
    cell: dict[str, Any] = {}
    if ours is not None:
        se = None if ours.se is None or math.isnan(ours.se) else ours.se
        cell = {"ours": ours.value, "se": se, "n": ours.n, "mark": ours.mark}
    if printed is not None:
        cell["paper"] = printed["value"]
        cell["paper_se"] = printed.get("se")
        cell["paper_mark"] = printed.get("mark", "")
    if ours is not None and printed is not None:
        cell["difference"] = ours.value - printed["value"]
    return cell


def _mark_best(cells: dict[str, dict[str, Any]], methods: list[str]) -> None:
    """Mark the highest of each row, ours and the paper's apart."""
    for name, mark in (("ours", "best"), ("paper", "paper_best")):
        values = {m: round(cells[m][name], 3) for m in methods if name in cells.get(m, {})}
        for method, value in values.items():
            if value == max(values.values()):
                cells[method][mark] = True
