"""Tune ``min_samples_split`` by pruning trees that were fully grown.

A tree with ``min_samples_split=s`` is the fully grown tree, pruned. So pilots that were grown once
give the predictions of forests for every s, and their loss on held-out rows shows which s is best:
small for clean labels, large for noisy ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jarf.ensemble._holdout import CLEAR, ScoredRows
from jarf.trees import Forest

SIZES = (2, 5, 10, 20, 40, 80)


class Answers(NamedTuple):
    """Predictions of some trees at some rows."""

    sums: np.ndarray  # (n_rows, n_outputs): over the trees
    squares: np.ndarray  # (n_rows,): squared lengths of the single answers, summed

    def __add__(self, other: Any) -> Answers:
        return Answers(self.sums + other.sums, self.squares + other.squares)


def answers_of(values: np.ndarray) -> Answers:
    """Sum predictions of shape (n_rows, n_trees, n_outputs) over the trees."""
    return Answers(values.sum(axis=1), np.einsum("ijk,ijk->i", values, values))


class CutBack:
    """Trees pruned so that small nodes are leaves.

    Parameters
    ----------
    forest : Forest
    n_rows : float
        Rows that each of its trees saw. The rows of a node are estimated from its share of the
        weight.
    """

    def __init__(self, forest: Forest, n_rows: float):
        self.nodes, self.levels = forest.nodes, list(_levels(forest))
        totals = forest.weights[forest.roots][forest.tree_of_node]
        self.n_rows = forest.weights / totals * n_rows
        self.values = _node_values(forest, self.levels)

    def stops(self, size: int) -> np.ndarray:
        """Find, for every node, the pruned leaf that contains it."""
        stops = np.arange(len(self.nodes))
        for inner in self.levels:
            small = inner[self.n_rows[inner] < size]
            for side in ("left", "right"):
                stops[self.nodes[side][small]] = stops[small]
        return stops

    def values_at(self, leaves: np.ndarray, size: int) -> np.ndarray:
        """Predict for rows that reach these leaves, (n_rows, n_trees), of the unpruned trees."""
        return self.values[self.stops(size)[leaves]]


def _levels(forest: Forest) -> Iterator[np.ndarray]:
    """The inner nodes of all trees, depth by depth."""
    nodes = forest.roots.astype(np.int64)
    is_leaf, left, right = forest.is_leaf, forest.nodes["left"], forest.nodes["right"]
    while len(inner := nodes[~is_leaf[nodes]]):
        yield inner
        nodes = np.stack([left[inner], right[inner]], axis=1).reshape(-1).astype(np.int64)


def _node_values(forest: Forest, levels: list[np.ndarray]) -> np.ndarray:
    """Means of the training rows in every node, inner ones too."""
    leaf = np.flatnonzero(forest.is_leaf)
    sums = np.zeros((len(forest.nodes), forest.n_raw))
    sums[leaf] = forest.leaf_values(leaf) * forest.weights[leaf, None]
    for inner in reversed(levels):
        sums[inner] = sums[forest.nodes["left"][inner]] + sums[forest.nodes["right"][inner]]
    return sums / forest.weights[:, None]


def choose_size(
    losses_of: Callable[[int], np.ndarray],
    rows: ScoredRows,
    sizes: Sequence[int],
    *,
    clearly: bool = False,
) -> tuple[int, dict[int, float]]:
    """Choose the size with the lowest mean loss; stop when a size is clearly worse.

    Parameters
    ----------
    losses_of : callable
        ``losses_of(size) -> ndarray of shape (n_rows,)``.
    rows : ScoredRows
    sizes : sequence of int
        Ascending.
    clearly : bool, default=False
        Whether to keep the first size unless another is clearly better.

    Returns
    -------
    size : int
    means : dict of int to float
        The mean loss of every size that was tried.
    """
    first = best = losses_of(sizes[0])
    chosen, means = sizes[0], {sizes[0]: rows.mean(first)}
    for size in sizes[1:]:
        losses = losses_of(size)
        means[size] = rows.mean(losses)
        behind, error = rows.mean_and_error(losses - best)
        if behind < 0:
            chosen, best = size, losses
        elif behind > CLEAR * error:
            break
    lead, error = rows.mean_and_error(first - best)
    if clearly and not lead > CLEAR * error:
        chosen = sizes[0]
    return chosen, means
