"""Work shared among threads, results in order.

A bare pool: joblib looks for results every 10 ms, longer than a small forest takes. ``n_jobs``
means what it means to joblib, but for its backends on clusters (Dask, Ray): threads stay in this
process, and are no more than it has cores unless more are asked for by number.
"""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Event
from typing import Any

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

# Address space that must be free for each thread: its stack (8 MB as a rule), thread-local data and
# the first allocations. With less, glibc ends the process ("cannot allocate memory for thread-local
# data"), or Python waits forever for a thread that ran out of memory before it reported its start.
ROOM_PER_THREAD = 32 * 2**20


def threads_of(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` means in this process."""
    at_most = n_jobs if n_jobs is not None and n_jobs > 0 else cpu_count()
    return min(effective_n_jobs(n_jobs), at_most)


def thread_map(
    call: Callable[[Any], Any],
    items: Sequence[Any],
    n_jobs: int | None = None,
    abort: Callable[[], None] = lambda: None,
) -> Iterator[Any]:
    """``map`` by threads, with at most two results a thread waiting.

    Parameters
    ----------
    call : callable
    items : sequence
    n_jobs : int, default=None
    abort : callable
        Called once if an item fails or the caller is interrupted, to stop calls under way; those
        that have not begun are dropped.

    Yields
    ------
    object
        The answers, in the order of the items.
    """
    n_threads = min(threads_of(n_jobs), len(items))
    pool = _start_threads(n_threads)
    if pool is None:
        yield from map(call, items)
        return
    try:
        waiting = deque(pool.submit(call, item) for item in items[: 2 * n_threads])
        for item in items[2 * n_threads :]:
            yield waiting.popleft().result()
            waiting.append(pool.submit(call, item))
        while waiting:
            yield waiting.popleft().result()
    except BaseException:
        abort()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start_threads(n_threads: int) -> ThreadPoolExecutor | None:
    """Start a pool, of fewer threads where no more can be started; None: the caller does the work.

    All threads start here, so that none fails to start between two results.
    """
    while n_threads > 1:
        if _has_room(n_threads * ROOM_PER_THREAD):
            pool, all_started = ThreadPoolExecutor(n_threads), Event()
            try:
                for _ in range(n_threads):
                    pool.submit(all_started.wait)  # a waiting thread makes the pool start another
                return pool
            except RuntimeError:  # can't start new thread
                all_started.set()
                pool.shutdown(cancel_futures=True)
            finally:
                all_started.set()
        n_threads //= 2
    return None


def _has_room(n_bytes: int) -> bool:
    """Whether so much address space is free; nothing is written to it."""
    try:
        mmap.mmap(-1, n_bytes).close()
    except (OSError, MemoryError):
        return False
    return True


def openmp_limit(n_jobs: int | None = None) -> AbstractContextManager:
    """Hold OpenMP to ``n_jobs`` threads, and to fewer where the user allows fewer already.

    scikit-learn's histogram booster takes all cores, whatever ``n_jobs`` says.
    """
    found = ThreadpoolController().select(user_api="openmp")
    allowed = [library["num_threads"] for library in found.info()]
    return found.limit(limits=min([threads_of(n_jobs), *allowed]))
