"""The search along one direction of ``native/`` in plain Python: exact, or in computed bins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# As in native/split_search.hpp and native/direction_bins.hpp.
LEAST_BINS, MOST_BINS = 32, 128
SLACK = 0.1
CROWD = 8


def between(low: float, high: float) -> np.float32:
    """Return a float32 t with low <= t < high."""
    middle = np.float32(0.5 * float(low) + 0.5 * float(high))
    return middle if middle < high else np.float32(low)


class Search:
    """The best threshold of one candidate, where it is better than ``score``."""

    def __init__(self, target: Any, values: np.ndarray, min_leaf: int, score: float) -> None:
        self.target, self.values, self.min_leaf, self.score = target, values, min_leaf, score
        self.threshold: np.float32 | None = None

    def run(self, sample_from: int) -> None:
        """Search exactly in small nodes, in bins in large ones."""
        n_rows = len(self.values)
        if n_rows >= max(sample_from, LEAST_BINS * self.target.bin_width):
            self._directed()
        else:
            self.exact()

    def exact(self) -> None:
        """Try every threshold between two neighbouring values."""
        order = np.argsort(self.values, kind="stable")
        self.target.all_right()
        self._pass_over(self.values[order], [(self.target.move_row, i, 1) for i in order], 0)

    def _pass_over(self, ascending: np.ndarray, moves: list[Any], n_left: int) -> None:
        n_rows = len(self.values)
        for i in range(len(moves) - 1):
            move, what, count = moves[i]
            move(what)
            n_left += count
            if n_left < self.min_leaf or ascending[i] == ascending[i + 1]:
                continue
            if n_rows - n_left < self.min_leaf:
                break
            here = self.target.split_score()
            if here > self.score:
                self.score, self.threshold = here, between(ascending[i], ascending[i + 1])

    def _directed(self) -> None:
        """Try thresholds between bins, then all near the best one and within crowded bins."""
        n_rows, target = len(self.values), self.target
        n_bins = min(MOST_BINS, max(LEAST_BINS, n_rows // target.bin_width))
        codes = direction_bins(self.values, n_bins)
        found = None if codes is None else self._coarse(codes, n_bins)
        if found is None:
            self.exact()
            return
        score, below, above = found
        if self.score == -math.inf or score > self.score - SLACK * (self.score - target.score):
            self._refine(below, above)
        for bin in np.flatnonzero(self.counts * CROWD > n_rows).tolist():
            if not self._is_whole(bin):
                self._refine(bin, bin)

    def _coarse(self, codes: np.ndarray, n_bins: int) -> tuple[float, int, int] | None:
        self.codes, self.counts = codes, np.bincount(codes, minlength=n_bins)
        self.bins = self.target.fill(codes, n_bins)
        self.target.all_right()
        found, score, n_left, previous = None, -math.inf, 0, -1
        for bin in np.flatnonzero(self.counts).tolist():
            enough = min(n_left, len(codes) - n_left) >= self.min_leaf
            if enough and previous >= 0 and self.target.split_score() > score:
                score = self.target.split_score()
                found = score, previous, bin
            self.target.move_bin(self.bins[bin])
            n_left += self.counts[bin]
            previous = bin
        return found

    def _refine(self, below: int, above: int) -> None:
        """Try every threshold between neighbouring values of two bins."""
        self.target.all_right()
        for bin in np.flatnonzero(self.counts[:below]).tolist():
            self.target.move_bin(self.bins[bin])
        values, moves = [], []
        for bin in dict.fromkeys([below, above]):
            rows = np.flatnonzero(self.codes == bin)
            rows = rows[np.argsort(self.values[rows], kind="stable")]
            if below < above and self._is_whole(bin):
                values.append(self.values[rows[:1]])
                moves.append((self.target.move_bin, self.bins[bin], len(rows)))
            else:
                values.append(self.values[rows])
                moves += [(self.target.move_row, i, 1) for i in rows]
        self._pass_over(np.concatenate(values), moves, int(self.counts[:below].sum()))

    def _is_whole(self, bin: int) -> bool:
        """Say whether a bin is crowded with rows of one value."""
        inside = self.values[self.codes == bin]
        return len(inside) * CROWD > len(self.values) and bool((inside == inside[0]).all())


def direction_bins(values: np.ndarray, n_bins: int) -> np.ndarray | None:
    """Return the bin of each value; None where their range is too narrow."""
    lowest, highest, count = values.min(), values.max(), np.float32(n_bins)
    last = np.float32(n_bins - 1)
    for attempt in range(3):
        with np.errstate(over="ignore", divide="ignore"):
            scale = count / (highest - lowest)
        if not scale < np.float32(1e30):
            return None
        places = (values - lowest) * scale
        codes = np.clip(places, np.float32(0), last).astype(np.int32)
        counts = np.bincount(codes, minlength=n_bins)
        if counts.max() * CROWD <= len(values):
            return codes
        spared = len(values) // 64
        first = int(np.argmax(np.cumsum(counts) > spared))
        final = n_bins - 1 - int(np.argmax(np.cumsum(counts[::-1]) > spared))
        if attempt == 2 or 2 * (final - first + 1) > n_bins:
            break
        width = np.float32(1) / scale
        lowest, highest = (lowest + np.float32(edge) * width for edge in (first, final + 1))
    shares = np.cumsum(np.append(0, counts)).astype(np.float32) * (count / np.float32(len(values)))
    shares[n_bins] = count
    inside = np.maximum(places - codes.astype(np.float32), np.float32(0))
    begin, end = shares[codes], shares[codes + 1]
    spread = np.minimum(begin + inside * (end - begin), np.minimum(end, last))
    return spread.astype(np.int32)
