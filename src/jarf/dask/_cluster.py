"""Running tasks on a cluster or in threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import dask
from dask import delayed
from dask.base import get_scheduler
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

# A task of a reduction adds up this many results.
FAN_IN = 8


def active_client() -> Any:
    """Return the client that ``compute`` uses, or None if tasks run in this process."""
    client = getattr(get_scheduler(), "__self__", None)
    return client if hasattr(client, "scatter") else None


def shared(value: Any) -> Any:
    """Wrap a value that many tasks need, so that it is sent once, not once per task.

    It is part of the graph, so that the scheduler can recover it when a worker is lost; scattered
    data cannot be recovered.
    """
    return delayed(value, traverse=False, pure=False)


def compute(tasks: Sequence[Any]) -> list[Any]:
    """Run delayed tasks on whatever scheduler is active."""
    if active_client() is None:
        return list(dask.compute(*tasks))
    # Surrogates belong in the graph, so no warning about its size.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100GB"}):
        return list(dask.compute(*tasks))


class Graph:
    """A graph of many small tasks; as many delayed objects would take minutes to merge.

    Parameters
    ----------
    inputs : list
        Delayed objects and futures that the tasks use.
    """

    def __init__(self, inputs: list[Any]):
        self.name = f"jarf-{uuid4().hex}"
        self.tasks: dict[Any, Any] = {}
        self.inputs: list[Any] = [value for value in inputs if isinstance(value, Delayed)]

    def add(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Add a task; return its key, to be used as an argument. Tuples must not be arguments."""
        name = getattr(function, "func", function).__name__
        key = (f"{name.strip('_')}-{self.name}", len(self.tasks))
        named = [value.key if isinstance(value, Delayed) else value for value in arguments]
        self.tasks[key] = (function, *named)
        return key

    def compute(self, keys: list[Any]) -> list[Any]:
        """Run these tasks and their dependencies; return their results."""
        graph = HighLevelGraph.from_collections(self.name, self.tasks, dependencies=self.inputs)
        return compute([Delayed(key, graph, layer=self.name) for key in keys])


def tree_reduced(add: Callable[[list[Any]], Any], items: list[Any]) -> Any:
    """Combine delayed results by a tree of tasks, each of which sees at most ``FAN_IN``."""
    combine = delayed(add, pure=False)
    while len(items) > 1:
        items = [combine(items[at : at + FAN_IN]) for at in range(0, len(items), FAN_IN)]
    return items[0]
