"""Public yardsticks: SRBench beside its published medians, and tables of PMLB by class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from jarf.bench._datasets import get_dataset, in_collection
from jarf.bench._jobs import Job
from jarf.bench._methods import method_names
from jarf.bench._pmlb import PMLB, SRBENCH, Published, published
from jarf.bench._statistics import mean_ranks
from jarf.bench.experiments._accuracy import accuracy_table
from jarf.bench.experiments._ahead import ahead_of_ours, ahead_table, kinds_of_tables
from jarf.bench.experiments._base import Cell, Column, Experiment, Plan, Results, ResultTable, Row

__all__ = ["EXPERIMENTS", "OURS", "PUBLIC_METHODS", "YardstickScores", "srbench_scores"]

OURS = ("JARF", "JARF-XGB", "XGB+J", "JF", "JB", "JE")
PUBLIC_METHODS = (
    *("RF", "ET", "XGB", "LGBM", "CatBoost", "YDF-oblique", "xRFM"),
    *("JARF", "JF", "JB", "JE"),
)
_CHANGED, _PUBLISHED = "†", ", published"


def _plan(collection: str) -> Callable[[Plan], Iterator[Job]]:
    def plan_jobs(plan: Plan) -> Iterator[Job]:
        for dataset in plan.datasets(collection=collection):
            for method in plan.methods:
                yield from plan.jobs(dataset, method)

    return plan_jobs


@dataclass(frozen=True)
class YardstickScores:
    """Medians over seeds of the methods that were run and of the published ones.

    Attributes
    ----------
    datasets : list of str
        Those on which every method that was run has a result.
    run, others : list of str
        Methods that were run here, and published ones; columns of the matrices, in this order.
    r2, seconds : ndarray of shape (n_datasets, n_methods)
        NaN where a published method has no result.
    friedman : ndarray of bool
        Which datasets are drawn from Friedman's functions.
    seeds : dict of str to int
        Fewest seeds behind a median of each method that was run.
    """

    datasets: list[str]
    run: list[str]
    others: list[str]
    r2: np.ndarray
    seconds: np.ndarray
    friedman: np.ndarray
    seeds: dict[str, int]

    @property
    def methods(self) -> list[str]:
        """All methods, in the order of the columns."""
        return self.run + self.others

    def groups(self) -> dict[str, np.ndarray]:
        """Masks of the datasets whose results are shown apart."""
        every = {
            "all": np.ones(len(self.datasets), dtype=bool),
            "friedman": self.friedman,
            "other": ~self.friedman,
        }
        return {name: mask for name, mask in every.items() if mask.any()}

    def ranks(self, mask: np.ndarray) -> np.ndarray:
        """Mean rank of every method on some datasets; no result is the last rank."""
        return mean_ranks(np.where(np.isnan(self.r2), -np.inf, self.r2)[mask])

    def medians(self, mask: np.ndarray) -> np.ndarray:
        """Median R2 of every method on some datasets."""
        return np.nanmedian(self.r2[mask], axis=0)


def srbench_scores(results: Results) -> YardstickScores | None:
    """The scores of SRBench's tables, or None where no table has all methods that were run."""
    datasets = results.datasets(collection=SRBENCH)
    run = results.methods(datasets)
    kept = [d for d in datasets if all(len(results.splits(d, m, "r2")) for m in run)]
    if not kept:
        return None
    facts = published()
    own = {
        column: np.array([[results.splits(d, m, column).median() for m in run] for d in kept])
        for column in ("r2", "time_cpu")
    }
    seeds = {m: min(len(results.splits(d, m, "r2")) for d in kept) for m in run}
    return YardstickScores(
        kept,
        run,
        [_published_name(name) for name in facts.methods],
        np.hstack([own["r2"], _values(facts, facts.r2, kept)]),
        np.hstack([own["time_cpu"], _values(facts, facts.seconds, kept)]),
        np.array([bool(get_dataset(d).facts["friedman"]) for d in kept]),
        seeds,
    )


def _published_name(name: str) -> str:
    """A name that is not one of a method of ours."""
    return name + _PUBLISHED if name in method_names() else name


def _values(
    facts: Published, values: dict[str, dict[str, float]], datasets: list[str]
) -> np.ndarray:
    lines = [values.get(get_dataset(d).label, {}) for d in datasets]
    return np.array([[line.get(m, np.nan) for m in facts.methods] for line in lines])


_GROUPS = {"all": "all", "friedman": "Friedman", "other": "others"}


def _srbench(results: Results) -> list[ResultTable]:
    scores = srbench_scores(results)
    if scores is None:
        return []
    ahead = ahead_table(
        *("srbench-ahead", "SRBench: where others are ahead of {}", scores.methods, scores.r2),
        {**kinds_of_tables(results, scores.datasets), "Friedman": scores.friedman},
        {method: _row_label(method) for method in scores.others},
    )
    made = [_summary(results, scores), _by_table(results, scores)]
    return made if ahead is None else [*made, ahead]


def _summary(results: Results, scores: YardstickScores) -> ResultTable:
    groups = scores.groups()
    columns, cells = [], {}
    for name, mask in groups.items():
        columns.append(Column(f"rank {name}", label=f"mean rank, {_GROUPS[name]}", digits=1))
        for method, rank in zip(scores.methods, scores.ranks(mask), strict=True):
            cells[method, f"rank {name}"] = Cell(float(rank), n=int(mask.sum()))
    for name, mask in groups.items():
        columns.append(Column(f"r2 {name}", label=f"median R², {_GROUPS[name]}", better="high"))
        for method, median in zip(scores.methods, scores.medians(mask), strict=True):
            cells[method, f"r2 {name}"] = Cell(float(median), n=int(mask.sum()))
    columns.append(Column("seconds", label="median fit, s", digits=2))
    for method, seconds in zip(scores.methods, np.nanmedian(scores.seconds, axis=0), strict=True):
        cells[method, "seconds"] = Cell(float(seconds), n=len(scores.datasets))
    order = sorted(scores.methods, key=lambda m: cells[m, "rank all"].value)
    rows = [Row(m, "method", m if m in scores.run else _row_label(m)) for m in order]
    title = f"SRBench: {len(scores.datasets)} tables, {len(scores.methods)} methods"
    return ResultTable("srbench", title, rows, columns, cells, _notes(results, scores), "method")


def _row_label(name: str) -> str:
    return f"{name.removesuffix(_PUBLISHED)} (SRBench)"


def _seeds(seeds: dict[str, int]) -> str:
    """Say how many seeds were run, method by method if they differ."""
    groups = {n: [m for m, own in seeds.items() if own == n] for n in sorted(set(seeds.values()))}
    if len(groups) == 1:
        return str(next(iter(groups)))
    return " and ".join(f"{n} ({', '.join(methods)})" for n, methods in groups.items())


def _notes(results: Results, scores: YardstickScores) -> list[str]:
    n_friedman = int(scores.friedman.sum())
    notes = [
        f"{len(scores.datasets)} of {len(in_collection(SRBENCH))} tables by SRBench's protocol: "
        f"75 % training rows, X standardised on them, {_seeds(scores.seeds)} of its ten seeds. "
        f"{n_friedman} tables are drawn from Friedman's functions, "
        f"{len(scores.datasets) - n_friedman} are not.",
        "Methods marked (SRBench) are the published medians over ten seeds of methods whose "
        "hyper-parameters were tuned for each table; their training times include the tuning and "
        "were measured on other machines. The methods without the mark were run here and, "
        "except for XGB, are not tuned.",
        _IN_SIGHT,
        "A published method without a result on a table takes the last rank there. "
        f"Source: {published().source}.",
    ]
    left = len(results.datasets(collection=SRBENCH)) - len(scores.datasets)
    if left:
        notes.append(f"Left out: {left} tables on which not every method was run yet.")
    return notes


def _by_table(results: Results, scores: YardstickScores) -> ResultTable:
    cells, rows = {}, []
    first = len(scores.run)
    columns = [Column(m, "method", better="high") for m in scores.run]
    columns.append(Column("best published", better="high"))
    for place, dataset in enumerate(scores.datasets):
        known = get_dataset(dataset)
        rows.append(Row(dataset, label=known.label + ("" if known.facts["newest"] else _CHANGED)))
        for column, method in enumerate(scores.run):
            n = len(results.splits(dataset, method, "r2"))
            cells[dataset, method] = Cell(float(scores.r2[place, column]), n=n)
        cells[dataset, "best published"] = Cell(float(np.nanmax(scores.r2[place, first:])))
    notes = [f"Median test R² over seeds. {_CHANGED_NOTE}"]
    title = "SRBench: test R² by table"
    return ResultTable(
        "srbench-tables", title, rows, columns, cells, notes, "table", best_by_row=True
    )


_IN_SIGHT = (
    "Default settings of our methods were chosen on these tables, so this is not independent "
    "evidence for them."
)
_CHANGED_NOTE = (
    f"{_CHANGED} PMLB's file of this table has changed over time: compare with published figures "
    "with care."
)


def _classification(results: Results) -> list[ResultTable]:
    datasets = results.datasets(collection=PMLB)
    made = [
        accuracy_table(results, datasets, "kappa", PMLB, "PMLB: Cohen's kappa"),
        accuracy_table(
            results, datasets, "log_loss", f"{PMLB}-log-loss", "PMLB: log loss", better="low"
        ),
    ]
    count = f"{len(datasets)} of {len(in_collection(PMLB))} tables."
    for table in made:
        table.rows = [_marked(row) for row in table.rows]
        table.notes += [count, _CHANGED_NOTE, _IN_SIGHT]
    title = "PMLB: where others are ahead of {}"
    return made + ahead_of_ours(results, datasets, "kappa", f"{PMLB}-ahead", title)


def _marked(row: Row) -> Row:
    if row.kind != "dataset" or get_dataset(row.key).facts["newest"]:
        return row
    return Row(row.key, row.kind, row.label + _CHANGED)


EXPERIMENTS = (
    Experiment(
        *(SRBENCH, "SRBench: 117 public regression tables", "not in the paper"),
        _plan(SRBENCH),
        _srbench,
        collection=SRBENCH,
        methods=PUBLIC_METHODS,
        usual=False,
    ),
    Experiment(
        *(PMLB, "PMLB: 55 public classification tables", "not in the paper"),
        _plan(PMLB),
        _classification,
        collection=PMLB,
        methods=PUBLIC_METHODS,
        usual=False,
    ),
)
