"""Errors that name the real cause, in words that a user of pandas or NumPy knows."""

import datetime
import sys
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse

from jarf import (
    AxisForestClassifier,
    AxisForestRegressor,
    JacobianFeatures,
    JARFRegressor,
    expected_jacobian_outer_product,
)
from jarf.export import load, onnx_inputs, save
from jarf.table import read_columns

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pytest.importorskip("narwhals")

X = np.random.default_rng(0).normal(size=(40, 2))
Y = X[:, 0]
FRAME = pd.DataFrame(X, columns=["a", "b"])
DAYS = pd.date_range("2020-01-01", periods=40)


@pytest.fixture
def regressor():
    return AxisForestRegressor(2, random_state=0)


@pytest.fixture
def classifier():
    return AxisForestClassifier(2, random_state=0)


# --- dates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (DAYS, r"datetime64\[\w+\]"),
        (DAYS.tz_localize("UTC"), r"datetime64\[\w+, UTC\]"),
    ],
)
def test_dates_in_pandas_are_named_in_its_words(regressor, values, shown):
    message = rf"column 'day' holds dates or times \({shown}\)\. .*dt\.day_of_week"
    with pytest.raises(ValueError, match=message):
        regressor.fit(FRAME.assign(day=values), Y)


def test_durations_in_pandas_are_converted_to_seconds(regressor):
    message = r"column 'day' holds durations \(timedelta64\[\w+\]\)\. .*dt\.total_seconds\(\)"
    with pytest.raises(ValueError, match=message):
        regressor.fit(FRAME.assign(day=DAYS - DAYS[0]), Y)


def test_dates_in_polars_are_refused_with_its_methods(regressor):
    frame = pl.from_pandas(FRAME.assign(day=DAYS))
    with pytest.raises(ValueError, match=r"holds dates or times .*pl\.col\(name\)\.dt\.year"):
        regressor.fit(frame, Y)
    with pytest.raises(ValueError, match=r"holds durations .*pl\.col\(name\)\.dt\.total_seconds"):
        regressor.fit(frame.with_columns(day=pl.col("day") - DAYS[0]), Y)


@pytest.mark.parametrize(
    "values", [[datetime.date(2020, 1, 1)] * 40, pd.period_range("2020-01", periods=40, freq="D")]
)
def test_dates_as_objects(regressor, values):
    with pytest.raises(ValueError, match="column 'day' holds dates or times"):
        regressor.fit(FRAME.assign(day=values), Y)


@pytest.mark.parametrize(
    "table",
    [
        np.array([["2020-01-01", "NaT"]] * 40, dtype="M8[D]"),
        np.ones((40, 2), dtype="m8[s]"),
        [[np.datetime64("2020-01-01"), np.datetime64("2021-01-01")]] * 40,
        [[datetime.datetime(2020, 1, 1), 1.0]] * 40,
        [np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")] * 40,
        np.array([[datetime.date(2020, 1, 1), 1.0]] * 40, dtype=object),
    ],
)
def test_dates_in_arrays_and_lists_are_refused_in_the_same_words(regressor, table):
    with pytest.raises(ValueError, match=r"holds (dates or times|durations)"):
        regressor.fit(table, Y)
    regressor.fit(X, Y)
    with pytest.raises(ValueError, match=r"holds (dates or times|durations)"):
        regressor.predict(table)


def test_the_ejop_names_columns_that_hold_no_numbers(regressor):
    model = regressor.fit(FRAME, Y)
    for frame in (FRAME.assign(b=DAYS), pl.from_pandas(FRAME.assign(b=DAYS))):
        with pytest.raises(ValueError, match="column 'b' holds dates or times"):
            expected_jacobian_outer_product(model, frame)
    with pytest.raises(ValueError, match=r"column 'b' holds text .*JacobianPreconditioner"):
        expected_jacobian_outer_product(model, FRAME.assign(b="red"))
    odd = FRAME.assign(a=FRAME["a"].astype("Float64"))
    known = expected_jacobian_outer_product(model, FRAME).matrix
    np.testing.assert_array_equal(expected_jacobian_outer_product(model, odd).matrix, known)


def test_text_that_becomes_booleans_is_named_as_such(classifier):
    flag = pd.Series(X[:, 1] > 0)
    model = classifier.fit(FRAME.assign(flag=flag.astype(str)), Y > 0)
    with pytest.raises(ValueError, match="'flag' held text in fit and holds booleans now"):
        model.predict(FRAME.assign(flag=flag))


def test_dates_without_narwhals(regressor, monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(ValueError, match="column 0 holds dates or times"):
        regressor.fit(pd.DataFrame({0: DAYS, 1: DAYS}), Y)


# --- odd numbers ------------------------------------------------------------------------------


# pandas 2.1 raises, and ignores it, while it looks at a signalling NaN.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("gone", [Decimal("sNaN"), Decimal("NaN"), pd.NA, pd.NaT, None])
def test_every_sign_for_missing_is_one(regressor, gone):
    rows = [[gone, Decimal(1)], [Decimal(2), Decimal(3)]] * 20
    known = regressor.fit([[np.nan, 1.0], [2.0, 3.0]] * 20, Y).predict([[np.nan, 2.0]])
    for table in (rows, np.array(rows, dtype=object)):
        np.testing.assert_array_equal(regressor.fit(table, Y).predict([[gone, 2.0]]), known)
    frame = pd.DataFrame({"a": pd.Series([row[0] for row in rows], dtype=object), "b": 1.0})
    assert np.isnan(read_columns(frame)[0].values[::2]).all()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("wrong", [10**6, -1])
def test_sparse_matrices_with_indices_outside_are_refused(regressor, kind, wrong):
    """SciPy converts them without looking and writes past the array."""
    good = sparse.csr_array(X).asformat(kind)
    regressor.fit(good, Y)
    (good.col if kind == "coo" else good.indices)[3] = wrong
    with pytest.raises(ValueError, match=r"sparse matrix of shape \(40, 2\) whose indices"):
        regressor.predict(good)
    with pytest.raises(ValueError, match="whose indices"):
        regressor.fit(good, Y)


def test_inputs_of_onnx_are_checked_as_well(regressor):
    bad = sparse.csr_array(X)
    model = regressor.fit(bad, Y)
    bad.indices[3] = 10**6
    with pytest.raises(ValueError, match="whose indices"):
        onnx_inputs(model, bad)
    with pytest.raises(ValueError, match="holds dates or times"):
        onnx_inputs(model, np.zeros((3, 2), dtype="M8[ns]"))


@pytest.mark.parametrize("at", [0, 5, -1])
def test_sparse_matrices_with_wrong_pointers_are_refused(regressor, at):
    bad = sparse.csr_array(X)
    bad.indptr[at] = 10**6
    with pytest.raises(ValueError, match="whose indices"):
        regressor.fit(bad, Y)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_every_sparse_format_is_read(regressor, kind):
    known = regressor.fit(X, Y).predict(X)
    table = sparse.csr_array(X).asformat(kind)
    np.testing.assert_array_equal(regressor.fit(table, Y).predict(table), known)


@pytest.mark.parametrize("kind", [AxisForestRegressor, JARFRegressor])
def test_the_median_of_a_no_data_value_does_not_overflow(kind, tmp_path):
    """The two middle values of 60 % -3.4028235e38 add up to more than float32 holds."""
    table = X.astype(np.float32)
    table[:24, 0] = np.finfo(np.float32).min
    model = kind(n_estimators=2, random_state=0).fit(table, Y)
    assert model.table_.fill_values_[0] == np.finfo(np.float32).min
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(table), model.predict(table))
    table[0, 1] = np.nan
    model = kind(n_estimators=2, random_state=0).fit(table, Y)
    assert model.table_.fill_values_[0] == np.finfo(np.float32).min


def test_too_many_directions():
    with pytest.raises(ValueError, match=r"n_directions.*\[1, 1000\].* Got 100000"):
        JacobianFeatures(100_000, switch="on").fit(X, Y)


# --- columns ----------------------------------------------------------------------------------


def test_two_columns_of_one_name(regressor):
    same = FRAME.set_axis(["a", "a"], axis=1)
    with pytest.raises(ValueError, match="'a' belongs to more than one column"):
        regressor.fit(same, Y)
    regressor.fit(FRAME, Y)
    for table in (same, pd.concat([FRAME, FRAME[["a"]]], axis=1)):
        with pytest.raises(ValueError, match="'a' belongs to more than one column"):
            regressor.predict(table)


@pytest.mark.parametrize("table", [pd.DataFrame(index=range(40)), pl.DataFrame()])
def test_a_frame_without_columns(regressor, table):
    with pytest.raises(ValueError, match="the frame X has no columns"):
        regressor.fit(table, Y)


def test_text_where_booleans_or_numbers_were(regressor):
    frame = FRAME.assign(flag=Y > 0)
    regressor.fit(frame, Y)
    with pytest.raises(ValueError, match=r"'flag' held booleans in fit .* \(for example 'True'\)"):
        regressor.predict(frame.assign(flag=np.where(Y > 0, "True", "False")))
    with pytest.raises(ValueError, match=r"'a' held numbers in fit .* \(for example '1,5'\)"):
        regressor.predict(frame.assign(a="1,5"))


# --- targets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, object, "category", "string"])
def test_a_regressor_refuses_text(regressor, kind):
    y = pd.Series(np.where(Y > 0, "yes", "no")).astype(kind)
    with pytest.raises(ValueError, match=r"y holds text .*use AxisForestClassifier"):
        regressor.fit(X, y)
    with pytest.raises(ValueError, match="but JARFRegressor predicts numbers"):
        JARFRegressor(n_estimators=2).fit(X, np.asarray(y, dtype=str))


@pytest.mark.parametrize("y", [DAYS, DAYS.to_numpy(), (DAYS - DAYS[0]).to_numpy()])
def test_a_regressor_refuses_dates(regressor, y):
    with pytest.raises(ValueError, match="y holds dates or times"):
        regressor.fit(X, y)


MISSING_LABELS = {
    "float": np.where(Y > 1, np.nan, Y > 0),
    "None": np.where(Y > 1, None, np.where(Y > 0, "yes", "no")),
    "list": ["yes", None] * 20,
    "NA": pd.Series(np.where(Y > 0, "yes", "no")).where(Y < 1, pd.NA),
    "string": pd.Series(np.where(Y > 0, "yes", "no")).astype("string").where(Y < 1, pd.NA),
    "Int64": pd.Series(Y > 0).astype("Int64").where(Y < 1, pd.NA),
    "category": pd.Series(np.where(Y > 0, "yes", "no")).astype("category").where(Y < 1),
    "polars": pl.Series([None if value > 1 else str(value > 0) for value in Y]),
}


@pytest.mark.parametrize("y", MISSING_LABELS.values(), ids=MISSING_LABELS)
def test_missing_labels_are_counted(classifier, y):
    gone = 20 if isinstance(y, list) else np.count_nonzero(Y > 1)
    with pytest.raises(ValueError, match=f"y contains NaN: {gone} of its 40 values are missing"):
        classifier.fit(X, y)


def test_missing_responses_are_counted(regressor):
    with pytest.raises(ValueError, match="y contains NaN: 1 of its 40 values"):
        regressor.fit(X, np.where(np.arange(40) == 7, np.nan, Y))


def test_pyarrow_tables_are_refused_with_the_way_out(regressor):
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="to_pandas"):
        regressor.fit(pyarrow.table({"a": X[:, 0]}), Y)
