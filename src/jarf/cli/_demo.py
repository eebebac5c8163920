"""``jarf demo``: a random forest, JARF and our estimators on the paper's simulation."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import cohen_kappa_score

from jarf.datasets import halfspace_bayes_kappa, make_rotated_halfspace
from jarf.ensemble import (
    JacobianBoostingClassifier,
    JacobianForestClassifier,
    JARFClassifier,
)

MODELS: dict[str, Any] = {  # the baseline first
    "RF": RandomForestClassifier,
    "JARF": JARFClassifier,
    "JF": JacobianForestClassifier,
    "JB": JacobianBoostingClassifier,
}


def add_parser(commands) -> None:
    """Register the sub-command."""
    parser = commands.add_parser(
        "demo",
        help="compare a random forest, JARF and our estimators on simulated data",
        description="Train a random forest, JARF (the method of the paper), the Jacobian forest "
        "and Jacobian boosting (the estimators we recommend) on the simulated rotated halfspace. "
        "Print Cohen's kappa on fresh rows, gains over the random forest and relative fit times. "
        "Takes about a minute.",
    )
    parser.add_argument("--rows", type=int, default=2000, help="training rows (default 2000)")
    parser.add_argument("--features", type=int, default=10, help="columns (default 10)")
    parser.add_argument("--trees", type=int, default=200, help="trees of the forests (default 200)")
    parser.add_argument("--repeats", type=int, default=3, help="seeds averaged (default 3)")
    parser.add_argument("--jobs", type=int, default=None, help="threads (default 1)")
    parser.set_defaults(run=run)


def run(arguments) -> int:
    """Print the table."""
    for name in ("rows", "trees", "repeats"):
        if getattr(arguments, name) < 1:
            raise ValueError(f"--{name} must be at least 1.")
    print(
        f"Rotated halfspace, {arguments.features} columns, {arguments.rows} training rows, "
        f"{arguments.trees} trees, mean of {arguments.repeats} seeds.\n"
        f"Cohen's kappa on 10,000 fresh rows; no classifier can exceed "
        f"{halfspace_bayes_kappa():.3f} on average.\n\n"
        "RF    scikit-learn's RandomForestClassifier\n"
        "JARF  JARFClassifier, the method of the paper\n"
        "JF    JacobianForestClassifier, the forest we recommend\n"
        "JB    JacobianBoostingClassifier, the booster we recommend; finds its number of trees\n"
        "gain  difference from RF; time: fit time in multiples of RF's\n"
    )
    heads = ["angle", *MODELS]
    for name in list(MODELS)[1:]:
        heads += [f"{name} gain", f"{name} time"]
    print("  ".join(f"{head:>{_width(head)}}" for head in heads))
    for angle in (0, 15, 30, 45, 60):
        rows = [_one(arguments, angle, seed) for seed in range(arguments.repeats)]
        kappas, times = np.mean(rows, axis=0)
        cells = [f"{angle}", *(f"{kappa:.3f}" for kappa in kappas)]
        for kappa, seconds in zip(kappas[1:], times[1:], strict=True):
            cells += [f"{kappa - kappas[0]:+.3f}", f"{seconds / times[0]:.2f}"]
        pairs = zip(cells, heads, strict=True)
        print("  ".join(f"{cell:>{_width(head)}}" for cell, head in pairs))
    return 0


def _width(head: str) -> int:
    return max(len(head), len("0.000"))


def _one(arguments, angle, seed) -> tuple[list[float], list[float]]:
    """Return kappas and seconds of all models, trained with one seed."""
    X, y = make_rotated_halfspace(
        arguments.rows + 10_000, arguments.features, angle, random_state=seed
    )
    train, test = slice(arguments.rows), slice(arguments.rows, None)
    kappas, times = [], []
    for make in MODELS.values():
        model = make(n_jobs=arguments.jobs, random_state=seed)
        if "n_estimators" in model.get_params():
            model.set_params(n_estimators=arguments.trees)
        start = time.perf_counter()
        model.fit(X[train], y[train])
        times.append(time.perf_counter() - start)
        kappas.append(float(cohen_kappa_score(y[test], model.predict(X[test]))))
    return kappas, times
