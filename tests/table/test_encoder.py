import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from jarf.table import TableEncoder, read_columns
from jarf.table._columns import choose_categories
from jarf.table._parts import MAX_ONE_HOT

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": [1.0, np.nan, 3.0, 5.0],
        "colour": ["red", "blue", None, "red"],
        "old": [True, False, True, True],
        "n": [1, 2, 3, 4],
        "gone": [np.nan] * 4,
    }
)


def encode(frame, y=None, **params):
    columns = read_columns(frame)
    table = TableEncoder(**params).fit(columns, y, list(frame.columns))
    return table, table.encode(columns, y=y)


def test_a_small_table_by_hand():
    table, out = encode(FRAME)
    names = table.get_feature_names_out(FRAME.columns).tolist()
    assert names == [
        *("size", "size_or_missing", "colour_blue", "colour_red", "colour_missing"),
        *("old", "n", "gone"),
    ]
    np.testing.assert_array_equal(
        out,
        [
            [1, 1, 0, 1, 0, 1, 1, 0],
            [3, -3, 1, 0, 0, 0, 2, 0],
            [3, 3, 0, 0, 1, 1, 3, 0],
            [5, 5, 0, 1, 0, 1, 4, 0],
        ],
    )
    assert table.encoded_columns_.tolist() == [0, 0, 1, 1, 1, 2, 3, 4]
    assert table.encoded_kinds_.tolist() == [
        *("number", "missing", "level", "level", "level", "level", "number", "number"),
    ]
    assert table.levels_ == {1: ["blue", "red", None]}
    np.testing.assert_array_equal(table.fill_values_, [3, np.nan, 1, 2.5, 0])
    np.testing.assert_array_equal(table.per_column(np.arange(8.0)), [1, 9, 5, 6, 7])
    np.testing.assert_array_equal(
        table.per_encoded([10, 20, 30, 40, 50]), [10, 0, 0, 0, 0, 0, 40, 50]
    )


def test_new_rows():
    table, _ = encode(FRAME)
    new = pd.DataFrame(
        {
            "size": [np.nan, 2.0],
            "colour": ["green", None],
            "old": [None, True],
            "n": [np.nan, 7.0],  # missing at prediction only: filled
            "gone": ["text", 3.0],  # never seen: carries no information
        }
    )
    new.loc[0, "gone"] = np.nan
    np.testing.assert_array_equal(
        table.encode(read_columns(new)),
        [[3, -3, 0, 0, 0, 1, 2.5, 0], [2, 2, 0, 0, 1, 1, 7, 0]],
    )
    with pytest.raises(ValueError, match="column 'colour' held text in fit"):
        table.encode(read_columns(new.assign(colour=[1, 2])))
    with pytest.raises(ValueError, match="column 'n' held numbers in fit"):
        table.encode(read_columns(new.assign(n=["a", "b"])))
    with pytest.raises(ValueError, match="column 'n' holds infinity"):
        table.encode(read_columns(new.assign(n=[np.inf, 1])))


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("from_dtype", [1]),
        (None, []),
        ([], []),
        (["colour", "n"], [1, 3]),
        ([1, 3], [1, 3]),
        ([False, True, False, True, False], [1, 3]),
    ],
)
def test_categorical_features(chosen, expected):
    mask = choose_categories(read_columns(FRAME), chosen, list(FRAME.columns))
    assert np.flatnonzero(mask).tolist() == expected


@pytest.mark.parametrize("chosen", [["shape"], [5], [-1], [1.5], [True], [[1]]])
def test_wrong_categorical_features(chosen):
    with pytest.raises(ValueError, match="categorical_features"):
        choose_categories(read_columns(FRAME), chosen, list(FRAME.columns))


def test_text_that_is_not_chosen_is_refused_by_name():
    with pytest.raises(ValueError, match="column 'colour' holds text"):
        encode(FRAME, categorical_features=["n"])


def test_numbers_as_categories():
    table, out = encode(FRAME, categorical_features=["colour", "n"])
    assert table.levels_[3] == [1.0, 2.0, 3.0, 4.0]
    np.testing.assert_array_equal(out[:, -5:-1], np.eye(4))


def many_levels(n=600, n_levels=MAX_ONE_HOT + 30):
    codes = RNG.permutation(np.arange(n) % n_levels)
    return pd.DataFrame({"id": [f"l{code:03d}" for code in codes]}), codes


def test_many_levels_become_cross_fitted_target_means():
    frame, codes = many_levels()
    y = codes + RNG.normal(size=len(codes))
    table, out = encode(frame, y, random_state=3)
    assert table.encoded_kinds_.tolist() == ["target"]
    seed = np.random.RandomState(3).randint(2**31 - 1)
    peer = TargetEncoder(target_type="continuous")
    for others, rows in KFold(5, shuffle=True, random_state=seed).split(frame):
        means = peer.fit(frame.iloc[others], y[others]).transform(frame.iloc[rows])
        np.testing.assert_array_equal(out[rows], means)
    means = peer.fit(frame, y).transform(frame)
    np.testing.assert_array_equal(table.encode(read_columns(frame)), means)
    unknown = table.encode(read_columns(pd.DataFrame({"id": ["new", None]})))
    np.testing.assert_allclose(unknown, y.mean())


def test_target_means_do_not_leak():
    """A unique id carries no information about noise, and neither may its encoding."""
    frame = pd.DataFrame({"id": [f"{i}" for i in range(500)]})
    y = RNG.normal(size=500)
    _, out = encode(frame, y, random_state=0)
    assert abs(np.corrcoef(out[:, 0], y)[0, 1]) < 0.2


def test_target_means_do_not_leak_through_copies():
    frame = pd.DataFrame({"x": RNG.normal(size=200), "id": [f"{i}" for i in range(200)]})
    y = RNG.normal(size=200)
    twice, labels = pd.concat([frame, frame], ignore_index=True), np.concatenate([y, y])
    _, out = encode(twice, labels, random_state=0)
    np.testing.assert_array_equal(out[:200], out[200:])
    assert abs(np.corrcoef(out[:, 1], labels)[0, 1]) < 0.2
    columns, used = read_columns(twice), np.arange(400) % 200 < 150
    table = TableEncoder(random_state=0).fit([c.only(used) for c in columns], labels[used])
    out = table.encode(columns, y=labels, used=used)
    np.testing.assert_array_equal(out[:150], out[200:350])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_target_means_of_classes(n_classes):
    frame, codes = many_levels()
    y = np.array(["a", "b", "c"])[codes % n_classes]
    columns = read_columns(frame)
    table = TableEncoder(random_state=0).fit(columns, y, classifies=True)
    out = table.encode(columns)
    assert out.shape == (600, 1 if n_classes == 2 else 3)
    if n_classes == 3:
        assert table.get_feature_names_out().tolist() == ["x0_mean_a", "x0_mean_b", "x0_mean_c"]
        np.testing.assert_array_equal(out.argmax(axis=1), codes % 3)


def test_rows_that_are_not_used_do_not_teach():
    frame, codes = many_levels()
    used = np.arange(len(codes)) < 500
    y = np.where(used, codes, 1e6).astype(float)
    columns = read_columns(frame)
    table = TableEncoder(random_state=0).fit([c.only(used) for c in columns], y[used])
    out = table.encode(columns, y=y, used=used)
    assert out.max() < 1000
    np.testing.assert_array_equal(out[~used], table.encode([c.only(~used) for c in columns]))


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "dates or times"),
        ([datetime.date(2020, 1, 1), None], "dates or times"),
        (pd.to_timedelta([1, 2], unit="h"), "durations"),
        ([[1], [2]], "list"),
        ([{"a": 1}, {"a": 2}], "dict|nested"),
        ([1 + 2j, 3j], "complex"),
        (["a", 1], "int, str"),
        (pd.Series([10**400, 1], dtype=object), "too large"),
    ],
)
def test_unreadable_columns_are_refused_by_name(values, match):
    with pytest.raises(ValueError, match=match) as error:
        read_columns(pd.DataFrame({"fine": [1, 2], "odd": values}))
    assert "'odd'" in str(error.value)


@pytest.mark.parametrize(
    "values",
    [[[1], [2]], [{"a": 1}, {"a": 2}], [datetime.time(1), None], [datetime.datetime.min] * 2],
)
def test_unreadable_columns_in_polars(values):
    with pytest.raises(ValueError, match="column 'odd' holds"):
        read_columns(pl.DataFrame({"odd": values}))


def test_names_that_occur_twice_are_refused():
    with pytest.raises(ValueError, match="'a' belongs to more than one"):
        read_columns(pd.DataFrame([[1, 2]], columns=["a", "a"]))


SAME = {
    "float": [1.5, None, 2.5],
    "int": [1, None, 3],
    "whole": [1, 2, 3],
    "flag": [True, None, False],
    "text": ["b", None, "a"],
    "none": [None, None, None],
}


@pytest.mark.parametrize("kind", ["object", "numpy", "nullable", "arrow", "category"])
def test_pandas_and_polars_give_the_same(kind):
    pandas = pd.DataFrame(SAME, dtype=object)
    if kind == "numpy":
        pandas = pd.DataFrame(SAME)
    elif kind == "category":
        pandas["text"] = pd.Categorical(SAME["text"], categories=["unused", "b", "a"])
    elif kind != "object":
        backend = {"nullable": "numpy_nullable", "arrow": "pyarrow"}[kind]
        pandas = pd.DataFrame(SAME).convert_dtypes(dtype_backend=backend)
    polars = pl.DataFrame(SAME)
    if kind == "category":
        polars = polars.with_columns(pl.col("text").cast(pl.Categorical))
    (one, a), (two, b) = encode(pandas), encode(polars)
    assert one.get_feature_names_out().tolist() == two.get_feature_names_out().tolist()
    np.testing.assert_array_equal(a, b)
    assert np.isfinite(a).all()
    assert a.shape == (3, 2 + 2 + 1 + 2 + 3 + 1)


def test_objects_in_arrays():
    rows = np.array([[1, "a", True], [2.5, None, False], [None, "b", True]], dtype=object)
    columns = read_columns(rows)
    assert [column.kind for column in columns] == ["number", "category", "flag"]
    assert [column.label for column in columns] == ["column 0", "column 1", "column 2"]


def test_identity_and_pickle():
    X = RNG.normal(size=(50, 3))
    table = TableEncoder().fit_identity(X)
    assert table.is_identity_
    assert table.fill(X) is X
    np.testing.assert_array_equal(table.fill_values_, np.median(X, axis=0))
    X[0, 1] = np.nan
    again = pickle.loads(pickle.dumps(table))
    np.testing.assert_array_equal(again.fill(X), table.fill(X))
    assert not np.isnan(again.fill(X)).any()
    few = TableEncoder().fit_identity(X[1:10])
    assert few.fill(X)[0, 1] == np.median(X[1:10, 1])


def test_values_missing_at_prediction_only_are_filled_from_the_row():
    x = RNG.normal(size=200)
    X = np.column_stack([x, 2 * x, RNG.normal(size=200)])
    row = np.array([[1.0, np.nan, 0.0]])
    weights = np.arange(200) < 150
    X[150:] = 100.0
    for table in (
        TableEncoder().fit_identity(X[:150]),
        TableEncoder().fit_identity(X, weights),
        TableEncoder().fit(read_columns(pd.DataFrame(X[:150]))),
    ):
        assert abs(table.encode(read_columns(row))[0, 1] - 2.0) < 0.1
    assert abs(table.fill(row)[0, 1] - 2.0) < 0.1
