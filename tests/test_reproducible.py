"""Same seed, same bits: over threads, pickles, processes, and with the reference."""

import hashlib
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
X[::7, 1] = np.nan
SUM = X[:, 0] + X[:, 2]

# Fits every estimator in a new process and prints a digest of what each answers.
DIGESTS = """
import hashlib, pickle, sys
for model, method, X, y in pickle.load(sys.stdin.buffer):
    answer = getattr(model.fit(X, y), method)(X)
    print(hashlib.sha256(answer.tobytes()).hexdigest())
"""


def target(kind, rows=slice(None)):
    return SUM[rows] if kind.regresses else (SUM[rows] > 0).astype(int)


def fitted(kind, **parameters):
    return kind.make(**parameters).fit(X, target(kind))


@pytest.fixture(scope="module")
def first():
    """A model of every estimator, fitted with one thread when it is first asked for."""
    found = {}

    def get(kind):
        if kind.name not in found:
            found[kind.name] = fitted(kind, n_jobs=1)
        return found[kind.name]

    return get


def test_any_number_of_threads(kind, first):
    if "n_jobs" in kind.known:
        one = kind.answer(first(kind), X)
        for n_jobs in (2, 4):
            np.testing.assert_array_equal(kind.answer(fitted(kind, n_jobs=n_jobs), X), one)


def test_the_same_seed_again(kind, first):
    again = fitted(kind, n_jobs=1, random_state=0)
    np.testing.assert_array_equal(kind.answer(first(kind), X), kind.answer(again, X))


def test_pickles(kind, first):
    model = first(kind)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(kind.answer(model, X), kind.answer(again, X))


def test_the_reference_gives_the_same(kind, monkeypatch):
    """The arithmetic is the same but for sums of gradients, whose order is another."""
    rows = slice(0, 24)
    answers = []
    for without in ("0", "1"):
        monkeypatch.setenv("JARF_NO_NATIVE", without)
        model = kind.make(n_estimators=2).fit(X[rows], target(kind, rows))
        answers.append(kind.answer(model, X[rows]))
    if kind.name == "JacobianPreconditioner":
        np.testing.assert_allclose(*answers, rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_array_equal(*answers)


@pytest.fixture(scope="module")
def digests(kinds):
    """Of all estimators, from two new processes with different seeds of Python's hashes."""
    jobs = pickle.dumps(
        [
            (kind.make(), "transform" if kind.transforms else "predict", X, target(kind))
            for kind in kinds
        ]
    )
    found = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", DIGESTS],
            input=jobs,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
        )
        lines = done.stdout.decode().split()
        found.append({kind.name: line for kind, line in zip(kinds, lines, strict=True)})
    return found


def test_new_processes(kind, digests, first):
    model = first(kind)
    answer = model.transform(X) if kind.transforms else model.predict(X)
    here = hashlib.sha256(answer.tobytes()).hexdigest()
    assert [found[kind.name] for found in digests] == [here, here]
