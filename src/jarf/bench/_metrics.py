"""Metrics on a test half."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    cohen_kappa_score,
    f1_score,
    r2_score,
    roc_auc_score,
)

from jarf.ensemble import Calibration

__all__ = [
    "calibration_error",
    "classification_metrics",
    "interval_metrics",
    "metrics_before_calibration",
    "regression_metrics",
]

# Share of the test rows that intervals are asked to contain.
COVERAGE = 0.9


def classification_metrics(
    y_true: np.ndarray, y_pred: np.ndarray, proba: np.ndarray | None = None
) -> dict[str, float]:
    """Return Cohen's kappa, accuracy and macro-F1, and metrics of the probabilities if given.

    Those of the probabilities are ROC AUC, average precision, Brier score, log loss and calibration
    error. With two classes, ROC AUC and average precision are those of class 1; with more, the mean
    over the classes, each against all others.

    Labels are 0..C-1, the columns of ``proba``; a true label of -1 was not in the training half.
    """
    # kappa is 0/0 if there is one class and it is always predicted: count that as perfect
    alone = len(np.union1d(y_true, y_pred)) == 1
    scores = {
        "kappa": 1.0 if alone else float(cohen_kappa_score(y_true, y_pred)),
        "accuracy": float(accuracy_score(y_true, y_pred)),
        "macro_f1": float(f1_score(y_true, y_pred, average="macro", zero_division=0)),
    }
    if proba is not None:
        onehot = (np.asarray(y_true)[:, None] == np.arange(proba.shape[1])).astype(float)
        own = np.clip((proba * onehot).sum(axis=1), 1e-15, 1.0)
        scores["brier"] = float(np.mean(((proba - onehot) ** 2).sum(axis=1)))
        scores["log_loss"] = float(-np.mean(np.log(own)))
        scores["ece"] = calibration_error(y_true, proba)
        scores.update(_ranking_metrics(onehot, proba))
    return scores


def _ranking_metrics(onehot: np.ndarray, proba: np.ndarray) -> dict[str, float]:
    """Return how well probabilities rank the rows of a class; classes without rows are left out."""
    classes = [1] if proba.shape[1] == 2 else range(proba.shape[1])
    here = [c for c in classes if 0 < onehot[:, c].sum() < len(onehot)]
    if not here:
        return {}
    kinds = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}
    return {
        name: float(np.mean([score(onehot[:, c], proba[:, c]) for c in here]))
        for name, score in kinds.items()
    }


def calibration_error(y_true: np.ndarray, proba: np.ndarray, n_bins: int = 15) -> float:
    """Expected calibration error of the most probable class, in equally wide bins.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.bench import calibration_error
    >>> calibration_error(np.array([0, 0, 1, 1]), np.array([[0.75, 0.25]] * 4))
    0.25
    """
    confidence = proba.max(axis=1)
    hit = proba.argmax(axis=1) == np.asarray(y_true)
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    size = np.bincount(bins, minlength=n_bins)
    gap = np.bincount(bins, confidence - hit, minlength=n_bins)
    return float(np.abs(gap).sum() / size.sum())


def regression_metrics(y_true: np.ndarray, y_pred: np.ndarray) -> dict[str, float]:
    """R2 and RMSE; the target is in standard deviations of the training half."""
    return {
        "r2": float(r2_score(y_true, y_pred)),
        "rmse": float(np.sqrt(np.mean((np.asarray(y_true) - np.asarray(y_pred)) ** 2))),
    }


def metrics_before_calibration(model: Any, X: Any, y_true: np.ndarray) -> dict[str, float]:
    """Log loss and calibration error of a classifier whose own calibration is switched off.

    Empty if the model has no calibration, or did not fit one.
    """
    found = getattr(model, "calibration_", None)
    if found is None or found.reason:
        return {}
    plain = copy(model)
    plain.calibration_ = Calibration(reason="switched off")
    scores = classification_metrics(y_true, y_true, plain.predict_proba(X))
    return {f"{name}_before": scores[name] for name in ("log_loss", "ece")}


def interval_metrics(model: Any, X: Any, y_true: np.ndarray) -> dict[str, float]:
    """Share of the rows inside a regressor's 90 % intervals, and the mean width.

    The width is in standard deviations of the responses.

    Empty if the model has no intervals.
    """
    if not hasattr(model, "predict_interval"):
        return {}
    try:
        low, high = model.predict_interval(X, COVERAGE).T
    except ValueError:  # too few training rows to hold some out
        return {}
    inside = (low <= y_true) & (y_true <= high)
    width = float(np.mean(high - low)) / (float(np.std(y_true)) or 1.0)
    return {"coverage": float(inside.mean()), "width": width}
