"""The one way to grow: bagged forests, pilots of a race, surrogates and boosting call it.

Every tree has a seed, and what it draws depends on nothing else: not on the number of threads, the
other trees, or what else is fitted with the same ``random_state``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from jarf._native import engine
from jarf._threads import thread_map
from jarf.trees._columns import Columns
from jarf.trees._forest import Forest, GrownTree, nodes_of_words
from jarf.trees._targets import NewtonTarget, Target

# Node sizes from which histograms are used instead of sorting: of a column, whose bins exist, and
# of any candidate, in bins computed for it in the node.
HISTOGRAM_FROM = 1024
SAMPLE_FROM = 256
# Rows of a bootstrap sample drawn at a time: every thread holds what it draws.
DRAWN_AT_ONCE = 2**16


@dataclass(frozen=True)
class Limits:
    """Limits on splitting nodes, with the names and meanings of the estimators' parameters.

    With ``symmetric=True``, one cut divides all nodes of a level, and ``max_depth`` is the number
    of cuts. A node is not divided by a cut that leaves a side with fewer than
    ``min_samples_leaf`` rows. Such trees are grown from a :class:`NewtonTarget` of one output and
    from axes; ``max_leaf_nodes`` does not apply to them.

    Examples
    --------
    >>> from jarf.trees import Limits
    >>> Limits(max_depth=3).max_depth
    3
    """

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    histogram_from: int = HISTOGRAM_FROM
    sample_from: int = SAMPLE_FROM
    symmetric: bool = False

    def crossing(self) -> Any:
        """Return the engine's object."""
        return engine().Limits(**vars(self))


@dataclass(frozen=True)
class TreePlan:
    """The columns, proposal and sample of one tree.

    Parameters
    ----------
    columns : Columns
    proposal : object
        A proposal of the engine: what draws a node's candidates.
    n_draws : int or None, default=None
        Size of the tree's bootstrap sample; None: every row once.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.trees import TreePlan, make_columns
    >>> TreePlan(make_columns(np.zeros((5, 2), np.float32)), proposal=None).n_draws is None
    True
    """

    columns: Columns
    proposal: Any
    n_draws: int | None = None


def tree_seeds(rng: np.random.RandomState, n_trees: int) -> np.ndarray:
    """Draw one seed per tree."""
    return rng.randint(np.iinfo(np.int64).max, size=n_trees, dtype=np.int64)


def stream(seed: int, *names: str) -> np.random.RandomState:
    """Return the generator of a named part of a fit.

    It depends on the seed and the names only, so that adding a part does not change the random
    numbers of the others.
    """
    return np.random.RandomState(_seeds_of(seed, names).generate_state(4))


def small_stream(seed: int, *names: str) -> np.random.Generator:
    """Return a generator like that of :func:`stream` that is faster to create."""
    return np.random.Generator(np.random.PCG64(_seeds_of(seed, names)))


def _seeds_of(seed: int, names: tuple[str, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=tuple(crc32(name.encode()) for name in names))


def bootstrap_counts(n_rows: int, n_draws: int | None, seed: int) -> np.ndarray:
    """Count how often each row is in the bootstrap sample of a tree.

    Parameters
    ----------
    n_rows : int
    n_draws : int or None
        None: no bootstrap sample, every row counts once.
    seed : int

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    if n_draws is None:
        return np.ones(n_rows)
    rng = np.random.default_rng(seed)
    if n_draws <= DRAWN_AT_ONCE:
        return np.bincount(rng.integers(n_rows, size=n_draws), minlength=n_rows).astype(float)
    counts = np.zeros(n_rows)
    for start in range(0, n_draws, DRAWN_AT_ONCE):
        size = min(DRAWN_AT_ONCE, n_draws - start)
        np.add.at(counts, rng.integers(n_rows, size=size), 1.0)
    return counts


def grow_tree(
    columns: Columns,
    proposal: Any,
    target: Target | NewtonTarget,
    weights: np.ndarray,
    seed: int,
    limits: Limits,
    stop: np.ndarray | None = None,
    *,
    keep_leaves: bool = False,
    n_threads: int = 1,
) -> GrownTree:
    """Grow one tree; rows with zero weight are ignored.

    Threads share the histograms of large nodes. The result does not depend on their number.
    """
    stop = np.zeros(1, np.uint8) if stop is None else stop
    grow = _grower(target, limits, stop, keep_leaves, n_threads)
    return grow(columns, proposal, weights, seed)


def _grower(
    target: Target | NewtonTarget,
    limits: Limits,
    stop: np.ndarray,
    keep_leaves: bool,
    n_threads: int = 1,
):
    """Return ``grow(columns, proposal, weights, seed)``; target and limits cross once."""
    crossing, limited = target.crossing(), limits.crossing()

    def grow(columns: Columns, proposal: Any, weights: np.ndarray, seed: int) -> GrownTree:
        grown = engine().grow_tree(
            *(columns.crossing, proposal, crossing, weights, int(seed), limited, keep_leaves),
            *(stop, n_threads),
        )
        tree = GrownTree._make(grown)
        tree = tree._replace(
            nodes=nodes_of_words(tree.nodes),
            values=tree.values.reshape(-1, target.n_outputs),
            bounds=tree.bounds.reshape(-1, 2),
        )
        return tree if columns.rotation is None else _unrotated(tree, columns.rotation)

    return grow


def grow_trees(
    plan_of: Callable[[int], TreePlan],
    target: Target | NewtonTarget,
    weights: np.ndarray,
    seeds: np.ndarray,
    limits: Limits,
    *,
    n_jobs: int | None = None,
    progress: Callable[[str], None] | None = None,
    keep_leaves: bool = False,
) -> list[GrownTree]:
    """Grow one tree per seed in threads. An interrupt stops the running trees too.

    Parameters
    ----------
    plan_of : callable
        ``plan_of(seed) -> TreePlan``.
    target : ClassTarget, ResponseTarget or NewtonTarget
    weights : ndarray of shape (n_rows,)
        Multiplied by the counts of each tree's bootstrap sample.
    seeds : ndarray of int64
    limits : Limits
    n_jobs : int, default=None
        Threads. The result does not depend on them.
    progress : callable, default=None
        Called with a line of text after every tenth of the trees.
    keep_leaves : bool, default=False
        Whether to keep the leaf that each training row reached.

    Returns
    -------
    list of GrownTree
    """
    stop = np.zeros(1, np.uint8)

    def raise_flag() -> None:
        stop[0] = 1

    grow = _grower(target, limits, stop, keep_leaves)

    def grow_one(seed: int) -> GrownTree:
        plan = plan_of(seed)
        counts = bootstrap_counts(len(weights), plan.n_draws, seed)
        counts *= weights
        return grow(plan.columns, plan.proposal, counts, seed)

    trees: list[GrownTree] = []
    shown = max(1, len(seeds) // 10)
    for tree in thread_map(grow_one, seeds.tolist(), n_jobs, raise_flag):
        trees.append(tree)
        if progress is not None and (len(trees) % shown == 0 or len(trees) == len(seeds)):
            progress(f"{len(trees)} of {len(seeds)} trees")
    return trees


def grow_forest(
    plan_of: Callable[[int], TreePlan],
    target: Target,
    weights: np.ndarray,
    seeds: np.ndarray,
    limits: Limits,
    *,
    n_features: int,
    n_jobs: int | None = None,
) -> Forest:
    """Grow a bagged forest: see :func:`grow_trees`."""
    trees = grow_trees(plan_of, target, weights, seeds, limits, n_jobs=n_jobs)
    empty = Forest.empty(n_features, target.n_classes, target.n_outputs)
    return empty.extended(trees, empty=True)


def _unrotated(tree: GrownTree, rotation: tuple[np.ndarray, np.ndarray, np.ndarray]) -> GrownTree:
    """Express splits on rotated columns as projections of the original ones."""
    nodes = tree.nodes.copy()
    feature = nodes["feature"]
    nodes["feature"] = np.where(feature >= 0, -2 - feature, feature)
    starts, features, loadings = rotation
    return tree._replace(nodes=nodes, starts=starts, features=features, loadings=loadings)
