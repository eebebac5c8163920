"""The arrays of a fitted forest, and what can be read from them without the training data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from jarf._threads import thread_map, threads_of
from jarf.ensemble._backend import backend

# Rows that walk down one tree before the next: enough to pay for a tree's preparation, few enough
# for the cache and for all threads to have some.
LEAST_ROWS, MOST_ROWS, MOST_VALUES = 256, 4096, 2**18


class GrownTree(NamedTuple):
    """One tree as the grower returns it; indices count from its own root."""

    nodes: np.ndarray  # (n_nodes, 4) int32: feature, threshold's bits, left, right
    weights: np.ndarray  # (n_nodes,): training weight that reached the node
    gains: np.ndarray  # (n_nodes,): decrease of impurity times weight
    starts: np.ndarray  # (n_projections + 1,)
    features: np.ndarray
    loadings: np.ndarray
    values: np.ndarray  # (n_impure_leaves, n_outputs)


class SplitNormals(NamedTuple):
    """The cuts of a forest in original coordinates, one row an inner node."""

    normals: csr_array  # (n_cuts, n_features), rows of length one
    offsets: np.ndarray  # a row x goes left if normal . x <= offset
    weights: np.ndarray  # share of its tree's training weight that reaches the node
    gains: np.ndarray  # decrease of impurity, weighted by that share
    trees: np.ndarray
    nodes: np.ndarray  # the node's number within its tree, as in ``apply``


@dataclass
class Forest:
    """All trees in one set of arrays.

    A node is (feature, threshold's bits, left, right). A leaf has feature -1 and its row of
    ``values`` in left; feature -2 - k stands for projection k. The first ``n_pure`` rows of
    ``values`` are the unit vectors that pure leaves share.
    """

    nodes: np.ndarray
    roots: np.ndarray
    weights: np.ndarray
    gains: np.ndarray
    starts: np.ndarray
    features: np.ndarray
    loadings: np.ndarray
    values: np.ndarray
    n_pure: int
    n_features: int
    _checked: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def empty(cls, n_features: int, n_classes: int) -> Forest:
        """Return a forest of no trees; ``n_classes`` is 0 in regression."""
        return cls(
            nodes=np.empty((0, 4), np.int32),
            roots=np.empty(0, np.int32),
            weights=np.empty(0),
            gains=np.empty(0),
            starts=np.zeros(1, np.int32),
            features=np.empty(0, np.int32),
            loadings=np.empty(0, np.float32),
            values=np.eye(n_classes) if n_classes else np.empty((0, 1)),
            n_pure=n_classes,
            n_features=n_features,
        )

    @classmethod
    def of_axes(cls, nodes, roots, values, n_features: int) -> Forest:
        """Return a forest of axis-aligned cuts that was not grown here: weights are not known."""
        return cls(
            nodes=nodes,
            roots=roots,
            weights=np.ones(len(nodes)),
            gains=np.zeros(len(nodes)),
            starts=np.zeros(1, np.int32),
            features=np.empty(0, np.int32),
            loadings=np.empty(0, np.float32),
            values=values,
            n_pure=0,
            n_features=n_features,
        )

    def extended(self, trees: list[GrownTree]) -> Forest:
        """Return a forest with more trees behind the present ones."""
        n_nodes, n_loadings = len(self.nodes), len(self.loadings)
        n_projections, n_values = len(self.starts) - 1, len(self.values)
        roots, starts = [self.roots], [self.starts]
        # Written tree by tree: another copy of all nodes would be the peak of a large fit.
        nodes = np.empty((n_nodes + sum(len(tree.nodes) for tree in trees), 4), np.int32)
        nodes[:n_nodes] = self.nodes
        for tree in trees:
            roots.append(np.array([n_nodes], np.int32))
            here = slice(n_nodes, n_nodes + len(tree.nodes))
            nodes[here] = _moved(tree.nodes, n_nodes, n_projections, n_values)
            starts.append((tree.starts[1:] + n_loadings).astype(np.int32))
            n_nodes += len(tree.nodes)
            n_loadings += len(tree.loadings)
            n_projections += len(tree.starts) - 1
            n_values += len(tree.values)
        if max(n_nodes, n_loadings, n_values) >= 2**31:
            raise ValueError(
                "The forest has more than 2**31 nodes or weights: grow fewer or smaller trees."
            )
        return Forest(
            nodes=nodes,
            roots=np.concatenate(roots),
            weights=np.concatenate([self.weights, *(tree.weights for tree in trees)]),
            gains=np.concatenate([self.gains, *(tree.gains for tree in trees)]),
            starts=np.concatenate(starts),
            features=np.concatenate([self.features, *(tree.features for tree in trees)]),
            loadings=np.concatenate([self.loadings, *(tree.loadings for tree in trees)]),
            values=np.concatenate([self.values, *(tree.values for tree in trees)]),
            n_pure=self.n_pure,
            n_features=self.n_features,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_checked": None}

    @property
    def n_trees(self) -> int:
        return len(self.roots)

    @property
    def tree_of_node(self) -> np.ndarray:
        """The tree that each node belongs to."""
        sizes = np.diff(np.append(self.roots, len(self.nodes)))
        return np.repeat(np.arange(self.n_trees), sizes)

    def checked(self) -> Any:
        """Return the view that the predictor walks, made and checked once.

        The arrays cannot be written to from then on: a change would go unchecked.
        """
        kind = backend().CheckedObliqueForest
        if not isinstance(self._checked, kind):
            arrays = (
                *(self.nodes, self.roots, self.starts),
                *(self.features, self.loadings, self.values),
            )
            for array in arrays:
                array.flags.writeable = False
            self._checked = kind(*arrays, self.n_pure, self.n_features)
        return self._checked

    def predict(self, X: np.ndarray, n_jobs: int | None, skip: np.ndarray | None = None):
        """Sum the trees' leaf values: (n_rows, n_outputs).

        ``skip``, (n_trees, n_rows) of bytes, leaves pairs of a tree and a row out.
        """
        sums = np.zeros((len(X), self.values.shape[1]))
        forest, add = self.checked(), backend().add_predictions
        none = np.empty((0, 0), np.uint8)

        def work(rows: slice) -> None:
            block = np.ascontiguousarray(X[rows])
            add(forest, block, none if skip is None else skip[:, rows], sums[rows])

        _over_blocks(work, X.shape, n_jobs)
        return sums

    def apply(self, X: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """Find the leaf of every row in every tree: (n_rows, n_trees)."""
        leaves = np.empty((len(X), self.n_trees), np.int64)
        forest, find = self.checked(), backend().find_leaves

        def work(rows: slice) -> None:
            find(forest, np.ascontiguousarray(X[rows]), leaves[rows])

        _over_blocks(work, X.shape, n_jobs)
        return leaves

    def directions(self) -> tuple[np.ndarray, csr_array]:
        """Return the inner nodes and, one row each, their weights over the columns."""
        inner = np.flatnonzero(self.nodes[:, 0] != -1)
        feature = self.nodes[inner, 0]
        oblique = feature < -1
        projection = np.where(oblique, -2 - feature, 0)
        size = np.ones(len(inner), np.int64)
        size[oblique] = np.diff(self.starts)[projection[oblique]]
        pointers = np.concatenate([[0], np.cumsum(size)])
        columns = np.repeat(feature, size)
        weights = np.ones(pointers[-1])
        # The k-th loading of a node lies k behind the start of its projection.
        within = np.arange(pointers[-1]) - np.repeat(pointers[:-1], size)
        entry = np.repeat(oblique, size)
        source = (np.repeat(self.starts[projection], size) + within)[entry]
        columns[entry] = self.features[source]
        weights[entry] = self.loadings[source]
        shape = (len(inner), self.n_features)
        return inner, csr_array((weights, columns, pointers), shape=shape)

    def split_normals(self) -> SplitNormals:
        """Return the unit normals of all cuts, with the weight that reaches them."""
        inner, normals = self.directions()
        lengths = np.sqrt(normals.power(2).sum(axis=1))
        sizes = np.diff(normals.indptr)
        normals.data /= np.repeat(lengths, sizes)
        trees = self.tree_of_node[inner]
        totals = self.weights[self.roots][trees]
        thresholds = self.nodes[inner, 1].copy().view(np.float32)
        return SplitNormals(
            normals=normals,
            offsets=thresholds / lengths,
            weights=self.weights[inner] / totals,
            gains=self.gains[inner] / totals,
            trees=trees,
            nodes=inner - self.roots[trees],
        )

    def importances(self, scales: np.ndarray) -> np.ndarray:
        """Credit every gain to the columns by their share of the direction's variance.

        A direction w shares its gain in proportion to (w_j s_j)^2, s_j the standard deviation
        of column j. Each tree's credits sum to one before they are averaged.
        """
        inner, shares = self.directions()
        shares.data = np.square(shares.data * scales[shares.indices])
        totals = shares.sum(axis=1)
        credit = self.gains[inner] / np.where(totals > 0, totals, 1.0)
        sizes = np.diff(shares.indptr)
        trees = np.repeat(self.tree_of_node[inner], sizes)
        cells = trees * self.n_features + shares.indices
        per_tree = np.bincount(
            cells, shares.data * np.repeat(credit, sizes), self.n_trees * self.n_features
        ).reshape(self.n_trees, self.n_features)
        sums = per_tree.sum(axis=1, keepdims=True)
        mean = np.mean(per_tree / np.where(sums > 0, sums, 1.0), axis=0)
        return mean / mean.sum() if mean.sum() > 0 else mean


def _moved(nodes: np.ndarray, n_nodes: int, n_projections: int, n_values: int) -> np.ndarray:
    """Return a tree's nodes with indices that count within the forest."""
    moved = nodes.astype(np.int64)
    feature, left, right = moved[:, 0], moved[:, 2], moved[:, 3]
    leaf, pure = feature == -1, (feature == -1) & (left < 0)
    feature[feature < -1] -= n_projections
    left[leaf] += n_values
    left[pure] = -1 - nodes[pure, 2]
    left[~leaf] += n_nodes
    right[~leaf] += n_nodes
    right[leaf] = left[leaf]
    return moved


def _over_blocks(work: Any, shape: tuple[int, int], n_jobs: int | None) -> None:
    """Call ``work`` for every block of rows, in threads."""
    n_rows, n_columns = shape
    share = -(-n_rows // threads_of(n_jobs))
    size = max(LEAST_ROWS, min(MOST_ROWS, MOST_VALUES // max(n_columns, 1), share))
    blocks = [slice(at, min(at + size, n_rows)) for at in range(0, n_rows, size)]
    for _ in thread_map(work, blocks, n_jobs):
        pass
