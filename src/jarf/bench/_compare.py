"""Compare methods on a user's own table: plan, run, resume, and report the answer."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from jarf._progress import show
from jarf.bench._budgets import Budget
from jarf.bench._comparison import Comparison, compare_rows
from jarf.bench._csv import CsvFormat
from jarf.bench._datasets import Dataset, Table, temporary_dataset
from jarf.bench._directions import directions_of
from jarf.bench._errors import TableError
from jarf.bench._findings import METRICS_OF, deciding_metric
from jarf.bench._jobs import Job
from jarf.bench._methods import custom_methods, get_method, not_installed
from jarf.bench._own_table import OwnTable, own_table
from jarf.bench._progress import Progress
from jarf.bench._protocol import numeric_columns, split_table
from jarf.bench._runner import run_jobs, with_tunings
from jarf.bench._store import ResultStore
from jarf.bench._study import environment
from jarf.pages import printable

__all__ = ["compare"]

METHODS = ("RF", "XGB", "CatBoost", "LGBM", "JF", "JB", "JE")
CURVE = (1 / 8, 1 / 4, 1 / 2)  # of the training rows
_MAX_LEVELS = 50
_MAX_ONE_HOT = 2000  # one-hot columns of all categories together, at most
_TUNE_ROWS = 4000
_SHOWN = ("repeats", "folds", "n_trees", "tune_rows", "tune_folds", "max_levels")


def compare(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    methods: Sequence[str] | None = None,
    cv: int = 5,
    repeats: int = 2,
    rows: int | None = None,
    drop: Sequence[str] = (),
    metric: str | None = None,
    learning_curve: bool = False,
    n_trees: int = 200,
    out: str | os.PathLike[str] | None = None,
    n_jobs: int = 1,
    seed: int = 0,
    label: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    retry_errors: bool = False,
    verbose: bool = False,
) -> Comparison:
    """Compare methods on your own table by repeated cross-validation.

    Every method sees the same folds and the same encoding, fitted on training rows only. XGBoost is
    tuned inside every training part. Differences are tested by the corrected resampled t-test with
    Holm's correction.

    Parameters
    ----------
    X : path, DataFrame or array of shape (n_rows, n_columns)
        A csv or parquet file, or a table in memory.
    y : str or array-like of shape (n_rows,)
        Name of the target column of ``X``, or the target itself.
    task : {"classification", "regression"} or None
        None: guessed from the target, with a note.
    methods : sequence of str or None
        Names of registered methods. None: RF; tuned XGB, CatBoost and LGBM if they are installed;
        the Jacobian forest JF, Jacobian boosting JB, the ensemble JE, and methods registered by the
        user.
    cv, repeats : int
        Number of folds, and how often the rows are divided into folds.
    rows : int or None
        Maximum number of rows, 0 for all. None: a sample of 10,000, fewer above 200 columns.
    drop : sequence of str
        Columns to leave out.
    metric : str or None
        The metric that decides: kappa (default), accuracy, macro_f1, roc_auc, average_precision,
        brier, log_loss, ece; r2 (default), rmse. All of them are measured.
    learning_curve : bool
        Also train on an eighth, a quarter and a half of the training rows.
    n_trees : int
        Trees of every forest and rounds of XGB. The other boosters keep their own number of rounds.
    out : path or None
        Folder where every fit is stored; a second call with the same table and settings resumes.
        None stores nothing.
    n_jobs : int
        Fits at once, each with one thread. More than one starts processes: a script then needs
        the usual ``if __name__ == "__main__":``.
    seed : int
    label : str or None
        Name of the table on the page; None means the file's.
    sep, decimal, encoding : str or None
        How a CSV file is written: the character between fields, the decimal sign and the encoding.
        None: detected from the file; an error asks for it if the file is ambiguous.
    retry_errors : bool
        Run failed fits again.
    verbose : bool
        Show notes and progress on stderr.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from jarf.bench import compare
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = compare(X, y, methods=["RF", "JARF"], cv=3, repeats=1, n_trees=10)
    >>> sorted(found.scores)
    ['JARF', 'RF']
    >>> print(found.answer[0])  # doctest: +ELLIPSIS
    On this table ...
    """
    if cv < 2 or repeats < 1 or n_trees < 1 or n_jobs < 1:
        raise TableError("cv must be at least 2; repeats, trees and jobs at least 1")
    say = _speaker(verbose)
    form = CsvFormat(sep, decimal, encoding)
    limits: dict[str, Any] = {"rows": rows, "drop": drop, "folds": cv, "seed": seed}
    table = own_table(X, y, task=task, label=label, form=form, **limits)
    metric = deciding_metric(table.task, metric)
    chosen, left_out = _choose(methods, table.task)
    for line in (*table.notes, *(f"Warning: {w}" for w in table.warnings), *left_out):
        say(line)
    budget = _budget(table, cv, repeats, n_trees)
    settings = {**budget.as_dict(), "seed": seed, "metrics": list(METRICS_OF[table.task])}
    settings.pop("repeats")  # more of them add rows
    dataset = _dataset(table, settings)
    jobs = _plan(dataset.name, chosen, budget, seed, _caps(table, cv) if learning_curve else ())
    with temporary_dataset(dataset), _store(out) as store:
        if retry_errors:
            store.forget([key for key, row in store.rows.items() if not row.ok])
        _run(jobs, store, budget, n_jobs, say if verbose else None)
        geometry = _directions(dataset, table, budget, seed, n_jobs, store)
        stored = [store.rows[job.key] for job in jobs]
    sizes = {name: getattr(budget, name) for name in _SHOWN}
    facts = {"budget": sizes, "seed": seed, "name": dataset.name, "environment": environment()}
    return compare_rows(stored, geometry, table, facts, left_out, metric)


def _speaker(verbose: bool) -> Any:
    def say(text: str) -> None:
        if verbose:
            show(printable(text))

    return say


def _choose(methods: Sequence[str] | None, task: str) -> tuple[list[str], list[str]]:
    """Return the names of the methods, and notes about those that cannot take part."""
    wanted = list(methods or (*METHODS, *sorted(m.name for m in custom_methods())))
    chosen, said = [], []
    for name in dict.fromkeys(wanted):
        try:
            method = get_method(name)
        except KeyError as error:
            raise TableError(error.args[0]) from error
        if task not in method.tasks:
            said.append(f"Left out: {name} does not support {task}.")
        elif method.missing:
            said.append(not_installed(method))
        else:
            chosen.append(name)
    if not chosen:
        raise TableError("no method is left to compare")
    return chosen, said


def _budget(table: OwnTable, cv: int, repeats: int, n_trees: int) -> Budget:
    n_categories = table.X.shape[1] - len(numeric_columns(table.X))
    return Budget(
        "compare",
        (),
        train_cap=None,
        test_cap=None,
        repeats=repeats,
        n_trees=n_trees,
        tune_rows=_TUNE_ROWS,
        tune_folds=2,
        tune_each_split=True,
        folds=cv,
        max_levels=max(2, min(_MAX_LEVELS, _MAX_ONE_HOT // max(n_categories, 1))),
    )


def _dataset(table: OwnTable, settings: dict[str, Any]) -> Dataset:
    """Return the table under a name that depends on its values and on the settings."""
    held = Table(table.X, table.y, table.label)
    key = table.split_key
    return Dataset(table.name(settings), table.task, load=lambda: held, split_key=key)


def _caps(table: OwnTable, cv: int) -> list[int]:
    n_train = len(table.y) - len(table.y) // cv
    return sorted({int(share * n_train) for share in CURVE if share * n_train >= 20})


def _plan(
    dataset: str, methods: Sequence[str], budget: Budget, seed: int, caps: Sequence[int]
) -> list[Job]:
    """List all fits, split by split, so that a run that is stopped early has complete splits."""
    places = [(repeat, fold) for repeat in range(budget.repeats) for fold in range(budget.folds)]
    jobs = [
        Job(dataset, method, "", repeat, fold, 0, seed)
        for repeat, fold in places
        for method in methods
    ]
    jobs += [
        Job(dataset, method, "", 0, fold, cap, seed)
        for cap in caps
        for fold in range(budget.folds)
        for method in methods
    ]
    return with_tunings(jobs, budget)


@contextmanager
def _store(out: str | os.PathLike[str] | None) -> Iterator[ResultStore]:
    """Open the results in ``out``; different tables and settings can share the folder."""
    if out is None:
        with TemporaryDirectory() as folder, _store(folder) as store:
            yield store
        return
    with ResultStore(out, {"command": "compare"}, environment()) as store:
        yield store


def _run(jobs: list[Job], store: ResultStore, budget: Budget, n_jobs: int, say: Any) -> None:
    todo = [job for job in jobs if job.key not in store.rows]
    progress = None
    if say is not None:
        say(f"{len(jobs)} fits, {len(jobs) - len(todo)} stored, {len(todo)} to do")
        progress = Progress(len(todo), n_jobs, store.rows.values())
    run_jobs(todo, store, budget, n_jobs=n_jobs, report=progress)


def _directions(
    dataset: Dataset, table: OwnTable, budget: Budget, seed: int, n_jobs: int, store: ResultStore
) -> dict[str, Any]:
    """Return the directions of the first split, stored like a fit."""
    job = Job(dataset.name, "EJOP", "directions", seed=seed)
    if job.key not in store.rows:
        start = time.perf_counter()
        held = Table(table.X, table.y)
        parts = split_table(dataset, held, 0, 0, budget, seed)
        numbers = numeric_columns(table.X)
        here = dataset.split_seed(seed, 0, 0)
        try:
            found = directions_of(*parts, numbers, table.task, seed=here, n_jobs=n_jobs)
        except Exception as error:  # as in a fit: the rest of the page still stands
            return {"error": f"{type(error).__name__}: {error}"[:500]}
        seconds = round(time.perf_counter() - start, 4)
        store.append(job.row(extra=found, seconds=seconds))
    return dict(store.rows[job.key].extra)
