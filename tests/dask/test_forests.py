"""Rows that trees grown by workers see."""

import dask
import dask.array as da
import numpy as np
import pytest
from dask.callbacks import Callback
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import jarf
from jarf import dask as on_dask
from jarf.dask._forests import Rows, group_of
from jarf.dask._partitions import Block
from jarf.datasets import make_rotated_halfspace
from jarf.ensemble import SPORFClassifier

X, y = make_rotated_halfspace(1200, 4, angle=45, random_state=0)
MAP = jarf.JacobianPreconditioner(RandomForestClassifier(5))


def cut(size):
    return da.from_array(X, chunks=(size, 4)), da.from_array(y, chunks=size)


def small(**params):
    settings = {"n_estimators": 10, "preconditioner": MAP, "random_state": 0}
    return on_dask.JARFClassifier(**(settings | params))


def test_groups_are_even_and_depend_on_the_seed():
    rows = np.arange(30_000)
    group = group_of(rows, 3, seed=1)
    np.testing.assert_allclose(np.bincount(group), 10_000, rtol=0.05)
    np.testing.assert_array_equal(group_of(rows[500:900], 3, seed=1), group[500:900])
    assert 0.2 < np.mean(group == group_of(rows, 3, seed=2)) < 0.5


@pytest.mark.parametrize("name", ["JARFClassifier", "JacobianForestClassifier"])
def test_several_groups_do_not_depend_on_the_partitions(name):
    settings = {"n_estimators": 7, "rows_per_tree": 300, "random_state": 0}
    if name == "JacobianForestClassifier":
        settings["geometry"] = "weighted"
    answers = [
        getattr(on_dask, name)(**settings).fit(*cut(size)).predict_proba(X) for size in (1200, 170)
    ]
    np.testing.assert_allclose(*answers, rtol=1e-9)


def test_a_tree_sees_the_rows_of_its_group_and_no_more():
    model = on_dask.JacobianForestClassifier(
        12, geometry="axes", rows_per_tree=300, random_state=0
    ).fit(*cut(170))
    seen = model.forest_.weights[model.forest_.roots]  # a bootstrap is as large as its group
    sizes = np.bincount(group_of(np.arange(1200), 4, int(model.tree_seeds_[0])))
    np.testing.assert_array_equal(seen, np.tile(sizes, 3))


class Sizes(Callback):
    """Rows in the results of all tasks."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def _posttask(self, key, result, dsk, state, worker_id):
        for part in result if type(result) is list else [result]:
            if isinstance(part, Block | Rows):
                self.rows.append(len(part.X))


@pytest.mark.parametrize("name", ["JARFClassifier", "JacobianForestClassifier"])
def test_no_task_holds_more_than_a_partition_or_a_group(name):
    settings = {"n_estimators": 4, "rows_per_tree": 300, "random_state": 0}
    if name == "JARFClassifier":
        settings["preconditioner"] = jarf.JacobianPreconditioner(surrogate_rows=50)
    else:
        settings["surrogate_rows"] = 50
    with Sizes() as seen, dask.config.set(scheduler="threads"):
        getattr(on_dask, name)(**settings).fit(*cut(100))
    assert 250 < max(seen.rows) < 350
    assert min(seen.rows) < 100


def test_more_groups_than_trees():
    model = small(n_estimators=2, rows_per_tree=200).fit(*cut(300))
    assert model.estimator_.forest_.n_trees == 2
    assert model.score(*cut(300)) > 0.75


def test_sorted_rows_do_no_harm():
    order = np.argsort(y)
    dX, dy = da.from_array(X[order], chunks=(100, 4)), da.from_array(y[order], chunks=100)
    settings = {"n_estimators": 20, "geometry": "sparse", "random_state": 0}
    model = on_dask.JacobianForestClassifier(**settings, rows_per_tree=300).fit(dX, dy)
    local = jarf.JacobianForestClassifier(**settings).fit(X, y)
    new, labels = make_rotated_halfspace(2000, 4, angle=45, random_state=1)
    assert model.to_local().score(new, labels) > local.score(new, labels) - 0.03


def test_another_forest_of_the_engine():
    model = small(estimator=SPORFClassifier(10)).fit(*cut(400))
    local = jarf.JARFClassifier(SPORFClassifier(10), preconditioner=MAP, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), local.predict(X))


def test_weights_and_class_weight():
    weights = np.random.default_rng(0).integers(0, 3, size=1200).astype(float)
    dX, dy = cut(170)
    settings = {"class_weight": {0: 1.0, 1: 5.0}}
    model = small(**settings).fit(dX, dy, da.from_array(weights, chunks=170))
    local = jarf.JARFClassifier(
        n_estimators=10, preconditioner=MAP, random_state=0, **settings
    ).fit(X, y, weights)
    np.testing.assert_allclose(model.predict_proba(X), local.predict_proba(X), rtol=1e-9)
    balanced = small(class_weight="balanced").fit(dX, dy)
    assert balanced.score(dX, dy) > 0.85


def test_to_local_needs_no_dask():
    model = small().fit(*cut(400))
    local = model.to_local()
    assert type(local) is jarf.JARFClassifier
    np.testing.assert_array_equal(local.predict(X), model.predict(X))
    assert "rows_per_tree" in model.get_params()
    assert "rows_per_tree" not in local.get_params()


def test_regressor_on_integers():
    response = np.rint(10 * X[:, 0])
    dX = cut(400)[0]
    model = on_dask.JARFRegressor(
        preconditioner=jarf.JacobianPreconditioner(RandomForestRegressor(5)),
        n_estimators=10,
        random_state=0,
    ).fit(dX, da.from_array(response.astype(int), chunks=400))
    assert model.score(dX, da.from_array(response, chunks=400)) > 0.8
