"""Forests whose trees are grown by workers.

Rows are dealt into groups of about ``rows_per_tree`` by a hash of their number; trees are dealt to
the groups in turn, and each draws its bootstrap from the rows of its group. Groups cut across
partitions and do not depend on them, so that sorted data, or a class that is missing from a
partition, do no harm. With one group the trees are those of a local fit.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from dask import delayed

from jarf._progress import Stages
from jarf.dask._cluster import compute, shared
from jarf.dask._encoding import Encoding, Sample
from jarf.dask._partitions import Block, joined_columns
from jarf.ensemble import Forest
from jarf.ensemble._growing import Target
from jarf.ensemble._oblique import ObliqueForest
from jarf.table import fit_table

# Trees that one task grows.
TREES_PER_TASK = 8


class Rows(NamedTuple):
    """The training rows of a group, ready for the engine."""

    X: np.ndarray  # float32, column after column
    weights: np.ndarray
    target: Target


class Growing(NamedTuple):
    """What the tasks of one forest share."""

    forest: ObliqueForest
    encoding: Encoding
    classes: np.ndarray
    n_groups: int
    seed: int

    def target(self, y: np.ndarray) -> Target:
        if len(self.classes) == 0:
            return Target.of_responses(y)
        codes = np.searchsorted(self.classes, y)
        return Target.of_classes(codes, len(self.classes), self.forest.criterion)

    def rows(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Rows:
        weights = np.ones(len(X)) if weights is None else weights
        return Rows(np.asfortranarray(X, np.float32), weights, self.target(y))


def grow_forest(
    forest: ObliqueForest, sample: Sample, rows_per_tree: int, stages: Stages, linear=None
) -> ObliqueForest:
    """Fit a forest of the engine to a table in partitions.

    Parameters
    ----------
    forest : ObliqueForest
        Not fitted; ``table_`` may be set by ``sample``.
    sample : Sample
    rows_per_tree : int
        A group holds about so many rows at most.
    stages : Stages
    linear : LinearMap, default=None
        Maps the encoded rows first.

    Returns
    -------
    ObliqueForest
        Fitted, like a local one.
    """
    parts = sample.parts
    n_groups = -(-parts.n_rows // rows_per_tree)
    X = sample.X
    if linear is not None:
        X, _ = fit_table(
            forest, linear.transform(X), sample.y, classifies=False, dtype=np.float32, order="F"
        )
    seeds = forest._seeds(Forest.empty(X.shape[1], len(parts.classes)))
    growing = Growing(forest, sample.encoding(linear), parts.classes, n_groups, int(seeds[0]))
    learned = forest._learn(*growing.rows(X, sample.y, sample.weights), stages)
    growing = growing._replace(forest=_worker(forest))
    used = min(n_groups, len(seeds))
    with stages.stage("fit"):
        groups = _dealt(shared(growing), sample, used)
        order, tasks = _tasks(shared((growing, learned)), groups, seeds)
        grown = [tree for trees in compute(tasks) for tree in trees]
        trees = [grown[place] for place in np.argsort(order)]
    forest.forest_ = forest.forest_.extended(trees)
    return forest


def _worker(forest: ObliqueForest) -> ObliqueForest:
    """The forest as tasks see it: a task is one thread."""
    copied = copy(forest)
    copied.n_jobs, copied.verbose = 1, 0
    return copied


def _dealt(growing, sample: Sample, used: int) -> list[Any]:
    """Make the delayed rows of every group, from pieces of all partitions."""
    parts = sample.parts
    deal, gather = delayed(_deal, nout=used, pure=False), delayed(_gather, pure=False)
    starts = parts.starts[:-1].tolist()
    blocks = zip(parts.blocks(), sample.corrections(), starts, parts.sizes, strict=True)
    pieces = [
        deal(growing, block, correction, start, used)
        for block, correction, start, size in blocks
        if size
    ]
    return [gather(growing, [piece[group] for piece in pieces]) for group in range(used)]


def _tasks(shared_growing, groups: list[Any], seeds: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """Deal trees to groups in turn, a few a task; return the trees' numbers and the tasks."""
    context, grow = delayed(_context, pure=False), delayed(_grow, pure=False)
    numbers, tasks = [], []
    for place, rows in enumerate(groups):
        known = context(shared_growing, rows)
        mine = np.arange(place, len(seeds), len(groups))
        for at in range(0, len(mine), TREES_PER_TASK):
            some = mine[at : at + TREES_PER_TASK]
            numbers.append(some)
            tasks.append(grow(shared_growing, rows, known, seeds[some]))
    return np.concatenate(numbers), tasks


# --- what runs on workers ---------------------------------------------------------------------


def group_of(rows: np.ndarray, n_groups: int, seed: int) -> np.ndarray:
    """Hash row numbers into groups (the finaliser of splitmix64).

    Parameters
    ----------
    rows : ndarray of int
    n_groups : int
    seed : int

    Returns
    -------
    ndarray of int
    """
    z = rows.astype(np.uint64) + np.uint64(seed)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) % np.uint64(n_groups)).astype(np.int64)


def _deal(growing: Growing, block: Block, correction, start: int, used: int) -> list[Block]:
    X = growing.encoding.matrix(block, correction).astype(np.float32, copy=False)
    encoded = Block(X, block.y, block.weights)
    if growing.n_groups == 1:
        return [encoded]
    group = group_of(start + np.arange(len(X)), growing.n_groups, growing.seed)
    return [encoded.only(np.flatnonzero(group == g)) for g in range(used)]


def _gather(growing: Growing, pieces: list[Block]) -> Rows:
    n_rows = sum(len(piece.y) for piece in pieces)
    X = np.empty((n_rows, pieces[0].X.shape[1]), np.float32, order="F")
    at = 0
    for piece in pieces:
        X[at : at + len(piece.y)] = piece.X
        at += len(piece.y)
    y, weights = joined_columns(pieces)
    return growing.rows(X, y, weights)


def _context(known: tuple[Growing, Any], rows: Rows) -> Any:
    growing, learned = known
    return growing.forest._context(learned, *rows, Stages(""))


def _grow(known: tuple[Growing, Any], rows: Rows, context: Any, seeds: np.ndarray) -> list[Any]:
    return known[0].forest._grow(*rows, seeds, context)
