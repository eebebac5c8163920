"""An experiment: jobs to run, and tables computed from stored rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from jarf.bench._budgets import Budget
from jarf.bench._datasets import Dataset, get_dataset, is_registered
from jarf.bench._frame import flat_frame
from jarf.bench._jobs import Job
from jarf.bench._methods import get_method
from jarf.bench._rows import ResultRow
from jarf.bench._statistics import standard_error

__all__ = ["Cell", "Column", "Experiment", "Facts", "Plan", "ResultTable", "Results", "Row"]


@dataclass(frozen=True)
class Facts:
    """Facts about a loaded dataset that planning needs."""

    n_rows: int
    one_hot: bool
    partial: bool = False


@dataclass(frozen=True)
class Plan:
    """The options of a run."""

    budget: Budget
    facts: Mapping[str, Facts]
    methods: Sequence[str]
    seed: int = 0

    def datasets(
        self, task: str | None = None, simulated: bool = False, collection: str = "study"
    ) -> list[str]:
        """Names of the datasets of a task."""
        known = {name: get_dataset(name) for name in self.facts}
        return [
            name
            for name, dataset in known.items()
            if dataset.simulated == simulated
            and dataset.collection == collection
            and task in (None, dataset.task)
        ]

    def n_train(self, dataset: str) -> int:
        """Training rows of a split."""
        half = self.facts[dataset].n_rows // 2
        return half if self.budget.train_cap is None else min(half, self.budget.train_cap)

    def jobs(
        self,
        dataset: str,
        method: str,
        variant: str = "",
        repeats: int | None = None,
        cap: int | None = None,
    ) -> Iterator[Job]:
        """List one job per split; none if the method was not requested or has another task."""
        if method not in self.methods:
            return
        known, runs = get_dataset(dataset), get_method(method)
        if known.task not in runs.tasks or runs.collection not in ("", known.collection):
            return
        folds: tuple[int, ...] = (0, 1)
        if known.protocol is not None:
            folds, usual = (0,), min(self.budget.public_repeats, len(known.protocol.seeds))
        else:
            usual = self.budget.repeats
        if cap is None:
            cap = usual_cap(known, self.budget.train_cap, self.budget.public_cap)
        for repeat in range(usual if repeats is None else repeats):
            for fold in folds:
                yield Job(dataset, method, variant, repeat, fold, cap, self.seed)


def usual_cap(dataset: Dataset, train_cap: int | None, public_cap: int | None) -> int:
    """Most training rows of a dataset where sizes are not compared; 0 means all."""
    return (train_cap if dataset.protocol is None else public_cap) or 0


@dataclass(frozen=True)
class Cell:
    """A number of a table."""

    value: float
    se: float | None = None
    n: int | None = None
    mark: str = ""

    def as_dict(self) -> dict[str, Any]:
        """A plain dict for JSON."""
        se = None if self.se is None or np.isnan(self.se) else self.se
        return {"ours": self.value, "se": se, "n": self.n, "mark": self.mark}


@dataclass(frozen=True)
class Row:
    """A line of a table; ``kind`` is dataset, method, variant or summary."""

    key: str
    kind: str = "dataset"
    label: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    ``better`` is "high", "low" or "". ``name`` is the method or dataset it belongs to, if that is
    not the key.
    """

    key: str
    kind: str = "value"
    label: str = ""
    digits: int = 3
    better: str = ""
    name: str = ""


@dataclass
class ResultTable:
    """Numbers by row and column, with notes for the reader.

    Examples
    --------
    >>> from jarf.bench import ResultTable
    >>> ResultTable("scores", "Scores", [], [], {}).as_dict()["title"]
    'Scores'
    """

    id: str
    title: str
    rows: list[Row]
    columns: list[Column]
    cells: dict[tuple[str, str], Cell]
    notes: list[str] = field(default_factory=list)
    row_header: str = "dataset"
    best_by_row: bool = False
    best_by_column: bool = False

    def as_dict(self) -> dict[str, Any]:
        """A plain dict for JSON, pages and Markdown."""
        made = self._as_dict()
        if self.best_by_column:
            for column in made["columns"]:
                _mark_best(column, [row["cells"].get(column["key"]) for row in made["rows"]])
        return made

    def _as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "title": self.title,
            "reference": "",
            "row_header": self.row_header,
            "columns": [
                {
                    "key": column.key,
                    "kind": column.kind,
                    "name": column.name or column.key,
                    "label": column.label or column.key,
                    "digits": column.digits,
                    "better": column.better,
                }
                for column in self.columns
            ],
            "rows": [
                {
                    "key": row.key,
                    "kind": row.kind,
                    "label": row.label or row.key,
                    "cells": {
                        column.key: self.cells[row.key, column.key].as_dict()
                        for column in self.columns
                        if (row.key, column.key) in self.cells
                    },
                }
                for row in self.rows
            ],
            "notes": self.notes,
        }


def _mark_best(column: dict[str, Any], cells: list[dict[str, Any] | None]) -> None:
    """Mark the best cells of a column, compared at the digits shown."""
    values = {place: round(c["ours"], column["digits"]) for place, c in enumerate(cells) if c}
    top = max if column["better"] == "high" else min
    for place, value in values.items():
        cell = cells[place]
        if cell is not None and column["better"]:
            cell["best"] = value == top(values.values())


@dataclass(frozen=True)
class Experiment:
    """A named part of the study.

    Parameters
    ----------
    name : str
        For ``--only``.
    title : str
    paper : str
        The part of the paper that it repeats.
    plan : callable
        ``plan(plan) -> jobs``.
    tables : callable
        ``tables(results) -> list of ResultTable``.
    collection : str
        The datasets it runs on.
    methods : tuple of str
        What it runs unless methods are named; empty for all.
    usual : bool
        Whether it runs unless experiments are named.

    Examples
    --------
    >>> from jarf.bench import EXPERIMENTS
    >>> EXPERIMENTS["classification"].name
    'classification'
    """

    name: str
    title: str
    paper: str
    plan: Callable[[Plan], Iterable[Job]]
    tables: Callable[[Results], list[ResultTable]]
    collection: str = "study"
    methods: tuple[str, ...] = ()
    usual: bool = True


_FIT = ["dataset", "method", "variant"]


class Results:
    """Stored rows as a frame, with the lookups that tables and figures share.

    Parameters
    ----------
    rows : iterable of ResultRow
        As read by `load_rows`.
    settings : mapping
        The stored settings of the run.

    Examples
    --------
    >>> from jarf.bench import ResultRow, Results
    >>> row = ResultRow("iris", "RF", "", 0, 0, 0, 0, task="classification", metrics={"kappa": 0.9})
    >>> Results([row], {}).cell("iris", "RF", "kappa").value
    0.9
    """

    def __init__(self, rows: Iterable[ResultRow], settings: Mapping[str, Any] | None = None):
        self.settings = dict(settings or {})
        self.every = list(rows)
        self.rows = [row for row in self.every if self._is_usual(row)]
        self.errors = [row for row in self.rows if not row.ok]
        self.frame = flat_frame(row for row in self.rows if row.ok and row.metrics)
        split = ["repeat", "fold"]
        measured = self.frame.select_dtypes(float).join(self.frame[[*_FIT, *split]])
        indexed = measured.set_index(split).sort_index()
        self._groups = dict(iter(indexed.groupby(_FIT)))
        self._nothing = indexed.iloc[:0]["kappa"]
        self._first: Results | None = None

    def _is_usual(self, row: ResultRow) -> bool:
        """Whether a row has the run's cap; the experiment on sizes adds rows of other caps."""
        if "train_cap" not in self.settings or not is_registered(row.dataset):
            return True
        caps = self.settings["train_cap"], self.settings.get("public_cap")
        return row.cap == usual_cap(get_dataset(row.dataset), *caps)

    def at(self, cap: int) -> Results:
        """Results of the rows with another cap on the training rows."""
        rows = [row for row in self.every if row.cap == cap]
        return Results(rows, {**self.settings, "train_cap": cap, "public_cap": cap})

    def first(self) -> Results:
        """Only the repeats that the variants of JARF were run on, so that means can be compared."""
        repeats = self.settings.get("ablation_repeats")
        if repeats is None:
            return self
        if self._first is None:
            rows = [row for row in self.every if row.repeat < repeats]
            self._first = Results(rows, self.settings)
        return self._first

    @cached_property
    def examples(self) -> dict[tuple[str, str], ResultRow]:
        """One row with scores by dataset and method, for the facts that all splits share."""
        found: dict[tuple[str, str], ResultRow] = {}
        for row in self.rows:
            if row.ok and row.metrics:
                found.setdefault((row.dataset, row.method), row)
        return found

    def datasets(
        self, task: str | None = None, simulated: bool = False, collection: str = "study"
    ) -> list[str]:
        """Datasets with rows, in the order of the registry where it knows them."""
        from jarf.bench._datasets import dataset_names

        frame = self.frame if task is None else self.frame[self.frame["task"] == task]
        found = set(frame["dataset"])
        order = [name for name in dataset_names() if name in found]
        order += sorted(found.difference(order))
        return [name for name in order if _place(name) == (simulated, collection)]

    def methods(self, datasets: Sequence[str]) -> list[str]:
        """Methods with plain rows on these datasets, in the order of the registry."""
        from jarf.bench._methods import method_names

        here = self.frame[self.frame["dataset"].isin(datasets) & (self.frame["variant"] == "")]
        found = set(here["method"])
        order = [name for name in method_names() if name in found]
        return order + sorted(found.difference(order))

    def _counts(self, datasets: Sequence[str] | None) -> Any:
        """Splits of every dataset and method (of the main tables)."""
        real = self.datasets() if datasets is None else datasets
        plain = self.frame[self.frame["dataset"].isin(real) & (self.frame["variant"] == "")]
        return plain.groupby(["dataset", "method"]).size()

    def repeats(self, datasets: Sequence[str] | None = None) -> int:
        """Repeats of the two-fold split of these datasets: planned ones, or more if there are."""
        counts = self._counts(datasets)
        found = -(-int(counts.max()) // 2) if len(counts) else 0
        return max(found, self.settings.get("repeats", 0))

    def unfinished(self, datasets: Sequence[str] | None = None) -> str:
        """Return a sentence for notes while some fits (of the main tables) are missing."""
        counts = self._counts(datasets)
        planned = 2 * self.repeats(datasets)
        fewer = counts[counts < planned]
        if not len(fewer):
            return ""
        if len(fewer) == len(counts):
            return f" Not finished: {_range(counts)} of {planned} splits so far."
        where = [
            f"{method} {_range(own)} of {planned}" + _places(own, counts.loc[:, method])
            for method, own in fewer.groupby("method")
        ]
        return f" Splits run so far: {_several(where)}; all others {planned}."

    def splits(self, dataset: str, method: str, column: str, variant: str = "") -> Any:
        """Values of one column, indexed by (repeat, fold)."""
        rows = self._groups.get((dataset, method, variant))
        if rows is None or column not in rows:
            return self._nothing
        return rows[column].dropna()

    def cell(self, dataset: str, method: str, column: str, variant: str = "") -> Cell | None:
        """Mean and standard error over splits, or None without rows."""
        values = self.splits(dataset, method, column, variant)
        if not len(values):
            return None
        return Cell(float(values.mean()), standard_error(values), len(values))

    def paired(
        self, dataset: str, first: tuple[str, str], second: tuple[str, str], column: str
    ) -> np.ndarray:
        """first - second on the splits that both have; each is (method, variant)."""
        a = self.splits(dataset, first[0], column, first[1])
        b = self.splits(dataset, second[0], column, second[1])
        common = a.index.intersection(b.index)
        return a.loc[common].to_numpy(float) - b.loc[common].to_numpy(float)

    def matrix(self, datasets: Sequence[str], methods: Sequence[str], column: str) -> np.ndarray:
        """Means by dataset (rows) and method (columns), NaN where a cell is missing."""
        found = [[self.cell(d, m, column) for m in methods] for d in datasets]
        values = [[np.nan if c is None else c.value for c in line] for line in found]
        return np.array(values, dtype=float).reshape(len(datasets), len(methods))

    def extras(self, dataset: str, method: str, name: str, variant: str = "") -> list[Any]:
        """Return the values that ``inspect`` stored under a name, one entry per split."""
        return [
            row.extra[name]
            for row in self.rows
            if (row.dataset, row.method, row.variant) == (dataset, method, variant)
            and name in row.extra
        ]


def _place(name: str) -> tuple[bool, str]:
    """Whether a dataset is simulated, and its collection; what is not registered is the study's."""
    if not is_registered(name):
        return False, "study"
    dataset = get_dataset(name)
    return dataset.simulated, dataset.collection


def _range(counts: Any) -> str:
    least, most = counts.min(), counts.max()
    return str(least) if least == most else f"{least} to {most}"


def _places(fewer: Any, every: Any) -> str:
    """Name the datasets that have fewer splits than planned, unless all of them do."""
    names = [dataset for dataset, _ in fewer.index]
    if len(names) == len(every):
        return ""
    return f" on {', '.join(names)}" if len(names) <= 3 else f" on {len(names)} datasets"


def _several(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
