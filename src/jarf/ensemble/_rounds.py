"""Boosting rounds: each grows one tree on the gradients of the loss at the current sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jarf.ensemble._cycles import OWN, Cycle
from jarf.ensemble._geometries import Geometry
from jarf.ensemble._growth import Rules
from jarf.ensemble._jacobian_growth import (
    Gradients,
    JacobianGrowth,
    NodeSizes,
    needed_sources,
    pack_gradients,
)
from jarf.ensemble._losses import Loss, RefittedLoss, best_power
from jarf.ensemble._sources import Source, Table, fit_sources
from jarf.gradients import Differences, forest_gradients, robust_scale, value_gaps
from jarf.trees import (
    ClassTarget,
    Columns,
    Forest,
    GrownTree,
    Limits,
    NewtonTarget,
    ResponseTarget,
    Target,
    grow_tree,
    make_columns,
    ordered_values,
    small_stream,
)

# The gradients of the model so far are updated before the rounds at which the learning rates add up
# to these values: rounds 42, 100, 200 and 400 at a rate of 0.03.
OWN_FROM = (1.25, 3.0, 6.0, 12.0)
# Nodes of at least this many rows are searched in histograms.
HISTOGRAM_FROM = 64
# Maximum absolute leaf value under a log link, before the learning rate.
MOST_LOG_STEP = 5.0


# Rounds between two updates of the calibration at held-out rows, and steps to find it anew.
CALIBRATED_EVERY, POWER_STEPS = 3, 8
# Maximum number of axes that a node tries with max_features="auto".
MOST_AXES = 256
# Number of axes drawn by importance in a node, as a multiple of the square root of the columns.
WEIGHTED_AXES = 1.0


def n_axes_of(rule: float | str, n_columns: int) -> int:
    """Return the number of axes that a node tries."""
    if rule == "auto":
        return min(n_columns, MOST_AXES)
    return max(1, int(np.ceil(float(rule) * n_columns)))


def rounded(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Round values so little that all their sums are exact, whatever the order of the rows.

    Splits that divide the rows alike then have exactly the same gain, and rows repeated count
    exactly as rows of whole weight.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        Multiples of a power of two, of which any sum has fewer than 2**53.
    """
    total = float((weights @ np.abs(values)).max())
    if not 0.0 < total < np.inf:
        return values
    unit = 2.0 ** (np.ceil(np.log2(total)) - 51)
    if unit <= 0.0:
        return values
    found = values / unit
    np.rint(found, out=found)
    found *= unit
    return found


@dataclass(frozen=True)
class RoundRules:
    """How each round grows its tree.

    Parameters
    ----------
    learning_rate : float
    limits : Limits
    symmetric : Limits
        Of symmetric trees.
    l2_regularization : float
    subsample : float
        Share of the rows that a tree sees.
    max_features : float or "auto"
        Share of the columns that a node tries as axes.
    monotonic : ndarray of shape (n_columns,) of int8, default=None
        The allowed sign of the slope along each column; 0: any. None: no constraints.
    """

    learning_rate: float
    limits: Limits
    symmetric: Limits
    l2_regularization: float
    subsample: float
    max_features: float | str
    monotonic: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Training rows of the boosters, prepared once for all geometries.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32, column order
    y : ndarray
        In the form the loss expects.
    weights : ndarray of shape (n,)
    table : Table
        The same rows, standardised.
    columns : Columns
    gradients : Gradients
        Gradients of all required surrogates.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    table: Table
    columns: Columns
    gradients: Gradients

    @classmethod
    def prepare(
        cls,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        is_number: np.ndarray,
        sources: dict[Any, Source],
        target: Target,
        n_jobs: int | None,
    ) -> LearningRows:
        """Standardise and bin the rows; differentiate surrogates at them, or at some of them."""
        X = np.asfortranarray(X)
        table = Table.standardised(X, weights, is_number)
        gradients = Gradients.sampled(sources, table.only, weights, target, n_jobs)
        return cls(X, y, weights, table, make_columns(X, n_jobs), gradients)


def surrogate_target(y: np.ndarray, n_classes: int) -> Target:
    """Return the target of the surrogates: the classes or the responses."""
    return ClassTarget(y, n_classes) if n_classes else ResponseTarget(y)


def fit_surrogates(
    cycles: Sequence[Cycle], table: Table, target: Target, seed: int, part: str, n_jobs: int | None
) -> dict[Any, Source]:
    """Fit all surrogates that these cycles draw from."""
    geometries = [geometry for cycle in cycles for geometry in cycle.rounds]
    needed = [source for source in needed_sources(geometries) if source != OWN]
    return fit_sources(needed, table, target, seed, part, n_jobs)


@dataclass(frozen=True, eq=False)
class Scored:
    """Held-out rows.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32, row order
    y : ndarray
        In the form the loss expects.
    weights : ndarray of shape (n,)
    measure : callable, default=None
        ``measure(raw, y, weights) -> float``, lower is better; None: the loss.
    calibrated : bool, default=False
        Whether losses are those of calibrated probabilities.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    measure: Callable[[np.ndarray, np.ndarray, np.ndarray], float] | None = None
    calibrated: bool = False

    def loss(self, loss: Loss, raw: np.ndarray) -> float:
        """Return the loss or measure of sums of trees."""
        if self.measure is not None:
            return self.measure(raw, self.y, self.weights)
        return float(np.average(loss.losses(self.y, raw), weights=self.weights))


class Rounds:
    """A booster that grows round by round, and its predictions at held-out rows.

    Parameters
    ----------
    rows : LearningRows
    loss : Loss
    cycle : Cycle
    rules : RoundRules
    seed : int
    scored : Scored, default=None
        Held-out rows.
    n_threads : int, default=1
        Threads that share the work of a round. The result does not depend on them.
    """

    def __init__(
        self,
        rows: LearningRows,
        loss: Loss,
        cycle: Cycle,
        rules: RoundRules,
        seed: int,
        scored: Scored | None = None,
        n_threads: int = 1,
    ):
        self.rows, self.loss, self.cycle, self.rules = rows, loss, cycle, rules
        self.seed, self.n_threads = seed, n_threads
        self.base = loss.base(rows.y, rows.weights)
        self.raw = np.tile(self.base, (len(rows.X), 1))
        self.scored = scored
        self.scored_losses: list[float] = []
        self._power = 1.0  # calibrates the sums at the held-out rows
        if scored is not None:
            self.scored_raw = np.tile(self.base, (len(scored.X), 1))
            self.scored_losses.append(scored.loss(loss, self.scored_raw))
        self.trees: list[GrownTree] = []
        self.before = Forest.empty(rows.X.shape[1], 0, loss.n_raw)
        self.stop = np.zeros(1, np.uint8)
        self._own_from = {round(sum_ / rules.learning_rate) for sum_ in OWN_FROM}
        self._own: np.ndarray | None = None  # gradients of the first `_n_own` trees
        self._n_own = 0
        self._gradients = rows.gradients
        self._proposals: dict[Geometry, Any] = {}
        self._growth = self._make_growth()

    def _make_growth(self) -> JacobianGrowth:
        """Return the factory that turns geometries into proposals."""
        table, limits = self.rows.table, self.rules.limits
        n_axes = n_axes_of(self.rules.max_features, table.Z.shape[1])
        sizes = NodeSizes(n_axes, n_axes, max(1, int(np.sqrt(table.oblique.sum()))))
        rules = Rules(limits.max_depth, limits.max_leaf_nodes, 2, limits.min_samples_leaf, 0.0, 0.0)
        return JacobianGrowth(rules, self.cycle.rounds, sizes, {}, table.only(slice(0)))

    @property
    def n_before(self) -> int:
        """The number of rounds of an earlier fit."""
        return self.before.n_trees

    @property
    def n_rounds(self) -> int:
        return self.n_before + len(self.trees)

    def start_from(self, base: np.ndarray) -> None:
        """Start from another constant than the best one."""
        self.base = base
        self.raw = np.tile(base, (len(self.rows.X), 1))

    def go_on(self, forest: Forest) -> None:
        """Start from the trees of an earlier fit."""
        self.before, self.base = forest, np.asarray(forest.base)
        leaves = forest.apply(self.rows.X)
        self.raw = np.tile(self.base, (len(self.rows.X), 1))
        for tree, root in enumerate(forest.roots):  # in the order in which the rounds added them
            self.raw += forest.leaf_values(leaves[:, tree] + root)

    def forest(self, n_rounds: int | None = None) -> Forest:
        """Return the sum of all trees, or only up to ``n_rounds`` new rounds."""
        begun = replace(self.before, base=self.base, link=self.loss.link, averaged=False)
        return begun.extended(self.trees[:n_rounds])

    def training_loss(self) -> float:
        """Return the mean loss on the learning rows."""
        losses = self.loss.losses(self.rows.y, self.raw)
        return float(np.average(losses, weights=self.rows.weights))

    def raw_after(self, n_rounds: int) -> np.ndarray:
        """Return the sums at the held-out rows after ``n_rounds`` rounds."""
        assert self.scored is not None
        return self.forest(n_rounds).raw(self.scored.X, 1)

    def losses_after(self, n_rounds: int) -> np.ndarray:
        """Return the loss of every held-out row after ``n_rounds`` rounds."""
        assert self.scored is not None
        raw, power = self.raw_after(n_rounds), 1.0
        for _ in range(POWER_STEPS if self.scored.calibrated else 0):
            power = best_power(self.loss, self.scored.y, raw, self.scored.weights, power)
        return self.loss.losses(self.scored.y, power * raw)

    def advance(self, n_rounds: int) -> None:
        """Run ``n_rounds`` more rounds."""
        for _ in range(n_rounds):
            geometry = self.cycle.rounds[self.n_rounds % len(self.cycle.rounds)]
            # A round draws the same numbers whether or not it follows an earlier fit.
            rng = small_stream(self.seed, "rounds", self.cycle.name, str(self.n_rounds))
            if self.cycle.uses_own and self.n_rounds in self._own_from:
                self._differentiate()
            weights = self._drawn_weights(rng)
            gradients, hessians = self.loss.gradients(self.rows.y, self.raw, self.rows.weights)
            steps = NewtonTarget(
                rounded(gradients, self.rows.weights),
                rounded(hessians, self.rows.weights),
                self.rules.l2_regularization,
                monotonic=self.rules.monotonic,
            )
            tree = grow_tree(
                self.rows.columns,
                self._proposal(geometry),
                self._one_sum(steps, rng),
                weights,
                int(rng.integers(2**31 - 1)),
                self._limits_of(geometry),
                self.stop,
                keep_leaves=True,
                n_threads=self.n_threads,
            )
            self._add(self._finished(tree, steps, weights))

    def _limits_of(self, geometry: Geometry) -> Limits:
        """Return the limits of a round's tree. Constraints rule out symmetric trees."""
        symmetric = geometry.symmetric and self.rules.monotonic is None
        return self.rules.symmetric if symmetric else self.rules.limits

    def _one_sum(self, steps: NewtonTarget, rng: np.random.Generator) -> NewtonTarget:
        """Combine the gradients of several outputs with random factors, to evaluate splits.

        Over many rounds, all outputs are covered. Leaves hold the steps of every output.
        """
        if steps.n_outputs == 1:
            return steps
        factors = rng.standard_normal((steps.n_outputs, 1))
        both = steps.gradients @ factors, steps.hessians.mean(axis=1, keepdims=True)
        gradients, hessians = (rounded(part, self.rows.weights) for part in both)
        return replace(steps, gradients=gradients, hessians=hessians)

    def _drawn_weights(self, rng: np.random.Generator) -> np.ndarray:
        """Return the row weights of one tree; zero for rows left out of the subsample."""
        n = len(self.rows.X)
        n_drawn = max(1, round(self.rules.subsample * n))
        if n_drawn >= n:
            return self.rows.weights
        weights = np.zeros(n)
        drawn = rng.permutation(n)[:n_drawn]
        weights[drawn] = self.rows.weights[drawn]
        return weights

    def _proposal(self, geometry: Geometry) -> Any:
        """Return the proposal of a geometry; own gradients are used once they exist."""
        if geometry not in self._proposals:
            known = tuple(name for name in geometry.sources if name in self._gradients.arrays)
            growth = self._growth
            if geometry.power:
                n_axes = min(
                    growth.sizes.n_axes, int(WEIGHTED_AXES * np.sqrt(len(self.rows.table.scale)))
                )
                growth = replace(growth, sizes=replace(growth.sizes, n_axes_beside=n_axes))
            self._proposals[geometry] = growth.tried(
                replace(geometry, sources=known), self._gradients
            )
        return self._proposals[geometry]

    def _differentiate(self) -> None:
        """Update the gradients of the sum of trees; only new trees are differentiated."""
        table, X = self.rows.table, self.rows.X
        new = Forest.empty(X.shape[1], 0, self.loss.n_raw)
        if self._own is None:
            new = replace(self.before, base=None, link="identity")
        new = replace(new, averaged=False).extended(self.trees[self._n_own :])
        steps = np.maximum(table.step * robust_scale(X), 1.05 * value_gaps(X))
        differences = Differences(np.where(steps > 0, steps, 1.0), X.min(axis=0), X.max(axis=0))
        output = None
        if self.loss.n_raw > 1:
            target = surrogate_target(self.rows.y, self.loss.n_raw * (self.rows.y.ndim == 1))
            output = target.observed_outputs()
        blocks = forest_gradients(new, X, output, differences, self.n_threads)
        found = np.concatenate([block[:, 0] for block in blocks]) * table.scale
        self._own = found if self._own is None else self._own + found
        self._n_own = len(self.trees)
        own = (*pack_gradients(self._own, table.oblique), np.empty(0, np.int32))
        arrays = {**self._gradients.arrays, OWN: own}
        self._gradients = replace(self._gradients, arrays=arrays)
        self._proposals = {
            geometry: proposal
            for geometry, proposal in self._proposals.items()
            if OWN not in geometry.sources
        }

    def _finished(self, tree: GrownTree, steps: NewtonTarget, weights: np.ndarray) -> GrownTree:
        """Compute leaf values that the tree lacks or the loss refits; apply the learning rate."""
        values = tree.values
        if steps.n_outputs > 1:
            leaves = np.where(tree.leaves < 0, np.int32(-1), tree.nodes["left"][tree.leaves])
            values = steps.leaf_values(weights, leaves, len(values))
        if isinstance(self.loss, RefittedLoss):
            used = weights > 0
            leaves = tree.nodes["left"][tree.leaves[used]]
            residuals = (self.rows.y - self.raw)[used, 0]
            values = self.loss.leaf_steps(residuals, weights[used], leaves, len(values))[:, None]
            if self.rules.monotonic is not None:
                values = ordered_values(tree, values, self.rules.monotonic)
        if self.loss.link == "log":
            values = np.clip(values, -MOST_LOG_STEP, MOST_LOG_STEP)
        return tree._replace(values=self.rules.learning_rate * values)

    def _add(self, tree: GrownTree) -> None:
        """Add a tree to the sums of all rows."""
        alone = Forest.of_tree(tree, self.rows.X.shape[1])
        left_out = np.flatnonzero(tree.leaves < 0)
        # "clip" is fast; the rows that the tree did not see are set in the next step.
        leaves = tree.nodes["left"].take(tree.leaves, mode="clip")
        steps = tree.values.take(leaves, axis=0, mode="clip")
        if len(left_out):
            steps[left_out] = alone.sums(self.rows.X[left_out], self.n_threads)
        self.raw += steps
        if self.scored is not None:
            self.scored_raw += alone.sums(self.scored.X, self.n_threads)
            self.scored_losses.append(self._scored_loss(self.scored))
        self.trees.append(tree._replace(leaves=tree.leaves[:0]))

    def _scored_loss(self, scored: Scored) -> float:
        """Return the loss at the held-out rows, calibrated every few rounds."""
        if not scored.calibrated:
            return scored.loss(self.loss, self.scored_raw)
        if self.n_rounds % CALIBRATED_EVERY == 0:
            known = scored.y, self.scored_raw, scored.weights
            self._power = best_power(self.loss, *known, self._power)
        return scored.loss(self.loss, self._power * self.scored_raw)
