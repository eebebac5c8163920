"""Calibrated probabilities, and unchanged predicted classes."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import log_loss

from jarf import JacobianBoostingClassifier, JacobianForestClassifier
from jarf.datasets import make_rotated_halfspace
from jarf.ensemble import Calibration, expected_calibration_error
from jarf.ensemble._cross_fit import held_out_splits
from jarf.export import export_onnx, load, onnx_inputs, save
from jarf.inspection import shapley_values

X, y = make_rotated_halfspace(600, 4, angle=45, random_state=0)


def small(**params):
    return JacobianForestClassifier(**{"n_estimators": 30, "random_state": 0, **params})


def softened(n=4000, power=0.4, n_classes=3, seed=0):
    """Probabilities that are true, labels drawn from them, and a power of them."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.ones(n_classes), n)
    labels = (true.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    soft = true**power
    return true, labels, soft / soft.sum(axis=1, keepdims=True)


def test_a_known_power_is_found_and_undone():
    true, labels, soft = softened()
    found = Calibration.fit(soft, labels)
    assert abs(found.temperature - 0.4) < 0.04
    assert np.abs(found.apply(soft) - true).mean() < 0.01
    assert found.n_rows == 4000
    assert found.log_loss[1] < found.log_loss[0] - 0.05
    assert found.calibration_error[1] < 0.3 * found.calibration_error[0]
    assert found.log_loss[0] == pytest.approx(log_loss(labels, soft))
    assert "more confident" in str(found)


def test_weights_count_as_copies():
    _, labels, soft = softened(300)
    twice = np.arange(300) % 3 == 0
    weights = 1.0 + twice
    copies = np.repeat(np.arange(300), 1 + twice)
    weighted = Calibration.fit(soft, labels, weights)
    copied = Calibration.fit(soft[copies], labels[copies])
    assert weighted.temperature == pytest.approx(copied.temperature, rel=0.01)
    assert weighted.log_loss == pytest.approx(copied.log_loss, rel=0.01)
    scaled = Calibration.fit(soft, labels, 100 * weights)
    assert scaled.temperature == pytest.approx(weighted.temperature)


def test_no_class_changes_not_even_in_a_tie():
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 3, (2000, 3)) / 6
    votes[:500] = 1 / 3
    up = rng.integers(0, 3, 2000)
    votes[np.arange(2000), up] = np.nextafter(votes[np.arange(2000), up], 1)
    for temperature in (0.11, 0.7, 1.0, 3.9):
        found = Calibration(temperature).apply(votes)
        np.testing.assert_array_equal(found.argmax(axis=1), votes.argmax(axis=1))
        np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("n", "n_classes", "reason"), [(19, 3, "19 held-out rows"), (40, 1, "one class")]
)
def test_too_little_to_fit_leaves_probabilities_alone(n, n_classes, reason):
    rng = np.random.default_rng(0)
    raw = rng.dirichlet(np.ones(n_classes), n)
    found = Calibration.fit(raw, np.zeros(n, int))
    assert reason in str(found)
    assert found.apply(raw) is raw


def test_rows_that_are_all_right_do_not_ask_for_certainty():
    found = Calibration.fit(np.tile([0.9, 0.1], (25, 1)), np.zeros(25, int))
    assert 0.1 < found.temperature < 1
    assert found.apply(np.array([[0.9, 0.1]]))[0, 0] < 0.9999


def test_calibration_error_of_known_cases():
    labels = np.repeat([0, 1], [75, 25])
    honest = np.tile([0.75, 0.25], (100, 1))
    assert expected_calibration_error(honest, labels) == pytest.approx(0)
    assert expected_calibration_error(np.tile([1.0, 0.0], (100, 1)), labels) == pytest.approx(0.25)


@pytest.mark.parametrize("geometry", ["auto", "axes", "fast"])
def test_the_forest_is_calibrated_and_predicts_the_same_classes(geometry):
    data, labels = load_breast_cancer(return_X_y=True)
    train, test = slice(0, None, 2), slice(1, None, 2)
    model = small(geometry=geometry, n_estimators=60).fit(data[train], labels[train])
    raw = small(geometry=geometry, n_estimators=60, calibrate=False).fit(data[train], labels[train])
    np.testing.assert_array_equal(model.predict(data[test]), raw.predict(data[test]))
    losses = [log_loss(labels[test], m.predict_proba(data[test])) for m in (model, raw)]
    assert losses[0] < losses[1] + 0.01
    before, after = model.calibration_.log_loss
    assert after < before
    assert model.calibration_.n_rows == len(data[train])
    assert "calibration" in model.stage_times_
    assert "calibrate=False" in str(raw.calibration_)
    np.testing.assert_array_equal(
        raw.predict_proba(data[test]), raw.forest_.predict(data[test].astype(np.float32))
    )
    assert np.isfinite(model.predict_log_proba(data[test])).all()


def test_boosting_is_calibrated_on_the_rows_of_its_race():
    options = {"geometry": "axes", "max_iter": 60, "random_state": 0}
    model = JacobianBoostingClassifier(**options).fit(X[:300], y[:300])
    raw = JacobianBoostingClassifier(calibrate=False, **options).fit(X[:300], y[:300])
    assert model.calibration_.n_rows == 300
    assert "calibrate=False" in str(raw.calibration_)
    np.testing.assert_array_equal(model.predict(X), raw.predict(X))
    expected = model.calibration_.apply(raw.predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), expected)
    before, after = model.calibration_.log_loss
    assert after < before + 1e-3
    sets = model.predict_set(X[300:], 0.9)
    assert sets[np.arange(300), y[300:].astype(int)].mean() > 0.85


def test_few_rows_are_left_alone():
    model = small().fit(X[:19], y[:19])
    assert "no rows were held out" in str(model.calibration_)
    with pytest.raises(ValueError, match="calibrate=True on at least 20 rows"):
        model.predict_set(X)


def test_rows_of_weight_zero_and_scaled_weights_change_nothing():
    weights = np.repeat([1.0, 0.0], [400, 200])
    some = small().fit(X[:400], y[:400])
    for given in (weights, 8 * weights):
        other = small().fit(X, y, given)
        assert other.calibration_.temperature == pytest.approx(some.calibration_.temperature)


def test_a_warm_start_calibrates_like_one_long_fit():
    model = small(warm_start=True).fit(X, y).set_params(n_estimators=40).fit(X, y)
    assert model.calibration_ == small().set_params(n_estimators=40).fit(X, y).calibration_


def test_held_out_rows_are_predicted_once_in_folds_or_are_a_quarter():
    rng = np.random.RandomState(0)
    folds = held_out_splits(np.random.default_rng(0).normal(size=(103, 2)), rng)
    assert len(folds) == 4
    assert sorted(np.concatenate([score for _, score in folds])) == list(range(103))
    [(learn, score)] = held_out_splits(np.random.default_rng(0).normal(size=(8000, 2)), rng)
    assert (len(learn), len(score)) == (6000, 2000)
    assert not set(learn) & set(score)
    [(learn, score)] = held_out_splits(np.arange(50_000.0)[:, None], rng)
    assert (len(learn), len(score)) == (46_000, 4000)
    assert held_out_splits(np.ones((100, 2)), rng) == held_out_splits(X[:19], rng) == []


def test_files_and_pickles_keep_it(tmp_path):
    data, labels = load_wine(return_X_y=True)
    model = small().fit(data, labels)
    save(model, tmp_path / "model")
    for copy in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict_proba(data), model.predict_proba(data))
        np.testing.assert_array_equal(copy.predict_set(data), model.predict_set(data))
        assert copy.calibration_ == model.calibration_


def test_onnx_gives_the_calibrated_probabilities():
    runtime = pytest.importorskip("onnxruntime")
    data, labels = load_wine(return_X_y=True)
    model = small().fit(data, labels)
    session = runtime.InferenceSession(export_onnx(model).SerializeToString())
    label, probabilities = session.run(None, onnx_inputs(model, data))
    np.testing.assert_allclose(probabilities, model.predict_proba(data), atol=1e-5)
    np.testing.assert_array_equal(label, model.predict(data))


def test_shapley_values_explain_the_calibrated_probabilities():
    model = small().fit(X, y)
    found = shapley_values(model, X[:5], X[100:120])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(X[:5]))
