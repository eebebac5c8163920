"""Predictions equal those of the local estimator for any partitions."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import jarf
import jarf.dask as on_dask

N = 420


def made(task):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5)) * [1.0, 10.0, 0.1, 1.0, 3.0]
    signal = X[:, 0] + X[:, 1] / 10
    return X, (np.where(signal > 0, "yes", "no") if task == "classification" else np.sin(signal))


def cut(X, y, kind, n_partitions):
    if kind == "array":
        size = -(-len(X) // n_partitions)
        return da.from_array(X, chunks=(size, 5)), da.from_array(y, chunks=size)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(target=y)
    frame = dd.from_pandas(frame, npartitions=n_partitions, sort=False)
    return frame[list("abcde")], frame["target"]


def surrogate(task):
    forest = RandomForestClassifier if task == "classification" else RandomForestRegressor
    return forest(10, max_features="sqrt")


def suffix(task):
    return "Classifier" if task == "classification" else "Regressor"


CASES = [
    (task, kind, n_partitions)
    for task in ("classification", "regression")
    for kind in ("array", "DataFrame")
    for n_partitions in (1, 3, 7)
]
cases = pytest.mark.parametrize(("task", "kind", "n_partitions"), CASES)


@cases
@pytest.mark.parametrize("surrogate_rows", [None, 150])
def test_h_is_the_local_one(task, kind, n_partitions, surrogate_rows):
    X, y = made(task)
    settings = {
        "surrogate": surrogate(task),
        "surrogate_rows": surrogate_rows,
        "n_probes": 200,
        "random_state": 0,
    }
    local = jarf.JacobianPreconditioner(**settings).fit(X, y)
    dX, dy = cut(X, y, kind, n_partitions)
    model = on_dask.JacobianPreconditioner(**settings).fit(dX, dy)
    np.testing.assert_allclose(model.preconditioner_, local.preconditioner_, rtol=1e-12, atol=1e-14)
    assert model.ejop_.n_probes == 200
    mapped = model.transform(dX)
    assert isinstance(mapped, da.Array)
    assert mapped.numblocks[0] == n_partitions
    np.testing.assert_allclose(mapped.compute(), local.transform(X), rtol=1e-10, atol=1e-12)


@cases
def test_jarf_is_the_local_one(task, kind, n_partitions):
    X, y = made(task)
    mapping = jarf.JacobianPreconditioner(surrogate(task))
    settings = {"preconditioner": mapping, "n_estimators": 10, "random_state": 0}
    local = getattr(jarf, "JARF" + suffix(task))(**settings).fit(X, y)
    dX, dy = cut(X, y, kind, n_partitions)
    model = getattr(on_dask, "JARF" + suffix(task))(**settings).fit(dX, dy)
    check_same(model, local, dX, X, dy, y)


@cases
def test_jacobian_forest_is_the_local_one(task, kind, n_partitions):
    X, y = made(task)
    settings = {"n_estimators": 6, "geometry": "weighted", "random_state": 0}
    local = getattr(jarf, "JacobianForest" + suffix(task))(**settings).fit(X, y)
    dX, dy = cut(X, y, kind, n_partitions)
    model = getattr(on_dask, "JacobianForest" + suffix(task))(**settings).fit(dX, dy)
    check_same(model, local, dX, X, dy, y)


def check_same(model, local, dX, X, dy, y):
    method = "predict_proba" if hasattr(local, "predict_proba") else "predict"
    lazy = getattr(model, method)(dX)
    assert isinstance(lazy, da.Array)
    expected = getattr(local, method)(X)
    assert lazy.dtype == expected.dtype
    np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(dX).compute(), local.predict(X))
    assert model.score(dX, dy) == pytest.approx(local.score(X, y))
    np.testing.assert_allclose(
        model.feature_importances_, local.feature_importances_, rtol=1e-6, atol=1e-9
    )
