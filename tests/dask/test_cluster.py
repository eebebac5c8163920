"""On a cluster: the same answers, boosters, joblib's backend, a lost worker."""

import os
import signal
import threading
import time

import dask.array as da
import joblib
import numpy as np
import pytest
from dask.distributed import wait
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

import jarf
from jarf import dask as on_dask
from jarf.datasets import make_rotated_halfspace

X, y = make_rotated_halfspace(600, 4, angle=45, random_state=0)
MAP = jarf.JacobianPreconditioner(RandomForestClassifier(5))
SETTINGS = {"preconditioner": MAP, "n_estimators": 5, "random_state": 0}
DENSE = {"n_estimators": 5, "geometry": "dense", "random_state": 0}


def cut(size=100):
    return da.from_array(X, chunks=(size, 4)), da.from_array(y, chunks=size)


def test_the_answer_does_not_depend_on_the_scheduler(anywhere):
    dX, dy = cut()
    model = on_dask.JARFClassifier(**SETTINGS).fit(dX, dy)
    local = jarf.JARFClassifier(**SETTINGS).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(dX).compute(), local.predict_proba(X))
    assert model.score(dX, dy) == pytest.approx(local.score(X, y))


def test_jacobian_forest(client):
    dX, dy = cut()
    model = on_dask.JacobianForestClassifier(**DENSE).fit(dX, dy)
    local = jarf.JacobianForestClassifier(**DENSE).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(dX).compute(), local.predict_proba(X))
    np.testing.assert_array_equal(model.apply(dX).compute(), local.apply(X))


def test_persisted_rows_stay_where_they_are(client):
    dX, dy = (part.persist() for part in cut())
    wait([dX, dy])
    model = on_dask.JacobianPreconditioner(random_state=0).fit(dX, dy)
    assert model.transform(dX).compute().shape == X.shape


def boosters(kind):
    cases = []
    for module, prefix in (("xgboost", "XGB"), ("lightgbm", "LGBM")):
        cases += [(module, f"{prefix}{kind}"), (f"{module}.dask", f"Dask{prefix}{kind}")]
    return cases


def booster(module, name):
    quiet = {"verbosity": -1} if "lightgbm" in module else {}
    return getattr(pytest.importorskip(module), name)(n_estimators=10, random_state=0, **quiet)


# Their warnings do not matter as long as the result is right.
others_warn = pytest.mark.filterwarnings("ignore")


@others_warn
@pytest.mark.parametrize(("module", "name"), boosters("Classifier"))
def test_boosters_classify(client, module, name):
    labels = np.where(y == 1, "yes", "no")
    dX, dy = cut()[0], da.from_array(labels, chunks=100)
    model = on_dask.JARFClassifier(booster(module, name), **SETTINGS).fit(dX, dy)
    assert model.score(dX, dy) > 0.85
    probabilities = model.predict_proba(dX).compute()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-5)
    assert model.to_local().score(X, labels) == pytest.approx(model.score(dX, dy))


@others_warn
@pytest.mark.parametrize(("module", "name"), boosters("Regressor"))
def test_boosters_regress(client, module, name):
    dX = cut()[0]
    dy = da.tanh(dX[:, 0] + dX[:, 1])
    model = on_dask.JARFRegressor(booster(module, name), random_state=0).fit(dX, dy)
    assert model.score(dX, dy) > 0.5


@others_warn
def test_a_surrogate_trained_on_all_partitions(client):
    labels = np.where(y == 1, "yes", "no")
    surrogate = booster("xgboost.dask", "DaskXGBClassifier")
    model = on_dask.JacobianPreconditioner(surrogate, random_state=0)
    model.fit(cut()[0], da.from_array(labels, chunks=100))
    leading = model.eigenvectors_[:, 0]
    assert abs(leading @ [0.5**0.5, 0.5**0.5, 0, 0]) > 0.95


def test_boosters_say_that_they_need_a_cluster():
    with pytest.raises(RuntimeError, match=r"needs a cluster.*Client"):
        on_dask.JARFClassifier(booster("xgboost", "XGBClassifier"), **SETTINGS).fit(*cut())


@pytest.mark.parametrize(
    "model",
    [
        jarf.JARFClassifier(**SETTINGS),
        jarf.JacobianForestClassifier(5, geometry="dense", random_state=0),
    ],
)
def test_joblib_backend_gives_the_same_bits(client, model):
    expected = clone(model).fit(X, y).predict_proba(X)
    with joblib.parallel_config("dask"):
        answer = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(answer, expected)


def dying(path, calls):
    """A function on blocks that kills its worker at that call, once."""

    def pass_on(block):  # inside another function, it is sent to workers by value
        with open(path / "calls", "ab") as file:
            file.write(b".")
        if os.path.getsize(path / "calls") >= calls and not (path / "dead").exists():
            (path / "dead").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    return pass_on


@pytest.mark.alone
@pytest.mark.posix
# Each pass reads 12 blocks: first for the sample, then (JARF) for the EJOP, then for the trees.
@pytest.mark.parametrize(
    ("name", "settings", "calls"),
    [
        ("JARFClassifier", SETTINGS, 18),
        ("JARFClassifier", SETTINGS, 30),
        ("JacobianForestClassifier", DENSE, 6),
        ("JacobianForestClassifier", DENSE, 18),
    ],
)
def test_a_lost_worker_does_not_change_the_answer(mortal, tmp_path, name, settings, calls):
    dX, dy = cut(50)
    dX = dX.map_blocks(dying(tmp_path, calls), dtype=float, meta=X[:0])
    model = getattr(on_dask, name)(**settings).fit(dX, dy)
    assert (tmp_path / "dead").exists()
    local = getattr(jarf, name)(**settings).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), local.predict_proba(X))


@pytest.mark.alone
@pytest.mark.posix
@others_warn
@pytest.mark.parametrize(
    ("module", "name"), [("xgboost", "XGBClassifier"), ("lightgbm", "LGBMClassifier")]
)
def test_a_lost_worker_ends_boosting_with_a_clear_error(mortal, module, name):
    model = booster(module, name).set_params(n_estimators=1_000_000)
    killer = threading.Thread(target=kill_in_training, args=[mortal])
    killer.start()
    with pytest.raises(RuntimeError, match="If a worker was lost, fit again"):
        on_dask.JARFClassifier(model, **SETTINGS).fit(*cut())
    killer.join()


def kill_in_training(client):
    """Kill a worker that trains a booster; some worker after ten minutes, or it would never end."""
    process_of = client.run(os.getpid)
    training = ("fn-", "dispatched_train-", "_train_part-")  # xgboost, before 3.0, lightgbm
    deadline = time.monotonic() + 600
    while True:
        time.sleep(0.1)
        for address, tasks in client.processing().items():
            trains = any(str(task).startswith(training) for task in tasks)
            if trains or time.monotonic() > deadline:
                time.sleep(1.0)
                os.kill(process_of[address], signal.SIGKILL)
                return
