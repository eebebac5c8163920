"""Accuracy and time against the number of training rows, on the study's tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jarf.bench._datasets import dataset_names
from jarf.bench._jobs import Job
from jarf.bench._methods import method_names
from jarf.bench.experiments._accuracy import metric_of
from jarf.bench.experiments._base import Cell, Column, Experiment, Plan, Results, ResultTable, Row

__all__ = ["EXPERIMENTS", "SizePoint", "size_methods", "size_points"]

_METHODS = ("RF", "XGB", "LGBM", "CatBoost", "JF", "JB", "JE")


def _plan(plan: Plan) -> Iterator[Job]:
    for cap in sorted(plan.budget.sizes):
        for dataset in plan.datasets():
            half, smaller = plan.facts[dataset].n_rows // 2, [0]
            smaller += [size for size in plan.budget.sizes if size < cap]
            if half > max(smaller):  # a larger cap would repeat the same rows
                for method in plan.methods:
                    for job in plan.jobs(dataset, method, cap=cap):
                        if job.fold < plan.budget.size_folds:
                            yield job


@dataclass(frozen=True)
class SizePoint:
    """Mean score and CPU seconds of a fit of one method on one dataset at one cap."""

    dataset: str
    task: str
    method: str
    cap: int
    n_train: int
    score: Cell
    seconds: float


def size_points(results: Results) -> list[SizePoint]:
    """One point per dataset, method and cap; none unless there are at least two caps."""
    study = set(Results(results.every).datasets())
    rows = [row for row in results.every if row.dataset in study and row.ok and row.metrics]
    caps = sorted({row.cap for row in rows if row.cap})
    points: list[SizePoint] = []
    for cap in caps if len(caps) > 1 else []:
        here = results.at(cap)
        for (dataset, method), row in here.examples.items():
            metric = metric_of(row.task or "")
            score = here.cell(dataset, method, metric)
            seconds = here.cell(dataset, method, "time_cpu")
            if dataset in study and score is not None and seconds is not None:
                points.append(
                    SizePoint(
                        *(dataset, row.task or "", method, cap, row.n_train or 0),
                        *(score, seconds.value),
                    )
                )
    return points


def size_methods(points: list[SizePoint]) -> list[str]:
    """Methods of the points, in the order of the registry."""
    ran = {point.method for point in points}
    return [m for m in method_names() if m in ran] + sorted(ran.difference(method_names()))


def _tables(results: Results) -> list[ResultTable]:
    points = size_points(results)
    methods = size_methods(points)
    made, names = [], dataset_names()
    for task, title in (
        ("classification", "Cohen's kappa by training rows"),
        ("regression", "Test R² by training rows"),
    ):
        here = [point for point in points if point.task == task]
        cells = {(_key(p), p.method): p.score for p in here}
        order = sorted(here, key=lambda p: p.n_train)
        order.sort(key=lambda p: names.index(p.dataset) if p.dataset in names else len(names))
        rows = {_key(p): Row(_key(p), "variant") for p in order}
        columns = [Column(m, "method", better="high") for m in methods]
        name = f"sizes-{task}"
        made.append(
            ResultTable(name, title, list(rows.values()), columns, cells, [_NOTE], "dataset, rows")
        )
    return [*made, _times(points, methods)]


_NOTE = (
    "Training halves, cut down at random to the number of rows; a table with fewer rows than a "
    "size ends with all rows of a half. Without a standard error, one half of one split was fitted."
)


def _key(point: SizePoint) -> str:
    return f"{point.dataset}, {point.n_train:,}"


def _times(points: list[SizePoint], methods: list[str]) -> ResultTable:
    """Median fit time of every method over that of RF on the same rows."""
    base = {(p.dataset, p.cap): p.seconds for p in points if p.method == "RF"}
    cells, rows = {}, {}
    for cap in sorted({p.cap for p in points}):
        for method in methods:
            ratios = [
                p.seconds / base[p.dataset, p.cap]
                for p in points
                if p.method == method and p.cap == cap and (p.dataset, p.cap) in base
            ]
            if ratios:
                key = f"at most {cap:,} rows"
                rows[key] = Row(key, "variant")
                cells[key, method] = Cell(float(np.median(ratios)), n=len(ratios))
    columns = [Column(m, "method", digits=2, better="low") for m in methods]
    notes = ["Median over datasets of CPU seconds of a fit over those of RF on the same rows."]
    title = "Fit time by training rows, times RF"
    return ResultTable("sizes-times", title, list(rows.values()), columns, cells, notes, "size")


EXPERIMENTS = (
    Experiment(
        *("sizes", "Accuracy and time against training rows", "not in the paper"),
        _plan,
        _tables,
        methods=_METHODS,
        usual=False,
    ),
)
