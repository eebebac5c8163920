"""``verbose`` works the same way in all estimators."""

import ast
import re
from pathlib import Path

from sklearn.datasets import load_diabetes, load_iris

import jarf
from jarf._progress import Stages

X, SPECIES = (values[::3] for values in load_iris(return_X_y=True))
NUMBERS = load_diabetes(return_X_y=True)[1][: len(X)]


def test_every_run_of_a_stage_shows_its_own_time_and_all_are_added(capsys, monkeypatch):
    clock = iter([0.0, 3.0, 10.0, 11.0])
    monkeypatch.setattr("jarf._progress.time.perf_counter", lambda: next(clock))
    stages = Stages("Forest", 1)
    for _ in range(2):
        with stages.stage("gradients"):
            pass
    shown = re.findall(r"\[Forest\] gradients: (\S+) s", capsys.readouterr().err)
    assert shown == ["3.00", "1.00"]
    assert stages.times == {"gradients": 4.0}


def test_levels(kind, capsys):
    """Level 0 is silent, 1 shows stages, 2 shows more; all on stderr, under the class's name."""
    if "verbose" not in kind.known:
        return  # always silent
    y = NUMBERS if kind.regresses else SPECIES
    shown = []
    for verbose in (0, 1, 2):
        kind.make(verbose=verbose).fit(X, y)
        captured = capsys.readouterr()
        assert captured.out == ""
        shown.append([re.sub(r"\d+\.\d\d s$", "TIME", line) for line in captured.err.splitlines()])
    silent, stages, details = shown
    assert silent == []
    assert any(line.startswith(f"[{kind.name}] ") and line.endswith(": TIME") for line in stages)
    assert all(re.match(r"\[\w+\] ", line) for line in details)
    assert [line for line in details if line in stages] == stages


def test_only_one_place_prints():
    """Estimators show progress by ``_progress``; commands print their answers themselves."""
    package = Path(jarf.__file__).parent
    printing = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if path.parent.name != "cli"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    }
    assert printing == {"_progress.py"}
