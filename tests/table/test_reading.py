"""Columns that are read directly are those that narwhals would give."""

import datetime
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from jarf.table import _reading, read_columns

DIRECT = {
    "numbers": pd.Series([1.5, np.nan, 3.0]),
    "float32": pd.Series([1.5, np.nan, 3.0], dtype=np.float32),
    "integers": pd.Series([2**60 + 1, -1, 0]),
    "flags": pd.Series([True, False, True]),
    "text": pd.Series(["a", "b", "a"]),
    "text, missing": pd.Series(["a", None, "a"]),
    "objects": pd.Series(["a", "b", "a"], dtype=object),
    "objects, missing": pd.Series(["a", None, np.nan, pd.NA, pd.NaT], dtype=object),
    "nothing": pd.Series([None, np.nan, pd.NA], dtype=object),
    "string": pd.Series(["a", pd.NA, "b"], dtype="string[python]"),
    "category": pd.Series(["a", "b", "a"], dtype="category"),
    "category, missing": pd.Series(["a", None, "a"], dtype="category"),
    "category, all missing": pd.Series([None, None], dtype=pd.CategoricalDtype(["a", "b"])),
    "many levels": pd.Series(["b", "z"], dtype=pd.CategoricalDtype(list("zyxwvb"))),
    "levels as objects": pd.Series(
        pd.Categorical.from_codes([0, -1], pd.Index(["b"], dtype=object))
    ),
    "ordered": pd.Series(["b", None], dtype=pd.CategoricalDtype(list("cba"), ordered=True)),
    "no rows": pd.Series([], dtype="category"),
}
THROUGH_NARWHALS = {
    "nullable": pd.Series([1, None, 3], dtype="Int64"),
    "nullable flags": pd.Series([True, None, False], dtype="boolean"),
    "levels of numbers": pd.Series([1, 2, None], dtype="category"),
    "levels of dates": pd.Series(pd.to_datetime(["2020-01-01"] * 2)).astype("category"),
    "mixed levels": pd.Series(pd.Categorical.from_codes([0, 1], pd.Index(["a", 1], dtype=object))),
    "flags and missing": pd.Series([True, None], dtype=object),
    "decimals": pd.Series([Decimal("1.5"), None], dtype=object),
}
BAD = {
    "dates": pd.Series(pd.to_datetime(["2020-01-01"])),
    "dates as objects": pd.Series([datetime.date(2020, 1, 1)], dtype=object),
    "mixed": pd.Series(["a", 1], dtype=object),
    "lists": pd.Series([[1], [2]], dtype=object),
}


def through_narwhals(series):
    """Read a column as columns of other libraries are read."""
    return _reading._read_series(nw, nw.from_native(series.rename("x"), series_only=True), True)


def directly(series, monkeypatch):
    """Read a column without narwhals."""
    monkeypatch.setattr(_reading, "_narwhals", lambda: pytest.fail("narwhals was asked"))
    return read_columns(pd.DataFrame({"x": series}), narrow=True)[0]


def assert_same(found, known):
    assert (found.label, found.kind, found.order) == (known.label, known.kind, known.order)
    assert type(found.values) is type(known.values)
    if isinstance(known.values, list):
        assert found.values == known.values
        assert list(map(type, found.values)) == list(map(type, known.values))
    else:
        assert found.values.dtype == known.values.dtype
        np.testing.assert_array_equal(found.values, known.values)


@pytest.mark.parametrize("name", DIRECT)
def test_common_columns_are_read_directly(name, monkeypatch):
    known = through_narwhals(DIRECT[name])
    assert_same(directly(DIRECT[name], monkeypatch), known)


@pytest.mark.parametrize("name", THROUGH_NARWHALS)
def test_other_columns_are_read_by_narwhals(name):
    series = THROUGH_NARWHALS[name]
    found = read_columns(pd.DataFrame({"x": series}), narrow=True)[0]
    assert_same(found, through_narwhals(series))


@pytest.mark.parametrize("name", BAD)
def test_the_same_errors(name):
    with pytest.raises(ValueError, match="The column 'x' holds") as known:
        through_narwhals(BAD[name])
    with pytest.raises(ValueError, match="The column 'x' holds") as found:
        read_columns(pd.DataFrame({"x": BAD[name]}), narrow=True)
    assert str(found.value) == str(known.value)
