"""The generator and the proposals of ``native/``, in plain Python: the same draws, slowly."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np

_WORD = 2**64 - 1


class Rng:
    """The xoshiro256** generator of one tree."""

    def __init__(self, seed: int) -> None:
        self.state = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & _WORD
            mixed = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
            mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
            self.state.append(mixed ^ (mixed >> 31))

    def next(self) -> int:
        s = self.state
        result = (_rotate((s[1] * 5) & _WORD, 7) * 9) & _WORD
        shifted = (s[1] << 17) & _WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = _rotate(s[3], 45)
        return result

    def below(self, bound: int) -> int:
        return ((self.next() >> 32) * bound) >> 32

    def uniform(self) -> float:
        return (self.next() >> 11) * 2.0**-53


def _rotate(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) & _WORD


class NodeView(NamedTuple):
    """The data of a node that a proposal may use."""

    X: np.ndarray  # (n_node_rows, n_features), float32
    memory: int
    weights: np.ndarray
    classes: np.ndarray | None  # numbered within the node
    n_classes: int
    responses: np.ndarray | None  # (n_node_rows, n_responses)
    rng: Rng
    rows: np.ndarray  # their numbers in the training matrix


class FeaturePool:
    """Features in the order: constant in the node, drawn in it, the rest."""

    def __init__(self, n_features: int, chances: np.ndarray | None = None) -> None:
        self.order = list(range(n_features))
        self.chances = [] if chances is None else chances.tolist()
        self.n_constant = self.front = 0

    def begin(self, n_constant: int) -> None:
        self.n_constant = self.front = n_constant

    def put_back(self) -> None:
        self.front = self.n_constant

    def draw(self, rng: Rng) -> int:
        n_left = len(self.order) - self.front
        if n_left == 0:
            return -1
        if not self.chances:
            at = self.front + rng.below(n_left)
        else:
            feature = self._draw_by_chance(rng)
            if feature < 0:
                return -1
            at = self.order.index(feature)
        self._exchange(at, self.front)
        self.front += 1
        return self.order[self.front - 1]

    def draw_varying(self, node: NodeView) -> int:
        while (feature := self.draw(node.rng)) >= 0:
            if np.any(node.X[:, feature] != node.X[0, feature]):
                break
            self.last_was_constant()
        return feature

    def last_was_constant(self) -> None:
        self._exchange(self.n_constant, self.front - 1)
        self.n_constant += 1

    def _exchange(self, a: int, b: int) -> None:
        self.order[a], self.order[b] = self.order[b], self.order[a]

    def _draw_by_chance(self, rng: Rng) -> int:
        """Descend a binary tree of the chances of features that are left."""
        left = set(self.order[self.front :])
        sums = [chance if j in left else 0.0 for j, chance in enumerate(self.chances)]
        sums += [0.0] * (2 ** math.ceil(math.log2(len(sums))) - len(sums))
        levels = [sums]
        while len(levels[0]) > 1:
            below = levels[0]
            levels.insert(0, [below[i] + below[i + 1] for i in range(0, len(below), 2)])
        mark, at = rng.uniform() * levels[0][0], 0
        if not levels[0][0] > 0:
            return -1
        for level in levels[1:]:
            at *= 2
            if mark >= level[at] and level[at + 1] > 0:
                mark -= level[at]
                at += 1
        return at


class Axes:
    """Plain axes."""

    def __init__(self, n_candidates: int, chances: np.ndarray) -> None:
        self.n_candidates, self.chances = n_candidates, chances

    def make(self, n_features: int) -> Axes:
        made = Axes(self.n_candidates, self.chances)
        made.pool = FeaturePool(n_features, self.chances)
        return made

    pool: FeaturePool

    def begin(self, node: NodeView) -> None:
        self.rng, self.n_found = node.rng, 0
        self.pool.begin(node.memory)

    def next(self) -> tuple[list[int], np.ndarray] | None:
        if self.n_found == self.n_candidates:
            return None
        feature = self.pool.draw(self.rng)
        if feature < 0:
            return None
        self.n_found += 1
        return [feature], np.ones(1, np.float32)

    def was_constant(self) -> None:
        self.n_found -= 1
        self.pool.last_was_constant()

    def memory(self) -> int:
        return self.pool.n_constant


class SparseRandom:
    """Sparse random directions."""

    pool: FeaturePool

    def __init__(
        self, n_candidates: int, mean_size: float, scales: np.ndarray, chances: np.ndarray
    ) -> None:
        self.n_candidates, self.mean_size, self.scales = n_candidates, mean_size, scales
        self.chances = chances
        self.size_chances: list[float] = []
        most, total = mean_size + 10.0 * math.sqrt(mean_size) + 10.0, 0.0
        log_factorial = 0.0
        for size in range(1, len(scales) + 1):
            if size > most:
                break
            log_factorial += math.log(size)
            total += math.exp(size * math.log(mean_size) - mean_size - log_factorial)
            self.size_chances.append(total)

    def make(self, n_features: int) -> SparseRandom:
        made = SparseRandom(self.n_candidates, self.mean_size, self.scales, self.chances)
        made.pool = FeaturePool(n_features, self.chances)
        return made

    def begin(self, node: NodeView) -> None:
        self.node, self.n_found, self.n_tried = node, 0, 0
        self.pool.begin(node.memory)

    def next(self) -> tuple[list[int], np.ndarray] | None:
        if self.n_found == self.n_candidates:
            return None
        enough = 2 * self.n_candidates + 8
        desperate = self.n_tried >= enough
        if desperate and self.n_found > 0:
            return None
        if self.n_tried <= enough:
            self.pool.put_back()
        size = 1 if desperate else self._draw_size()
        features: list[int] = []
        loadings: list[float] = []
        while len(features) < size:
            feature = self.pool.draw_varying(self.node)
            if feature < 0:
                break
            if self.scales[feature] == 0 and features:  # an axis or nothing
                continue
            features.append(feature)
            if self.scales[feature] == 0:
                break
            sign = 1 if self.node.rng.next() >> 63 else -1
            loadings.append(sign * self.scales[feature])
        if not features:
            return None
        self.n_found += 1
        self.n_tried += 1
        return features, np.array(loadings if len(features) > 1 else [1.0], np.float32)

    def _draw_size(self) -> int:
        mark = self.node.rng.uniform() * self.size_chances[-1]
        return 1 + min(bisect_right(self.size_chances, mark), len(self.size_chances) - 1)

    def was_constant(self) -> None:
        self.n_found -= 1

    def memory(self) -> int:
        return self.pool.n_constant


class LargeNodes:
    """A proposal for nodes of at least this many rows."""

    def __init__(self, min_rows: int, inner: Any) -> None:
        self.min_rows, self.inner = min_rows, inner

    def make(self, n_features: int) -> LargeNodes:
        return LargeNodes(self.min_rows, self.inner.make(n_features))

    def begin(self, node: NodeView) -> None:
        self.active = len(node.X) >= self.min_rows
        if self.active:
            self.inner.begin(node)

    def next(self) -> tuple[list[int], np.ndarray] | None:
        return self.inner.next() if self.active else None

    def was_constant(self) -> None:
        self.inner.was_constant()

    def memory(self) -> int:
        return 0


class Gradients(NamedTuple):
    """Gradients at all training rows: dense, or the columns of every entry beside them.

    With ``places``, only some rows have one: row i has gradient ``places[i]``, or none if negative.
    """

    values: np.ndarray
    features: np.ndarray
    n_features: int
    places: np.ndarray

    def known(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of the gradients of these rows."""
        if not len(self.places):
            return rows
        places = self.places[rows]
        return places[places >= 0]

    def dense(self, row: int) -> np.ndarray:
        if not len(self.features):
            return self.values[row]
        full = np.zeros(self.n_features, np.float32)
        full[self.features[row]] = self.values[row]
        return full


class GradientDraws:
    """Signed sums of the gradients at a few rows of the node."""

    def __init__(
        self,
        sources: list[Gradients],
        scales: np.ndarray,
        n_candidates: int,
        n_rows: int,
        n_loadings: int,
        least: float,
    ) -> None:
        self.sources, self.scales, self.n_candidates = sources, scales, n_candidates
        self.n_rows, self.n_loadings, self.least = n_rows, n_loadings, least

    def make(self, n_features: int) -> GradientDraws:
        return GradientDraws(
            *(self.sources, self.scales, self.n_candidates, self.n_rows, self.n_loadings),
            self.least,
        )

    def begin(self, node: NodeView) -> None:
        self.node, self.n_found, self.n_tried = node, 0, 0

    def next(self) -> tuple[list[int], np.ndarray] | None:
        while self.n_found < self.n_candidates and self.n_tried < 2 * self.n_candidates:
            self.n_tried += 1
            features, loadings = self._draw()
            if features:
                self.n_found += 1
                return features, loadings
        return None

    def was_constant(self) -> None:
        self.n_found -= 1

    def memory(self) -> int:
        return 0

    def _draw(self) -> tuple[list[int], np.ndarray]:
        rng = self.node.rng
        at = 0 if len(self.sources) == 1 else rng.below(len(self.sources))
        known = self.sources[at].known(self.node.rows)
        total = np.zeros(len(self.scales), np.float32)
        for _ in range(min(self.n_rows, len(known))):
            bits = rng.next()
            row = known[((bits >> 32) * len(known)) >> 32]
            total += np.float32(1 if bits & 1 else -1) * self.sources[at].dense(row)
        features = np.flatnonzero(total)
        if self.least and not self.n_loadings:
            sizes = np.abs(total)
            features = np.flatnonzero(sizes > np.float32(self.least) * sizes.max())
        if self.n_loadings:
            order = np.argsort(-np.abs(total[features]), kind="stable")
            features = features[order[: self.n_loadings]]
        loadings = total[features] / self.scales[features]
        return features.tolist(), loadings if len(features) != 1 else np.ones(1, np.float32)


class Sequence:
    """One proposal after the other."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def make(self, n_features: int) -> Sequence:
        return Sequence([part.make(n_features) for part in self.parts])

    def begin(self, node: NodeView) -> None:
        self.node, self.at = node, 0
        self.parts[0].begin(node)

    def next(self) -> tuple[list[int], np.ndarray] | None:
        while (candidate := self.parts[self.at].next()) is None:
            if self.at + 1 == len(self.parts):
                return None
            self.at += 1
            self.parts[self.at].begin(self.node._replace(memory=0))
        return candidate

    def was_constant(self) -> None:
        self.parts[self.at].was_constant()

    def memory(self) -> int:
        return self.parts[0].memory()
