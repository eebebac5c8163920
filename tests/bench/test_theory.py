"""The simulations behind the checks of the paper's proofs."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from jarf.bench import BUDGETS, THEORY, get_dataset, get_method, make_split, plan_study, run_job
from jarf.bench._datasets import in_collection
from jarf.bench._methods import Setting
from jarf.bench._theory import EJOP, FUNCTIONS, GAIN, ORACLE, _probability, split_gains, subspace
from jarf.bench.experiments import RiskCurve, rate


def test_the_gain_is_that_of_a_tree_with_one_cut():
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(200, 3)), rng.normal(size=(3, 4))
    f = np.sin(X[:, 0]) + X[:, 1]
    gains = split_gains(X, f, W)
    for direction, gain in zip(W.T, gains, strict=True):
        z = (X @ direction)[:, None]
        stump = DecisionTreeRegressor(max_depth=1).fit(z, f)
        assert gain == pytest.approx(f.var() - np.mean((f - stump.predict(z)) ** 2))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_are_those_of_the_probability(function):
    X = np.random.default_rng(1).normal(size=(20, 10))
    _, gradients = _probability(function, X)
    for j in range(10):
        step = 1e-5 * np.eye(10)[j]
        change = _probability(function, X + step)[0] - _probability(function, X - step)[0]
        assert np.allclose(gradients[:, j], change / 2e-5, atol=1e-8)


def test_gains_of_a_linear_function_follow_the_ejop():
    dataset = get_dataset("gain-linear")
    found = get_method(GAIN).measure(dataset, Setting("classification", random_state=0))
    assert found["metrics"]["correlation_root"] > 0.98
    assert found["metrics"]["correlation_node"] > 0.98
    assert found["metrics"]["leading_ahead"] == 1.0
    lengths = {len(found["extra"][name]) for name in ("slopes", "root", "node")}
    assert lengths == {62}


def test_ridge_functions_depend_on_their_subspace_alone():
    dataset = get_dataset("ridge-d10-n250")
    train, test = dataset.draw(3, 0, 100)
    assert (len(train.y), len(test.y)) == (250, 100)
    a, b = (test.X.to_numpy() @ subspace(10)).T
    assert np.allclose(test.y, 2 * np.sin(a) + np.abs(b - 0.5))  # no noise in test rows
    assert np.allclose(subspace(10).T @ subspace(10), np.eye(2))


def test_the_oracle_sees_two_columns():
    split = make_split(get_dataset("ridge-d10-n250"), 0, 0, BUDGETS["quick"], 0)
    model = get_method(ORACLE).build(Setting("regression", n_trees=5, random_state=0))
    model.fit(split.X_train, split.y_train)
    assert model[-1].n_features_in_ == 2


def test_a_plan_has_sizes_probes_and_gains():
    study = plan_study("quick", only=[THEORY])
    names = {job.dataset for job in study.jobs}
    assert "ridge-d200-n500" in names
    assert "ridge-d200-n1000" not in names  # beyond the quick budget
    assert {job.method for job in study.jobs} >= {"RF", "JARF", "JF", EJOP, GAIN, ORACLE}
    assert {job.variant for job in study.jobs if job.method == EJOP} == {"", "m = 100", "m = 300"}
    assert {job.dataset for job in study.jobs if job.method == GAIN} == {
        name for name in in_collection(THEORY) if name.startswith("gain-")
    }


def test_measures_become_rows():
    jobs = plan_study("quick", only=[THEORY], datasets=["ridge-d10-n250"]).jobs
    job = next(job for job in jobs if job.method == EJOP)
    row = run_job(job, BUDGETS["quick"])
    assert row.ok, row.error
    assert 0 < row.metrics["least_angle"] < row.metrics["angle"] < 90
    assert row.task == "regression"


def test_measures_stay_out_of_the_study():
    study = plan_study("quick", datasets=["iris", "halfspace-d10-a45"])
    assert not {job.method for job in study.jobs} & {GAIN, EJOP, ORACLE}


def test_slopes_are_exponents():
    n = np.array([100.0, 1000.0, 10_000.0])
    curve = RiskCurve(10, "JARF", "top 2 eigenvectors", n, 3 * n**-0.5)
    assert curve.slope == pytest.approx(-0.5)
    assert curve.label == "JARF, top 2"
    assert rate(2) == -0.5
