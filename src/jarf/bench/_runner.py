"""Run jobs in this process or in several, and store each row when it finishes."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from joblib import wrap_non_picklable_objects

from jarf.bench._budgets import Budget
from jarf.bench._datasets import Dataset, add_datasets, dataset_names, get_dataset
from jarf.bench._jobs import Job, run_job
from jarf.bench._methods import Method, add_methods, custom_methods
from jarf.bench._rows import ResultRow
from jarf.bench._store import ResultStore

__all__ = ["run_jobs"]


@dataclass
class _Queue:
    """Pending jobs, in order; a fit waits until its grid search is stored."""

    jobs: list[Job]
    store: ResultStore
    budget: Budget

    def take(self) -> tuple[Job, dict[str, Any]] | None:
        """Return the next job that can start, with its tuned parameters."""
        for place, job in enumerate(self.jobs):
            tuning = job.tuning(self.budget.tune_each_split)
            if tuning is None or tuning.key in self.store.rows:
                del self.jobs[place]
                row = self.store.rows.get(tuning.key) if tuning else None
                return job, {} if row is None else dict(row.params)
        return None


def with_tunings(jobs: Iterable[Job], budget: Budget) -> list[Job]:
    """Return each job once, every grid search before the fits that depend on it."""
    ordered: dict[Job, None] = {}
    for job in jobs:
        tuning = job.tuning(budget.tune_each_split)
        if tuning is not None:
            ordered.setdefault(tuning)
        ordered.setdefault(job)
    return list(ordered)


def run_jobs(
    jobs: Sequence[Job],
    store: ResultStore,
    budget: Budget,
    *,
    folder: str | None = None,
    n_jobs: int = 1,
    report: Callable[[ResultRow, list[Job]], None] | None = None,
) -> int:
    """Run the jobs that are not stored yet and return the number of rows added.

    Parameters
    ----------
    jobs : sequence of Job
        Grid searches that these need are added.
    store : ResultStore
        Receives the rows one by one.
    budget : Budget
    folder : str or None
        Data folder.
    n_jobs : int
        Number of concurrent fits; each uses one thread, so that times can be compared.
    report : callable or None
        Called after each row with the row and the jobs left.
    """
    todo = [job for job in with_tunings(jobs, budget) if job.key not in store.rows]
    queue = _Queue(todo, store, budget)
    done = report or (lambda row, left: None)
    if n_jobs == 1:
        return _run_here(queue, folder, done)
    pool = _Pool(queue, folder, min(n_jobs, max(len(todo), 1)))
    try:
        return pool.run(done)
    finally:
        pool.stop()


def _run_here(queue: _Queue, folder: str | None, done: Callable[..., None]) -> int:
    count = 0
    while (taken := queue.take()) is not None:
        job, params = taken
        row = run_job(job, queue.budget, folder, params)
        queue.store.append(row)
        count += 1
        done(row, queue.jobs)
    return count


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    job: Job | None = None


class _Pool:
    """Worker processes with a pipe each, so that a worker that dies costs its own job only."""

    def __init__(self, queue: _Queue, folder: str | None, size: int):
        self.queue = queue
        self.setup = (queue.budget, folder, _custom_entries())
        self.workers = [self._start() for _ in range(size)]

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there, *self.setup), daemon=True)
        process.start()
        there.close()
        return _Worker(process, here)

    def run(self, done: Callable[[ResultRow, list[Job]], None]) -> int:
        """Distribute jobs until none is left."""
        count = 0
        while True:
            for worker in self.workers:
                if worker.job is None and (taken := self.queue.take()) is not None:
                    worker.job = taken[0]
                    worker.pipe.send(taken)
            busy: dict[Any, int] = {
                worker.pipe: place for place, worker in enumerate(self.workers) if worker.job
            }
            if not busy:
                return count
            for pipe in wait(list(busy)):
                row = self._receive(busy[pipe])
                self.queue.store.append(row)
                count += 1
                done(row, self.queue.jobs)

    def _receive(self, place: int) -> ResultRow:
        worker = self.workers[place]
        job, worker.job = worker.job, None
        assert job is not None
        try:
            return worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            self.workers[place] = self._start()
            return _death_row(job, worker.process.exitcode)

    def stop(self) -> None:
        """End the workers, busy or not."""
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.process.join()
            worker.pipe.close()


def _custom_entries() -> Callable[[], tuple[list[Method], list[Dataset]]]:
    """Return what the user registered, in a form that can be sent to new workers."""
    methods, datasets = custom_methods(), [get_dataset(name) for name in dataset_names()]
    return wrap_non_picklable_objects(lambda: (methods, datasets))


def _death_row(job: Job, exitcode: int | None) -> ResultRow:
    reason = f"signal {-exitcode}" if exitcode and exitcode < 0 else f"exit code {exitcode}"
    error = f"the process of this fit died ({reason}); out of memory?"
    return job.row(status="error", error=error)


def _work(pipe: Connection, budget: Budget, folder: str | None, custom: Callable[[], Any]) -> None:
    """Run one job after the other until the pipe closes or the parent exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    methods, datasets = custom()
    add_methods(methods)
    add_datasets(datasets)
    while True:
        try:
            job, params = pipe.recv()
            pipe.send(run_job(job, budget, folder, params))
        except (EOFError, OSError):
            return
