"""The EJOP of a partitioned table: a sum with a count per partition, added by a tree of tasks."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
from dask import delayed

from jarf._progress import Stages
from jarf.dask._boosting import distributed_surrogate, is_distributed
from jarf.dask._cluster import compute, shared, tree_reduced
from jarf.dask._encoding import Sample
from jarf.geometry import JacobianPreconditioner, Learned, count_probes, learn, set_estimate
from jarf.gradients import choose_rows

# Probes are drawn on the client; beyond this many, probing all rows is as cheap.
MAX_PROBES = 10_000_000


def fit_on_partitions(
    preconditioner: JacobianPreconditioner, surrogate: Any, sample: Sample, rng: Any, stages: Stages
) -> None:
    """Fit a local preconditioner to a table in partitions.

    Scales, range, steps and the surrogate come from the sample, gradients from probes among all
    rows. The random numbers are those of a local fit.

    Parameters
    ----------
    preconditioner : JacobianPreconditioner
        With ``table_`` and the names that belong to it. Gets its other fitted attributes here.
    surrogate : estimator
    sample : Sample
    rng : RandomState
    stages : Stages
    """
    parts = sample.parts
    classes, target = sample.coded()
    with stages.stage("surrogate"):
        if is_distributed(surrogate):
            surrogate = distributed_surrogate(surrogate, sample, rng)
        learned = learn(
            preconditioner, surrogate, sample.X, target, classes, sample.weights, random_state=rng
        )
    with stages.stage("gradients"):
        wanted = count_probes(preconditioner.n_probes, parts.n_rows, stages)
        if MAX_PROBES < wanted < parts.n_rows:
            raise ValueError(
                f"n_probes asks for {wanted} of {parts.n_rows} rows. Give at most {MAX_PROBES}, or "
                "1.0 for all rows."
            )
        probes = None if wanted >= parts.n_rows else choose_rows(parts.n_rows, wanted, rng)
        ejop = _summed(learned, sample, probes)
        set_estimate(preconditioner, learned, learned.rescaled(ejop))
    preconditioner.stage_times_ = stages.times


def _summed(learned: Learned, sample: Sample, probes: np.ndarray | None):
    parts = sample.parts
    task = shared(_Task(learned, sample))
    ejop_of = delayed(_ejop_of, pure=False)
    pieces = zip(parts.blocks(), parts.places(probes), sample.corrections(), strict=True)
    tasks = [
        ejop_of(task, block, places, correction)
        for (block, places, correction), size in zip(pieces, parts.sizes, strict=True)
        if size and (places is None or len(places))
    ]
    return compute([tree_reduced(_add, tasks)])[0]


class _Task:
    """The inputs of a task that computes the EJOP of a block."""

    def __init__(self, learned: Learned, sample: Sample):
        self.encoding = sample.encoding()
        self.differentiation = learned.differentiation()
        self.classes = learned.classes if learned.coded else None

    def labels(self, y: np.ndarray) -> np.ndarray:
        return y if self.classes is None else np.searchsorted(self.classes, y)


def _ejop_of(task: _Task, block, places, correction):
    X = task.encoding.matrix(block, correction)
    y, weights = block.y, block.weights
    if places is not None:
        X, y = X[places], y[places]
        weights = None if weights is None else weights[places]
    return task.differentiation.ejop(X, task.labels(y), weights, n_jobs=1)


def _add(parts: list[Any]) -> Any:
    return reduce(add, parts)
