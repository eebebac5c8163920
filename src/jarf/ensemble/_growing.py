"""From a training matrix and a proposal to trees: the bridge to the grower."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from jarf._threads import thread_map
from jarf.ensemble._backend import backend
from jarf.ensemble._forest import GrownTree
from jarf.gradients import first_rows

CRITERIA = {"gini": 0, "entropy": 1, "squared_error": 2}
MAX_BINS = 256

# From so many rows on, a node is searched in bins instead of exactly: in those of a column, which
# are there, and in those of a direction, which are to be made first.
HISTOGRAM_FROM = 1024
SAMPLE_FROM = 32_768


def narrow(values: np.ndarray) -> np.ndarray:
    """Weights as float32; what is too large for it at its limits."""
    largest = np.finfo(np.float32).max
    return np.clip(values, -largest, largest).astype(np.float32)


class Target(NamedTuple):
    """Class numbers, or responses where ``n_classes`` is 0."""

    labels: np.ndarray
    responses: np.ndarray
    n_classes: int
    criterion: str

    @classmethod
    def of_classes(cls, labels: np.ndarray, n_classes: int, criterion: str) -> Target:
        return cls(labels.astype(np.int32), np.empty(0), n_classes, criterion)

    @classmethod
    def of_responses(cls, responses: np.ndarray) -> Target:
        return cls(
            np.empty(0, np.int32), np.ascontiguousarray(responses, float), 0, "squared_error"
        )

    def first_rows(self) -> list[int]:
        """Find one row of every class; none in regression."""
        return first_rows(self.labels)

    def only(self, used: np.ndarray | slice) -> Target:
        """Keep some rows."""
        if self.n_classes:
            return self._replace(labels=self.labels[used])
        return self._replace(responses=self.responses[used])

    @property
    def n_outputs(self) -> int:
        return max(1, self.n_classes)

    def indicators(self, rows: np.ndarray) -> np.ndarray:
        """What a perfect forest would answer at some rows: (n_rows, n_outputs)."""
        if self.n_classes:
            return np.eye(self.n_classes)[self.labels[rows]]
        return self.responses[rows][:, None]


@dataclass(frozen=True)
class Limits:
    """When a node is split no further."""

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    histogram_from: int = HISTOGRAM_FROM
    sample_from: int = SAMPLE_FROM


class Space(NamedTuple):
    """The columns a tree is grown on. ``rotation``, if any, says what they are made of."""

    columns: Any
    rotation: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


def make_space(X: np.ndarray, n_jobs: int | None = None, *, bins: bool = True) -> Space:
    """Share a matrix among trees: column after column, with the bins of its values."""
    values = np.ascontiguousarray(X.T, dtype=np.float32)
    n_columns, n_rows = values.shape
    codes = np.empty((n_columns, n_rows) if bins else (0, 0), np.uint8)
    size = (n_columns, MAX_BINS) if bins else (0, 0)
    lowest, highest = np.zeros(size, np.float32), np.zeros(size, np.float32)
    n_bins = np.zeros(size[0], np.int32)
    if bins:
        step = -(-n_columns // (4 * effective_n_jobs(n_jobs)))
        parts = [slice(at, at + step) for at in range(0, n_columns, step)]

        def cut(part: slice) -> None:
            backend().bin_columns(
                values[part], codes[part], lowest[part], highest[part], n_bins[part]
            )

        list(thread_map(cut, parts, n_jobs))
    return Space(backend().TrainingColumns(values, codes, lowest, highest, n_bins))


def rotate_space(X: np.ndarray, rotation: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Space:
    """Give one tree columns that are sparse projections (starts, features, loadings) of these.

    They are made where they are needed, not all at once; ``X`` in column order is not copied.
    """
    values = np.ascontiguousarray(X.T, dtype=np.float32)
    return Space(backend().RotatedColumns(values, *rotation), rotation)


def grow_tree(
    space: Space,
    proposal: Any,
    target: Target,
    weights: np.ndarray,
    seed: int,
    limits: Limits,
    stop: np.ndarray | None = None,
) -> GrownTree:
    """Grow one tree; rows of weight zero take no part."""
    arrays = backend().grow_tree(
        space.columns,
        proposal,
        CRITERIA[target.criterion],
        target.labels,
        target.responses,
        target.n_classes,
        weights,
        int(seed),
        max_depth=_or_none(limits.max_depth, 2**31 - 1),
        max_leaves=_or_none(limits.max_leaf_nodes, 0),
        min_split=limits.min_samples_split,
        min_leaf=limits.min_samples_leaf,
        min_leaf_weight=limits.min_weight_fraction_leaf * weights.sum(),
        min_gain=limits.min_impurity_decrease * weights.sum(),
        histogram_from=limits.histogram_from,
        sample_from=limits.sample_from,
        stop=np.zeros(1, np.uint8) if stop is None else stop,
    )
    tree = GrownTree(*arrays)
    tree = tree._replace(
        nodes=tree.nodes.reshape(-1, 4), values=tree.values.reshape(-1, target.n_outputs)
    )
    return tree if space.rotation is None else _unrotated(tree, space.rotation)


def grow_trees(
    grow_one: Callable[[int, np.ndarray], GrownTree],
    seeds: np.ndarray,
    n_jobs: int | None,
    verbose: int = 0,
) -> list[GrownTree]:
    """Grow one tree a seed in threads. An interrupt stops the running trees too."""
    stop = np.zeros(1, np.uint8)

    def raise_flag() -> None:
        stop[0] = 1

    trees: list[GrownTree] = []
    shown = max(1, len(seeds) // 10)
    for tree in thread_map(lambda seed: grow_one(seed, stop), seeds.tolist(), n_jobs, raise_flag):
        trees.append(tree)
        if verbose > 0 and (len(trees) % shown == 0 or len(trees) == len(seeds)):
            print(f"[forest] {len(trees)} of {len(seeds)} trees", file=sys.stderr, flush=True)
    return trees


def _or_none(value: int | None, unlimited: int) -> int:
    return unlimited if value is None else value


def _unrotated(tree: GrownTree, rotation: tuple[np.ndarray, np.ndarray, np.ndarray]) -> GrownTree:
    """Say splits on rotated columns as projections of the original ones."""
    nodes = tree.nodes.copy()
    feature = nodes[:, 0]
    feature[feature >= 0] = -2 - feature[feature >= 0]
    starts, features, loadings = rotation
    return tree._replace(nodes=nodes, starts=starts, features=features, loadings=loadings)
