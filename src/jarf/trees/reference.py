"""The grower and the predictor of ``native/`` in plain Python, under the same names.

Slow and short: it defines what the kernels compute. Candidates, arithmetic and ties are the same,
so that trees come out the same; only the columns' own bins are missing, which native code uses in
large nodes. ``JARF_NO_NATIVE=1`` runs the forests on it.
"""

from __future__ import annotations

import math
from copy import copy
from heapq import heappop, heappush
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from jarf.trees._forest import NODE
from jarf.trees._reference_canonical import CanonicalCorrelation
from jarf.trees._reference_proposals import (
    Axes,
    GradientDraws,
    Gradients,
    LargeNodes,
    NodeView,
    Rng,
    Sequence,
    SparseRandom,
)
from jarf.trees._reference_search import Search
from jarf.trees._reference_symmetric import SymmetricGrower
from jarf.trees._reference_targets import (
    Entropy,
    Gini,
    MonotoneNewton,
    Newton,
    SquaredError,
)

__all__ = [
    "Axes",
    "CanonicalCorrelation",
    "CheckedForest",
    "Entropy",
    "Gini",
    "GradientDraws",
    "Gradients",
    "LargeNodes",
    "Limits",
    "MonotoneNewton",
    "Newton",
    "RotatedColumns",
    "Sequence",
    "SparseRandom",
    "SquaredError",
    "TrainingColumns",
    "add_by_group",
    "add_outer_products",
    "add_predictions",
    "bin_columns",
    "find_leaves",
    "grow_tree",
    "tree_differences",
]


class TrainingColumns(NamedTuple):
    """The training matrix, one row per column; only the numbers of bins are used."""

    values: np.ndarray
    codes: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    n_bins: np.ndarray


class CheckedForest(NamedTuple):
    """The arrays of a fitted forest."""

    nodes: np.ndarray
    roots: np.ndarray
    starts: np.ndarray
    features: np.ndarray
    loadings: np.ndarray
    values: np.ndarray
    n_pure: int
    n_features: int


def Limits(
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    min_samples_split: int = 2,
    min_samples_leaf: int = 1,
    min_weight_fraction_leaf: float = 0.0,
    min_impurity_decrease: float = 0.0,
    histogram_from: int,
    sample_from: int,
    symmetric: bool = False,
) -> SimpleNamespace:
    """When a node is split no further, under the names of the estimators."""
    return SimpleNamespace(**locals())


def bin_columns(values, codes, lowest, highest, n_bins) -> None:
    """Count distinct values where they are few, as negative numbers; leave the bins empty."""
    n_distinct = np.array([len(np.unique(column)) for column in values])
    n_bins[:] = np.where(n_distinct <= lowest.shape[1], -n_distinct, lowest.shape[1])


def RotatedColumns(values, starts, features, loadings) -> TrainingColumns:
    """Make all projections of the columns at once."""
    made = [project(values.T, features[a:b], loadings[a:b]) for a, b in pairwise(starts)]
    nothing = np.empty((0, 0), np.float32)
    return TrainingColumns(np.array(made), nothing, nothing, nothing, np.empty(0))


def project(X: np.ndarray, features: Any, loadings: np.ndarray) -> np.ndarray:
    """Add columns times their loadings in double precision and round once to float32."""
    if len(features) == 1 and loadings[0] == 1:
        return X[:, features[0]]
    values = np.zeros(len(X))
    for feature, loading in zip(features, loadings, strict=True):
        values += float(loading) * X[:, feature].astype(np.float64)
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


class _Found(NamedTuple):
    score: float
    threshold: np.float32
    features: list[int]
    loadings: np.ndarray
    memory: int = 0
    gain: float = 0.0


class _Grower:
    """One tree."""

    def __init__(self, columns, proposal, target, weights, seed, limits) -> None:
        self.X, self.n_bins = columns.values.T, columns.n_bins
        self.proposal, self.target, self.limits = proposal, target, limits
        whole = target.weigh(weights, limits.min_weight_fraction_leaf)
        self.min_gain = limits.min_impurity_decrease * whole
        self.rng = Rng(seed)
        self.nodes: list[tuple[int, float, int, int]] = []
        self.weights: list[float] = []
        self.gains: list[float] = []
        self.bounds: list[tuple[float, float]] = []
        self.starts = [0]
        self.features: list[int] = []
        self.loadings: list[float] = []
        self.values: list[np.ndarray] = []
        self.leaves = np.full(len(weights), -1, np.int32)

    def depth_first(self, rows: np.ndarray) -> None:
        tasks = [(rows, 0, 0, self._add_node())]
        while tasks:
            rows, depth, memory, node = tasks.pop()
            found = self._examine(rows, depth, memory, node)
            if found is None:
                self._make_leaf(node, rows)
                continue
            left, right = self._split(rows, node, found)
            tasks.append((right[0], depth + 1, found.memory, right[1]))
            tasks.append((left[0], depth + 1, found.memory, left[1]))

    def best_first(self, rows: np.ndarray) -> None:
        waiting: list[Any] = []

        def consider(rows: np.ndarray, depth: int, node: int) -> None:
            found = self._examine(rows, depth, 0, node)
            self._make_leaf(node, rows)
            if found is not None:
                heappush(waiting, (-found.gain, node, depth, rows, found))

        consider(rows, 0, self._add_node())
        n_leaves = 1
        while waiting and n_leaves < self.limits.max_leaf_nodes:
            _, node, depth, rows, found = heappop(waiting)
            children = self._split(rows, node, found)
            n_leaves += 1
            for child_rows, child in children:
                consider(child_rows, depth + 1, child)

    def _examine(self, rows: np.ndarray, depth: int, memory: int, node: int) -> _Found | None:
        target, limits, n_rows = self.target, self.limits, len(rows)
        self._enter(rows, node)
        self.weights[node] = target.total
        if (
            n_rows < max(limits.min_samples_split, 2 * self._min_leaf)
            or target.is_pure
            or (limits.max_depth is not None and depth >= limits.max_depth)
        ):
            return None
        X, best = self.X[rows], None
        self.proposal.begin(
            NodeView(
                X,
                memory,
                target.label_weights,
                target.classes,
                target.n_classes,
                target.responses,
                self.rng,
                rows,
            )
        )
        while (candidate := self.proposal.next()) is not None:
            if target.is_monotone:
                if not target.allows(*candidate):
                    self.proposal.was_constant()
                    continue
                target.face(*candidate)
            with np.errstate(over="ignore", invalid="ignore"):
                values = project(X, *candidate)
                spread = values.max() - values.min()
            if not (spread > 0 and np.isfinite(spread)):
                self.proposal.was_constant()
                continue
            best = self._search(values, candidate, best)
        if best is None:
            return None
        gain = max(0.0, best.score - target.score)
        if not gain >= self.min_gain * (1.0 - 1e-12) or (target.must_gain and not gain > 0):
            return None
        return best._replace(memory=self.proposal.memory(), gain=gain)

    def _enter(self, rows: np.ndarray, node: int) -> None:
        if self.target.is_monotone:
            self.target.enter(rows, self.bounds[node])
        else:
            self.target.enter(rows)

    @property
    def _min_leaf(self) -> int:
        return min(self.limits.min_samples_leaf, len(self.X))

    def _search(self, values: np.ndarray, candidate: Any, best: _Found | None) -> _Found | None:
        score = -math.inf if best is None else best.score
        search = Search(self.target, values, self._min_leaf, score)
        if self._has_few_values(candidate, len(values)):
            search.exact()
        else:
            search.run(self._binned_from(candidate))
        if search.threshold is None:
            return best
        return _Found(search.score, search.threshold, *candidate)

    def _binned_from(self, candidate: Any) -> int:
        """Return the node size from which the candidate is searched in bins of its own."""
        features, loadings = candidate
        if len(features) > 1 or loadings[0] != 1 or len(self.n_bins) == 0:
            return self.limits.sample_from
        return max(self.limits.sample_from, self.limits.histogram_from)

    def _has_few_values(self, candidate: Any, n_rows: int) -> bool:
        """Say whether native code has a bin for each value of the candidate."""
        features, loadings = candidate
        if len(features) > 1 or loadings[0] != 1 or len(self.n_bins) == 0:
            return False
        n_values = -self.n_bins[features[0]]
        return 0 < n_values * self.target.bin_width <= 2 * n_rows

    def _split(self, rows: np.ndarray, node: int, found: _Found) -> Any:
        left = project(self.X[rows], found.features, found.loadings) <= found.threshold
        self.gains[node] = found.gain
        feature = self._add_projection(found)
        children = [(rows[left], self._add_node()), (rows[~left], self._add_node())]
        self.nodes[node] = (feature, float(found.threshold), children[0][1], children[1][1])
        if self.target.is_monotone:
            self._bound_children(node, found, children)
        return children

    def _bound_children(self, node: int, found: _Found, children: Any) -> None:
        """Hand the bounds down, parted at the middle of the values along a constrained column."""
        values = []
        for child_rows, child in children:
            self.bounds[child] = self.bounds[node]
            self._enter(child_rows, child)
            values.append(self.target.value())
        sign = self.target.sign_of(found.features, found.loadings)
        if sign == 0:
            return
        (low, high), middle = self.bounds[node], 0.5 * (values[0] + values[1])
        for side, (_, child) in enumerate(children):
            below = (side == 0) == (sign > 0)
            self.bounds[child] = (low, middle) if below else (middle, high)

    def _add_projection(self, found: _Found) -> int:
        if len(found.features) == 1 and found.loadings[0] == 1:
            return found.features[0]
        self.features += found.features
        self.loadings += found.loadings.tolist()
        self.starts.append(len(self.features))
        return -len(self.starts)

    def _add_node(self) -> int:
        self.nodes.append((-1, 0.0, 0, 0))
        self.weights.append(0.0)
        self.gains.append(0.0)
        self.bounds.append((-math.inf, math.inf))
        return len(self.nodes) - 1

    def _make_leaf(self, node: int, rows: np.ndarray) -> None:
        value = self.target.leaf(self.values)
        self.nodes[node] = (-1, 0.0, value, value)
        self.leaves[rows] = node


def grow_tree(columns, proposal, target, weights, seed, limits, keep_leaves, stop, n_threads):
    """Grow one tree: see ``native/grower.hpp``. It always uses one thread."""
    made, own = proposal.make(len(columns.values)), copy(target)
    grower: Any
    if limits.symmetric:
        grower = SymmetricGrower(columns, made, own, weights, seed, limits)
        grow = grower.grow
    else:
        grower = _Grower(columns, made, own, weights, seed, limits)
        grow = grower.depth_first if limits.max_leaf_nodes is None else grower.best_first
    grow(np.flatnonzero(weights > 0))
    return (
        np.array(grower.nodes, NODE).view(np.int32),
        np.array(grower.weights),
        np.array(grower.gains),
        np.array(grower.starts, np.int32),
        np.array(grower.features, np.int32),
        np.array(grower.loadings, np.float32),
        np.array(grower.values).reshape(-1, target.n_outputs).ravel(),
        grower.leaves if keep_leaves else grower.leaves[:0],
        np.array(grower.bounds if target.is_monotone else []).ravel(),
    )


def _leaves(forest: CheckedForest, root: int, rows: np.ndarray) -> np.ndarray:
    """Return the node that each row ends in."""
    at = np.full(len(rows), root)
    nodes = forest.nodes.reshape(-1).view(NODE)
    moving = np.arange(len(rows))
    while len(moving):
        for index in np.unique(at[moving]):
            node, here = nodes[index], np.flatnonzero(at == index)
            feature = node["feature"]
            if feature == -1:
                continue
            if feature >= 0:
                values = rows[here, feature]
            else:
                part = slice(forest.starts[-2 - feature], forest.starts[-1 - feature])
                values = project(rows[here], forest.features[part], forest.loadings[part])
            at[here] = np.where(values <= node["threshold"], node["left"], node["right"])
        moving = np.flatnonzero(nodes["feature"][at] != -1)
    return at


def add_predictions(forest, rows, skip, sums) -> None:
    """Add the leaf values of every tree to ``sums``."""
    for tree, root in enumerate(forest.roots):
        row_of_leaf = forest.nodes[_leaves(forest, root, rows), 2]
        values = forest.values[row_of_leaf]
        if len(skip):
            values = np.where(skip[tree][:, None], 0.0, values)
        sums += values


def find_leaves(forest, rows, leaves) -> None:
    """Write the leaf of each row in each tree."""
    for tree, root in enumerate(forest.roots):
        leaves[:, tree] = _leaves(forest, root, rows) - root


def tree_differences(forest, centre, upper, lower, output, above, below) -> None:
    """Add the differences by definition: two predictions for every row and feature."""
    nothing = np.empty((0, 0), np.uint8)

    def predict(rows: np.ndarray) -> np.ndarray:
        sums = np.zeros((len(rows), forest.values.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            add_predictions(forest, rows, nothing, sums)
        return sums if len(output) == 0 else sums[np.arange(len(rows)), output][:, None]

    here, moved = predict(centre), centre.copy()
    for j in range(centre.shape[1]):
        moved[:, j] = upper[:, j]
        above[:, :, j] += predict(moved) - here
        moved[:, j] = lower[:, j]
        if len(below):
            below[:, :, j] += predict(moved) - here
        else:
            above[:, :, j] -= predict(moved) - here
        moved[:, j] = centre[:, j]


def add_outer_products(rows, weights, total) -> None:
    """Add the lower triangle of ``sum_i w_i g_i g_i'``."""
    weighted = rows if len(weights) == 0 else rows * weights[:, None]
    total += np.tril(weighted.T @ rows)


def add_by_group(values, weights, groups, total) -> None:
    """Add ``weights * values`` of every row to the row of its group; a negative group is none."""
    used = groups >= 0
    np.add.at(total, groups[used], weights[used, None] * values[used])
