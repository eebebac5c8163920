"""What depends on where tasks run: a cluster, or threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask
from dask import delayed
from dask.base import get_scheduler

# A task of a reduction adds up so many results.
FAN_IN = 8


def active_client() -> Any:
    """Return the client that ``compute`` would go to, or None where tasks run in this process."""
    client = getattr(get_scheduler(), "__self__", None)
    return client if hasattr(client, "scatter") else None


def shared(value: Any) -> Any:
    """Make a value that many tasks need an argument for them: sent once, not once a task.

    On a cluster every worker gets a copy, so that the loss of one does not lose the value.
    """
    client = active_client()
    if client is None:
        return delayed(value, traverse=False, pure=False)
    return client.scatter([value], broadcast=True, hash=False)[0]


def compute(tasks: Sequence[Any]) -> list[Any]:
    """Run delayed tasks on whatever scheduler is active."""
    return list(dask.compute(*tasks))


def tree_reduced(add: Callable[[list[Any]], Any], items: list[Any]) -> Any:
    """Combine delayed results by a tree of tasks, each of which sees at most ``FAN_IN``."""
    combine = delayed(add, pure=False)
    while len(items) > 1:
        items = [combine(items[at : at + FAN_IN]) for at in range(0, len(items), FAN_IN)]
    return items[0]
