"""Columns of a user's table: types that every method can take, and columns to beware of."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Cleaned", "clean_columns", "target_copies"]

_ID_NAME = re.compile(r"(^|[^a-z])(id|key|index|uuid|guid|row|unnamed)([^a-z]|$)", re.IGNORECASE)


@dataclass
class Cleaned:
    """Columns that are left, and what was said about the others."""

    X: Any
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def clean_columns(frame: Any) -> Cleaned:
    """Numbers as floats or integers, dates as days, all else as categories.

    Columns of one value and names that never repeat are left out: no rule learned from them
    could apply to another row. Numbers that look like an id are kept, with a warning.
    """
    import pandas as pd

    kept, notes, warnings = {}, [], []
    left_out: dict[str, list[str]] = {"one value": [], "a name for every row": []}
    dates: list[str] = []
    infinite: list[str] = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind in "mM":
            column, dates = _days(column), [*dates, name]
        elif column.dtype.kind in "iuf":
            column = _plain_numbers(column)
            if np.isinf(column.to_numpy()).any():
                column, infinite = column.replace([np.inf, -np.inf], np.nan), [*infinite, name]
        elif column.dtype == object:
            column = _hashable(column)
        n_values = column.nunique(dropna=False)
        if n_values == 1:
            left_out["one value"].append(name)
        elif column.dtype.kind not in "iufb" and n_values == len(column):
            left_out["a name for every row"].append(name)
        else:
            kept[name] = column
            if _looks_like_id(name, column):
                warnings.append(
                    f"{name!r} looks like an id or a row number; if it is, --drop {name}"
                )
    notes += [f"Left out, {why}: {', '.join(names)}." for why, names in left_out.items() if names]
    if dates:
        notes.append(f"Dates, taken as days: {', '.join(dates)}.")
    if infinite:
        notes.append(f"Infinite numbers, taken as missing: {', '.join(infinite)}.")
    return Cleaned(pd.DataFrame(kept, index=frame.index), notes, warnings)


def _plain_numbers(column: Any) -> Any:
    """NumPy numbers out of pandas' or Arrow's own types; missing values make them floats."""
    if isinstance(column.dtype, np.dtype):
        return column
    kind: Any = np.float64 if column.isna().any() or column.dtype.kind == "f" else np.int64
    return column.astype(kind)


def _days(column: Any) -> Any:
    """Days since 1970, or days of a time span."""
    import pandas as pd

    if column.dtype.kind == "M":
        column = column - pd.Timestamp(0, tz=getattr(column.dtype, "tz", None))
    return column / pd.Timedelta(days=1)


def _hashable(column: Any) -> Any:
    """Lists and the like as text."""
    try:
        column.nunique()
    except TypeError:
        return column.astype(str)
    return column


def _looks_like_id(name: str, column: Any) -> bool:
    """Whole numbers, none twice, that count the rows or are called an id."""
    if column.dtype.kind not in "iu" or column.nunique() < len(column):
        return False
    dense = int(column.max()) - int(column.min()) < 2 * len(column)
    return dense or _ID_NAME.search(name) is not None


def target_copies(X: Any, y: np.ndarray, task: str) -> list[str]:
    """Columns that are the target under another name, coding or unit."""
    same = _same_numbers if task == "regression" else _same_classes
    return [name for name in X.columns if same(X[name], y)]


def _same_classes(column: Any, y: np.ndarray) -> bool:
    """Whether both cut the rows into the same groups."""
    codes = np.unique(y, return_inverse=True)[1]
    n = codes.max() + 1
    if column.nunique(dropna=False) != n:
        return False
    other = np.unique(column.astype(str).to_numpy(dtype=str), return_inverse=True)[1]
    return len(np.unique(codes * n + other)) == n


def _same_numbers(column: Any, y: np.ndarray) -> bool:
    """Whether one is the other, scaled and shifted."""
    if column.dtype.kind not in "iuf":
        return False
    values = column.to_numpy(dtype=float)
    if not np.isfinite(values).all() or np.ptp(values) == 0:
        return False
    return bool(abs(np.corrcoef(values, y)[0, 1]) > 1 - 1e-12)
