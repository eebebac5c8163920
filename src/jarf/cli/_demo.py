"""``jarf demo``: a plain forest against the paper's, on the paper's simulation."""

from __future__ import annotations

import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import cohen_kappa_score

from jarf.datasets import halfspace_bayes_kappa, make_rotated_halfspace
from jarf.ensemble import JARFClassifier


def add_parser(commands) -> None:
    """Register the sub-command."""
    parser = commands.add_parser(
        "demo",
        help="RF against JARF on the rotated halfspace, in under a minute",
        description="Train a random forest and JARF on the simulated rotated halfspace and "
        "print Cohen's kappa on fresh rows.",
    )
    parser.add_argument("--rows", type=int, default=2000, help="training rows (default 2000)")
    parser.add_argument("--features", type=int, default=10, help="columns (default 10)")
    parser.add_argument("--trees", type=int, default=200, help="trees (default 200)")
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
        f"{halfspace_bayes_kappa():.3f}.\n"
    )
    print(f"{'angle':>5}  {'RF':>6}  {'JARF':>6}  {'gain':>7}  {'JARF / RF time':>14}")
    for angle in (0, 15, 30, 45, 60):
        rows = [_one(arguments, angle, seed) for seed in range(arguments.repeats)]
        rf, jarf, rf_time, jarf_time = np.mean(rows, axis=0)
        ratio = jarf_time / rf_time
        print(f"{angle:>5}  {rf:>6.3f}  {jarf:>6.3f}  {jarf - rf:>+7.3f}  {ratio:>14.2f}")
    return 0


def _one(arguments, angle, seed):
    X, y = make_rotated_halfspace(
        arguments.rows + 10_000, arguments.features, angle, random_state=seed
    )
    train, test = slice(arguments.rows), slice(arguments.rows, None)
    settings = {
        "n_estimators": arguments.trees,
        "n_jobs": arguments.jobs,
        "random_state": seed,
    }
    kappas, times = [], []
    for model in (RandomForestClassifier(**settings), JARFClassifier(**settings)):
        start = time.perf_counter()
        model.fit(X[train], y[train])
        times.append(time.perf_counter() - start)
        kappas.append(cohen_kappa_score(y[test], model.predict(X[test])))
    return [*kappas, *times]
