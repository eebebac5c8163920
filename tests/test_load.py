"""Under load: many threads at one model, and Ctrl-C in the middle of a fit."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import jarf

pytestmark = pytest.mark.alone
X, Y = make_classification(300, 6, random_state=0)
FORESTS = ("AxisForest", "SPORF", "CanonicalCorrelationForest", "RotationForest", "JacobianForest")


def test_eight_threads_ask_one_model(kind):
    model = kind.make(n_jobs=2).fit(X, Y)
    parts = np.array_split(X, 24)
    in_turn = [kind.answer(model, part) for part in parts]
    model = kind.make(n_jobs=2).fit(X, Y)  # creates its views on first use
    start = threading.Barrier(8)

    def ask(first):
        start.wait()
        return [(at, kind.answer(model, parts[at])) for at in range(first, len(parts), 8)]

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(ask, range(8)):
            for at, answer in found:
                np.testing.assert_array_equal(answer, in_turn[at])


@pytest.fixture
def interrupt():
    """Send Ctrl-C from a thread, whatever the shell that started the tests does with it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    yield timer
    timer.cancel()
    signal.signal(signal.SIGINT, before)


ENDLESS = [
    *(getattr(jarf, name + "Classifier")(10**6, n_jobs=2) for name in FORESTS),
    *(getattr(jarf, name + "Regressor")(10**6, n_jobs=2) for name in FORESTS),
    *(
        kind(max_iter=10**6, n_iter_no_change=10**6, geometry=geometry, n_jobs=2, **stopping)
        for kind in (jarf.JacobianBoostingClassifier, jarf.JacobianBoostingRegressor)
        for geometry, stopping in ((["linear"], {}), ("linear", {"early_stopping": False}))
    ),
    jarf.JacobianEnsembleClassifier([("sporf", jarf.SPORFClassifier(10**6))], n_jobs=2),
    jarf.JacobianEnsembleRegressor([("sporf", jarf.SPORFRegressor(10**6))], n_jobs=2),
    jarf.JARFClassifier(
        n_estimators=10**6,
        preconditioner=jarf.JacobianPreconditioner(RandomForestClassifier(3)),
        n_jobs=2,
    ),
    jarf.JARFRegressor(
        n_estimators=10**6,
        preconditioner=jarf.JacobianPreconditioner(RandomForestRegressor(3)),
        n_jobs=2,
    ),
]


@pytest.mark.posix
@pytest.mark.parametrize("model", ENDLESS, ids=lambda model: type(model).__name__)
def test_an_interrupt_ends_all_threads_and_leaves_no_model(model, interrupt):
    threads = set(threading.enumerate())
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    interrupt.join()
    # One that was just being started has yet to see that all is over.
    deadline = time.monotonic() + 600
    while not set(threading.enumerate()) <= threads:
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.01)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    endless = model.members[0][1] if hasattr(model, "members") else model
    number = "n_estimators" if hasattr(endless, "n_estimators") else "max_iter"
    endless.set_params(**{number: 2})
    model.fit(X, Y).predict(X)
