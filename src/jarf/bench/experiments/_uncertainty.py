"""Calibration of probabilities, and coverage of prediction intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from jarf.bench._interval_peers import INTERVALS
from jarf.bench._jobs import Job
from jarf.bench._methods import get_method
from jarf.bench._metrics import COVERAGE
from jarf.bench._pmlb import PMLB, SRBENCH
from jarf.bench.experiments._base import Cell, Column, Experiment, Plan, Results, ResultTable, Row

__all__ = ["EXPERIMENTS"]

_CALIBRATED = ("JF", "JB", "JE")
_METHODS = ("RF", "CatBoost", *_CALIBRATED)
_COLLECTIONS = {"study": "study", PMLB: "PMLB", SRBENCH: "SRBench"}


def _plan_calibration(plan: Plan) -> Iterator[Job]:
    for dataset in plan.datasets("classification") + plan.datasets(collection=PMLB):
        for method in plan.methods:
            yield from plan.jobs(dataset, method)


def _plan_intervals(plan: Plan) -> Iterator[Job]:
    for dataset in plan.datasets("regression") + plan.datasets(collection=SRBENCH):
        for method in plan.methods:
            variant = INTERVALS if INTERVALS in get_method(method).variants else ""
            yield from plan.jobs(dataset, method, variant)


def _means(
    results: Results, datasets: Sequence[str], method: str, variant: str, metrics: Sequence[str]
) -> dict[str, Cell]:
    """Means over datasets of a method's metrics; empty unless it has all of them everywhere."""
    found = [
        [results.splits(dataset, method, metric, variant).mean() for metric in metrics]
        for dataset in datasets
    ]
    if not datasets or np.isnan(found).any():
        return {}
    means = np.mean(found, axis=0)
    pairs = zip(metrics, means, strict=True)
    return {metric: Cell(float(mean), n=len(datasets)) for metric, mean in pairs}


def _table(
    results: Results,
    name: str,
    title: str,
    methods: dict[str, str],
    collections: Sequence[str],
    metrics: dict[str, str],
    notes: list[str],
) -> list[ResultTable]:
    """One line per method, the columns of each collection side by side."""
    columns: list[Column] = []
    cells: dict[tuple[str, str], Cell] = {}
    for collection in collections:
        every = results.datasets(collection=collection)
        datasets = [
            dataset
            for dataset in every
            if any(len(results.splits(dataset, "JF", metric)) for metric in metrics)
        ]
        here = {m: _means(results, datasets, m, v, list(metrics)) for m, v in methods.items()}
        if not any(here.values()):
            continue
        for metric, label in metrics.items():
            key = f"{collection} {metric}"
            columns.append(Column(key, label=f"{_COLLECTIONS[collection]}: {label}"))
            cells |= {(m, key): found[metric] for m, found in here.items() if found}
    rows = [Row(m, "method") for m in methods if any(key[0] == m for key in cells)]
    if not rows:
        return []
    return [ResultTable(name, title, rows, columns, cells, notes, "method")]


def _calibration(results: Results) -> list[ResultTable]:
    metrics = {
        "log_loss_before": "log loss before",
        "log_loss": "after",
        "ece_before": "calibration error before",
        "ece": "after",
    }
    notes = [
        "Means over datasets, on test rows. Our classifiers fit one temperature on held-out "
        "training rows; 'before' leaves it out. Predicted classes are the same. The calibration "
        "error is the mean distance between the confidence in the predicted class and its "
        "accuracy, in 15 bins."
    ]
    return _table(
        results,
        "calibration",
        "Probabilities before and after calibration",
        dict.fromkeys(_CALIBRATED, ""),
        ("study", PMLB),
        metrics,
        notes,
    )


def _intervals(results: Results) -> list[ResultTable]:
    methods = {"RF": INTERVALS, "CatBoost": INTERVALS, **dict.fromkeys(_CALIBRATED, "")}
    notes = [
        f"Means over datasets, on test rows. Intervals are asked to contain {COVERAGE:.0%} of the "
        "responses. Widths are in standard deviations of the response.",
        "RF: split-conformal intervals of a random forest, from a quarter of the training rows. "
        "CatBoost: two models of its quantile loss, which promise no coverage. JF, JB, JE: "
        "`predict_interval`.",
    ]
    return _table(
        results,
        "intervals",
        f"Prediction intervals of {COVERAGE:.0%} coverage",
        methods,
        ("study", SRBENCH),
        {"coverage": "coverage", "width": "width"},
        notes,
    )


EXPERIMENTS = (
    Experiment(
        *("calibration", "Calibration of probabilities", "not in the paper"),
        _plan_calibration,
        _calibration,
        methods=_CALIBRATED,
        usual=False,
    ),
    Experiment(
        *("intervals", "Coverage of prediction intervals", "not in the paper"),
        _plan_intervals,
        _intervals,
        methods=_METHODS,
        usual=False,
    ),
)
