"""Input -> columns: a name for messages, a kind, and values with one marker for missing.

Frames are read through narwhals, column by column, so that pandas, polars and other frames give the
same result; NumPy numbers in pandas are used directly. Arrays of objects are read the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import Any

import numpy as np

_DATES = (date, datetime, time, timedelta, np.datetime64, np.timedelta64)
_DATE_HINT = (
    "Turn it into numbers that mean something for the task, such as the year, the month, the day "
    "of the week (in pandas: X[name].dt.year, .dt.month, .dt.dayofweek) or the days since a date; "
    "or drop it."
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
    """Raise the error for dates and times, in a column or in all of them."""
    kind = "" if dtype is None else f" ({dtype})"
    raise ValueError(f"The {label} holds dates or times{kind}. {_DATE_HINT}")


def refuse_same_names(X) -> None:
    """Refuse a frame in which two columns have the same name."""
    twice = [name for name, times in Counter(list(X.columns)).items() if times > 1]
    if twice:
        raise ValueError(f"The name {twice[0]!r} belongs to more than one column. Rename them.")


def read_columns(X, narrow: bool = False) -> list[Column]:
    """Read a frame, an array or a list of rows.

    Parameters
    ----------
    X : DataFrame, ndarray of two dimensions or list of rows
    narrow : bool, default=False
        Keep the numbers of a float32 column as float32.

    Returns
    -------
    list of Column
    """
    if is_frame(X):
        return _read_frame(X, narrow)
    if not isinstance(X, np.ndarray):
        X = np.array(X, dtype=object)
    if X.ndim != 2:
        raise ValueError(f"Expected a table of two dimensions, got shape {X.shape}.")
    labels = [f"column {j}" for j in range(X.shape[1])]
    if X.dtype.kind in "fiub":
        return [Column(label, "number", _floats(X[:, j], narrow)) for j, label in enumerate(labels)]
    return [_read_objects(label, X[:, j].tolist()) for j, label in enumerate(labels)]


def _read_frame(X, narrow: bool) -> list[Column]:
    try:
        import narwhals as nw
    except ImportError as error:
        raise ImportError(
            "A DataFrame with categories, text or missing values is read through narwhals: "
            "pip install narwhals."
        ) from error
    if not hasattr(X, "iloc"):
        frame = nw.from_native(X, eager_only=True)
        return [_read_series(nw, series, narrow) for series in frame.iter_columns()]
    # pandas: names may come twice, and NumPy's own numbers need nobody to read them
    refuse_same_names(X)
    return [
        _read_numpy(name, series.to_numpy(), narrow)
        if _is_numpy(series.dtype)
        else _read_series(nw, nw.from_native(series, series_only=True), narrow)
        for name, series in X.items()
    ]


def _is_numpy(dtype) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "fiub" and dtype.itemsize <= 8


def _read_numpy(name, values: np.ndarray, narrow: bool) -> Column:
    kind = "flag" if values.dtype.kind == "b" else "number"
    return Column(f"column {name!r}", kind, _floats(values, narrow))


def _read_series(nw, series, narrow: bool) -> Column:
    label = f"column {series.name!r}"
    try:
        dtype, missing = series.dtype, series.is_null().to_numpy()
    except InvalidOperation:  # a signalling NaN among decimals
        return _read_objects(label, series.to_native().tolist())
    if missing.all() and not dtype.is_numeric():
        return _empty(label, len(missing))
    if dtype.is_numeric():
        if narrow and dtype == nw.Float32:
            return Column(label, "number", _floats(series.to_numpy(), narrow))
        values = series.cast(nw.Float64).to_numpy()
        if values.dtype == object:  # pandas before 2.2 keeps NA in columns of arrow
            values = np.where(missing, np.nan, values)
        return Column(label, "number", _floats(values))
    if dtype == nw.Boolean and not missing.any():
        return Column(label, "flag", np.asarray(series.to_numpy(), dtype=np.float64))
    if dtype == nw.Boolean:
        return _read_objects(label, _or_none(series.to_list(), missing))
    if dtype == nw.Enum:
        values = _or_none(series.to_list(), missing)
        return Column(label, "category", values, tuple(dtype.categories))
    if dtype in (nw.String, nw.Categorical):
        return Column(label, "category", _or_none(series.to_list(), missing))
    if dtype.is_temporal():
        refuse_dates(label, series.to_native().dtype)
    if dtype.is_nested():
        raise ValueError(
            f"The {label} holds nested values ({series.to_native().dtype}). Expand them into "
            "separate columns, or drop it."
        )
    return _read_objects(label, _or_none(series.to_list(), missing))


def _or_none(values: list, missing: np.ndarray) -> list:
    if not missing.any():
        return values
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]


def _floats(values: np.ndarray, narrow: bool = False) -> np.ndarray:
    if narrow and values.dtype == np.float32:
        return values
    return np.asarray(values, dtype=np.float64)


def _empty(label: str, n_rows: int) -> Column:
    return Column(label, "empty", np.full(n_rows, np.nan))


def _read_objects(label: str, values: list) -> Column:
    """Determine the kind of a column of Python objects from their types."""
    values = [None if is_missing(value) else value for value in values]
    types = {type(value) for value in values} - {type(None)}
    if not types:
        return _empty(label, len(values))
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
    return _or_none(np.asarray(column.values, dtype=np.float64).tolist(), missing)


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
