"""The one format of all trees: the arrays of a fitted forest and what can be read from them.

Bagged forests, boosted ensembles and trees of other libraries are the same kind of object. They
differ in whether trees are averaged or added, in the base value and in the link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from jarf._native import engine
from jarf._threads import thread_map, threads_of
from jarf.trees._links import LINKS, apply_link, n_linked

# A leaf has feature -1 and its row of values in left and right; feature -2 - k stands for
# projection k.
NODE = np.dtype([("feature", "<i4"), ("threshold", "<f4"), ("left", "<i4"), ("right", "<i4")])

# Rows that walk down one tree before the next: enough to pay for a tree's preparation, few enough
# for the cache and for all threads to have some.
LEAST_ROWS, MOST_ROWS, MOST_VALUES = 256, 4096, 2**18


class GrownTree(NamedTuple):
    """One tree as the grower returns it; indices count from its own root.

    Examples
    --------
    >>> from jarf.trees import GrownTree
    >>> GrownTree._fields[:3]
    ('nodes', 'weights', 'gains')
    """

    nodes: np.ndarray  # dtype NODE; left is -1 - class in pure leaves
    weights: np.ndarray  # (n_nodes,): training weight that reached the node
    gains: np.ndarray  # (n_nodes,): decrease of impurity times weight
    starts: np.ndarray  # (n_projections + 1,)
    features: np.ndarray
    loadings: np.ndarray
    values: np.ndarray  # (n_values, n_outputs)
    leaves: np.ndarray  # (n_rows,): leaf of each training row, -1 if unused; empty if not kept
    # (n_nodes, 2): least and largest value of each node; empty without monotone constraints
    bounds: np.ndarray = np.empty((0, 2))


class SplitNormals(NamedTuple):
    """The cuts of a forest in original coordinates, one row per inner node.

    Examples
    --------
    >>> from jarf import SPORFClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> cuts = SPORFClassifier(5, random_state=0).fit(X, y).split_normals()
    >>> cuts.normals.shape == (len(cuts.offsets), 4)
    True
    """

    normals: csr_array  # (n_cuts, n_features), rows of length one
    offsets: np.ndarray  # a row x goes left if normal . x <= offset
    weights: np.ndarray  # share of its tree's training weight that reaches the node
    gains: np.ndarray  # decrease of impurity, weighted by that share
    trees: np.ndarray
    nodes: np.ndarray  # the node's number within its tree, as in ``apply``


@dataclass
class Forest:
    """All trees in one set of arrays.

    Parameters
    ----------
    nodes : ndarray of dtype NODE
        The nodes of all trees, children behind their parents.
    roots : ndarray of int32
        The first node of each tree.
    weights, gains : ndarray of shape (n_nodes,)
        Training weight that reached a node, and decrease of impurity times weight.
    starts, features, loadings : ndarray
        Projections: entries ``starts[k]:starts[k + 1]`` belong to projection k.
    values : ndarray of shape (n_values, n_outputs)
        What leaves hold, one column per output. The first ``n_pure`` rows are the unit vectors
        that pure leaves of classes share.
    n_pure : int
    n_features : int
    base : ndarray of shape (n_outputs,), default=zeros
        Added to the mean, or the sum, of the trees.
    link : {"identity", "logit", "softmax", "log"}, default="identity"
        From there to the prediction.
    averaged : bool, default=True
        Whether trees are averaged (bagging) or added (boosting).

    Examples
    --------
    >>> from jarf.trees import read_trees
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = read_trees(RandomForestClassifier(5, random_state=0).fit(X, y))
    >>> forest.n_trees, forest.predict(X.astype("float32")).shape
    (5, (150, 3))
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
    base: np.ndarray | None = None
    link: str = "identity"
    averaged: bool = True
    _checked: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.base is None:
            self.base = np.zeros(self.values.shape[1])
        if self.link not in LINKS:
            raise ValueError(f"link must be one of {LINKS}, got {self.link!r}.")
        if np.shape(self.base) != (self.values.shape[1],) or not np.isfinite(self.base).all():
            raise ValueError("base must hold one finite number per output.")

    @classmethod
    def empty(cls, n_features: int, n_classes: int = 0, n_outputs: int = 1) -> Forest:
        """Return a forest without trees; ``n_classes`` is 0 in regression."""
        return cls(
            nodes=np.empty(0, NODE),
            roots=np.empty(0, np.int32),
            weights=np.empty(0),
            gains=np.empty(0),
            starts=np.zeros(1, np.int32),
            features=np.empty(0, np.int32),
            loadings=np.empty(0, np.float32),
            values=np.eye(n_classes) if n_classes else np.empty((0, n_outputs)),
            n_pure=n_classes,
            n_features=n_features,
        )

    @classmethod
    def of_axes(cls, nodes, roots, values, n_features: int, weights=None, **model) -> Forest:
        """Return a forest of axis-aligned cuts that was not grown here.

        Parameters
        ----------
        nodes : ndarray of dtype NODE
        roots : ndarray of int32
        values : ndarray of shape (n_leaves, n_outputs)
        n_features : int
        weights : ndarray of shape (n_nodes,), default=None
            None: not known, all one.
        **model
            ``base``, ``link`` and ``averaged``.
        """
        return cls(
            nodes=nodes,
            roots=np.asarray(roots, np.int32),
            weights=np.ones(len(nodes)) if weights is None else weights,
            gains=np.zeros(len(nodes)),
            starts=np.zeros(1, np.int32),
            features=np.empty(0, np.int32),
            loadings=np.empty(0, np.float32),
            values=np.ascontiguousarray(values, np.float64),
            n_pure=0,
            n_features=n_features,
            **model,
        )

    @classmethod
    def of_tree(cls, tree: GrownTree, n_features: int) -> Forest:
        """Return one tree of responses by itself, added rather than averaged; nothing is copied."""
        return cls(
            nodes=tree.nodes,
            roots=np.zeros(1, np.int32),
            weights=tree.weights,
            gains=tree.gains,
            starts=tree.starts,
            features=tree.features,
            loadings=tree.loadings,
            values=tree.values,
            n_pure=0,
            n_features=n_features,
            averaged=False,
        )

    def extended(self, trees: list[GrownTree], *, empty: bool = False) -> Forest:
        """Return a forest with more trees behind the present ones.

        Parameters
        ----------
        trees : list of GrownTree
        empty : bool, default=False
            Whether to empty the list, so that the arrays of the trees are freed one kind after the
            other. Otherwise all trees exist twice at the end of a fit.

        Returns
        -------
        Forest
        """
        n_nodes, n_loadings = len(self.nodes), len(self.loadings)
        n_projections, n_values = len(self.starts) - 1, len(self.values)
        roots, starts = [self.roots], [self.starts]
        parts = {name: [tree[at] for tree in trees] for at, name in enumerate(GrownTree._fields)}
        if empty:
            trees.clear()
        # Written tree by tree: another copy of all nodes would be the peak of a large fit.
        nodes = np.empty(n_nodes + sum(len(grown) for grown in parts["nodes"]), NODE)
        nodes[:n_nodes] = self.nodes
        for at, grown in enumerate(parts.pop("nodes")):
            roots.append(np.array([n_nodes], np.int32))
            here = slice(n_nodes, n_nodes + len(grown))
            _move(grown, nodes[here], n_nodes, n_projections, n_values)
            starts.append((parts["starts"][at][1:] + n_loadings).astype(np.int32))
            n_nodes += len(grown)
            n_loadings += len(parts["loadings"][at])
            n_projections += len(parts["starts"][at]) - 1
            n_values += len(parts["values"][at])
        if max(n_nodes, n_loadings, n_values) >= 2**31:
            raise ValueError(
                "The forest has more than 2**31 nodes or weights: grow fewer or smaller trees."
            )
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), *parts.pop(name)])
            for name in ("weights", "gains", "features", "loadings", "values")
        }
        return replace(
            self,
            nodes=nodes,
            roots=np.concatenate(roots),
            starts=np.concatenate(starts),
            _checked=None,
            **joined,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_checked": None}

    @property
    def n_trees(self) -> int:
        return len(self.roots)

    @property
    def n_raw(self) -> int:
        """Number of outputs before the link."""
        return self.values.shape[1]

    @property
    def n_outputs(self) -> int:
        """Number of outputs of the model."""
        return n_linked(self.link, self.n_raw)

    @property
    def is_leaf(self) -> np.ndarray:
        """Whether each node is a leaf."""
        return self.nodes["feature"] == -1

    @property
    def tree_of_node(self) -> np.ndarray:
        """The tree that each node belongs to."""
        sizes = np.diff(np.append(self.roots, len(self.nodes)))
        return np.repeat(np.arange(self.n_trees), sizes)

    def nodes_of(self, tree: int) -> slice:
        """Return where the nodes of a tree lie."""
        last = tree + 1 == self.n_trees
        return slice(int(self.roots[tree]), len(self.nodes) if last else int(self.roots[tree + 1]))

    def leaf_values(self, leaves: Any) -> np.ndarray:
        """Return what leaves hold, given by their numbers among all nodes."""
        return self.values[self.nodes["left"][leaves]]

    def words(self) -> np.ndarray:
        """Return the nodes as they cross the border and lie in files: four 32-bit words each."""
        return np.ascontiguousarray(self.nodes).view(np.int32).reshape(-1, 4)

    def checked(self) -> Any:
        """Return the view that the kernels walk, made and checked once.

        The arrays cannot be written to from then on: a change would go unchecked.
        """
        kind = engine().CheckedForest
        if not isinstance(self._checked, kind):
            arrays = (
                *(self.words(), self.roots, self.starts),
                *(self.features, self.loadings, self.values),
            )
            for array in (self.nodes, *arrays):
                array.flags.writeable = False
            self._checked = kind(*arrays, self.n_pure, self.n_features)
        return self._checked

    def raw(self, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return the base plus the mean, or the sum, of the trees: (n_rows, n_raw)."""
        sums = self.sums(X, n_jobs)
        return (sums / self.n_trees if self.averaged else sums) + self.base

    def predict(self, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return the predictions of the model: (n_rows, n_outputs)."""
        return apply_link(self.link, self.raw(X, n_jobs))

    def spread(self, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return the standard deviation of the trees' predictions: (n_rows, n_raw)."""
        centre = self.values.mean(axis=0)  # squares of numbers far from zero would lose digits
        centred = replace(self, values=self.values - centre, n_pure=0, _checked=None)
        squared = replace(centred, values=centred.values**2, _checked=None)
        mean = centred.sums(X, n_jobs) / self.n_trees
        variance = squared.sums(X, n_jobs) / self.n_trees - mean**2
        return np.sqrt(np.maximum(variance, 0.0))

    def staged(self, X: np.ndarray, n_jobs: int | None = None) -> Iterator[np.ndarray]:
        """Yield the predictions of the first tree, the first two, and so on."""
        leaves = self.apply(X, n_jobs)
        sums = np.zeros((len(X), self.n_raw))
        for tree, root in enumerate(self.roots):
            sums += self.leaf_values(leaves[:, tree] + root)
            raw = sums / (tree + 1) if self.averaged else sums
            yield apply_link(self.link, raw + np.asarray(self.base))

    def sums(self, X: np.ndarray, n_jobs: int | None = None, skip: np.ndarray | None = None):
        """Sum the trees' leaf values: (n_rows, n_raw).

        ``skip``, (n_trees, n_rows) of bytes, leaves pairs of a tree and a row out.
        """
        sums = np.zeros((len(X), self.values.shape[1]))
        forest, add = self.checked(), engine().add_predictions
        none = np.empty((0, 0), np.uint8)

        def work(rows: slice) -> None:
            block = np.ascontiguousarray(X[rows])
            add(forest, block, none if skip is None else skip[:, rows], sums[rows])

        _over_blocks(work, X.shape, n_jobs)
        return sums

    def apply(self, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Find the leaf of every row in every tree: (n_rows, n_trees)."""
        leaves = np.empty((len(X), self.n_trees), np.int64)
        forest, find = self.checked(), engine().find_leaves

        def work(rows: slice) -> None:
            find(forest, np.ascontiguousarray(X[rows]), leaves[rows])

        _over_blocks(work, X.shape, n_jobs)
        return leaves

    def directions(self) -> tuple[np.ndarray, csr_array]:
        """Return the inner nodes and, one row each, their loadings over the columns."""
        inner = np.flatnonzero(~self.is_leaf)
        feature = self.nodes["feature"][inner]
        oblique = feature < -1
        projection = np.where(oblique, -2 - feature, 0)
        size = np.ones(len(inner), np.int64)
        size[oblique] = np.diff(self.starts)[projection[oblique]]
        pointers = np.concatenate([[0], np.cumsum(size)])
        columns = np.repeat(feature, size)
        loadings = np.ones(pointers[-1])
        # The k-th loading of a node lies k behind the start of its projection.
        within = np.arange(pointers[-1]) - np.repeat(pointers[:-1], size)
        entry = np.repeat(oblique, size)
        source = (np.repeat(self.starts[projection], size) + within)[entry]
        columns[entry] = self.features[source]
        loadings[entry] = self.loadings[source]
        shape = (len(inner), self.n_features)
        return inner, csr_array((loadings, columns, pointers), shape=shape)

    def split_normals(self) -> SplitNormals:
        """Return the unit normals of all cuts, with the weight that reaches them."""
        inner, normals = self.directions()
        lengths = np.sqrt(normals.power(2).sum(axis=1))
        sizes = np.diff(normals.indptr)
        normals.data /= np.repeat(lengths, sizes)
        trees = self.tree_of_node[inner]
        totals = self.weights[self.roots][trees]
        return SplitNormals(
            normals=normals,
            offsets=self.nodes["threshold"][inner] / lengths,
            weights=self.weights[inner] / totals,
            gains=self.gains[inner] / totals,
            trees=trees,
            nodes=inner - self.roots[trees],
        )

    def importances(self, scales: np.ndarray) -> np.ndarray:
        """Credit every gain to the columns by their share of the direction's variance.

        A direction w shares its gain in proportion to (w_j s_j)^2, s_j the standard deviation
        of column j. Credits of averaged trees sum to one in each tree before they are averaged;
        those of boosted trees are added as they are.
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
        sums = per_tree.sum(axis=1, keepdims=True) if self.averaged else np.ones((1, 1))
        mean = np.mean(per_tree / np.where(sums > 0, sums, 1.0), axis=0)
        return mean / mean.sum() if mean.sum() > 0 else mean


def nodes_of_words(words: np.ndarray) -> np.ndarray:
    """Return nodes, given as four 32-bit words each, with named fields."""
    return np.ascontiguousarray(words, np.int32).reshape(-1).view(NODE)


def _move(nodes: np.ndarray, to: np.ndarray, n_nodes: int, n_projections: int, n_values: int):
    """Write a tree's nodes with indices that count within the forest."""
    feature, left = nodes["feature"].astype(np.int64), nodes["left"].astype(np.int64)
    leaf, pure = feature == -1, (feature == -1) & (left < 0)
    feature[feature < -1] -= n_projections
    value = np.where(pure, -1 - left, left + n_values)
    to["feature"], to["threshold"] = feature, nodes["threshold"]
    to["left"] = np.where(leaf, value, left + n_nodes)
    to["right"] = np.where(leaf, value, nodes["right"].astype(np.int64) + n_nodes)


def _over_blocks(work: Any, shape: tuple[int, int], n_jobs: int | None) -> None:
    """Call ``work`` for every block of rows, in threads."""
    n_rows, n_columns = shape
    if 0 < n_rows <= LEAST_ROWS and n_jobs != 0:  # joblib refuses 0
        work(slice(0, n_rows))
        return
    share = -(-n_rows // threads_of(n_jobs))
    size = max(LEAST_ROWS, min(MOST_ROWS, MOST_VALUES // max(n_columns, 1), share))
    blocks = [slice(at, min(at + size, n_rows)) for at in range(0, n_rows, size)]
    for _ in thread_map(work, blocks, n_jobs):
        pass
