"""A type checker finds the mistakes in a user's program, and nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jarf

# Estimators whose public methods are typed: module, class, an int parameter, a method of rows.
TYPED = [
    ("jarf", "AxisForestClassifier", "n_estimators", "predict_proba"),
    ("jarf", "AxisForestRegressor", "n_estimators", "predict"),
    ("jarf", "SPORFClassifier", "n_estimators", "predict_proba"),
    ("jarf", "SPORFRegressor", "n_estimators", "predict"),
    ("jarf", "CanonicalCorrelationForestClassifier", "n_estimators", "predict_proba"),
    ("jarf", "CanonicalCorrelationForestRegressor", "n_estimators", "predict"),
    ("jarf", "RotationForestClassifier", "n_estimators", "predict_proba"),
    ("jarf", "RotationForestRegressor", "n_estimators", "predict"),
    ("jarf", "JacobianForestClassifier", "n_estimators", "predict_proba"),
    ("jarf", "JacobianForestRegressor", "n_estimators", "predict"),
    ("jarf", "JacobianKernelClassifier", "n_anchors", "predict_set"),
    ("jarf", "JacobianKernelRegressor", "n_anchors", "predict_interval"),
    ("jarf", "JacobianEnsembleClassifier", "n_jobs", "predict_proba"),
    ("jarf", "JacobianEnsembleRegressor", "n_jobs", "predict_interval"),
    ("jarf", "JacobianBoostingClassifier", "max_iter", "predict_proba"),
    ("jarf", "JacobianBoostingRegressor", "max_iter", "predict"),
    ("jarf", "JARFClassifier", "n_estimators", "predict_proba"),
    ("jarf", "JARFRegressor", "n_estimators", "predict"),
    ("jarf", "JacobianPreconditioner", "n_probes", "transform"),
    ("jarf", "JacobianFeatures", "n_directions", "transform"),
    ("jarf.surrogate", "KernelSurrogateClassifier", "n_rows", "predict_proba"),
    ("jarf.surrogate", "KernelSurrogateRegressor", "n_rows", "predict"),
]
HEAD = """\
from typing import Any
import numpy as np
import numpy.typing as npt
X, y = np.zeros((20, 2)), np.arange(20)
"""
# A comment names the error that mypy must report on its line; other lines are correct.
PROGRAM = """\
from {module} import {name}
def use_{name}(model: {name}) -> npt.NDArray[Any]:
    fitted: {name} = {name}({number}=3, random_state=0).fit(X, y)
    same: {name} = fitted.set_params(**model.get_params())
    {name}({number}="many")  # arg-type
    {name}({number}_=3)  # call-arg
    model.fit(X)  # call-arg
    model.{typo}(X)  # attr-defined
    return same.{method}(X)
"""


def program_for(module, name, number, method):
    typo = method[0] + method[2:]
    return PROGRAM.format(module=module, name=name, number=number, method=method, typo=typo)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Errors of one mypy run over the programs of all estimators: line -> code."""
    folder = tmp_path_factory.mktemp("client")
    programs = [program_for(*estimator) for estimator in TYPED]
    (folder / "client.py").write_text(HEAD + "".join(programs))
    home = Path(jarf.__file__).parents[1]
    path = {} if home.name == "site-packages" else {"MYPYPATH": str(home)}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports"),
            *("--follow-imports=silent", "--config-file=", "--cache-dir=cache", "client.py"),
        ],
        cwd=folder,
        env={**os.environ, **path},
        capture_output=True,
        text=True,
    )
    errors = re.findall(r"client\.py:(\d+): error: .*\[([\w-]+)\]", done.stdout)
    assert f"Found {len(errors)} errors in 1 file" in done.stdout, done.stdout + done.stderr
    print(done.stdout)  # shown where a test fails
    return {int(line): code for line, code in errors}


@pytest.mark.parametrize("number", range(len(TYPED)), ids=[name for _, name, *_ in TYPED])
def test_mistakes_are_found_and_correct_lines_are_not(found, number):
    lines = program_for(*TYPED[number]).splitlines()
    first = len(HEAD.splitlines()) + number * len(lines) + 1
    expected = {first + i: line.split("  # ")[1] for i, line in enumerate(lines) if "  # " in line}
    assert {line: found[line] for line in range(first, first + len(lines)) if line in found} == (
        expected
    )
