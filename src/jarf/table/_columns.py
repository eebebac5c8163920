"""Columns of a table: a label for messages, a kind, and values with one marker for missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

_DATES = (date, datetime, time, timedelta, np.datetime64, np.timedelta64)
_DATE_HINT = (
    "Convert it to numbers, such as the year, the month, the day of the week (in pandas: "
    "X[name].dt.year, .dt.month, .dt.day_of_week; in polars: pl.col(name).dt.year(), .dt.month(), "
    ".dt.weekday()) or the days since a date; or drop it."
)
_DURATION_HINT = (
    "Convert it to a number (in pandas: X[name].dt.total_seconds(); in polars: "
    "pl.col(name).dt.total_seconds()), or drop it."
)
_MISSING_TYPES = ("NAType", "NaTType")
_PANDAS_DATES = ("Period",)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    ``kind`` is "number" or "flag" (``values`` is a float array, NaN where missing), "category"
    (a list, None where missing) or "empty" (nothing but missing values). ``order`` holds the levels
    of an ordered category from the lowest to the highest.
    """

    label: str
    kind: str
    values: Any
    order: tuple | None = None

    def __len__(self) -> int:
        return len(self.values)

    def only(self, used: np.ndarray) -> Column:
        """Keep some rows."""
        if isinstance(self.values, list):
            kept = [self.values[i] for i in np.flatnonzero(used)]
            return Column(self.label, self.kind, kept, self.order)
        return Column(self.label, self.kind, self.values[used], self.order)


def is_frame(X) -> bool:
    """Whether ``X`` is a DataFrame: something with named columns and a shape."""
    return hasattr(X, "columns") and hasattr(X, "shape") and not isinstance(X, np.ndarray)


def holds_text(X) -> bool:
    """Whether an array or a list of rows holds strings."""
    if isinstance(X, list | tuple):
        return any(isinstance(row, list | tuple) and _any_text(row) for row in X)
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return False
    return X.dtype.kind in "UST" or (X.dtype.kind == "O" and _any_text(X.ravel()))


def _any_text(values: Iterable) -> bool:
    return any(isinstance(value, str) for value in values)


def holds_odd_objects(X) -> bool:
    """Whether an array of objects, or a list of rows, holds dates, decimals or pandas' NA."""
    if isinstance(X, np.ndarray):
        return X.dtype.kind == "O" and any(map(_is_odd, X.ravel()))
    return any(
        row.dtype.kind in "mM" if isinstance(row, np.ndarray) else any(map(_is_odd, row))
        for row in X
        if isinstance(row, list | tuple | np.ndarray)
    )


def _is_odd(value) -> bool:
    return isinstance(value, (Decimal, *_DATES)) or type(value).__name__ in _MISSING_TYPES


def refuse_dates(label: str, dtype: Any = None) -> None:
    """Raise the error for dates, times and durations, in a column or in all of them."""
    kind = "" if dtype is None else f" ({dtype})"
    if getattr(dtype, "kind", "") == "m" or str(dtype).lower().startswith("duration"):
        raise ValueError(f"The {label} holds durations{kind}. {_DURATION_HINT}")
    raise ValueError(f"The {label} holds dates or times{kind}. {_DATE_HINT}")


def refuse_same_names(X) -> None:
    """Refuse a frame in which two columns have the same name."""
    if getattr(X.columns, "is_unique", False):  # pandas remembers it
        return
    twice = [name for name, times in Counter(list(X.columns)).items() if times > 1]
    if twice:
        raise ValueError(f"The name {twice[0]!r} belongs to more than one column. Rename them.")


def or_none(values: list, missing: np.ndarray) -> list:
    """Replace missing values by None."""
    if not missing.any():
        return values
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]


def as_floats(values: np.ndarray, narrow: bool = False) -> np.ndarray:
    """Return numbers as float64, or float32 as it is where ``narrow`` is set."""
    if narrow and values.dtype == np.float32:
        return values
    return np.asarray(values, dtype=np.float64)


def empty_column(label: str, n_rows: int) -> Column:
    """Return a column of nothing but missing values."""
    return Column(label, "empty", np.full(n_rows, np.nan))


def read_objects(label: str, values: list) -> Column:
    """Determine the kind of a column of Python objects from their types."""
    values = [None if is_missing(value) else value for value in values]
    types = {type(value) for value in values} - {type(None)}
    if not types:
        return empty_column(label, len(values))
    if all(issubclass(kind, bool | np.bool_) for kind in types):
        return Column(label, "flag", np.array(values, dtype=np.float64))
    if all(issubclass(kind, Real | Decimal) for kind in types):
        return Column(label, "number", _to_floats(label, values))
    if all(issubclass(kind, str) for kind in types):
        return Column(label, "category", values)
    if all(issubclass(kind, _DATES) or kind.__name__ in _PANDAS_DATES for kind in types):
        refuse_dates(label)
    names = ", ".join(sorted(kind.__name__ for kind in types))
    raise ValueError(
        f"The {label} holds objects of type {names}. A column is all numbers, all booleans or all "
        "text: convert it (to text, if it is a category), or drop it."
    )


def _to_floats(label: str, values: list) -> np.ndarray:
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except OverflowError as error:
        raise ValueError(
            f"The {label} holds an integer too large for a float. Scale it, or make it text."
        ) from error


def is_missing(value) -> bool:
    """Whether a Python object stands for a missing value."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    if isinstance(value, Decimal):  # a signalling NaN cannot even be compared
        return value.is_nan()
    return isinstance(value, float | np.floating) and value != value


def as_numbers(column: Column, dtype=np.float64) -> np.ndarray:
    """Return the numbers of a column; text is refused by name, and so is infinity."""
    if column.kind == "category":
        raise ValueError(
            f"The {column.label} holds text or categories where numbers are expected. Name it in "
            "categorical_features, convert it, or drop it."
        )
    with np.errstate(over="ignore"):
        numbers = column.values.astype(dtype, copy=False)
    if np.isinf(numbers).any():
        raise ValueError(
            f"The {column.label} holds infinity or a number too large for {numbers.dtype}. Scale "
            "it, or replace it by a missing value."
        )
    return numbers


def as_levels(column: Column) -> list:
    """Return the values of a column as levels of a category, None where missing."""
    if column.kind == "category":
        return column.values
    missing = np.isnan(column.values)
    return or_none(np.asarray(column.values, dtype=np.float64).tolist(), missing)


def choose_categories(columns: list[Column], chosen, names=None) -> np.ndarray:
    """Resolve ``categorical_features`` to a mask over the columns.

    Parameters
    ----------
    columns : list of Column
    chosen : "from_dtype", None, or names, indices or a mask
    names : list of str, default=None
        Names of the columns, where they have any.

    Returns
    -------
    ndarray of shape (n_columns,) of bool
    """
    if isinstance(chosen, str) and chosen == "from_dtype":
        return np.array([column.kind == "category" and not column.order for column in columns])
    mask = np.zeros(len(columns), dtype=bool)
    if chosen is None:
        return mask
    wanted = np.asarray(chosen)
    if wanted.ndim != 1:
        raise ValueError("categorical_features must be a list of names or indices, or a mask.")
    if wanted.size == 0:
        return mask
    if wanted.dtype.kind == "b":
        if len(wanted) != len(columns):
            raise ValueError(
                f"categorical_features is a mask of {len(wanted)} entries, but X has "
                f"{len(columns)} columns."
            )
        return wanted.copy()
    for item in wanted.tolist():
        mask[_place(item, len(columns), names)] = True
    return mask


def _place(item, n_columns: int, names) -> int:
    if isinstance(item, str):
        if names is None or item not in names:
            raise ValueError(
                f"categorical_features names {item!r}, but X has no column of that name."
            )
        return names.index(item)
    if not isinstance(item, int) or not 0 <= item < n_columns:
        raise ValueError(
            f"categorical_features holds {item!r}; it takes names, or indices from 0 to "
            f"{n_columns - 1}."
        )
    return item
