"""The progress of a run and an estimate of the time left, on stderr."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import IO

from jarf.bench._jobs import Job
from jarf.bench._rows import ResultRow

__all__ = ["Progress", "show_seconds"]


def show_seconds(seconds: float) -> str:
    """Format seconds for people.

    Examples
    --------
    >>> from jarf.bench import show_seconds
    >>> show_seconds(8), show_seconds(200), show_seconds(9000)
    ('8 s', '3 min 20 s', '2 h 30 min')
    """
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"


def bar(share: float, width: int = 24) -> str:
    """Draw a share between 0 and 1 as a bar.

    Examples
    --------
    >>> from jarf.bench._progress import bar
    >>> bar(0.5, width=8)
    '[####....]'
    """
    full = round(width * min(max(share, 0.0), 1.0))
    return f"[{'#' * full}{'.' * (width - full)}]"


class Progress:
    """Counts finished rows and estimates the time left from the fits so far.

    Parameters
    ----------
    total : int
        Number of rows to run.
    n_jobs : int
        Number of concurrent fits.
    known : iterable of ResultRow
        Rows of earlier runs, for the estimate.
    stream : text stream or None
        None means stderr. On a terminal one line is updated; a file gets a line every half minute.

    Examples
    --------
    >>> import io
    >>> from jarf.bench import Progress, ResultRow
    >>> shown = io.StringIO()
    >>> Progress(1, stream=shown)(ResultRow("iris", "RF", "", 0, 0, 0, 0), [])
    >>> shown.getvalue().strip()
    '1/1 fits'
    """

    def __init__(
        self,
        total: int,
        n_jobs: int = 1,
        known: Iterable[ResultRow] = (),
        stream: IO[str] | None = None,
    ):
        self.total, self.n_jobs = total, n_jobs
        self.stream = sys.stderr if stream is None else stream
        self.done = self.failed = 0
        self._costs: dict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0, 0])
        self._last = 0.0
        self._live = self.stream.isatty()
        for row in known:
            self._learn(row)

    def _learn(self, row: ResultRow) -> None:
        method = f"{row.method}/{row.variant}"
        for key in ((row.dataset, method), (method,), (row.dataset,), ()):
            entry = self._costs[key]
            entry[0] += row.seconds
            entry[1] += 1

    def cost(self, job: Job) -> float:
        """Estimate the seconds of a job from the most similar rows."""
        method = f"{job.method}/{job.variant}"
        for key in ((job.dataset, method), (method,), (job.dataset,), ()):
            if key in self._costs:
                total, count = self._costs[key]
                return total / count
        return 1.0

    def left(self, jobs: Iterable[Job]) -> float:
        """Estimate the seconds left."""
        return sum(map(self.cost, jobs)) / self.n_jobs

    def __call__(self, row: ResultRow, jobs: list[Job]) -> None:
        """Record a finished row and show the progress."""
        self.done += 1
        self.failed += not row.ok
        self._learn(row)
        now = time.monotonic()
        if now - self._last < (0.2 if self._live else 30) and jobs:
            return
        self._last = now
        name = f"{row.dataset} {row.method} {row.variant}".strip()
        text = f"{self.done}/{self.total} fits"
        if self._live:
            text = f"{bar(self.done / max(self.total, 1))} {text}"
        if self.failed:
            text += f", {self.failed} failed"
        if jobs:
            text += f", about {show_seconds(self.left(jobs))} left; last: {name}"
        self.stream.write(f"\r\033[K{text}" if self._live else text + "\n")
        if self._live and not jobs:
            self.stream.write("\n")
        self.stream.flush()
