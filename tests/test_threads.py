import os
import subprocess
import sys
import threading
import time

import pytest
import sklearn.ensemble  # noqa: F401  (brings OpenMP)
from threadpoolctl import threadpool_info, threadpool_limits

from jarf._threads import openmp_limit, thread_map

pytestmark = pytest.mark.alone


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5])
@pytest.mark.parametrize("n_items", [0, 1, 3, 40])
def test_answers_come_in_order(n_jobs, n_items):
    items = list(range(n_items))
    assert list(thread_map(lambda i: i * i, items, n_jobs)) == [i * i for i in items]


def test_an_error_aborts_running_tasks_and_drops_the_rest():
    started, stop = [], threading.Event()

    def work(item):
        started.append(item)
        if item == 0:
            raise ValueError("zero")
        stop.wait(600)

    with pytest.raises(ValueError, match="zero"):
        list(thread_map(work, range(100), 2, stop.set))
    assert stop.is_set()
    assert len(started) < 10


def test_no_thread_is_left():
    before = threading.active_count()
    assert sum(thread_map(lambda i: time.sleep(0.001) or i, range(20), 4)) == 190
    assert threading.active_count() == before


def test_a_backend_of_many_workers_does_not_start_as_many_threads(monkeypatch):
    monkeypatch.setattr("jarf._threads.effective_n_jobs", lambda n_jobs: 1000)
    monkeypatch.setattr("jarf._threads.cpu_count", lambda: 2)
    names = set(thread_map(lambda i: threading.current_thread().name, range(50), None))
    assert 1 <= len(names) <= 2


@pytest.mark.parametrize(
    ("allowed", "n_jobs", "expected"), [(4, 2, 2), (1, 2, 1), (3, 3, 3), (2, None, 1)]
)
def test_openmp_is_held_to_n_jobs_and_never_given_more(allowed, n_jobs, expected):
    def threads():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "openmp"}

    with threadpool_limits(allowed, user_api="openmp"):
        with openmp_limit(n_jobs):
            assert threads() == {expected}
        assert threads() == {allowed}


@pytest.mark.parametrize("n_can_start", [0, 1, 2, 3])
def test_fewer_threads_do_where_no_more_can_be_started(monkeypatch, n_can_start):
    started, start = [], threading.Thread.start

    def limited(thread):
        if sum(other.is_alive() for other in started) >= n_can_start:
            raise RuntimeError("can't start new thread")
        start(thread)
        started.append(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    aborted = []
    found = thread_map(lambda i: i * i, range(50), 4, lambda: aborted.append(True))
    assert list(found) == [i * i for i in range(50)]
    assert not aborted
    assert not any(thread.is_alive() for thread in started)


def test_no_thread_is_started_without_room_for_it(monkeypatch):
    monkeypatch.setattr("jarf._threads.ROOM_PER_THREAD", 2**60)
    names = set(thread_map(lambda i: threading.current_thread().name, range(20), 4))
    assert names == {threading.current_thread().name}


LITTLE_MEMORY = """
import resource, sys
import numpy as np
from jarf import AxisForestClassifier
X = np.random.default_rng(0).normal(size=(2000, 10)).astype(np.float32)
y = (X[:, 0] > 0).astype(int)
AxisForestClassifier(2, n_jobs=1).fit(X[:50], y[:50])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]) * 1_000_000,) * 2)
try:
    AxisForestClassifier(20, n_jobs=2).fit(X, y)
except MemoryError:
    print("MemoryError")
else:
    print("fitted")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
@pytest.mark.parametrize("megabytes", [5, 12, 18, 20, 22, 30, 100])
def test_little_memory_neither_ends_nor_hangs_the_process(megabytes):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY, str(megabytes)],
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )
    assert done.stdout.strip() in ("fitted", "MemoryError"), done.stderr
