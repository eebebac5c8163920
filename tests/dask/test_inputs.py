"""Partitions of all kinds: empty, unknown, unequal, mixed."""

from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

import jarf
from jarf.dask import (
    JacobianForestClassifier,
    JacobianForestRegressor,
    JacobianPreconditioner,
    JARFClassifier,
)
from jarf.datasets import make_rotated_halfspace
from jarf.ensemble import SPORFClassifier

X, y = make_rotated_halfspace(300, 3, angle=45, random_state=0)
MAP = jarf.JacobianPreconditioner(RandomForestClassifier(5))
SETTINGS = {"preconditioner": MAP, "n_estimators": 5, "random_state": 0}
LOCAL = jarf.JARFClassifier(**SETTINGS).fit(X, y)


def pieces(parts, dtype=float):
    """A Dask array of unknown chunk sizes from NumPy arrays."""
    shape = (np.nan, *parts[0].shape[1:])
    return da.concatenate([da.from_delayed(delayed(part), shape, dtype) for part in parts])


def frame_of(parts):
    """A Dask DataFrame whose metadata claims that all partitions are like the first."""
    return dd.from_map(lambda part: parts[part], range(len(parts)), meta=parts[0].iloc[:0])


def check_local(model, X_lazy):
    np.testing.assert_allclose(model.predict_proba(X_lazy).compute(), LOCAL.predict_proba(X))


def test_unknown_chunk_sizes_and_empty_partitions():
    cuts = [0, 0, 100, 100, 300, 300]
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    dX, dy = pieces([X[p] for p in parts]), pieces([y[p] for p in parts], int)
    model = JARFClassifier(**SETTINGS).fit(dX, dy)
    check_local(model, dX)
    assert model.score(dX, dy) == LOCAL.score(X, y)


def test_empty_partitions_of_a_frame():
    frame = pd.DataFrame(X, columns=list("abc")).assign(t=y, row=np.arange(300))
    frame = dd.from_pandas(frame, npartitions=5)
    kept = frame[frame["row"] >= 130]
    model = JARFClassifier(**SETTINGS).fit(kept[list("abc")], kept["t"])
    local = jarf.JARFClassifier(**SETTINGS).fit(X[130:], y[130:])
    answer = model.predict_proba(kept[list("abc")]).compute()
    np.testing.assert_allclose(answer, local.predict_proba(X[130:]))
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def test_a_class_missing_from_partitions_and_from_the_sample():
    labels = np.repeat([0, 1], 150)
    labels[299] = 2
    dX, dy = da.from_array(X, chunks=(50, 3)), da.from_array(labels, chunks=50)
    for model in (
        clone(JARFClassifier(**SETTINGS)).set_params(preconditioner__surrogate_rows=20),
        JacobianForestClassifier(5, geometry="fast", surrogate_rows=20, random_state=0),
    ):
        model.fit(dX, dy)
        np.testing.assert_array_equal(model.classes_, [0, 1, 2])
        assert model.predict_proba(dX).compute().shape == (300, 3)


def test_columns_in_several_chunks():
    dX = da.from_array(X, chunks=(100, 2))
    check_local(JARFClassifier(**SETTINGS).fit(dX, da.from_array(y, chunks=70)), dX)


def test_numpy_targets_are_cut_like_the_array():
    dX = da.from_array(X, chunks=(100, 3))
    check_local(JARFClassifier(**SETTINGS).fit(dX, y), dX)


def test_types_that_differ_from_partition_to_partition():
    parts = [X[:100], X[100:200].astype(np.float32), np.rint(X[200:]).astype(int)]
    whole = np.concatenate([part.astype(float) for part in parts])
    dX = pieces(parts)
    model = JARFClassifier(**SETTINGS).fit(dX, pieces([y[:100], y[100:200], y[200:]], int))
    local = jarf.JARFClassifier(**SETTINGS).fit(whole, y)
    np.testing.assert_allclose(model.predict_proba(dX).compute(), local.predict_proba(whole))


def test_types_of_a_frame_that_differ():
    frames = [
        pd.DataFrame(X[:150], columns=list("abc")),
        pd.DataFrame(X[150:], columns=list("abc")),
    ]
    frames[1]["a"] = np.rint(frames[1]["a"]).astype(int)
    whole = pd.concat(frames, ignore_index=True)
    ddf = frame_of(frames)
    model = JARFClassifier(**SETTINGS).fit(ddf, pieces([y[:150], y[150:]], int))
    local = jarf.JARFClassifier(**SETTINGS).fit(whole, y)
    np.testing.assert_allclose(model.predict_proba(ddf).compute(), local.predict_proba(whole))


def test_text_in_an_array_of_numbers():
    broken = np.array([["a", "b", "c"]], dtype=object)
    dX = pieces([X, broken])
    with pytest.raises(ValueError, match="Partition 1 cannot be read as float64"):
        JARFClassifier(**SETTINGS).fit(dX, pieces([y, y[:1]], int))


def test_unequal_columns():
    with pytest.raises(ValueError, match=r"Partition 1 has shape \(100, 2\), but 3 columns"):
        JARFClassifier(**SETTINGS).fit(pieces_of_unequal_width(), pieces([y[:200], y[200:]], int))
    frames = [
        pd.DataFrame(X[:200], columns=list("abc")),
        pd.DataFrame(X[200:], columns=list("abd")),
    ]
    ddf = frame_of(frames)
    with pytest.raises(ValueError, match="Partition 1 has the columns"):
        JARFClassifier(**SETTINGS).fit(ddf, pieces([y[:200], y[200:]], int))


def pieces_of_unequal_width():
    parts = [X[:200], X[200:, :2]]
    return da.concatenate([da.from_delayed(delayed(p), (np.nan, 3), float) for p in parts])


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((X, y), TypeError, "X must be a Dask array or DataFrame"),
        ((da.from_array(X), None), ValueError, "y is None"),
        ((da.from_array(X), da.from_array(y[:-1])), ValueError, "300 rows, but y has 299"),
        ((pieces([X]), pieces([y, y], int)), ValueError, "1 partitions, but y has 2"),
        ((pieces([X]), pieces([y[1:]], int)), ValueError, "300 rows of X, but 299 of y"),
        ((pieces([X]), y), TypeError, "y must be a Dask array"),
        ((pieces([X[:0]]), pieces([y[:0]], int)), ValueError, "0 rows in 1 partitions"),
        ((da.from_array(X[:, 0]), da.from_array(y)), ValueError, "two dimensions"),
        ((da.from_array(X), da.full(300, np.nan)), ValueError, "y contains missing"),
        ((da.from_array(X), da.ones(300)), ValueError, "only one class"),
    ],
)
def test_bad_input_is_named(given, error, message):
    with pytest.raises(error, match=message):
        JARFClassifier(**SETTINGS).fit(*given)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"share": "per-tree"}, "not supported on Dask"),
        ({"estimator": RandomForestClassifier()}, "cannot be trained on partitions"),
        ({"estimator": SPORFClassifier(oob_score=True)}, "oob_score of the final SPORF"),
        ({"estimator": SPORFClassifier(class_weight="balanced")}, "set that of JARFClassifier"),
        ({"rows_per_tree": 5}, "rows_per_tree"),
        ({"preconditioner": JacobianPreconditioner(jarf.JARFRegressor())}, "predict_proba"),
        ({"preconditioner": JacobianPreconditioner(step=0.0)}, "'step' parameter of Jac"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        JARFClassifier(**(SETTINGS | params)).fit(da.from_array(X), da.from_array(y))


@pytest.mark.parametrize("cls", [JARFClassifier, JacobianForestClassifier])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({0: 1.0, 1: -1.0}, "class 1 the weight -1.0"),
        ({0: np.nan, 1: 1.0}, "class 0 the weight nan"),
        ({0: 0, 1: 0}, "every class weight 0"),
        ({0: 1, 2: 1}, "not in class_weight"),
    ],
)
def test_bad_class_weights_are_rejected(cls, weights, message):
    with pytest.raises(ValueError, match=message):
        cls(n_estimators=3, class_weight=weights).fit(da.from_array(X), da.from_array(y))


def test_not_fitted():
    with pytest.raises(NotFittedError):
        JARFClassifier().predict(da.from_array(X))
    assert not hasattr(JacobianPreconditioner, "predict")


def test_parameters_are_those_of_the_local_estimator_and_one_more():
    local, model = jarf.JARFClassifier(share="global"), JARFClassifier(rows_per_tree=300)
    assert model.get_params() == local.get_params() | {"rows_per_tree": 300}
    assert clone(model).get_params() == model.get_params()
    assert JacobianPreconditioner().get_params() == jarf.JacobianPreconditioner().get_params()
    with pytest.raises(TypeError, match="unexpected keyword"):
        JARFClassifier(no_such_parameter=1)


def test_a_warm_start_is_refused():
    with pytest.raises(ValueError, match="warm_start"):
        JacobianForestClassifier(warm_start=True).fit(da.from_array(X), da.from_array(y))


def test_preconditioner_tells_classes_from_numbers():
    dX = da.from_array(X, chunks=(100, 3))
    assert hasattr(JacobianPreconditioner(random_state=0).fit(dX, y), "classes_")
    assert not hasattr(JacobianPreconditioner(random_state=0).fit(dX, X[:, 0]), "classes_")


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X.copy(), columns=list("abc"))
    frame.loc[rng.permutation(300)[:40], "a"] = np.nan
    frame["colour"] = pd.Categorical(rng.choice(["red", "green"], 300))
    frame["town"] = [f"t{k}" for k in rng.integers(80, size=300)]
    return frame


@pytest.mark.parametrize("n_partitions", [1, 4])
def test_categories_text_and_missing_values(mixed, n_partitions):
    ddf = dd.from_pandas(mixed, npartitions=n_partitions, sort=False)
    dy = dd.from_pandas(pd.Series(y), npartitions=n_partitions, sort=False)
    model = JARFClassifier(**SETTINGS).fit(ddf, dy)
    local = jarf.JARFClassifier(**SETTINGS).fit(mixed, y)
    np.testing.assert_allclose(
        model.preconditioner_.preconditioner_, local.preconditioner_.preconditioner_, rtol=1e-9
    )
    answer = model.predict_proba(ddf).compute()
    np.testing.assert_allclose(answer, local.predict_proba(mixed), rtol=1e-9)
    assert len(model.feature_importances_) == 5


def test_lazy_answers_of_the_preconditioner():
    dX = da.from_array(X.astype(np.float32), chunks=(100, 3))
    model = JacobianPreconditioner(random_state=0).fit(dX, y)
    mapped = model.transform(dX)
    assert mapped.dtype == np.float32
    assert mapped.chunks == dX.chunks
    np.testing.assert_allclose(model.inverse_transform(mapped).compute(), X, atol=1e-4)
    np.testing.assert_array_equal(mapped.compute(), model.transform(X.astype(np.float32)))


def test_a_preconditioner_of_this_module_can_be_nested():
    nested = JacobianPreconditioner(RandomForestClassifier(5))
    model = JARFClassifier(preconditioner=nested, n_estimators=5, random_state=0)
    model.fit(da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100))
    check_local(model, da.from_array(X, chunks=(100, 3)))
    assert type(model.preconditioner_) is jarf.JacobianPreconditioner
    assert type(model.to_local().preconditioner) is jarf.JacobianPreconditioner


def test_several_outputs_are_refused_with_the_way_out():
    X = da.random.default_rng(0).normal(size=(40, 3), chunks=(20, 3))
    with pytest.raises(ValueError, match="fit one model per output"):
        JacobianForestRegressor(2).fit(X, X[:, :2])


@pytest.mark.parametrize("kind", [jarf.JacobianBoostingClassifier, jarf.JacobianBoostingRegressor])
def test_boosting_on_dask_is_refused_with_the_way_out(kind):
    task = kind.__name__.removeprefix("JacobianBoosting")
    lazy = da.from_array(X)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    weights = da.ones(300)
    for parts, argument in (
        ((lazy, y), "X"),
        ((frame, y), "X"),
        ((X, da.from_array(y)), "y"),
        ((X, y, weights), "sample_weight"),
    ):
        with pytest.raises(TypeError, match=f"^{argument} is a Dask collection") as refused:
            kind().fit(*parts)
        assert f"jarf.dask.JARF{task}(xgboost.XGB{task}())" in str(refused.value)
