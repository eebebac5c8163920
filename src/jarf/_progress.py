"""Progress messages of all estimators (``verbose``): the stages of a fit, on stderr.

Level 0 is silent. Level 1 shows each stage with its time and what was decided. Level 2 adds the
progress inside a stage, such as the rounds of the race and the number of trees.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


def show(text: str) -> None:
    """Write a line to stderr."""
    print(text, file=sys.stderr, flush=True)


class Stages:
    """Times the named stages of a fit and shows them according to ``verbose``.

    Parameters
    ----------
    owner : str
        Name shown before every line.
    verbose : int
        0: nothing. 1: stages and notes. 2 or more: details too.
    """

    def __init__(self, owner: str, verbose: int = 0):
        self.owner = owner
        self.verbose = verbose
        self.times: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the body. A stage that runs twice shows the time of each run."""
        start = time.perf_counter()
        yield
        elapsed = time.perf_counter() - start
        self.times[name] = self.times.get(name, 0.0) + elapsed
        self.note(f"{name}: {elapsed:.2f} s")

    def note(self, text: str) -> None:
        """Show a line if ``verbose`` is at least 1."""
        if self.verbose >= 1:
            show(f"[{self.owner}] {text}")

    def detail(self, text: str) -> None:
        """Show a line if ``verbose`` is at least 2."""
        if self.verbose >= 2:
            show(f"[{self.owner}] {text}")
