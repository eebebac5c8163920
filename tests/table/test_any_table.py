"""Any table gives a prediction, or a ValueError that names the column."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from jarf import (
    CanonicalCorrelationForestClassifier,
    JacobianBoostingClassifier,
    JacobianForestClassifier,
    JacobianPreconditioner,
    JARFClassifier,
    JARFRegressor,
    RotationForestRegressor,
    SPORFClassifier,
)

MODELS = [
    JacobianBoostingClassifier(max_iter=2, geometry="fast", random_state=0),
    JacobianForestClassifier(2, random_state=0),
    SPORFClassifier(2, random_state=0),
    CanonicalCorrelationForestClassifier(2, random_state=0),
    RotationForestRegressor(2, random_state=0),
    JARFClassifier(
        preconditioner=JacobianPreconditioner(RandomForestClassifier(2)),
        n_estimators=2,
        random_state=0,
    ),
    JARFRegressor(
        preconditioner=JacobianPreconditioner(RandomForestRegressor(2), categorical="toggle"),
        n_estimators=2,
        random_state=0,
    ),
]
N_ROWS = 24

VALUES = {
    "float": st.floats(-1e6, 1e6) | st.just(float("nan")),
    "wild float": st.floats(),
    "tiny float": st.floats(-1e-300, 1e-300),
    "int": st.integers(-(2**60), 2**60),
    "maybe int": st.none() | st.integers(-5, 5),
    "bool": st.booleans(),
    "maybe bool": st.none() | st.booleans(),
    "text": st.text(max_size=3),
    "maybe text": st.none() | st.sampled_from(["a", "b", "c"]),
    "none": st.none(),
    "date": st.just(datetime.datetime(2020, 1, 1)),
    "list": st.lists(st.integers(0, 3), max_size=2),
    "mixed": st.none() | st.integers(0, 3) | st.sampled_from(["a", "b"]),
    "huge": st.just(10**400),
    "complex": st.complex_numbers(),
}


def column(kind):
    return st.lists(VALUES[kind], min_size=N_ROWS, max_size=N_ROWS).map(lambda v: (kind, v))


COLUMN = st.sampled_from(sorted(VALUES)).flatmap(column)
TABLE = st.lists(COLUMN, min_size=1, max_size=4)


def frame(columns):
    series = {}
    for place, (kind, values) in enumerate(columns):
        loose = kind in ("mixed", "huge", "list", "maybe bool", "complex")
        series[f"<{place}>"] = pd.Series(values, dtype=object if loose else None)
    return pd.DataFrame(series)


def answer_or_name(call, X):
    message = None
    try:
        return call()
    except ValueError as error:
        message = str(error)
    assert any(repr(name) in message for name in X.columns), message
    return None


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(table=TABLE, data=st.data())
def test_an_answer_or_a_name(model, table, data):
    X = frame(table)
    y = np.arange(N_ROWS) % 3 if is_classifier(model) else np.linspace(0, 1, N_ROWS)
    fitted = answer_or_name(lambda: clone(model).fit(X, y), X)
    if fitted is None:
        return
    assert np.isfinite(fitted.feature_importances_).all()
    other = data.draw(
        st.tuples(*(column(kind) | COLUMN for kind, _ in table)).map(list), label="new rows"
    )
    for new in (X, frame(other)):
        answer = answer_or_name(lambda new=new: fitted.predict(new), new)
        assert answer is None or np.isfinite(answer.astype(float)).all()


BOTH = ["float", "int", "bool", "maybe bool", "text", "maybe text", "none", "maybe int"]


@settings(max_examples=60, deadline=None)
@example(table=[("maybe int", [None] * 23 + [1]), ("none", [None] * 24)])
@given(table=st.lists(st.sampled_from(BOTH).flatmap(column), min_size=1, max_size=4))
def test_pandas_and_polars_agree(table):
    y = np.arange(N_ROWS) % 2
    values = {f"<{place}>": values for place, (_, values) in enumerate(table)}
    answers = []
    for X in (pd.DataFrame(values), pl.DataFrame(values)):
        answers.append(SPORFClassifier(3, random_state=0).fit(X, y).predict_proba(X))
    np.testing.assert_array_equal(*answers)
