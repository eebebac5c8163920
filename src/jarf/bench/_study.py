"""The whole study as one function: plan, run, resume."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jarf._native import is_native
from jarf._progress import show
from jarf.bench._budgets import Budget, get_budget
from jarf.bench._catalog import SIMULATED
from jarf.bench._datasets import custom_datasets, get_dataset, in_collection
from jarf.bench._jobs import Job, versions
from jarf.bench._loading import DatasetError
from jarf.bench._methods import (
    custom_methods,
    get_method,
    is_method,
    method_names,
    not_installed,
    uninstalled_methods,
)
from jarf.bench._progress import Progress
from jarf.bench._protocol import cached_table
from jarf.bench._runner import run_jobs, with_tunings
from jarf.bench._store import ResultStore
from jarf.bench.experiments import EXPERIMENTS, Experiment, Facts, Plan

__all__ = ["Study", "plan_study", "reproduce"]


# never changed here, or part of the key of a row
_NOT_STORED = (
    *("datasets", "folds", "max_levels", "experiments"),
    *("sizes", "size_folds", "theory_rows"),
)


@dataclass
class Study:
    """A planned run: its jobs, and what was left out.

    Examples
    --------
    >>> from jarf.bench import plan_study
    >>> choice = {"only": ["classification"], "datasets": ["iris"], "methods": ["RF"]}
    >>> study = plan_study("quick", **choice)
    >>> study.experiments, {job.dataset for job in study.jobs}
    (['classification'], {'iris'})
    """

    budget: Budget
    experiments: list[str]
    jobs: list[Job]
    missing: dict[str, str] = field(default_factory=dict)
    seed: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that must not change when a results folder is used again."""
        sizes = self.budget.as_dict()
        for name in _NOT_STORED:
            sizes.pop(name)
        public = {get_dataset(job.dataset).protocol is not None for job in self.jobs}
        if False not in public:  # the other number may have been planned by another call
            sizes.pop("repeats")
        if True not in public:
            sizes.pop("public_repeats")
        return {**sizes, "seed": self.seed}


def plan_study(
    budget: str | Budget = "quick",
    *,
    only: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    data: str | None = None,
    seed: int = 0,
    warn: Callable[[str], None] | None = None,
) -> Study:
    """List the fits of a run; datasets that cannot be loaded are left out, with a note.

    Parameters
    ----------
    budget : str or Budget
    only, datasets, methods : sequence of str or None
        Names of experiments, datasets and methods; None means the paper's experiments on the
        budget's datasets, or what the named experiments need.
    data : str or None
        Folder searched first for data files.
    seed : int
    warn : callable or None
        Called for each dataset that is left out.
    """
    size = get_budget(budget) if isinstance(budget, str) else budget
    chosen = _chosen(only or size.experiments or None)
    names = list(datasets or _default_datasets(size, chosen))
    for name in names:
        get_dataset(name)
    for name in methods or ():
        get_method(name)
    facts, missing = _look(names, data, warn)
    if not facts:
        raise DatasetError("no dataset could be loaded: " + "; ".join(missing.values()))
    wanted = {name: _methods_of(EXPERIMENTS[name], methods) for name in chosen}
    ready = _installed(list(dict.fromkeys(m for names in wanted.values() for m in names)), warn)
    jobs = [
        job
        for name in chosen
        for job in EXPERIMENTS[name].plan(
            Plan(size, facts, [m for m in wanted[name] if m in ready], seed)
        )
    ]
    if not jobs:
        raise DatasetError(
            f"nothing to run: none of the datasets {_some(facts)} belongs to the experiments "
            f"{_some(chosen)} with the methods asked for; leave out --datasets or --methods, or "
            "name others of jarf reproduce --list"
        )
    jobs.sort(key=lambda job: job.repeat)  # so that a stopped run covers all
    return Study(size, chosen, with_tunings(jobs, size), missing, seed)


def _installed(names: list[str], warn: Callable[[str], None] | None) -> list[str]:
    """Return the methods that can be run; the others are listed in a note."""
    methods = [get_method(name) for name in names]
    for method in methods:
        if method.missing and warn is not None:
            warn(not_installed(method))
    return [method.name for method in methods if not method.missing]


def _some(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:5]) + (", ..." if len(every) > 5 else "")


def _methods_of(experiment: Experiment, asked: Sequence[str] | None) -> list[str]:
    """The methods asked for, else the experiment's own list and what the user registered."""
    if asked is not None:
        return list(asked)
    added = sorted(method.name for method in custom_methods())
    names = experiment.methods or method_names()
    return [name for name in names if is_method(name) and name not in added] + added


def _default_datasets(budget: Budget, experiments: Sequence[str]) -> list[str]:
    names: list[str] = []
    for collection in dict.fromkeys(EXPERIMENTS[name].collection for name in experiments):
        if collection == "study":
            names += [*budget.datasets, *custom_datasets(), *SIMULATED]
        else:
            names += in_collection(collection)
    return list(dict.fromkeys(names))


def _chosen(wanted: Sequence[str] | None) -> list[str]:
    """The experiments asked for, else those of the paper."""
    for name in wanted or ():
        if name not in EXPERIMENTS:
            raise KeyError(f"unknown experiment {name!r}; known: {', '.join(EXPERIMENTS)}")
    return [n for n, entry in EXPERIMENTS.items() if (n in wanted if wanted else entry.usual)]


def _look(
    names: Sequence[str], data: str | None, warn: Callable[[str], None] | None
) -> tuple[dict[str, Facts], dict[str, str]]:
    """Load every dataset once to find its size and categories, or why it is missing."""
    facts, missing = {}, {}
    for name in names:
        if get_dataset(name).simulated:
            facts[name] = Facts(0, one_hot=False)
            continue
        try:
            table, numbers = cached_table(name, data)
        except DatasetError as error:
            missing[name] = str(error)
            if warn is not None:
                warn(f"left out: {error}")
            continue
        one_hot = len(numbers) < table.X.shape[1]
        facts[name] = Facts(len(table.y), one_hot, table.partial)
    return facts, missing


def environment() -> dict[str, Any]:
    """Return the environment that results depend on in addition to the settings."""
    return {
        "versions": versions(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "not_installed": [method.name for method in uninstalled_methods()],
        "native_kernels": is_native(),
    }


def reproduce(
    out: str | os.PathLike[str],
    budget: str | Budget = "quick",
    *,
    jobs: int = 1,
    data: str | None = None,
    retry_errors: bool = False,
    verbose: bool = True,
    **selection: Any,
) -> Study:
    """Run the study, or continue it, and store every row under ``out``.

    Parameters
    ----------
    out : path
        Results folder. A second call with the same folder and budget resumes.
    budget : {"quick", "standard", "full", "large"} or Budget
    jobs : int
        Fits at once, each with one thread. More than one starts processes: a script then needs
        the usual ``if __name__ == "__main__":``.
    data : str or None
        Folder with data files; None means ``JARF_DATA``.
    retry_errors : bool
        Run failed fits again.
    verbose : bool
        Show progress on stderr.
    **selection
        ``only``, ``datasets``, ``methods``, ``seed``, as in `plan_study`.

    Returns
    -------
    Study
        What was planned. Read the rows with `read_rows`.
    """

    def say(text: str) -> None:
        if verbose:
            show(text)

    data = data or os.environ.get("JARF_DATA")
    study = plan_study(budget, data=data, warn=say, **selection)
    with ResultStore(out, study.settings, environment()) as store:
        if retry_errors:
            store.forget([key for key, row in store.rows.items() if not row.ok])
        todo = [job for job in study.jobs if job.key not in store.rows]
        say(f"{len(study.jobs)} fits, {len(study.jobs) - len(todo)} stored, {len(todo)} to do")
        progress = Progress(len(todo), jobs, store.rows.values()) if verbose else None
        run_jobs(todo, store, study.budget, folder=data, n_jobs=jobs, report=progress)
    return study
