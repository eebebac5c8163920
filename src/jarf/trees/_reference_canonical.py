"""Canonical correlation directions of ``native/canonical.hpp``, in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg.lapack import dsyev

from jarf.trees._reference_proposals import FeaturePool, NodeView


class CanonicalCorrelation:
    """Canonical correlation directions."""

    pool: FeaturePool

    def __init__(
        self,
        n_features: int,
        resample: bool,
        max_rows: int,
        max_components: int,
        dsyev: Any,
        chances: np.ndarray,
    ) -> None:
        self.n_drawn, self.resample, self.chances = n_features, resample, chances
        self.max_rows, self.max_components = max_rows, max_components

    def make(self, n_features: int) -> CanonicalCorrelation:
        n_drawn = min(self.n_drawn, n_features)
        made = CanonicalCorrelation(
            n_drawn, self.resample, self.max_rows, self.max_components, None, self.chances
        )
        made.pool = FeaturePool(n_features, self.chances)
        return made

    def begin(self, node: NodeView) -> None:
        self.pool.begin(node.memory)
        self.n_good = 0
        self.features: list[int] = []
        while len(self.features) < self.n_drawn:
            feature = self.pool.draw_varying(node)
            if feature < 0:
                break
            self.features.append(feature)
        self.queue: list[tuple[list[int], np.ndarray]] = []
        if not self.features:
            return
        n_rows = len(node.X)
        rows = np.arange(n_rows)
        if self.resample and n_rows >= 3:
            n_drawn = min(n_rows, self.max_rows or n_rows)
            rows = np.array([node.rng.below(n_rows) for _ in range(n_drawn)])
        components = self._components(node, rows)
        if components is None and self.resample:
            components = self._components(node, np.arange(n_rows))
        self.queue = [(self.features, component) for component in components or []]
        self.spare = [([feature], np.ones(1, np.float32)) for feature in self.features]

    def next(self) -> tuple[list[int], np.ndarray] | None:
        if not self.queue and self.features and self.n_good == 0 and self.spare:
            self.queue = [self.spare.pop(0)]
        if not self.queue:
            return None
        self.n_good += 1
        return self.queue.pop(0)

    def was_constant(self) -> None:
        self.n_good -= 1

    def memory(self) -> int:
        return self.pool.n_constant

    def _components(self, node: NodeView, rows: np.ndarray) -> list[np.ndarray] | None:
        """Return the directions, or None where rows or labels do not vary."""
        weights = node.weights[rows]
        if not _sum(weights) > 0:
            weights = np.ones(len(rows))
        roots = np.sqrt(weights / _sum(weights))
        x = node.X[rows][:, self.features].astype(float)
        means = _sum((roots * roots)[:, None] * x)
        x = roots[:, None] * (x - means)
        deviations = np.sqrt(_sum(x * x))
        varies = deviations > 1e-12 * np.abs(means)
        if not varies.any():
            return None
        x *= np.where(varies, 1.0 / np.where(varies, deviations, 1.0), 0.0)
        links, n_components = self._links(node, rows, roots, x)
        if n_components == 0:
            return None
        kept, factor = _cholesky(_sum(x[:, :, None] * x[:, None, :]))
        rank = len(kept)
        whitened = np.array([_forward(factor, link[kept]) for link in links])
        if n_components == 1:  # links of rank one: any of them is the component
            squares = [_sum(row * row) for row in whitened]
            spectrum, vectors = np.ones(rank), np.zeros((rank, rank))
            vectors[:, -1] = whitened[int(np.argmax(squares))]
        else:
            between = _sum(whitened[:, :, None] * whitened[:, None, :])
            spectrum, vectors, _ = dsyev(between)
        components = []
        for r in range(min(n_components, rank, self.max_components or rank)):
            at = rank - 1 - r
            if r > 0 and not spectrum[at] > 1e-10 * spectrum[-1]:
                break
            loadings = np.zeros(x.shape[1])
            loadings[kept] = _backward(factor, vectors[:, at])
            scale = deviations * np.sqrt(_sum(loadings * loadings))
            fine = varies & (scale > 0)
            component = np.where(fine, loadings / np.where(fine, scale, 1.0), 0.0)
            components.append(component.astype(np.float32))
        return components

    def _links(
        self, node: NodeView, rows: np.ndarray, roots: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Return the standardised scatter with the labels, and the number of components."""
        if node.classes is None:
            assert node.responses is not None
            return self._response_links(node.responses[rows], roots, x)
        classes = node.classes[rows]
        links, shares = np.zeros((node.n_classes, x.shape[1])), np.zeros(node.n_classes)
        np.add.at(links, classes, roots[:, None] * x)
        np.add.at(shares, classes, roots * roots)
        seen = shares > 0
        links[seen] /= np.sqrt(shares[seen])[:, None]
        return links, min(x.shape[1], int(seen.sum()) - 1)

    @staticmethod
    def _response_links(
        responses: np.ndarray, roots: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, int]:
        links = []
        n_varying = 0
        for y in responses.T:
            y = roots * (y - _sum(roots * roots * y))
            link, squares = _sum(y[:, None] * x), _sum(y * y)
            n_varying += int(squares > 0)
            if squares > 0 and responses.shape[1] > 1:
                link = link / math.sqrt(squares)
            links.append(link)
        return np.array(links), min(x.shape[1], n_varying)


def _cholesky(matrix: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return independent columns of a correlation matrix and their lower triangular factor."""
    kept: list[int] = []
    factor = np.zeros(matrix.shape)
    for j in range(len(matrix)):
        row, pivot = factor[len(kept)], matrix[j, j]
        row[: len(kept)] = _forward(factor[: len(kept)], matrix[j, kept])
        for entry in row[: len(kept)]:
            pivot -= entry * entry
        if pivot > 1e-8:
            row[len(kept)] = math.sqrt(pivot)
            kept.append(j)
    return kept, factor[: len(kept), : len(kept)]


def _forward(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve ``factor @ solution = right``, term by term."""
    solution = np.array(right)
    for r in range(len(factor)):
        for q in range(r):
            solution[r] -= factor[r, q] * solution[q]
        solution[r] /= factor[r, r]
    return solution


def _backward(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve ``factor.T @ solution = right``, term by term."""
    solution = np.array(right)
    for r in reversed(range(len(factor))):
        for q in range(r + 1, len(factor)):
            solution[r] -= factor[q, r] * solution[q]
        solution[r] /= factor[r, r]
    return solution


def _sum(array: np.ndarray) -> Any:
    """Add along the first axis one after the other, as the compiled loops do."""
    return np.cumsum(array, axis=0)[-1]
