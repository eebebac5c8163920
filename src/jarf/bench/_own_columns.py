"""Columns of a user's table: types that every method accepts, and suspicious columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jarf.bench._errors import drop_hint
from jarf.bench._own_text import calendar_code, calendar_columns, read_text

__all__ = ["Cleaned", "clean_columns", "is_text"]

_ID_NAME = re.compile(r"(^|[^a-z])(id|key|index|uuid|guid|row|unnamed)([^a-z]|$)", re.IGNORECASE)


@dataclass
class Cleaned:
    """The columns that are used, and notes about the others."""

    X: Any
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    converted: list[str] = field(default_factory=list)  # lines of code
    origins: dict[str, str] = field(default_factory=dict)  # parts of dates -> columns of the table


def clean_columns(frame: Any) -> Cleaned:
    """Convert numbers to floats or integers, dates to days, and everything else to categories.

    Text that holds amounts or dates is read as such. Columns of one value and text that never
    repeats are left out: no rule learned from them could apply to another row. Numbers that look
    like an id are kept, with a warning.
    """
    import pandas as pd

    kept: dict[str, Any] = {}
    origins: dict[str, str] = {}
    said = _Said()
    for name in frame.columns:
        for part, column in _typed(name, frame[name], said).items():
            n_values = column.nunique(dropna=False)
            if n_values == 1:
                said.constant.append(part)
            elif column.dtype.kind not in "iufb" and n_values == len(column):
                said.unique.append(part)
            elif part in kept or (part != name and part in frame.columns):
                said.warnings.append(f"{part!r}, a part of a date, is the name of another column")
            else:
                kept[part], origins[part] = column, name
                if part == name and _looks_like_id(name, column):
                    said.warnings.append(
                        f"{name!r} looks like an id or a row number; if it is, {drop_hint([name])}"
                    )
    return Cleaned(
        pd.DataFrame(kept, index=frame.index),
        said.notes(),
        said.warnings,
        said.code,
        origins,
    )


@dataclass
class _Said:
    """Notes about columns, by kind."""

    constant: list[str] = field(default_factory=list)
    unique: list[str] = field(default_factory=list)
    amounts: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    infinite: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        """Return one sentence per kind that occurred."""
        kinds = {
            "Left out, constant": self.constant,
            "Left out, text that differs in every row": self.unique,
            "Text read as numbers": self.amounts,
            "Dates, converted to days": self.dates,
            "Parts of dates, added as columns": self.parts,
            "Infinite numbers, treated as missing": self.infinite,
        }
        return [f"{what}: {', '.join(names)}." for what, names in kinds.items() if names]


def _typed(name: str, column: Any, said: _Said) -> dict[str, Any]:
    """Return the columns that replace a column: itself, or days and parts of the calendar."""
    place = code = f"table[{name!r}]"
    if column.dtype == object:
        column = _hashable(column)
    if is_text(column):
        read = read_text(column)
        column = read.values
        code = read.code.format(column=code)
        if read.kind == "number":
            said.amounts.append(name)
            said.code.append(f"{place} = {code}")
        if read.guess:
            said.warnings.append(
                f"the dates in {name!r} ({read.example}) are ambiguous between day and month; they "
                "are read "
                f"{read.guess}"
            )
    if column.dtype.kind in "mM":
        parts = calendar_columns(name, column)
        said.dates.append(name)
        said.parts += [part for part in parts if part != name]
        said.code += calendar_code(name, column, code, list(parts))
        return parts
    if column.dtype.kind in "iuf":
        column = _plain_numbers(column)
        if np.isinf(column.to_numpy()).any():
            column = column.replace([np.inf, -np.inf], np.nan)
            said.infinite.append(name)
    return {name: column}


def is_text(column: Any) -> bool:
    """Return whether a column may hold text; pandas categories are kept as they are."""
    import pandas as pd

    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    return not is_category and (column.dtype == object or pd.api.types.is_string_dtype(column))


def _plain_numbers(column: Any) -> Any:
    """Convert pandas or Arrow types to NumPy numbers; missing values make them floats."""
    if isinstance(column.dtype, np.dtype):
        return column
    kind: Any = np.float64 if column.isna().any() or column.dtype.kind == "f" else np.int64
    return column.astype(kind)


def _hashable(column: Any) -> Any:
    """Convert unhashable values such as lists to text."""
    try:
        column.nunique()
    except TypeError:
        return column.astype(str)
    return column


def _looks_like_id(name: str, column: Any) -> bool:
    """Return whether distinct integers number the rows or are named like an id."""
    if column.dtype.kind not in "iu" or column.nunique() < len(column):
        return False
    dense = int(column.max()) - int(column.min()) < 2 * len(column)
    return dense or _ID_NAME.search(name) is not None
