"""The grower and the predictor of ``native/`` in plain Python, under the same names.

Slow and short: it says what the kernels compute. Candidates, arithmetic and ties are the same, so
that trees come out the same; only the histograms of large nodes are missing, all are searched
exactly. ``JARF_NO_NATIVE=1`` runs the forests on it.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jarf.ensemble._reference_proposals import (
    Axes,
    CanonicalCorrelation,
    GradientDraws,
    Gradients,
    LargeNodes,
    NodeView,
    Rng,
    Sequence,
    SparseRandom,
)

__all__ = [
    "Axes",
    "CanonicalCorrelation",
    "CheckedObliqueForest",
    "GradientDraws",
    "Gradients",
    "LargeNodes",
    "RotatedColumns",
    "Sequence",
    "SparseRandom",
    "TrainingColumns",
    "add_predictions",
    "bin_columns",
    "find_leaves",
    "grow_tree",
]


class TrainingColumns(NamedTuple):
    """The training matrix, one row a column; bins are not used."""

    values: np.ndarray
    codes: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    n_bins: np.ndarray


class CheckedObliqueForest(NamedTuple):
    """The arrays of a fitted forest."""

    nodes: np.ndarray
    roots: np.ndarray
    starts: np.ndarray
    features: np.ndarray
    loadings: np.ndarray
    values: np.ndarray
    n_pure: int
    n_features: int


def bin_columns(*arrays: np.ndarray) -> None:
    """Leave the bins empty: the reference searches exactly."""


def RotatedColumns(values, starts, features, loadings) -> TrainingColumns:
    """Make all projections of the columns at once."""
    made = [project(values.T, features[a:b], loadings[a:b]) for a, b in pairwise(starts)]
    nothing = np.empty((0, 0), np.float32)
    return TrainingColumns(np.array(made), nothing, nothing, nothing, np.empty(0))


def project(X: np.ndarray, features: Any, weights: np.ndarray) -> np.ndarray:
    """Add weighted columns in float32, one after the other."""
    if len(features) == 1 and weights[0] == 1:
        return X[:, features[0]]
    values = weights[0] * X[:, features[0]]
    for feature, weight in zip(features[1:], weights[1:], strict=True):
        values = values + weight * X[:, feature]
    return values


def between(low: float, high: float) -> np.float32:
    """Return a float32 t with low <= t < high."""
    middle = np.float32(0.5 * float(low) + 0.5 * float(high))
    return middle if middle < high else np.float32(low)


class _Classes:
    """Weights of the classes on both sides of a threshold."""

    min_side = 0.0

    def __init__(self, labels: np.ndarray, weights: np.ndarray, criterion: int) -> None:
        self.all_labels, self.all_weights, self.criterion = labels, weights, criterion

    def part(self, weight: float) -> float:
        if self.criterion == 0:
            return weight * weight
        return weight * math.log2(weight) if weight > 0 else 0.0

    def side(self, parts: float, total: float) -> float:
        return parts / total if self.criterion == 0 else parts - self.part(total)

    def enter(self, rows: np.ndarray) -> None:
        labels, self.weights = self.all_labels[rows], self.all_weights[rows]
        self.present = list(dict.fromkeys(labels.tolist()))
        number = {label: local for local, label in enumerate(self.present)}
        self.classes = np.array([number[label] for label in labels.tolist()])
        self.totals = np.bincount(self.classes, self.weights).tolist()
        self.total = float(np.cumsum(self.weights)[-1])
        self.parts = sum(self.part(weight) for weight in self.totals)
        self.responses = None
        self.n_classes = len(self.present)
        self.is_pure = self.n_classes == 1
        self.score = self.side(self.parts, self.total)

    def leaf(self, values: list[Any], n_outputs: int) -> int:
        if self.is_pure:
            return -1 - self.present[0]
        row = np.zeros(n_outputs)
        row[self.present] = np.array(self.totals) / self.total
        values.append(row)
        return len(values) - 1

    def all_right(self) -> None:
        self.left = [0.0] * self.n_classes
        self.left_total = self.left_parts = 0.0
        self.right_parts = self.parts

    def move_row(self, i: int) -> None:
        c, weight = self.classes[i], float(self.weights[i])
        left = self.left[c]
        right = self.totals[c] - left
        self.left_parts += self.part(left + weight) - self.part(left)
        self.right_parts += self.part(right - weight) - self.part(right)
        self.left[c] = left + weight
        self.left_total += weight

    def split_score(self) -> float:
        right_total = self.total - self.left_total
        if min(self.left_total, right_total) < self.min_side or not right_total > 0:
            return -math.inf
        return self.side(self.left_parts, self.left_total) + self.side(
            self.right_parts, right_total
        )


class _Responses:
    """Sums of responses on both sides of a threshold."""

    classes, n_classes, min_side = None, 0, 0.0

    def __init__(self, responses: np.ndarray, weights: np.ndarray) -> None:
        self.all_responses, self.all_weights = responses, weights

    def enter(self, rows: np.ndarray) -> None:
        y, self.weights = self.all_responses[rows], self.all_weights[rows]
        self.total = float(np.cumsum(self.weights)[-1])
        self.is_pure = bool(y.min() == y.max())
        weighted_sum = float(np.cumsum(self.weights * y)[-1])
        self.mean = float(y[0]) if self.is_pure else weighted_sum / self.total
        self.responses = y - self.mean
        self.sum = float(np.cumsum(self.weights * self.responses)[-1])
        self.score = self.sum * self.sum / self.total

    def leaf(self, values: list[Any], n_outputs: int) -> int:
        values.append(np.array([self.mean]))
        return len(values) - 1

    def all_right(self) -> None:
        self.left_total = self.left_sum = 0.0

    def move_row(self, i: int) -> None:
        self.left_total += float(self.weights[i])
        self.left_sum += float(self.weights[i] * self.responses[i])

    def split_score(self) -> float:
        right_total, right_sum = self.total - self.left_total, self.sum - self.left_sum
        if min(self.left_total, right_total) < self.min_side or not right_total > 0:
            return -math.inf
        left = self.left_sum * self.left_sum / self.left_total
        return left + right_sum * right_sum / right_total


class _Found(NamedTuple):
    score: float
    threshold: np.float32
    features: list[int]
    weights: np.ndarray
    memory: int = 0
    gain: float = 0.0


class _Grower:
    """One tree."""

    def __init__(self, columns, proposal, target, seed, limits, n_outputs) -> None:
        self.X = columns.values.T
        self.proposal, self.target, self.limits = proposal, target, limits
        self.rng, self.n_outputs = Rng(seed), n_outputs
        self.nodes: list[list[int]] = []
        self.weights: list[float] = []
        self.gains: list[float] = []
        self.starts = [0]
        self.features: list[int] = []
        self.loadings: list[float] = []
        self.values: list[np.ndarray] = []

    def depth_first(self, rows: np.ndarray) -> None:
        tasks = [(rows, 0, 0, self._add_node())]
        while tasks:
            rows, depth, memory, node = tasks.pop()
            found = self._examine(rows, depth, memory, node)
            if found is None:
                self._make_leaf(node)
                continue
            left, right = self._split(rows, node, found)
            tasks.append((right[0], depth + 1, found.memory, right[1]))
            tasks.append((left[0], depth + 1, found.memory, left[1]))

    def best_first(self, rows: np.ndarray) -> None:
        waiting: list[Any] = []

        def consider(rows: np.ndarray, depth: int, node: int) -> None:
            found = self._examine(rows, depth, 0, node)
            self._make_leaf(node)
            if found is not None:
                heappush(waiting, (-found.gain, node, depth, rows, found))

        consider(rows, 0, self._add_node())
        n_leaves = 1
        while waiting and n_leaves < self.limits["max_leaves"]:
            _, node, depth, rows, found = heappop(waiting)
            children = self._split(rows, node, found)
            n_leaves += 1
            for child_rows, child in children:
                consider(child_rows, depth + 1, child)

    def _examine(self, rows: np.ndarray, depth: int, memory: int, node: int) -> _Found | None:
        target, limits, n_rows = self.target, self.limits, len(rows)
        target.enter(rows)
        self.weights[node] = target.total
        if (
            n_rows < max(limits["min_split"], 2 * limits["min_leaf"])
            or target.is_pure
            or depth >= limits["max_depth"]
        ):
            return None
        X, best = self.X[rows], None
        self.proposal.begin(
            NodeView(
                X,
                memory,
                target.weights,
                target.classes,
                target.n_classes,
                target.responses,
                self.rng,
                rows,
            )
        )
        while (candidate := self.proposal.next()) is not None:
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
        if not gain >= limits["min_gain"] * (1.0 - 1e-12):
            return None
        return best._replace(memory=self.proposal.memory(), gain=gain)

    def _search(self, values: np.ndarray, candidate: Any, best: _Found | None) -> _Found | None:
        """Try every threshold between two neighbouring values."""
        order = np.argsort(values, kind="stable")
        ascending = values[order]
        min_leaf, score = self.limits["min_leaf"], -math.inf if best is None else best.score
        self.target.all_right()
        for i in range(len(values) - min_leaf):
            self.target.move_row(order[i])
            if i + 1 < min_leaf or ascending[i] == ascending[i + 1]:
                continue
            here = self.target.split_score()
            if here > score:
                score = here
                best = _Found(here, between(ascending[i], ascending[i + 1]), *candidate)
        return best

    def _split(self, rows: np.ndarray, node: int, found: _Found) -> Any:
        left = project(self.X[rows], found.features, found.weights) <= found.threshold
        self.gains[node] = found.gain
        feature = self._add_projection(found)
        children = [(rows[left], self._add_node()), (rows[~left], self._add_node())]
        bits = int(np.float32(found.threshold).view(np.int32))
        self.nodes[node] = [feature, bits, children[0][1], children[1][1]]
        return children

    def _add_projection(self, found: _Found) -> int:
        if len(found.features) == 1 and found.weights[0] == 1:
            return found.features[0]
        self.features += found.features
        self.loadings += found.weights.tolist()
        self.starts.append(len(self.features))
        return -len(self.starts)

    def _add_node(self) -> int:
        self.nodes.append([-1, 0, 0, 0])
        self.weights.append(0.0)
        self.gains.append(0.0)
        return len(self.nodes) - 1

    def _make_leaf(self, node: int) -> None:
        value = self.target.leaf(self.values, self.n_outputs)
        self.nodes[node] = [-1, 0, value, value]


def grow_tree(
    columns, proposal, criterion, labels, responses, n_classes, weights, seed, *, stop, **limits
):
    """Grow one tree: see ``native/grower.hpp``."""
    target: Any = (
        _Classes(labels, weights, criterion) if criterion < 2 else _Responses(responses, weights)
    )
    target.min_side = limits["min_leaf_weight"]
    n_outputs = max(1, n_classes)
    grower = _Grower(columns, proposal.make(len(columns.values)), target, seed, limits, n_outputs)
    grow = grower.best_first if limits["max_leaves"] else grower.depth_first
    grow(np.flatnonzero(weights > 0))
    return (
        np.array(grower.nodes, np.int32).ravel(),
        np.array(grower.weights),
        np.array(grower.gains),
        np.array(grower.starts, np.int32),
        np.array(grower.features, np.int32),
        np.array(grower.loadings, np.float32),
        np.array(grower.values).reshape(-1, n_outputs).ravel(),
    )


def _leaves(forest: CheckedObliqueForest, root: int, rows: np.ndarray) -> np.ndarray:
    """Return the node that each row ends in."""
    at = np.full(len(rows), root)
    thresholds = forest.nodes[:, 1].copy().view(np.float32)
    moving = np.arange(len(rows))
    while len(moving):
        for node in np.unique(at[moving]):
            feature, _, left, right = forest.nodes[node]
            here = np.flatnonzero(at == node)
            if feature == -1:
                continue
            if feature >= 0:
                values = rows[here, feature]
            else:
                part = slice(forest.starts[-2 - feature], forest.starts[-1 - feature])
                values = project(rows[here], forest.features[part], forest.loadings[part])
            at[here] = np.where(values <= thresholds[node], left, right)
        moving = np.flatnonzero(forest.nodes[at, 0] != -1)
    return at


def add_predictions(forest, rows, skip, sums) -> None:
    """Add the leaf values of every tree to ``sums``."""
    for tree, root in enumerate(forest.roots):
        values = forest.values[forest.nodes[_leaves(forest, root, rows), 2]]
        if len(skip):
            values = np.where(skip[tree][:, None], 0.0, values)
        sums += values


def find_leaves(forest, rows, leaves) -> None:
    """Write the leaf of each row in each tree."""
    for tree, root in enumerate(forest.roots):
        leaves[:, tree] = _leaves(forest, root, rows) - root
