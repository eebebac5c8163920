"""Shared by the commands that run many fits: options, and a clean stop on Ctrl-C."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Options about methods, processes and seeds."""
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="run only these methods")
    parser.add_argument(
        *("--method-file", "--method"),
        dest="plugins",
        action="append",
        default=[],
        metavar="FILE.py|module:Class",
        help="add your own method or dataset; may be repeated",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        help="number of concurrent fits (default: all cores)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of splits and models (default 0)")
    parser.add_argument("--retry-errors", action="store_true", help="run failed fits again")


def chosen_methods(arguments: argparse.Namespace) -> list[str] | None:
    """Return the requested methods, with those of ``--method-file``; None for the defaults."""
    from jarf import bench

    if arguments.jobs < 1:
        raise ValueError("--jobs must be at least 1")
    added = [name for spec in arguments.plugins for name in bench.load_plugin(spec)]
    return arguments.methods and [*arguments.methods, *added]


@contextmanager
def stoppable(out: str) -> Iterator[None]:
    """End a run with one line and exit code 130 on Ctrl-C or SIGTERM."""
    stop_on_terminate()
    try:
        yield
    except KeyboardInterrupt:
        print(
            f"\nstopped; finished fits are stored in {out}; run the same command to resume",
            file=sys.stderr,
        )
        raise SystemExit(130) from None


def stop_on_terminate() -> None:
    """End the run on SIGTERM as on Ctrl-C."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    try:
        signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        return
