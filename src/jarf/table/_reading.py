"""Tables -> columns.

pandas' columns of numbers, text and text categories are read directly. All other columns of frames
are read through narwhals, so that pandas, polars and every other library that it supports give the
same columns. Arrays of objects and lists of rows are read value by value.
"""

from __future__ import annotations

from decimal import InvalidOperation
from typing import Any

import numpy as np

from jarf.table._columns import (
    Column,
    as_floats,
    empty_column,
    is_frame,
    is_missing,
    or_none,
    read_objects,
    refuse_dates,
    refuse_same_names,
)


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
    named = [(f"column {j}", values) for j, values in enumerate(X.T)]
    if X.dtype.kind in "fiub":
        return [Column(label, "number", as_floats(values, narrow)) for label, values in named]
    return [read_objects(label, values.tolist()) for label, values in named]


def _read_frame(X, narrow: bool) -> list[Column]:
    if not hasattr(X, "iloc"):
        nw = _narwhals()
        frame = nw.from_native(X, eager_only=True)
        return [_read_series(nw, series, narrow) for series in frame.iter_columns()]
    refuse_same_names(X)
    return [_read_pandas(f"column {name!r}", series, narrow) for name, series in X.items()]


def _narwhals() -> Any:
    try:
        import narwhals
    except ImportError as error:
        raise ImportError(
            "A DataFrame with categories, text or missing values is read through narwhals: "
            "pip install narwhals."
        ) from error
    return narwhals


def _read_pandas(label: str, series: Any, narrow: bool) -> Column:
    """Read a column of pandas; common dtypes are read directly, within microseconds.

    narwhals takes a tenth of a millisecond or more per column, most of the time of a single row.
    """
    dtype = series.dtype
    is_numpy = isinstance(dtype, np.dtype)
    if is_numpy and dtype.kind in "fiub" and dtype.itemsize <= 8:
        kind = "flag" if dtype.kind == "b" else "number"
        return Column(label, kind, as_floats(series.to_numpy(), narrow))
    read = None
    if not is_numpy and dtype == "category":
        read = _read_codes(label, series.array.codes.tolist(), dtype)
    elif dtype.type is str or (is_numpy and dtype.kind == "O"):
        read = _read_text(label, series.array.tolist())
    if read is not None:
        return read
    nw = _narwhals()
    return _read_series(nw, nw.from_native(series, series_only=True), narrow)


def _read_codes(label: str, codes: list[int], dtype: Any) -> Column | None:
    """Read a category of text levels; None: another kind of levels."""
    categories = dtype.categories
    if dtype.ordered or len(codes) >= len(categories):
        levels = dict(enumerate(categories.tolist()))
    else:
        levels = {code: categories[code] for code in set(codes) if code >= 0}
    if any(type(level) is not str for level in levels.values()):
        return None
    values = [levels.get(code) for code in codes]  # -1: missing
    order = tuple(levels.values()) if dtype.ordered else None
    return _of_text(label, values, order)


def _read_text(label: str, objects: list) -> Column | None:
    """Read a column of text; None: something else is in it."""
    values = [value if type(value) is str else None for value in objects]
    others = (value for value in objects if type(value) is not str)
    return _of_text(label, values) if all(map(is_missing, others)) else None


def _of_text(label: str, values: list, order: tuple | None = None) -> Column:
    if all(value is None for value in values):
        return empty_column(label, len(values))
    return Column(label, "category", values, order)


def _read_series(nw, series, narrow: bool) -> Column:
    label = f"column {series.name!r}"
    try:
        dtype, missing = series.dtype, series.is_null().to_numpy()
    except InvalidOperation:  # a signalling NaN among decimals
        return read_objects(label, series.to_native().tolist())
    if missing.all() and not dtype.is_numeric():
        return empty_column(label, len(missing))
    if dtype.is_numeric():
        if narrow and dtype == nw.Float32:
            return Column(label, "number", as_floats(series.to_numpy(), narrow))
        values = series.cast(nw.Float64).to_numpy()
        if values.dtype == object:  # pandas before 2.2 keeps NA in columns of arrow
            values = np.where(missing, np.nan, values)
        return Column(label, "number", as_floats(values))
    if dtype == nw.Boolean and not missing.any():
        return Column(label, "flag", np.asarray(series.to_numpy(), dtype=np.float64))
    if dtype == nw.Boolean:
        return read_objects(label, or_none(series.to_list(), missing))
    if dtype == nw.Enum:
        values = or_none(series.to_list(), missing)
        return Column(label, "category", values, tuple(dtype.categories))
    if dtype in (nw.String, nw.Categorical):
        return Column(label, "category", or_none(series.to_list(), missing))
    if dtype.is_temporal():
        refuse_dates(label, series.to_native().dtype)
    if dtype.is_nested():
        raise ValueError(
            f"The {label} holds nested values ({series.to_native().dtype}). Expand them into "
            "separate columns, or drop it."
        )
    return read_objects(label, or_none(series.to_list(), missing))
