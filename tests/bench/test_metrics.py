import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from jarf.bench import calibration_error, classification_metrics, regression_metrics


def test_known_answers():
    y, predicted = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    scores = classification_metrics(y, predicted)
    assert scores["kappa"] == pytest.approx(0.5)
    assert scores["accuracy"] == 0.75
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 0.8) / 2)


def test_probability_scores_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 50), rng.uniform(0.05, 0.95, 50)
    proba = np.column_stack([1 - p, p])
    scores = classification_metrics(y, proba.argmax(axis=1), proba)
    assert scores["log_loss"] == pytest.approx(log_loss(y, proba))
    assert scores["brier"] == pytest.approx(2 * brier_score_loss(y, p))


def test_one_class_always_met_is_perfect():
    assert classification_metrics(np.zeros(3, int), np.zeros(3, int))["kappa"] == 1.0


def test_calibrated_probabilities_have_no_error():
    proba = np.tile([0.75, 0.25], (4, 1))
    assert calibration_error(np.array([0, 0, 0, 1]), proba) == pytest.approx(0.0)
    assert calibration_error(np.array([1, 1, 1, 1]), proba) == pytest.approx(0.75)


def test_regression():
    y = np.array([0.0, 1.0, 2.0])
    assert regression_metrics(y, y) == {"r2": 1.0, "rmse": 0.0}
    assert regression_metrics(y, np.ones(3))["r2"] == pytest.approx(0.0)


def test_ranking_metrics_of_two_and_of_more_classes():
    y = np.array([0, 0, 1, 1])
    proba = np.array([[0.9, 0.1], [0.4, 0.6], [0.6, 0.4], [0.2, 0.8]])
    found = classification_metrics(y, proba.argmax(axis=1), proba)
    assert found["roc_auc"] == 0.75
    assert found["average_precision"] == pytest.approx((1 + 2 / 3) / 2)
    y = np.array([0, 1, 2, -1])  # the last class was not in the training half
    proba = np.eye(4)[:, :3]
    found = classification_metrics(y, proba.argmax(axis=1), proba)
    assert found["roc_auc"] == 1.0
    alone = classification_metrics(np.zeros(3, int), np.zeros(3, int), np.full((3, 2), 0.5))
    assert "roc_auc" not in alone
