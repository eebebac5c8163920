"""The targets of ``native/`` in plain Python: what a split is judged by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Gini:
    """Weights of the classes on both sides of a threshold."""

    must_gain = is_monotone = False

    def __init__(self, labels: np.ndarray, n_classes: int) -> None:
        self.all_labels, self.n_outputs = labels, n_classes

    def part(self, weight: float) -> float:
        return weight * weight

    def side(self, parts: float, total: float) -> float:
        return parts / total

    def weigh(self, weights: np.ndarray, min_share: float) -> float:
        """Take the weights of a tree; return their sum."""
        self.all_weights, whole = weights, float(np.cumsum(weights)[-1])
        self.min_side = min_share * whole
        return whole

    def enter(self, rows: np.ndarray) -> None:
        labels, self.weights = self.all_labels[rows], self.all_weights[rows]
        self.present = list(dict.fromkeys(labels.tolist()))
        number = {label: local for local, label in enumerate(self.present)}
        self.classes = np.array([number[label] for label in labels.tolist()])
        self.totals = np.bincount(self.classes, self.weights).tolist()
        self.total = float(np.cumsum(self.weights)[-1])
        self.parts = sum(self.part(weight) for weight in self.totals)
        self.label_weights, self.responses = self.weights, None
        self.n_classes = len(self.present)
        self.is_pure = self.n_classes == 1
        self.score = self.side(self.parts, self.total)

    def leaf(self, values: list[Any]) -> int:
        if self.is_pure:
            return -1 - self.present[0]
        row = np.zeros(self.n_outputs)
        row[self.present] = np.array(self.totals) / self.total
        values.append(row)
        return len(values) - 1

    def all_right(self) -> None:
        self.left = [0.0] * self.n_classes
        self.left_total = self.left_parts = 0.0
        self.right_parts = self.parts

    @property
    def bin_width(self) -> int:
        return self.n_classes

    def fill(self, codes: np.ndarray, n_bins: int) -> np.ndarray:
        """Return the weight of each class in each bin."""
        bins = np.zeros((n_bins, self.n_classes))
        np.add.at(bins, (codes, self.classes), self.weights)
        return bins

    def move_bin(self, bin: np.ndarray) -> None:
        for c in np.flatnonzero(bin).tolist():
            self._move(c, float(bin[c]))

    def move_row(self, i: int) -> None:
        self._move(self.classes[i], float(self.weights[i]))

    def _move(self, c: int, weight: float) -> None:
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


class Entropy(Gini):
    """The same, judged by entropy."""

    def part(self, weight: float) -> float:
        return weight * math.log2(weight) if weight > 0 else 0.0

    def side(self, parts: float, total: float) -> float:
        return parts - self.part(total)


class SquaredError:
    """Sums of responses on both sides of a threshold."""

    classes, n_classes, must_gain, is_monotone = None, 0, False, False

    def __init__(self, responses: np.ndarray) -> None:
        self.all_responses, self.n_outputs = responses, responses.shape[1]

    def weigh(self, weights: np.ndarray, min_share: float) -> float:
        """Take the weights of a tree; return their sum."""
        self.all_weights, whole = weights, float(np.cumsum(weights)[-1])
        self.min_side = min_share * whole
        return whole

    def enter(self, rows: np.ndarray) -> None:
        y, self.weights = self.all_responses[rows], self.all_weights[rows]
        self.total = float(np.cumsum(self.weights)[-1])
        self.is_pure = bool((y == y[0]).all())
        sums = np.cumsum(self.weights[:, None] * y, axis=0)[-1]
        self.mean = y[0].copy() if self.is_pure else sums / self.total
        self.responses = y - self.mean
        self.label_weights = self.weights
        self.sum = np.cumsum(self.weights[:, None] * self.responses, axis=0)[-1]
        self.score = self._side(self.sum, self.total)

    @staticmethod
    def _side(sums: np.ndarray, total: float) -> float:
        return float(np.cumsum(sums * sums)[-1]) / total

    def leaf(self, values: list[Any]) -> int:
        values.append(self.mean)
        return len(values) - 1

    def all_right(self) -> None:
        self.left_total, self.left_sum = 0.0, np.zeros(self.n_outputs)

    @property
    def bin_width(self) -> int:
        return 1 + self.n_outputs

    def fill(self, codes: np.ndarray, n_bins: int) -> np.ndarray:
        """Return weight and weighted responses of each bin."""
        bins = np.zeros((n_bins, self.bin_width))
        weighted = self.weights[:, None] * self.responses
        np.add.at(bins, codes, np.column_stack([self.weights, weighted]))
        return bins

    def move_bin(self, bin: np.ndarray) -> None:
        self.left_total += float(bin[0])
        self.left_sum = self.left_sum + bin[1:]

    def move_row(self, i: int) -> None:
        self.left_total += float(self.weights[i])
        self.left_sum = self.left_sum + self.weights[i] * self.responses[i]

    def split_score(self) -> float:
        right_total = self.total - self.left_total
        if min(self.left_total, right_total) < self.min_side or not right_total > 0:
            return -math.inf
        left = self._side(self.left_sum, self.left_total)
        return left + self._side(self.sum - self.left_sum, right_total)


class Newton:
    """Gradients and hessians on both sides of a threshold."""

    classes, n_classes, is_pure, must_gain, is_monotone = None, 0, False, True, False

    def __init__(self, gradients, hessians, l2_regularization: float, min_hessian: float) -> None:
        self.gradients, self.hessians = gradients, hessians
        self.l2, self.min_hessian = l2_regularization, min_hessian
        self.n_outputs = gradients.shape[1]

    def weigh(self, weights: np.ndarray, min_share: float) -> float:
        """Take the weights of a tree; return the sum of its hessians."""
        self.all_weights = weights
        self.g, self.h = weights[:, None] * self.gradients, weights[:, None] * self.hessians
        self.all_label_weights = np.cumsum(self.h, axis=1)[:, -1] / self.n_outputs
        whole = float(np.cumsum(self.all_label_weights)[-1])
        self.min_side = max(self.min_hessian, min_share * whole) * self.n_outputs
        return whole

    def enter(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.total = float(np.cumsum(self.all_weights[rows])[-1])
        self.sums = np.cumsum(np.stack([self.g[rows], self.h[rows]]), axis=1)[:, -1]
        self.score = self._side(self.sums)
        self.label_weights = self.all_label_weights[rows]
        weight = self.label_weights[:, None]
        self.responses = np.where(weight > 0, -self.g[rows] / np.where(weight > 0, weight, 1.0), 0)

    def _side(self, sums: np.ndarray) -> float:
        g, h = sums[0], sums[1] + self.l2
        parts = np.where(h > 1e-16, g * g / np.where(h > 1e-16, h, 1.0), 0.0)
        return float(np.cumsum(parts)[-1])

    def leaf(self, values: list[Any]) -> int:
        g, h = self.sums[0], self.sums[1] + self.l2
        values.append(np.where(h > 1e-16, -g / np.where(h > 1e-16, h, 1.0), 0.0))
        return len(values) - 1

    def all_right(self) -> None:
        self.left = np.zeros((2, self.n_outputs))

    @property
    def bin_width(self) -> int:
        return 2 * self.n_outputs

    def fill(self, codes: np.ndarray, n_bins: int) -> np.ndarray:
        """Return gradients and hessians of each bin."""
        bins = np.zeros((n_bins, 2, self.n_outputs))
        np.add.at(bins, codes, np.stack([self.g[self.rows], self.h[self.rows]], axis=1))
        return bins

    def move_bin(self, bin: np.ndarray) -> None:
        self.left = self.left + bin

    def move_row(self, i: int) -> None:
        row = self.rows[i]
        self.left = self.left + np.stack([self.g[row], self.h[row]])

    def split_score(self) -> float:
        right = self.sums - self.left
        if not min(self.left[1].sum(), right[1].sum()) >= self.min_side:
            return -math.inf
        return self._side(self._without_noise(self.left)) + self._side(self._without_noise(right))

    def _without_noise(self, side: np.ndarray) -> np.ndarray:
        """Count hessians as zero that may be the rounding of a difference of sums."""
        g, h = side
        return np.stack([g, np.where(h > 1e-12 * self.sums[1], h, 0.0)])


class MonotoneNewton(Newton):
    """The same for one output, under monotone constraints on columns."""

    is_monotone = True

    def __init__(self, gradients, hessians, l2_regularization, min_hessian, monotonic) -> None:
        super().__init__(gradients, hessians, l2_regularization, min_hessian)
        self.signs = monotonic

    def enter(self, rows: np.ndarray, bounds: tuple[float, float] = (-math.inf, math.inf)) -> None:
        self.bounds = bounds
        super().enter(rows)

    def allows(self, features, loadings) -> bool:
        """Say whether a direction is free of constrained columns, or one of them alone."""
        is_axis = len(features) == 1 and loadings[0] == 1
        return is_axis or not (self.signs[features] * loadings).any()

    def sign_of(self, features, loadings) -> int:
        is_axis = len(features) == 1 and loadings[0] == 1
        return int(self.signs[features[0]]) if is_axis else 0

    def face(self, features, loadings) -> None:
        """Take the direction whose splits are scored next."""
        self.sign = self.sign_of(features, loadings)

    def value(self) -> float:
        return self._value(*self.sums[:, 0])

    def leaf(self, values: list[Any]) -> int:
        values.append(np.array([self.value()]))
        return len(values) - 1

    def _value(self, g: float, h: float) -> float:
        step = -g / (h + self.l2) if h + self.l2 > 1e-16 else 0.0
        return min(max(step, self.bounds[0]), self.bounds[1])

    def _side(self, sums: np.ndarray) -> float:
        (g, h), value = sums[:, 0], self._value(*sums[:, 0])
        return float(-(2.0 * g + (h + self.l2) * value) * value)

    def split_score(self) -> float:
        right = self.sums - self.left
        if not min(self.left[1, 0], right[1, 0]) >= self.min_side:
            return -math.inf
        left, right = self._without_noise(self.left), self._without_noise(right)
        rise = self._value(*right[:, 0]) - self._value(*left[:, 0])
        if rise == 0 or rise * self.sign < 0:
            return -math.inf
        return self._side(left) + self._side(right)
