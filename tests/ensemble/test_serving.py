"""Small batches take short cuts; their answers and errors are those of large ones."""

import numpy as np
import pandas as pd
import pytest

from jarf import (
    AxisForestClassifier,
    JacobianForestRegressor,
    JacobianPreconditioner,
    JARFClassifier,
    SPORFClassifier,
    SPORFRegressor,
)
from jarf.table import _input

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 5))
Y = X[:, 0] + X[:, 1] * X[:, 2]
FRAME = pd.DataFrame(
    {
        "size": np.where(RNG.random(N) < 0.2, np.nan, X[:, 0]),
        "weight": X[:, 1].astype(np.float32),
        "count": RNG.integers(0, 9, N),
        "old": X[:, 3] > 0,
        "town": pd.Series(RNG.choice(["Rome", "Bern", "Oslo"], N), dtype="category"),
        "street": pd.Series([f"s{k}" for k in RNG.integers(0, 80, N)]),
        "grade": pd.Categorical(RNG.choice(list("abc"), N), list("cba"), ordered=True),
    }
)
FRAME.loc[::9, "town"] = None


@pytest.mark.parametrize(
    "table", [X, X.astype(np.float32), FRAME], ids=["double", "float", "frame"]
)
@pytest.mark.parametrize(
    "model",
    [
        AxisForestClassifier(20, random_state=0),
        SPORFClassifier(20, random_state=0),
        SPORFRegressor(20, random_state=0),
        JacobianForestRegressor(10, geometry="fast", random_state=0),
        JARFClassifier(n_estimators=5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_single_row_gets_the_bits_of_a_batch(model, table):
    classifies = hasattr(model, "predict_proba")
    model.fit(table, Y > 0 if classifies else Y)
    predict = model.predict_proba if classifies else model.predict
    whole = predict(table)
    for i in range(0, N, 23):
        rows = table.iloc[i : i + 1] if isinstance(table, pd.DataFrame) else table[i : i + 1]
        np.testing.assert_array_equal(predict(rows), whole[i : i + 1])


@pytest.mark.parametrize("kind", [np.float32, np.float64, ">f8", np.float16, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_short_cuts_give_the_checked_matrix(monkeypatch, kind, order):
    table = np.asarray(10 * X, dtype=kind, order=order)
    transformer = JacobianPreconditioner(random_state=0).fit(table, Y)
    forest = SPORFRegressor(5, random_state=0).fit(table, Y)
    found = [transformer.transform(table), forest.predict(table), forest._rows(table)]
    monkeypatch.setattr(_input, "_finite_numbers", lambda *_: None)
    known = [transformer.transform(table), forest.predict(table), forest._rows(table)]
    for ours, theirs in zip(found, known, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.flags.c_contiguous == theirs.flags.c_contiguous
        np.testing.assert_array_equal(ours, theirs)


def test_checked_arrays_are_not_looked_at_again(monkeypatch):
    """The short cuts are taken: nothing else makes a row fast."""
    forest = SPORFRegressor(5, random_state=0).fit(X, Y)
    named = SPORFRegressor(5, random_state=0).fit(FRAME, Y)
    monkeypatch.setattr(_input, "_validated", lambda *_, **__: pytest.fail("checked slowly"))
    forest.predict(X[:1])
    named.predict(FRAME[:1])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X[:0], "Found array with 0 sample"),
        (X[:1, :3], "X has 3 features, but SPORFRegressor is expecting 5 features"),
        (X[0], "Expected 2D array, got 1D array instead"),
        (np.full((1, 5), np.inf), "Input X contains infinity"),
        (np.full((1, 5), 1e300), "Input X contains infinity or a value too large"),
        (X[:1] * 1j, "Complex data not supported"),
    ],
)
def test_errors_of_arrays(rows, message):
    model = SPORFRegressor(5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.predict(rows)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (FRAME[:0], "Found array with 0 sample"),
        (FRAME.drop(columns="old")[:1], "Feature names seen at fit time, yet now missing:\n- old"),
        (FRAME.rename(columns={"old": "new"})[:1], "Feature names unseen at fit time:\n- new"),
        (FRAME.iloc[:1, ::-1], "must be in the same order"),
        (FRAME.assign(size=np.inf)[:1], "The column 'size' holds infinity"),
        (FRAME.assign(size="large")[:1], "The column 'size' held numbers in fit"),
        (FRAME.assign(town=3)[:1], "held text in fit and holds numbers now"),
    ],
)
def test_errors_of_frames(rows, message):
    model = SPORFRegressor(5, random_state=0).fit(FRAME, Y)
    with pytest.raises(ValueError, match=message):
        model.predict(rows)


def test_an_array_without_the_names_of_training_is_warned_about():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = SPORFRegressor(5, random_state=0).fit(frame, Y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X[:1])


def test_no_jobs_are_refused_for_few_rows_too():
    model = SPORFRegressor(5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="n_jobs == 0"):
        model.set_params(n_jobs=0).predict(X[:1])


def test_filled_rows_are_those_of_scikit_learns_forests():
    """The trees that fill missing numbers are walked without scikit-learn's checks."""
    from jarf.table._filling import ForestFill, _mean_of_trees

    table = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    for forest in ForestFill(table).forests.values():
        np.testing.assert_array_equal(_mean_of_trees(forest, X[:, :4]), forest.predict(X[:, :4]))
