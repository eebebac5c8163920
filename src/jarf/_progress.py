"""Stages of a long fit: timed always, shown on stderr if asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stages:
    """Times the named stages of a fit, and shows them where ``verbose`` is positive.

    Parameters
    ----------
    owner : str
        Name shown before every line.
    verbose : int
        0 shows nothing.
    """

    def __init__(self, owner: str, verbose: int = 0):
        self.owner = owner
        self.verbose = verbose
        self.times: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what runs inside. A stage that runs twice shows the time of each run."""
        start = time.perf_counter()
        yield
        elapsed = time.perf_counter() - start
        self.times[name] = self.times.get(name, 0.0) + elapsed
        self.note(f"{name}: {elapsed:.2f} s")

    def note(self, text: str) -> None:
        """Show a line."""
        if self.verbose > 0:
            print(f"[{self.owner}] {text}", file=sys.stderr, flush=True)
