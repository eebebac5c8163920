"""``jarf demo``: the recommended estimators and the paper's JARF on the paper's simulation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import cohen_kappa_score

from jarf.datasets import halfspace_bayes_kappa, make_rotated_halfspace
from jarf.ensemble import JacobianBoostingClassifier, JacobianForestClassifier, JARFClassifier


def _forest(cls: Any) -> Callable[..., Any]:
    return lambda trees, **given: cls(n_estimators=trees, **given)


def _boosting(trees: int, **given: Any) -> Any:
    return JacobianBoostingClassifier(**given)  # early stopping finds the number of trees


MODELS: dict[str, tuple[str, Callable[..., Any]]] = {  # the baseline first
    "RF": ("scikit-learn's RandomForestClassifier", _forest(RandomForestClassifier)),
    "JF": ("JacobianForestClassifier, recommended", _forest(JacobianForestClassifier)),
    "JB": ("JacobianBoostingClassifier, recommended", _boosting),
    "JARF": ("JARFClassifier, the method of the paper", _forest(JARFClassifier)),
}


def add_parser(commands) -> None:
    """Register the sub-command."""
    parser = commands.add_parser(
        "demo",
        help="compare the recommended models with a random forest on simulated data",
        description="Train a random forest, the recommended estimators (Jacobian forest and "
        "Jacobian boosting) and JARF (the method of the paper) on the simulated rotated halfspace. "
        "Print Cohen's kappa on fresh rows and relative fit times. Takes one or two minutes.",
    )
    parser.add_argument("--rows", type=int, default=2000, help="training rows (default 2000)")
    parser.add_argument("--features", type=int, default=10, help="columns (default 10)")
    parser.add_argument(
        "--trees",
        type=int,
        default=200,
        help="trees of a forest (default 200); boosting finds its own number",
    )
    parser.add_argument("--repeats", type=int, default=3, help="seeds averaged (default 3)")
    parser.add_argument("--jobs", type=int, default=None, help="threads (default 1)")
    parser.set_defaults(run=run)


def run(arguments) -> int:
    """Print the table."""
    for name in ("rows", "trees", "repeats"):
        if getattr(arguments, name) < 1:
            raise ValueError(f"--{name} must be at least 1.")
    averaged = "one seed" if arguments.repeats == 1 else f"mean of {arguments.repeats} seeds"
    legend = "\n".join(f"{name:4}  {note}" for name, (note, _) in MODELS.items())
    print(
        f"Rotated halfspace, {arguments.features} columns, {arguments.rows} training rows, "
        f"{arguments.trees} trees, {averaged}.\n"
        f"Cohen's kappa on 10,000 fresh rows; no classifier can exceed "
        f"{halfspace_bayes_kappa():.3f} on average.\n\n"
        f"{legend}\ntime  fit time / fit time of RF\n"
    )
    heads = ["angle", *MODELS, *(f"{name} time" for name in list(MODELS)[1:])]
    print("  ".join(f"{head:>{_width(head)}}" for head in heads), flush=True)
    for angle in (0, 15, 30, 45, 60):
        rows = [_one(arguments, angle, seed) for seed in range(arguments.repeats)]
        kappas, times = np.mean(rows, axis=0)
        cells = [f"{angle}", *(f"{kappa:.3f}" for kappa in kappas)]
        cells += [f"{seconds / times[0]:.2f}" for seconds in times[1:]]
        pairs = zip(cells, heads, strict=True)
        print("  ".join(f"{cell:>{_width(head)}}" for cell, head in pairs), flush=True)
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
    for _, make in MODELS.values():
        model = make(arguments.trees, n_jobs=arguments.jobs, random_state=seed)
        start = time.perf_counter()
        model.fit(X[train], y[train])
        times.append(time.perf_counter() - start)
        kappas.append(float(cohen_kappa_score(y[test], model.predict(X[test]))))
    return kappas, times
