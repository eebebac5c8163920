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


def test_an_error_aborts_what_runs_and_drops_the_rest():
    started, stop = [], threading.Event()

    def work(item):
        started.append(item)
        if item == 0:
            raise ValueError("zero")
        stop.wait(10)

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
