import dataclasses
import sys
import types

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier

from jarf import JARFClassifier, JARFRegressor
from jarf.bench import (
    BUDGETS,
    EarlyStopped,
    Job,
    Setting,
    get_method,
    load_plugin,
    method_names,
    plan_study,
    register_method,
    run_job,
)
from jarf.bench import _methods as registry
from jarf.bench._baselines import XGB_GRID, BinnedDiscriminants
from jarf.bench._jarf_methods import preconditioner_of
from jarf.bench._protocol import as_table
from jarf.bench._study import environment


@pytest.fixture
def clean_registry(monkeypatch):
    method_names()
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    monkeypatch.setattr(registry, "_BUILT_IN", set(registry._BUILT_IN))


def setting(task="classification", d=4, one_hot=0, **more):
    numeric = np.arange(d) < d - one_hot
    return Setting(task, n_trees=5, random_state=3, numeric=numeric, n_train=100, **more)


def test_the_paper_compares_these():
    wanted = ["RF", "RotF", "CCF", "SPORF", "XGB", "PCA+RF", "LDA+RF", "JARF", "JARF-XGB"]
    assert method_names()[: len(wanted)] == wanted


def test_forests_have_the_papers_settings():
    rf = get_method("RF").build(Setting("classification"))
    assert (rf.n_estimators, rf.max_features, rf.min_samples_leaf) == (200, "sqrt", 1)
    assert get_method("RF").build(Setting("regression")).max_features == 1.0


def test_the_grid_of_appendix_b1():
    assert np.prod([len(values) for values in XGB_GRID.values()]) == 12
    assert get_method("XGB").grid == XGB_GRID
    assert get_method("JARF-XGB").tuned_as == "XGB"


def test_jarf_is_the_librarys_estimator_on_numbers():
    model = get_method("JARF").build(setting())
    assert isinstance(model, JARFClassifier)
    assert isinstance(get_method("JARF").build(setting("regression")), JARFRegressor)
    made = model.preconditioner
    assert (made.gamma, made.step, made.n_probes, made.step_rule) == (1e-3, 0.1, 10_000, "mad")


@pytest.mark.parametrize(
    ("variant", "n_probes"),
    [("surrogate: XGBoost", 10_000), ("surrogate: deep", 10_000), ("surrogate: MLP", 7)],
)
def test_only_surrogates_that_are_probed_have_fewer_probes(variant, n_probes):
    few = dataclasses.replace(setting(), slow_probes=7)
    assert get_method("JARF").build(few, variant).preconditioner.n_probes == n_probes


@pytest.mark.parametrize("variant", list(get_method("JARF").variants))
def test_every_variant_can_be_built(variant):
    model = get_method("JARF").build(setting(), variant)
    default = get_method("JARF").build(setting())
    assert variant == "categorical toggles" or repr(model) != repr(default)


def test_unknown_variant():
    with pytest.raises(KeyError, match="no variant 'nope'"):
        get_method("JARF").build(setting(), "nope")


def test_one_hot_columns_are_not_rotated():
    X, y = make_classification(200, 5, random_state=0)
    X[:, 4] = X[:, 4] > 0
    table = as_table(X, np.arange(5) < 4)
    model = get_method("JARF").build(setting(d=5, one_hot=1)).fit(table, y)
    found = preconditioner_of(model)
    np.testing.assert_array_equal(found.transform(table)[:, 4], X[:, 4])
    block = found.ejop_.matrix[:4, :4] + 1e-3 * np.eye(4)
    np.testing.assert_allclose(found.preconditioner_[:4, :4], block / (np.trace(block) / 4))
    toggled = get_method("JARF").build(setting(d=5, one_hot=1), "categorical toggles")
    assert preconditioner_of(toggled.fit(table, y)).ejop_.matrix[4, 4] > 0


def test_discriminants_of_a_number_find_its_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X @ [1.0, -1.0, 0.0]
    found = BinnedDiscriminants(10).fit(X, y).transform(X)
    assert abs(np.corrcoef(found[:, 0], y)[0, 1]) > 0.99


@pytest.mark.usefixtures("clean_registry")
class TestPlugins:
    def test_estimators_are_cloned_with_seed_and_threads(self):
        forest = ExtraTreesClassifier(7)
        model = register_method("ET", forest).build(setting(n_jobs=2))
        assert (model.n_estimators, model.random_state, model.n_jobs) == (7, 3, 2)
        assert model is not forest
        assert register_method("Dummy", DummyClassifier).build(setting()).random_state == 3

    def test_the_task_of_an_estimator_is_detected(self):
        assert register_method("ET", ExtraTreesClassifier()).tasks == ("classification",)
        assert register_method("any", lambda setting: None).tasks == (
            *("classification", "regression"),
        )

    def test_factories_get_the_setting(self):
        method = register_method("mine", lambda s, depth=1: (s.n_trees, depth), grid={"depth": [1]})
        assert method.build(setting(), depth=4) == (5, 4)

    def test_nonsense_is_refused(self):
        with pytest.raises(TypeError, match="a method is a factory"):
            register_method("x", 3)
        with pytest.raises(KeyError, match="unknown method 'nope'"):
            get_method("nope")

    def test_a_file_and_a_class(self, tmp_path):
        path = tmp_path / "mine.py"
        path.write_text(
            "from sklearn.tree import DecisionTreeClassifier\n"
            "from jarf.bench import register_method\n"
            "register_method('one tree', DecisionTreeClassifier())\n"
        )
        assert load_plugin(str(path)) == ["one tree"]
        assert load_plugin("sklearn.dummy:DummyClassifier") == ["DummyClassifier"]
        assert method_names()[-2:] == ["one tree", "DummyClassifier"]
        with pytest.raises(ValueError, match="module:Class"):
            load_plugin("nothing")
        with pytest.raises(FileNotFoundError, match="no method file"):
            load_plugin(str(tmp_path / "missing.py"))


PEERS = {
    "ET": {},
    "HGB": {"max_iter": 10},
    "LGBM": {"n_estimators": 10},
    "CatBoost": {"iterations": 10},
    "YDF-oblique": {},
    "YDF-GBT": {"num_trees": 10},
    "YDF-oblique-GBT": {"num_trees": 10},
    "JB": {"max_iter": 10, "geometry": "fast"},
}


@pytest.mark.parametrize("name", PEERS)
def test_peers_take_the_seed_and_one_thread(name):
    method = get_method(name)
    for package in method.requires:
        pytest.importorskip(package)
    assert "untuned" in method.note or name == "ET"
    X, y = make_classification(200, 6, n_classes=3, n_informative=4, random_state=0)
    table = as_table((X > 0).astype(float) * [1, 1, 1, 1, 1, 0] + X, np.arange(6) < 5)
    for task, target in (("classification", y), ("regression", X[:, 0] + X[:, 1])):
        models = [method.build(setting(task), **PEERS[name]) for _ in range(2)]
        found = [model.fit(table, target).predict(table) for model in models]
        assert np.array_equal(*found)
        assert np.corrcoef(found[0].ravel(), target)[0, 1] > 0.2
    proba = method.build(setting(), **PEERS[name]).fit(table, y).predict_proba(table)
    assert proba.shape == (200, 3)
    assert proba.sum(axis=1) == pytest.approx(np.ones(200), abs=1e-5)


def test_boosters_keep_their_own_number_of_rounds():
    for package in ("lightgbm", "catboost"):
        pytest.importorskip(package)
    histograms = get_method("HGB").build(setting())
    assert (histograms.max_iter, histograms.early_stopping) == (100, "auto")
    light = get_method("LGBM").build(setting()).estimator
    assert (light.n_estimators, light.learning_rate, light.n_jobs) == (500, 0.05, 1)
    assert get_method("CatBoost").build(setting())[-1].get_param("iterations") is None
    ours = get_method("JB").build(setting(n_jobs=2))
    fresh = type(ours)(n_jobs=2, random_state=3)
    assert ours.get_params() == fresh.get_params()


def test_lightgbm_stops_early_on_rows_it_holds_out():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    y[:3] = 2  # too rare to be in both parts by chance
    model = EarlyStopped(lightgbm.LGBMClassifier(verbosity=-1, n_jobs=1)).fit(X, y)
    assert model.model_.best_iteration_ < 50  # noise: nothing to learn
    assert model.predict_proba(X).shape == (300, 3)


class StandInXRFM:
    """The calls of xrfm.xRFM that we use; it needs torch, which tests do not install."""

    def __init__(self, **options):
        self.options = options

    def fit(self, X, y, X_val, y_val):
        self.sizes = len(y), len(y_val)
        self.kind = y.dtype.kind
        self.n_classes = 2  # as if the last class were not among its rows
        return self

    def predict_proba(self, X):
        return np.full((len(X), self.n_classes), 1 / self.n_classes, dtype=np.float32)

    def predict(self, X):
        return X[:, :1].astype(np.float32)


def test_xrfm_validates_on_a_fifth_of_the_training_rows(monkeypatch):
    monkeypatch.setitem(sys.modules, "xrfm", types.SimpleNamespace(xRFM=StandInXRFM))
    X, y = np.random.default_rng(0).normal(size=(100, 3)), np.arange(100) % 3
    model = get_method("xRFM").build(setting()).fit(X, y)
    assert model.model_.sizes == (80, 20)
    assert model.model_.kind == "i"
    assert model.model_.options["n_threads"] == 1
    assert not model.model_.options["verbose"]
    assert model.predict_proba(X).shape == (100, 3)
    assert model.predict(X).shape == (100,)
    model = get_method("xRFM").build(setting("regression")).fit(X, X[:, 0])
    assert model.model_.kind == "f"
    assert np.allclose(model.predict(X), X[:, 0], atol=1e-6)


def test_a_method_that_is_not_installed_says_so(monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda name: None if name == "lightgbm" else name)
    assert get_method("LGBM").missing == ["lightgbm"]
    assert get_method("RF").missing == []
    assert registry.not_installed(get_method("LGBM")) == (
        "Left out: LGBM, lightgbm is not installed (pip install lightgbm)."
    )
    told = []
    study = plan_study(datasets=["iris"], methods=["RF", "LGBM"], warn=told.append)
    assert {job.method for job in study.jobs} == {"RF"}
    assert told == [registry.not_installed(get_method("LGBM"))]
    assert "LGBM" in environment()["not_installed"]


@pytest.mark.parametrize("name", [name for name in ("JF", "JB", "JE") if name in method_names()])
@pytest.mark.parametrize("dataset", ["iris", "diabetes"])
def test_our_estimators_leave_a_row_with_what_they_chose(name, dataset):
    budget = dataclasses.replace(BUDGETS["quick"], n_trees=5, train_cap=80, test_cap=40)
    row = run_job(Job(dataset, name, cap=80), budget)
    assert row.ok, row.error
    assert row.metrics
    if name != "JE":
        assert row.extra["geometry"]
        assert {"JF": "min_samples_split", "JB": "rounds"}[name] in row.extra
