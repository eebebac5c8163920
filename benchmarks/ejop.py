"""Speed of the exact gradients and of JARF, as ratios measured in one run.

    JARF_DATA=folder python benchmarks/ejop.py

It measures three ratios: the speed of the exact kernel relative to two predictions per row and
feature (2dm predictions, for a random forest, XGBoost and SPORF); the time of the EJOP stage
relative to the final forest's fit; and the time of JARF's whole fit relative to a random forest on
the same rows. Name sections to run only these: kernel, ensembles, fit. Without JARF_DATA the
ensembles are fitted on synthetic data with the same number of columns.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

import numpy as np
from _data import load
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

from jarf import JARFClassifier, SPORFClassifier, expected_jacobian_outer_product
from jarf.gradients import Differences, difference_steps, gradient_blocks

N_JOBS = 2
KERNEL_CASES = (("spambase", 2300), ("mnist-784", 1000))
# Rows, columns and classes; rows to differentiate at; the target.
ENSEMBLE_CASES = (
    ("spambase", 2300, 57, 2, 2300, 10),
    ("mnist-784", 1000, 784, 10, 1000, 50),
)
ENSEMBLES = {
    "XGBoost": lambda: XGBClassifier(n_estimators=100, max_depth=6, n_jobs=N_JOBS, random_state=0),
    "SPORF": lambda: SPORFClassifier(100, n_jobs=N_JOBS, random_state=0),
}
FIT_CASES = ("spambase", "magic", "satimage", "letter")


class Hidden(ClassifierMixin, BaseEstimator):
    """Exposes only a forest's ``predict_proba``, so that it is probed with 2 d predictions per
    row."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.model.classes_

    def predict_proba(self, X):
        return self.model.predict_proba(X)


def seconds(call, repeats):
    """Return the median time of ``repeats`` calls, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = call()
        times.append(time.perf_counter() - start)
    return statistics.median(times), answer


def kernel_case(name, m):
    X, y = load(name, m)
    surrogate = RandomForestClassifier(50, n_jobs=N_JOBS, random_state=0).fit(X, y)
    final = RandomForestClassifier(200, n_jobs=N_JOBS, random_state=0)
    forest_time, _ = seconds(lambda: final.fit(X, y), 3)
    stage_time, _ = seconds(
        lambda: expected_jacobian_outer_product(surrogate, X, y, n_jobs=N_JOBS), 9
    )
    differences = Differences(difference_steps(X), X.min(axis=0), X.max(axis=0))

    def gradients(model):
        return np.concatenate(list(gradient_blocks(model, X, y, differences, n_jobs=N_JOBS)))

    exact_time, exact = seconds(lambda: gradients(surrogate), 9)
    probed_time, probed = seconds(lambda: gradients(Hidden(surrogate)), 3)
    error = np.abs(exact - probed).max() / np.abs(probed).max()
    print(
        f"{name:>10} m={len(X)} d={X.shape[1]}: gradients, 2dm predictions / exact = "
        f"{probed_time / exact_time:6.1f}, EJOP stage / final forest = "
        f"{stage_time / forest_time:.3f}, largest relative difference {error:.1e}"
    )


def table(name, rows, n_columns, n_classes):
    """Return the real table, or a synthetic one of its shape if there is no data folder."""
    if os.environ.get("JARF_DATA"):
        X, y = load(name, rows)
    else:
        X, y = make_classification(
            rows, n_columns, n_informative=min(20, n_columns), n_classes=n_classes, random_state=0
        )
    return X, np.unique(y, return_inverse=True)[1]


def ensemble_case(name, rows, n_columns, n_classes, m, goal, repeats=3):
    """Time both ways in turn and print the median of their ratios."""
    X, y = table(name, rows, n_columns, n_classes)
    differences = Differences(difference_steps(X), X.min(axis=0), X.max(axis=0))

    def gradients(model):
        blocks = gradient_blocks(model, X[:m], y[:m], differences, n_jobs=N_JOBS)
        return np.concatenate(list(blocks))

    for label, make in ENSEMBLES.items():
        model, ratios = make().fit(X, y), []
        for _ in range(repeats):
            exact_time, exact = seconds(lambda model=model: gradients(model), 3)
            probed_time, probed = seconds(lambda model=model: gradients(Hidden(model)), 1)
            ratios.append(probed_time / exact_time)
        error = np.abs(exact - probed).max() / np.abs(probed).max()
        print(
            f"{name:>10} m={m} d={X.shape[1]} {label}: gradients, 2dm predictions / exact = "
            f"{statistics.median(ratios):6.1f} (goal {goal}; {exact_time * 1e3:.0f} ms), "
            f"largest relative difference {error:.1e}"
        )


def fit_case(name):
    X, y = load(name)
    half = np.random.default_rng(0).permutation(len(X))[: len(X) // 2]
    X, y = X[half], y[half]
    ratios = []
    for seed in range(3):
        settings = {"n_jobs": N_JOBS, "random_state": seed, "n_estimators": 200}
        plain, _ = seconds(lambda s=settings: RandomForestClassifier(**s).fit(X, y), 1)
        whole, model = seconds(lambda s=settings: JARFClassifier(**s).fit(X, y), 1)
        ratios.append(whole / plain)
    ratio = statistics.median(ratios)
    stages = {stage: t / whole for stage, t in model.stage_times_.items()}
    shares = ", ".join(f"{stage} {share:.0%}" for stage, share in stages.items())
    print(f"{name:>10} n={len(X)} d={X.shape[1]}: JARF / RF fit = {ratio:.2f} ({shares})")
    return ratio


if __name__ == "__main__":
    asked = sys.argv[1:] or ["kernel", "ensembles", "fit"]
    if "kernel" in asked:
        for case in KERNEL_CASES:
            kernel_case(*case)
    if "ensembles" in asked:
        for case in ENSEMBLE_CASES:
            ensemble_case(*case)
    if "fit" in asked:
        ratios = [fit_case(name) for name in FIT_CASES]
        print(f"    median JARF / RF fit = {statistics.median(ratios):.2f}")
