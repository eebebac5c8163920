import threading
import time

import pytest

from jarf._threads import thread_map


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
