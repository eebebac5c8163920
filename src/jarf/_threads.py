"""Work shared among threads, results in order.

A plain thread pool, because joblib polls for results every 10 ms, which is longer than a small
forest takes. ``n_jobs`` has joblib's meaning, except that cluster backends (Dask, Ray) are ignored:
threads run in this process. There are at most as many as cores, unless a larger number is requested
explicitly.
"""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from threading import Event
from typing import Any

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

# Address space that must be free for each thread: its stack (8 MB as a rule), thread-local data and
# the first allocations. With less, glibc ends the process ("cannot allocate memory for thread-local
# data"), or Python waits forever for a thread that ran out of memory before it reported its start.
ROOM_PER_THREAD = 32 * 2**20


def threads_of(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` stands for in this process."""
    at_most = n_jobs if n_jobs is not None and n_jobs > 0 else cpu_count()
    return min(effective_n_jobs(n_jobs), at_most)


def thread_map(
    call: Callable[[Any], Any],
    items: Sequence[Any],
    n_jobs: int | None = None,
    abort: Callable[[], None] = lambda: None,
) -> Iterator[Any]:
    """Map with threads, with at most two pending results per thread.

    Parameters
    ----------
    call : callable
    items : sequence
    n_jobs : int, default=None
    abort : callable
        Called once if an item fails or the caller is interrupted, to stop running calls; calls that
        have not started are dropped.

    Yields
    ------
    object
        The results, in the order of the items.
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


def threads_with_room(n_jobs: int | None) -> int:
    """Return the number of threads of ``n_jobs``, or fewer if there is no memory for them."""
    n_threads = threads_of(n_jobs)
    while n_threads > 1 and not _has_room(n_threads * ROOM_PER_THREAD):
        n_threads //= 2
    return n_threads


def _start_threads(n_threads: int) -> ThreadPoolExecutor | None:
    """Start a pool, with fewer threads if the system allows no more; None if it allows none.

    All threads start here, so that no thread can fail to start later.
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
    """Return whether this much address space is free; nothing is written to it."""
    try:
        mmap.mmap(-1, n_bytes).close()
    except (OSError, MemoryError):
        return False
    return True


def openmp_limit(n_jobs: int | None = None) -> AbstractContextManager:
    """Limit OpenMP to ``n_jobs`` threads, or to fewer if the user has already set a lower limit.

    scikit-learn's histogram booster uses all cores, whatever ``n_jobs`` is.
    """
    found = ThreadpoolController().select(user_api="openmp")
    allowed = [library["num_threads"] for library in found.info()]
    return found.limit(limits=min([threads_of(n_jobs), *allowed]))


def one_blas_thread() -> AbstractContextManager:
    """Limit NumPy's and SciPy's linear algebra to one thread."""
    return _blas().limit(limits=1)


@cache
def _blas() -> ThreadpoolController:
    """Find the libraries once: it takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")
