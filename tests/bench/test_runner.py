"""The run: resuming, failures as rows, several processes, kill -9."""

import dataclasses
import importlib
import json
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier

from jarf.bench import (
    BUDGETS,
    DatasetError,
    Job,
    Progress,
    ResultStore,
    StoreError,
    _datasets,
    _methods,
    get_method,
    load_rows,
    method_names,
    plan_study,
    register_dataset,
    register_method,
    reproduce,
    run_job,
    run_jobs,
)
from jarf.bench.experiments import OBLIQUE

TINY = dataclasses.replace(
    BUDGETS["quick"],
    n_trees=3,
    train_cap=60,
    test_cap=60,
    simulated_rows=60,
    simulated_test_rows=100,
    tune_rows=40,
    slow_probes=5,
)


@pytest.fixture(autouse=True)
def clean_registries(monkeypatch):
    _methods.method_names()
    _datasets.dataset_names()
    for module in (_methods, _datasets):
        monkeypatch.setattr(module, "_REGISTRY", dict(module._REGISTRY))
    monkeypatch.setattr(_methods, "_BUILT_IN", set(_methods._BUILT_IN))


class Failing(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ValueError("<b>cannot</b> fit this")


def run(folder, **selection):
    selection = {"datasets": ["iris"], "only": ["classification"], **selection}
    return reproduce(folder, TINY, verbose=False, **selection)


def test_a_row_says_everything():
    row = run_job(Job("breast-cancer", "JARF", cap=60), TINY)
    assert row.status == "ok", row.error
    probabilities = {"roc_auc", "average_precision", "brier", "log_loss", "ece"}
    assert set(row.metrics) == {"kappa", "accuracy", "macro_f1", *probabilities}
    assert {"surrogate", "gradients", "fit", "predict", "total", "cpu"} == set(row.times)
    assert (row.n_train, row.n_test, row.d, row.n_trees) == (60, 60, 30, 3)
    assert row.versions["scikit-learn"]
    assert row.extra["surrogate"]["accuracy"] > 0.5
    json.dumps(row.as_dict())


def test_the_same_seed_gives_the_same_numbers():
    a, b = (run_job(Job("wine", "JARF", cap=60), TINY) for _ in range(2))
    assert a.metrics == b.metrics
    assert run_job(Job("wine", "JARF", cap=60, seed=1), TINY).metrics != a.metrics


@pytest.mark.parametrize("method", method_names())
@pytest.mark.parametrize("dataset", ["wine", "diabetes"])
def test_methods_fit_both_tasks(method, dataset):
    for package in get_method(method).requires:
        pytest.importorskip(package)
    row = run_job(Job(dataset, method, cap=60), TINY)
    assert row.status == "ok", row.error
    assert ("alignment" in row.extra) == (method in OBLIQUE)


def test_tuning_happens_once_and_first(tmp_path):
    pytest.importorskip("xgboost")
    run(tmp_path, methods=["XGB", "JARF-XGB"])
    rows = load_rows(tmp_path)
    assert [r.variant for r in rows] == ["tuning", "", "", "", ""]
    assert set(rows[0].params) == {"max_depth", "learning_rate", "reg_lambda"}
    assert all(r.params == rows[0].params for r in rows)


def test_a_failing_method_is_a_row(tmp_path):
    register_method("failing", Failing())
    run(tmp_path, methods=["failing", "RF"])
    rows = load_rows(tmp_path)
    failed = [r for r in rows if r.method == "failing"]
    assert [r.status for r in failed] == ["error", "error"]
    assert failed[0].error == "ValueError: <b>cannot</b> fit this"
    assert failed[0].where[-1].startswith("test_runner.py:")
    assert {r.status for r in rows if r.method == "RF"} == {"ok"}


def test_errors_are_kept_until_a_retry_is_asked_for(tmp_path):
    register_method("mine", Failing())
    run(tmp_path, methods=["mine"])
    register_method("mine", DummyClassifier())
    run(tmp_path, methods=["mine"])
    assert {r.status for r in load_rows(tmp_path)} == {"error"}
    run(tmp_path, methods=["mine"], retry_errors=True)
    assert [r.status for r in load_rows(tmp_path)] == ["ok", "ok"]


def test_a_second_start_continues(tmp_path):
    study = run(tmp_path, methods=["RF"])
    first = load_rows(tmp_path)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-20])  # as a kill in the middle of a write leaves it
    run(tmp_path, methods=["RF"])
    again = load_rows(tmp_path)
    assert len(again) == len(first) == len(study.jobs)
    assert [r.metrics for r in again] == [r.metrics for r in first]
    assert again[0].when == first[0].when


def test_experiments_share_their_fits(tmp_path):
    both = plan_study(TINY, datasets=["iris"], methods=["RF", "JARF"])
    keys = [job.key for job in both.jobs]
    assert len(set(keys)) == len(keys)
    table = plan_study(
        TINY, datasets=["iris"], methods=["RF", "JARF"], only=["classification", "beeswarm"]
    )
    assert len(table.jobs) == 4
    assert set(table.jobs) <= set(both.jobs)


def test_the_first_repeat_of_everything_comes_first():
    budget = dataclasses.replace(TINY, repeats=2, ablation_repeats=2)
    plan = plan_study(budget, datasets=["iris", "wine"], methods=["RF", "JARF"])
    repeats = [job.repeat for job in plan.jobs]
    assert repeats == sorted(repeats)
    half = len(repeats) // 2
    assert {j.variant for j in plan.jobs[:half]} == {j.variant for j in plan.jobs}


def test_a_run_with_other_settings_needs_another_folder(tmp_path):
    run(tmp_path, methods=["RF"])
    with pytest.raises(StoreError, match="another seed"):
        run(tmp_path, methods=["RF"], seed=1)


@pytest.mark.parametrize(
    "selection", [{"only": ["nope"]}, {"datasets": ["nope"]}, {"methods": ["nope"]}]
)
def test_unknown_names_are_refused_with_the_known_ones(tmp_path, selection):
    with pytest.raises(KeyError, match=r"unknown \w+ 'nope'; known: "):
        run(tmp_path, **selection)


def test_a_dataset_that_cannot_be_had_is_left_out_and_named(tmp_path):
    register_dataset("absent", "classification")
    study = run(tmp_path, datasets=["iris", "absent"], methods=["RF"])
    assert list(study.missing) == ["absent"]
    assert {r.dataset for r in load_rows(tmp_path)} == {"iris"}
    with pytest.raises(DatasetError, match="no dataset could be loaded"):
        run(tmp_path, datasets=["absent"])


def test_probes_beyond_the_rows_are_not_run_again():
    plan = plan_study(TINY, datasets=["iris"], methods=["RF", "JARF"], only=["subsample"])
    assert {job.variant for job in plan.jobs} == {""}


def test_several_processes_store_the_same_rows(tmp_path):
    # a factory that only this process knows must reach the workers
    register_method("mine", lambda setting: DummyClassifier(strategy="prior"))
    selection = {"datasets": ["iris", "wine"], "methods": ["RF", "mine"]}
    run(tmp_path / "one", **selection)
    run(tmp_path / "two", jobs=2, **selection)

    def scores(name):
        rows = load_rows(tmp_path / name)
        return {(r.dataset, r.method, r.fold): (r.status, r.metrics) for r in rows}

    assert scores("one") == scores("two")


DYING = """
import os, signal

def factory(setting):
    os.kill(os.getpid(), signal.SIGKILL)  # as running out of memory does
"""


@pytest.mark.posix
def test_a_process_that_dies_costs_its_own_fit_only(tmp_path, monkeypatch):
    # In a module of its own, which workers can import; they do not know that of a test.
    (tmp_path / "dying_method.py").write_text(DYING)
    monkeypatch.syspath_prepend(tmp_path)
    register_method("dying", importlib.import_module("dying_method").factory)
    jobs = [Job("iris", name, "", 0, fold, 60) for name in ("dying", "RF") for fold in (0, 1)]
    with ResultStore(tmp_path / "run", {}) as store:
        assert run_jobs(jobs, store, TINY, n_jobs=2) == 4
    found = {(r.method, r.fold): r for r in load_rows(tmp_path / "run")}
    assert {found["RF", f].status for f in (0, 1)} == {"ok"}
    assert all("died (signal 9)" in found["dying", f].error for f in (0, 1))


SCRIPT = """
import dataclasses, sys
from jarf.bench import BUDGETS, reproduce
if __name__ == "__main__":
    budget = dataclasses.replace(BUDGETS["quick"], n_trees=40, repeats=5)
    reproduce(sys.argv[1], budget, jobs=int(sys.argv[2]), only=["classification"],
              datasets=["iris", "wine", "breast-cancer"], methods=["RF", "PCA+RF"])
"""


def start(folder, jobs):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), str(jobs)], stderr=subprocess.DEVNULL
    )


def wait_for_rows(folder, count):
    path = folder / "rows.jsonl"
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if path.is_file() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.02)
    raise AssertionError("no rows in time")


def test_kill_dash_nine_loses_at_most_the_fit_under_way(tmp_path):
    for wanted in (3, 11):
        process = start(tmp_path, 1)
        wait_for_rows(tmp_path, wanted)
        process.kill()
        process.wait()
        assert len(load_rows(tmp_path)) >= wanted
    before = {r.when + str(r.seconds) for r in load_rows(tmp_path)}
    assert start(tmp_path, 1).wait() == 0
    rows = load_rows(tmp_path)
    keys = [(r.dataset, r.method, r.repeat, r.fold) for r in rows]
    assert len(keys) == len(set(keys)) == 3 * 2 * 10
    assert before <= {r.when + str(r.seconds) for r in rows}


def test_progress_speaks_of_time_left(capsys):
    progress = Progress(2)
    row = Job("d", "m").row(seconds=30.0)
    left = [Job("d", "m"), Job("d", "m", "v"), Job("e", "m")]
    assert progress.cost(left[0]) == 1.0
    progress(row, left)
    assert progress.cost(left[1]) == 30.0
    assert "1/2 fits, about 1 min 30 s left; last: d m" in capsys.readouterr().err


def test_rows_hold_plain_numbers(tmp_path):
    with ResultStore(tmp_path, {}) as store:
        job = Job("iris", "RF", cap=60)
        store.append(job.row(extra={"array": np.arange(3), "scalar": np.float64(2.5)}))
    assert load_rows(tmp_path)[0].extra == {"array": [0, 1, 2], "scalar": 2.5}
