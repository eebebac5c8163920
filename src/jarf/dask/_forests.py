"""Forests whose trees are grown by workers.

Rows are divided into groups of about ``rows_per_tree`` by a hash of their number; trees are
assigned to the groups in turn, and each draws its bootstrap from the rows of its group. Groups do
not depend on the partitions, so sorted data and partitions without some class are harmless. With
one group the trees equal those of a local fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from jarf._progress import Stages
from jarf.dask._cluster import Graph, shared
from jarf.dask._encoding import Encoding, Sample
from jarf.dask._partitions import Block, joined_columns
from jarf.ensemble import BaggedForest, begin_growth
from jarf.table import fit_table
from jarf.trees import ClassTarget, GrownTree, ResponseTarget, Target

# Trees that one task grows.
TREES_PER_TASK = 8


class Rows(NamedTuple):
    """The training rows of a group, ready for the engine."""

    X: np.ndarray  # float32, column after column
    weights: np.ndarray
    target: Target


@dataclass(frozen=True)
class Dealing:
    """Conversion of rows to training rows, and their division into groups."""

    encoding: Encoding
    classes: np.ndarray
    criterion: str
    n_groups: int
    seed: int

    def rows(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Rows:
        weights = np.ones(len(X)) if weights is None else weights
        return Rows(np.asfortranarray(X, np.float32), weights, self._target(y))

    def _target(self, y: np.ndarray) -> Target:
        if len(self.classes) == 0:
            return ResponseTarget(y)
        codes = np.searchsorted(self.classes, y)
        return ClassTarget(codes, len(self.classes), self.criterion)


@dataclass(frozen=True)
class Known:
    """The data sent to every worker."""

    dealing: Dealing
    growth: Any  # what the forest learned from the sample


def grow_forest(
    forest: BaggedForest, sample: Sample, rows_per_tree: int, stages: Stages, linear=None
) -> BaggedForest:
    """Fit a forest of the engine to a table in partitions.

    Parameters
    ----------
    forest : BaggedForest
        Not fitted; ``table_`` may be set by ``sample``.
    sample : Sample
    rows_per_tree : int
        A group holds at most about this many rows.
    stages : Stages
    linear : LinearMap, default=None
        Maps the encoded rows first.

    Returns
    -------
    BaggedForest
        Fitted, like a local one.
    """
    parts = sample.parts
    n_groups = -(-parts.n_rows // rows_per_tree)
    X = sample.X
    if linear is not None:
        X, _ = fit_table(
            forest,
            linear.transform(X),
            sample.y,
            classifies=bool(parts.classifies),
            dtype=np.float32,
            order="F",
        )
    criterion = getattr(forest, "criterion", "gini")
    dealing = Dealing(sample.encoding(linear), parts.classes, criterion, n_groups, 0)
    growth, seeds = begin_growth(forest, *dealing.rows(X, sample.y, sample.weights), stages)
    dealing = replace(dealing, seed=int(seeds[0]))
    used = min(n_groups, len(seeds))
    with stages.stage("fit"):
        trees = _grown(Known(dealing, growth), sample, seeds, used)
    forest.forest_ = forest.forest_.extended(trees, empty=True)
    return forest


def _grown(what: Known, sample: Sample, seeds, used: int) -> list[GrownTree]:
    """Divide rows and trees into groups and grow; return the trees in the order of seeds."""
    parts, known = sample.parts, shared(what)
    blocks = parts.blocks()
    graph = Graph([known, *blocks])
    starts = parts.starts[:-1].tolist()
    pieces = [
        graph.add(partial(_deal, correction=correction, start=start, used=used), known, block)
        for block, correction, start, size in zip(
            blocks, sample.corrections(), starts, parts.sizes, strict=True
        )
        if size
    ]
    numbers, tasks = [], []
    for group in range(used):
        rows = graph.add(_gather, known, [graph.add(getitem, piece, group) for piece in pieces])
        context = graph.add(_context, known, rows)
        mine = np.arange(group, len(seeds), used)
        for at in range(0, len(mine), TREES_PER_TASK):
            some = mine[at : at + TREES_PER_TASK]
            numbers.append(some)
            tasks.append(graph.add(_grow, known, rows, context, seeds[some]))
    trees = [tree for grown in graph.compute(tasks) for tree in grown]
    return [trees[place] for place in np.argsort(np.concatenate(numbers))]


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


def _deal(known: Known, block: Block, *, correction, start: int, used: int) -> list[Block]:
    dealing = known.dealing
    X = dealing.encoding.matrix(block, correction).astype(np.float32, copy=False)
    encoded = Block(X, block.y, block.weights)
    if dealing.n_groups == 1:
        return [encoded]
    group = group_of(start + np.arange(len(X)), dealing.n_groups, dealing.seed)
    return [encoded.only(np.flatnonzero(group == g)) for g in range(used)]


def _gather(known: Known, pieces: list[Block]) -> Rows:
    n_rows = sum(len(piece.y) for piece in pieces)
    X = np.empty((n_rows, pieces[0].X.shape[1]), np.float32, order="F")
    at = 0
    for piece in pieces:
        X[at : at + len(piece.y)] = piece.X
        at += len(piece.y)
    y, weights = joined_columns(pieces)
    return known.dealing.rows(X, y, weights)


def _context(known: Known, rows: Rows) -> Any:
    return known.growth.context(*rows, n_jobs=1)


def _grow(known: Known, rows: Rows, context: Any, seeds: np.ndarray) -> list[GrownTree]:
    return known.growth.grow(*rows, seeds, context, n_jobs=1)
