"""Symmetric trees in plain Python: see ``native/symmetric.hpp``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jarf.trees._reference_proposals import Axes, NodeView, Rng
from jarf.trees._reference_targets import Newton


@dataclass
class _Part:
    """A node that is not divided yet."""

    rows: np.ndarray
    node: int
    sums: np.ndarray
    score: float
    may_split: bool


class SymmetricGrower:
    """One tree: every level is one cut of all its nodes."""

    def __init__(self, columns, proposal, target, weights, seed, limits) -> None:
        if type(target) is not Newton or target.n_outputs > 1:
            raise ValueError(
                "symmetric trees are grown from Newton steps of one output, without monotonic"
            )
        if not isinstance(proposal, Axes) or len(columns.n_bins) == 0:
            raise ValueError(
                "symmetric trees cut columns that have bins: only Axes can propose their cuts"
            )
        self.X, self.target, self.limits = columns.values.T, target, limits
        self.proposal, self.rng = proposal, Rng(seed)
        self.min_leaf = min(limits.min_samples_leaf, len(self.X))
        self.min_gain = limits.min_impurity_decrease * target.weigh(
            weights, limits.min_weight_fraction_leaf
        )
        self.nodes: list[tuple[int, float, int, int]] = []
        self.weights: list[float] = []
        self.gains: list[float] = []
        self.values: list[np.ndarray] = []
        self.leaves = np.full(len(weights), -1, np.int32)
        # Other trees have oblique cuts or bounds.
        self.starts = [0]
        self.features: list[int] = []
        self.loadings: list[float] = []
        self.bounds: list[tuple[float, float]] = []

    def grow(self, rows: np.ndarray) -> None:
        self.parts, memory, depth = [self._part(rows)], 0, 0
        while self.limits.max_depth is None or depth < self.limits.max_depth:
            features, memory = self._drawn(rows, memory)
            cuts = [cut for feature in features for cut in self._cuts(feature)]
            best = max(cuts, key=lambda cut: cut[0], default=None)  # the first of equal ones
            before = 0.0
            for part in self.parts:
                before += part.score
            if best is None or not best[0] - before > 0:
                break
            if best[0] - before < self.min_gain * (1.0 - 1e-12) or not self._divide(*best[1:]):
                break
            depth += 1
        for part in self.parts:
            self.target.enter(part.rows)
            value = self.target.leaf(self.values)
            self.nodes[part.node] = (-1, 0.0, value, value)
            self.leaves[part.rows] = part.node

    def _part(self, rows: np.ndarray) -> _Part:
        self.target.enter(rows)
        self.nodes.append((-1, 0.0, 0, 0))
        self.weights.append(self.target.total)
        self.gains.append(0.0)
        least = max(self.limits.min_samples_split, 2 * self.min_leaf, 2)
        sums, score = self.target.sums, self.target.score
        return _Part(rows, len(self.nodes) - 1, sums, score, len(rows) >= least)

    def _drawn(self, rows: np.ndarray, memory: int) -> tuple[list[int], int]:
        """Draw the axes of a level; a column of one value does not count."""
        labels = np.empty(0), None, 0, None  # axes are drawn without them
        view = NodeView(self.X[rows], memory, *labels, self.rng, rows)
        self.proposal.begin(view)
        features = []
        while (candidate := self.proposal.next()) is not None:
            feature = candidate[0][0]
            if len(np.unique(self.X[:, feature])) < 2:
                self.proposal.was_constant()
            else:
                features.append(feature)
        return features, self.proposal.memory()

    def _cuts(self, feature: int) -> list[tuple[float, int, np.float32]]:
        """Return the summed scores of all nodes, for every threshold between values."""
        values = np.unique(self.X[:, feature])
        scores = np.zeros(len(values) - 1)
        whole = 0.0
        for part in self.parts:
            if not part.may_split:
                whole += part.score
                continue
            codes = np.searchsorted(values, self.X[part.rows, feature])
            counts = np.bincount(codes, minlength=len(values))
            self.target.enter(part.rows)
            bins = self.target.fill(codes, len(values))
            left, n_left = np.zeros((2, 1)), 0
            for at in range(len(scores)):
                if counts[at]:
                    left, n_left = left + bins[at], n_left + counts[at]
                score = self._divided_score(part, left, n_left)
                scores[at] += score if score > -np.inf else part.score
        low, high = values[:-1].astype(np.float64), values[1:]
        middle = (0.5 * low + 0.5 * high.astype(np.float64)).astype(np.float32)
        thresholds = np.where(middle < high, middle, values[:-1])
        return [(whole + s, feature, t) for s, t in zip(scores, thresholds, strict=True)]

    def _divided_score(self, part: _Part, left: np.ndarray, n_left: int) -> float:
        """Score a divided node; minus infinity if the cut does not divide it."""
        if not part.may_split or min(n_left, len(part.rows) - n_left) < self.min_leaf:
            return -np.inf
        self.target.sums, self.target.left = part.sums, left
        return self.target.split_score()

    def _divide(self, feature: int, threshold: np.float32) -> bool:
        parts = []
        for part in self.parts:
            is_left = self.X[part.rows, feature] <= threshold
            self.target.enter(part.rows)
            left = np.zeros((2, 1))
            for row in part.rows[is_left]:
                left = left + np.stack([self.target.g[row], self.target.h[row]])
            score = self._divided_score(part, left, int(is_left.sum()))
            if score == -np.inf:
                parts.append(part)
                continue
            self.gains[part.node] = max(0.0, score - part.score)
            children = [self._part(part.rows[is_left]), self._part(part.rows[~is_left])]
            nodes = children[0].node, children[1].node
            self.nodes[part.node] = (feature, float(threshold), *nodes)
            parts += children
        divided = len(parts) > len(self.parts)
        self.parts = parts
        return divided
