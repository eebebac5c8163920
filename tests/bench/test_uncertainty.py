"""Calibration and intervals in the study: metrics, other libraries' intervals, tables."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor

from jarf import JacobianForestClassifier
from jarf.bench import EXPERIMENTS, ResultRow, Results, Setting, get_method, plan_study
from jarf.bench._interval_peers import QuantilePair, SplitConformal
from jarf.bench._metrics import interval_metrics, metrics_before_calibration

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
Y = X[:, 0] + rng.normal(size=400)


class Constant:
    """Intervals from -1 to 1."""

    def predict_interval(self, X, coverage):
        assert coverage == 0.9
        return np.tile([-1.0, 1.0], (len(X), 1))


def test_coverage_and_width_have_known_answers():
    found = interval_metrics(Constant(), np.zeros((4, 1)), np.array([-2.0, 0.0, 1.0, 2.0]))
    assert found["coverage"] == 0.5
    assert found["width"] == pytest.approx(2 / np.std([-2, 0, 1, 2]))
    assert interval_metrics(DummyRegressor(), X, Y) == {}


def test_metrics_before_calibration_leave_the_model_as_it_was():
    labels = (Y > 0).astype(int)
    model = JacobianForestClassifier(20, random_state=0).fit(X[:300], labels[:300])
    calibrated = model.predict_proba(X[300:])
    before = metrics_before_calibration(model, X[300:], labels[300:])
    assert set(before) == {"log_loss_before", "ece_before"}
    np.testing.assert_array_equal(model.predict_proba(X[300:]), calibrated)
    plain = JacobianForestClassifier(20, calibrate=False, random_state=0).fit(X[:300], labels[:300])
    own = np.clip(plain.predict_proba(X[300:])[np.arange(100), labels[300:]], 1e-15, 1)
    assert before["log_loss_before"] == pytest.approx(-np.log(own).mean())
    assert metrics_before_calibration(plain, X[300:], labels[300:]) == {}


def test_split_conformal_intervals_cover():
    model = SplitConformal(RandomForestRegressor(20, random_state=0)).fit(X[:200], Y[:200])
    assert len(model.residuals_) == 50
    low, high = model.predict_interval(X[200:], 0.9).T
    assert np.ptp(high - low) < 1e-9
    assert (high - low)[0] == pytest.approx(2 * model.residuals_[45])  # ceil(51 * 0.9) = 46
    assert 0.8 < np.mean((low <= Y[200:]) & (Y[200:] <= high)) < 1


def test_quantile_models_give_ordered_ends():
    catboost = pytest.importorskip("catboost")
    small = catboost.CatBoostRegressor(iterations=20, verbose=False, allow_writing_files=False)
    model = QuantilePair(small).fit(X, Y)
    low, high = model.predict_interval(X, 0.9).T
    assert (low <= high).all()
    assert model.predict(X).shape == (400,)
    with pytest.raises(ValueError, match=r"coverage of 0\.9"):
        model.predict_interval(X, 0.5)


def test_the_variants_build_models_with_intervals():
    setting = Setting("regression", n_trees=5)
    assert isinstance(get_method("RF").build(setting, "intervals"), SplitConformal)
    pytest.importorskip("catboost")
    assert isinstance(get_method("CatBoost").build(setting, "intervals"), QuantilePair)


def test_the_plan_runs_variants_for_others_and_shares_our_own_rows():
    methods = {"datasets": ["diabetes"], "methods": ["RF", "JF"]}
    jobs = plan_study("quick", only=["intervals"], **methods).jobs
    assert {(job.method, job.variant) for job in jobs} == {("RF", "intervals"), ("JF", "")}
    usual = plan_study("quick", only=["regression"], **methods).jobs
    assert {job.key for job in jobs if job.method == "JF"} <= {job.key for job in usual}


def row(method, variant, task, fold, dataset, **metrics):
    return ResultRow(
        *(dataset, method, variant, 0, fold, 500, 0), task=task, n_train=100, metrics=metrics
    )


def test_tables_are_means_over_datasets():
    rows = [
        row(method, variant, "regression", fold, "diabetes", coverage=c + fold / 10, width=2.0)
        for fold in (0, 1)
        for method, variant, c in (("RF", "intervals", 0.8), ("JF", "", 0.85))
    ]
    both = {"log_loss": 0.2, "ece": 0.01, "log_loss_before": 0.3, "ece_before": 0.05}
    rows.append(row("JF", "", "classification", 0, "iris", **both))
    results = Results(rows, {"train_cap": 500})
    (intervals,) = EXPERIMENTS["intervals"].tables(results)
    assert intervals.cells["RF", "study coverage"].value == pytest.approx(0.85)
    assert intervals.cells["JF", "study coverage"].value == pytest.approx(0.9)
    assert [line.key for line in intervals.rows] == ["RF", "JF"]  # nothing of the others was run
    (calibration,) = EXPERIMENTS["calibration"].tables(results)
    assert calibration.cells["JF", "study log_loss_before"].value == 0.3
    assert EXPERIMENTS["intervals"].tables(Results([])) == []
