"""The paper's printed numbers, and their place next to ours in a table."""

from __future__ import annotations

import json
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
    """Return where in the paper the numbers of a table are, or an empty string."""
    return _paper().get(table, {}).get("reference", "")


def beside_paper(table: ResultTable) -> dict[str, Any]:
    """Return a table as a plain dict, each cell with our number, the paper's and the difference."""
    made = {**table.as_dict(), "reference": paper_reference(table.id)}
    for row in made["rows"]:
        cells = {c.key: _joined(table.id, row["key"], c.key, row["cells"]) for c in table.columns}
        row["cells"] = {key: cell for key, cell in cells.items() if cell}
        if table.best_by_row and row["kind"] == "dataset":
            _mark_best(row["cells"], {c.key: c.better for c in table.columns if c.kind == "method"})
    return made


def _joined(table: str, row: str, column: str, cells: dict[str, Any]) -> dict[str, Any]:
    cell, printed = dict(cells.get(column, {})), paper_cell(table, row, column)
    if printed is not None:
        if cell:
            cell["difference"] = cell["ours"] - printed["value"]
        cell["paper"] = printed["value"]
        cell["paper_se"] = printed.get("se")
        cell["paper_mark"] = printed.get("mark", "")
    return cell


def _mark_best(cells: dict[str, dict[str, Any]], methods: dict[str, str]) -> None:
    """Mark the best of each row, ours and the paper's apart; methods map to the good end."""
    top = min if "low" in methods.values() else max
    for name, mark in (("ours", "best"), ("paper", "paper_best")):
        values = {m: round(cells[m][name], 3) for m in methods if name in cells.get(m, {})}
        for method, value in values.items():
            if value == top(values.values()):
                cells[method][mark] = True
