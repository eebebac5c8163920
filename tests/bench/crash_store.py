"""Kill a study at random moments and start it again, until it has been killed enough.

    python tests/bench/crash_store.py --kills 200             jarf reproduce
    python tests/bench/crash_store.py --kills 200 --compare   jarf compare

After every kill the stored rows must be whole, there once, and hold all that was there before;
whenever a run gets to its end, its rows and tables must equal those of a run that nobody disturbed.
A start is a fork of this process, which has everything imported: a moment is a few milliseconds
into the run, not into the imports. A clock that counts its calls makes rows of two runs comparable.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier

from jarf import bench
from jarf.bench import BUDGETS, _compare, _jobs, load_rows, register_method
from jarf.cli import main
from jarf.report import load_results
from jarf.report._build import result_tables


class Clock:
    """Counts instead of measuring."""

    def __init__(self):
        ticks = itertools.count()
        self.perf_counter = self.process_time = lambda: next(ticks) / 1000

    def strftime(self, form, moment):
        return "2026-01-01T00:00:00Z"

    def gmtime(self):
        return None


class SometimesFails(DummyClassifier):
    """Fails on half of the splits: rows for ``--retry-errors`` to drop and to write again."""

    def fit(self, X, y, sample_weight=None):
        if X[0, 0] > 0:
            raise ValueError("made to fail")
        return super().fit(X, y, sample_weight)


def reproduce(out: Path, retry: bool) -> list[str]:
    """Run ``jarf reproduce`` once and return its tables as text."""
    command = ["reproduce", "--only", "classification", "--jobs", "1", "--repeats", "8"]
    command += ["--datasets", "iris", "wine", "breast-cancer", "--no-report", "--out", str(out)]
    command += ["--methods", "dummy", "sometimes", *(["--retry-errors"] if retry else [])]
    assert main(command) == 0
    return [str(t) for made in result_tables(load_results(out)).values() for t in made]


def compare(out: Path, retry: bool) -> list[str]:
    """Run ``jarf compare`` once without its page and return its summary as text."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = ["dummy", "sometimes"]
    found = bench.compare(X, y, methods=names, repeats=8, out=out, retry_errors=retry)
    return [json.dumps(found.summary, sort_keys=True, default=str)]


def start(run, out: Path, retry: bool = False) -> int:
    """A start in a fork; its process id."""
    child = os.fork()
    if child:
        return child
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)
    code = 1
    try:
        _jobs.time = _compare.time = Clock()
        run(out, retry)
        code = 0
    finally:
        os._exit(code)


def ended_in(child: int, seconds: float) -> bool:
    """Return whether it finished in time; kill it otherwise."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, "a start failed"
            return True
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def stored(out: Path) -> tuple[dict[tuple, dict], bool]:
    """The rows on disk, each once, and whether a half-written one follows."""
    path = out / "rows.jsonl"
    if not path.is_file():
        return {}, False
    *lines, rest = path.read_bytes().split(b"\n")
    rows = [json.loads(line) for line in lines]
    keys = [tuple(row[name] for name in _jobs.Job.__dataclass_fields__) for row in rows]
    assert len(set(keys)) == len(keys), "a row is there twice"
    assert len(load_rows(out)) == len(rows), "a stored row is not read"
    return dict(zip(keys, rows, strict=True)), bool(rest)


def outcome(run, out: Path):
    """Return the rows of a finished run, sorted, and the content of its page."""
    rows = sorted(json.dumps(row.as_dict(), sort_keys=True) for row in load_rows(out))
    tables = run(out, False)
    assert rows
    assert tables
    return rows, tables


def crash(run, kills: int, folder: Path, seed: int = 0) -> str:
    """Run the whole harness; return a summary."""
    dice = random.Random(seed)
    register_method("dummy", DummyClassifier(strategy="stratified", random_state=0))
    register_method("sometimes", SometimesFails(strategy="stratified", random_state=0))
    BUDGETS["quick"] = dataclasses.replace(BUDGETS["quick"], train_cap=60, test_cap=60)
    began = time.monotonic()
    assert ended_in(start(run, folder / "undisturbed"), 600)
    whole = time.monotonic() - began
    expected = outcome(run, folder / "undisturbed")
    n_killed = n_ended = n_torn = most = 0
    out, before = folder / "run-0", {}
    while n_killed < kills or before:
        retry = dice.random() < 0.25
        patience = dice.random() * whole / 4 if n_killed < kills else 600
        ended = ended_in(start(run, out, retry), patience)
        rows, torn = stored(out)
        n_torn += torn
        lost = [k for k, row in before.items() if row["status"] == "ok" and rows.get(k) != row]
        assert not lost, f"{len(lost)} finished rows were lost or changed"
        most, before = max(most, len(rows)), rows
        n_killed += not ended
        if ended:
            assert outcome(run, out) == expected, "another outcome than that of an undisturbed run"
            n_ended += 1
            out, before = folder / f"run-{n_ended}", {}
    return (
        f"{n_killed} kills in {n_ended} runs of {most} rows, {n_torn} half-written last lines: "
        "every finished row there once, rows and tables equal to those of an undisturbed run"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compare", action="store_true", help="jarf compare, not reproduce")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run = compare if arguments.compare else reproduce
        print(crash(run, arguments.kills, Path(scratch), arguments.seed))
    sys.exit(0)
