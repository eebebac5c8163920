"""Sources: surrogates whose gradients at the training rows provide directions.

A source is fitted by ``SOURCES[name](table, target, rng, n_jobs)``; its ``gradients(table, target,
n_jobs)`` are of shape (n, d), in standardised coordinates, at the rows it was fitted on or at any
others. With several outputs, each row has the gradient of one output: its class, or the responses
in turn. Users pass their own source in place of a name: :class:`ModelSource`,
:class:`GivenGradients`, or any function of the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import linalg

from jarf._native import engine
from jarf._threads import one_blas_thread
from jarf.gradients import (
    Differences,
    column_blocks,
    column_std,
    forest_gradients,
    gradient_blocks,
    robust_scale,
    value_gaps,
)
from jarf.surrogate import Choice, KernelMachine, Rows, fit_copy, fit_machine
from jarf.trees import (
    ClassTarget,
    Forest,
    Limits,
    Target,
    TreePlan,
    grow_forest,
    make_columns,
    stream,
    tree_seeds,
)

# Surrogates of a Jacobian forest: their size, and the step of their differences in robust standard
# deviations. Long steps average out the noise of a forest.
N_TREES = 30
STEP = 1.5
# A forest that ranks the columns of a wide table for a kernel machine has one tree for this many
# columns, at least N_TREES and at most MOST_RANKING_TREES.
COLUMNS_PER_TREE, MOST_RANKING_TREES = 4, 120
# Trees of a surrogate, and rows of a kernel machine, that only serve to choose or to calibrate.
N_TREES_TRIAL, KERNEL_ROWS_TRIAL = 16, (150, 400)
# The whitened source looks at this many principal components.
MAX_COMPONENTS = 200
# No square matrix of more columns is formed, nor one of more columns than there are rows.
MAX_SQUARE = 2000
# The kernel looks at this many columns, those to which a small forest is most sensitive.
MAX_KERNEL_COLUMNS = 16
# The kernel machine uses a third of the rows, within these limits.
KERNEL_ROWS = (300, 1000)
KERNEL_CHOICE = Choice(n_refinements=3, bandwidth=1.0, ridge=1e-2, kernel="matern")
# Its columns are weighted by the sensitivities of a small forest at this many rows.
SENSITIVITY_ROWS = 8_000
# No column weighs less than this in its first metric.
LEAST_WEIGHT = 1e-3
# With more columns than this, only this many largest entries per row are kept.
MAX_DENSE, MAX_ENTRIES = 64, 24


@dataclass(frozen=True)
class Table:
    """Standardised training rows.

    Parameters
    ----------
    Z : ndarray of shape (n, d), float32
    oblique : ndarray of shape (d,), bool
        Columns that may be part of a direction: more than two values.
    weights : ndarray of shape (n,)
    is_number : ndarray of shape (d,), bool
        Columns that are numbers, not encoded categories.
    mean, scale : ndarray of shape (d,)
        What standardisation subtracts and divides by.
    rows : ndarray of shape (n,)
        Numbers of these rows among ``n_all``.
    n_all : int
    step : float
        Distance between the two probes, in robust standard deviations.
    trial : bool, default=False
        Whether the forest grown with these surrogates is only used to choose or to calibrate.
    """

    Z: np.ndarray
    oblique: np.ndarray
    weights: np.ndarray
    is_number: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    rows: np.ndarray
    n_all: int
    step: float
    trial: bool = False

    @classmethod
    def standardised(
        cls,
        X: np.ndarray,
        weights: np.ndarray,
        is_number: np.ndarray | None = None,
        step: float = STEP,
    ) -> Table:
        std = column_std(X)
        mean, scale = X.mean(axis=0, dtype=np.float64), np.where(std > 0, std, 1.0)
        Z = _standardised(X, mean, scale)
        oblique = _has_three_values(Z)
        is_number = np.ones(Z.shape[1], bool) if is_number is None else is_number
        rows = np.arange(len(Z))
        return cls(Z, oblique & is_number, weights, is_number, mean, scale, rows, len(Z), step)

    def only(self, rows) -> Table:
        """The same columns at some of the rows."""
        return replace(self, Z=self.Z[rows], weights=self.weights[rows], rows=self.rows[rows])

    def at(self, X: np.ndarray, weights: np.ndarray, rows: Any = slice(None)) -> Table:
        """The same columns, means and scales at these rows of another matrix."""
        Z = _standardised(X[rows], self.mean, self.scale)
        numbers = np.arange(len(X))[rows]
        return replace(self, Z=Z, weights=weights[rows], rows=numbers, n_all=len(X))


# Rows are standardised in blocks of at most this many values (4 MB of float64).
BLOCK_VALUES = 500_000
# A kernel machine is differentiated in blocks of this many rows, to save memory.
BLOCK_ROWS = 65_536


def _standardised(X, mean, scale) -> np.ndarray:
    Z = np.empty(X.shape, np.float32)
    size = max(1, BLOCK_VALUES // X.shape[1])
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        Z[rows] = (X[rows] - mean) / scale
    return Z


def _has_three_values(Z: np.ndarray) -> np.ndarray:
    found = np.zeros(Z.shape[1], bool)
    for columns in column_blocks(*Z.shape):
        block = Z[:, columns]
        inner = (block > block.min(axis=0)) & (block < block.max(axis=0))
        found[columns] = inner.any(axis=0)
    return found


def grow_surrogate(Z, target: Target, weights, rng, n_jobs, n_trees: int) -> Forest:
    """Grow a small plain forest."""
    n, d = Z.shape
    axes = engine().Axes(max(1, int(np.sqrt(d))), np.empty(0))
    plan = TreePlan(make_columns(np.asfortranarray(Z), n_jobs), axes, n_draws=n)
    seeds = tree_seeds(rng, n_trees)
    return grow_forest(
        lambda seed: plan, target, weights, seeds, Limits(), n_features=d, n_jobs=n_jobs
    )


def steps_of(Z: np.ndarray, step: float = STEP) -> np.ndarray:
    """Return steps in robust standard deviations that reach a discrete column's next value."""
    return np.maximum(step * robust_scale(Z), 1.05 * value_gaps(Z))


class Source(Protocol):
    """A fitted surrogate with gradients at any rows."""

    def gradients(self, table: Table, target: Target, n_jobs: int | None) -> np.ndarray: ...


@dataclass(frozen=True)
class ForestSource:
    """Exact differences of a forest."""

    forest: Forest
    differences: Differences

    @classmethod
    def fit(cls, table: Table, target: Target, rng, n_jobs) -> ForestSource:
        return cls.on(table.Z, table, target, rng, n_jobs)

    @classmethod
    def on(
        cls, Z, table: Table, target: Target, rng, n_jobs, n_trees: int | None = None
    ) -> ForestSource:
        if n_trees is None:
            n_trees = N_TREES_TRIAL if table.trial else N_TREES
        forest = grow_surrogate(Z, target, table.weights, rng, n_jobs, n_trees)
        return cls(forest, Differences(steps_of(Z, table.step), Z.min(axis=0), Z.max(axis=0)))

    def gradients(self, table: Table, target: Target, n_jobs) -> np.ndarray:
        return self.at(table.Z, target, n_jobs)

    def at(self, Z, target: Target, n_jobs) -> np.ndarray:
        output = target.observed_outputs() if target.n_outputs > 1 else None
        blocks = forest_gradients(self.forest, Z, output, self.differences, n_jobs)
        return np.concatenate([block[:, 0] for block in blocks])


@dataclass(frozen=True)
class WhitenedSource:
    """The same on principal components of unit variance, mapped back by the chain rule.

    A forest on correlated columns misses directions of small variance; here it finds them.
    """

    whiten: np.ndarray | None = None
    inner: ForestSource | None = None

    @classmethod
    def fit(cls, table: Table, target: Target, rng, n_jobs) -> WhitenedSource:
        if table.oblique.sum() < 2:
            return cls()
        whiten = whitening(table.Z[:, table.oblique])
        seen = _whitened(table, whiten)
        if seen.shape[1] == 0:  # all rows are identical
            return cls()
        return cls(whiten, ForestSource.on(seen, table, target, rng, n_jobs))

    def gradients(self, table: Table, target: Target, n_jobs) -> np.ndarray:
        back = np.zeros(table.Z.shape)
        if self.inner is not None and self.whiten is not None:
            found = self.inner.at(_whitened(table, self.whiten), target, n_jobs)
            back[:, table.oblique] = found[:, : self.whiten.shape[1]] @ self.whiten.T
        return back


def _whitened(table: Table, whiten: np.ndarray) -> np.ndarray:
    white = (table.Z[:, table.oblique] @ whiten).astype(np.float32)
    return np.hstack([white, table.Z[:, ~table.oblique]])


def whitening(Z: np.ndarray) -> np.ndarray:
    """Columns that map centred rows to uncorrelated components of unit variance."""
    d = Z.shape[1]
    if d > min(len(Z), MAX_SQUARE):
        rows = _spread_rows(Z).astype(np.float64)
        rows -= rows.mean(axis=0)
        values, vectors = leading_components(rows, MAX_COMPONENTS)
        values *= len(rows) / (len(rows) - 1)
    else:
        covariance = np.cov(Z.astype(np.float64), rowvar=False)
        first = max(0, d - MAX_COMPONENTS)
        values, vectors = linalg.eigh(covariance, subset_by_index=(first, d - 1))
    kept = values > 1e-4 * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept])


def leading_components(Z: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenvalues of the rows' mean outer product, ascending, and their eigenvectors.

    For many columns: computed from the products of at most ``MAX_SQUARE`` rows with one another.
    """
    rows = _spread_rows(Z).astype(np.float64, copy=False)
    m = len(rows)
    first = max(0, m - n_components)
    # Several BLAS threads are slower here, and bits must not depend on the number of cores.
    with one_blas_thread():
        values, left = linalg.eigh(rows @ rows.T / m, subset_by_index=(first, m - 1))
        kept = values > 1e-10 * values[-1]
        values, left = values[kept], left[:, kept]
        return values, rows.T @ (left / np.sqrt(m * values))


def _spread_rows(Z: np.ndarray) -> np.ndarray:
    """Return at most ``MAX_SQUARE`` evenly spaced rows, because tables are often sorted."""
    return Z[:: -(-len(Z) // MAX_SQUARE)]


@dataclass(frozen=True)
class KernelSource:
    """Closed-form gradients of a kernel machine whose metric is its own EJOP.

    The first metric weighs the columns by the sensitivities of a small forest: the source "forest",
    if it is given, or one of its own.
    """

    columns: np.ndarray
    weights: np.ndarray
    machine: KernelMachine

    @classmethod
    def fit(
        cls, table: Table, target: Target, rng, n_jobs, forest: Source | None = None
    ) -> KernelSource:
        if forest is None:
            forest = ForestSource.fit(table, target, rng, n_jobs)
        limits = KERNEL_ROWS_TRIAL if table.trial else KERNEL_ROWS
        n_rows = int(np.clip(len(table.Z) // 3, *limits))
        some = np.arange(len(table.Z))
        if len(some) > n_rows:
            some = np.sort(rng.choice(len(some), n_rows, replace=False))
        part = target.only(some)
        weights = column_weights(sensitivities_at(forest, table.only(some), part, n_jobs))
        columns = leading_columns(weights, MAX_KERNEL_COLUMNS)
        Z = table.Z[np.ix_(some, columns)] * weights[columns]
        rows = Rows(Z, part.indicators(), part.observed_outputs(), np.ones(len(Z)))
        return cls(columns, weights[columns], fit_machine(rows, KERNEL_CHOICE, n_rows, rng))

    def gradients(self, table: Table, target: Target, n_jobs) -> np.ndarray:
        back, output = np.zeros(table.Z.shape), target.observed_outputs()
        for start in range(0, len(back), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            Z = table.Z[rows, self.columns] * self.weights
            back[rows, self.columns] = self.machine.gradients(Z, output[rows]) * self.weights
        return back


def forest_sensitivities(table: Table, target: Target, rng, n_jobs) -> np.ndarray:
    """Return the mean squared derivatives of a small forest, by column.

    The mean is over all rows, or over a random sample of a large table. In wide tables the forest
    has more trees: each tree tries only some of the columns, so the ranks of few trees are noisy.
    """
    n_trees = min(max(table.Z.shape[1] // COLUMNS_PER_TREE, N_TREES), MOST_RANKING_TREES)
    source = ForestSource.on(table.Z, table, target, rng, n_jobs, n_trees)
    if len(table.Z) > SENSITIVITY_ROWS:
        some = np.sort(rng.choice(len(table.Z), SENSITIVITY_ROWS, replace=False))
        table, target = table.only(some), target.only(some)
    return sensitivities_at(source, table, target, n_jobs)


def sensitivities_at(source: Source, table: Table, target: Target, n_jobs) -> np.ndarray:
    """Return the mean squared derivatives of a source at these rows, by column."""
    slopes = source.gradients(table, target, n_jobs)
    return np.average(slopes**2, axis=0, weights=table.weights)


def leading_columns(scores: np.ndarray, n_columns: int) -> np.ndarray:
    """Return the numbers of the columns with the largest scores, in ascending order."""
    return np.sort(np.argsort(-scores, kind="stable")[:n_columns])


def column_weights(sensitivities: np.ndarray, power: float = 1.0) -> np.ndarray:
    """Return weights of columns with a mean square of about one.

    With a power of one, the metric of weighted columns is the diagonal of the EJOP whose entries
    are given. Columns of noise then do not hide the others.
    """
    if not sensitivities.any():
        return np.ones(len(sensitivities))
    weights = (sensitivities / sensitivities.max()) ** (0.5 * power)
    weights = np.maximum(weights / np.sqrt(np.mean(weights**2)), LEAST_WEIGHT)
    # Sums of gradients depend on the order of the trees in the last bits; weights should not.
    return weights.astype(np.float32).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ModelSource:
    """Gradients of a user's model.

    The model is fitted on standardised columns and differentiated: by its ``input_gradients`` if it
    has that method, by the exact kernel if it is a forest of scikit-learn, otherwise by finite
    differences, with 2 d predictions per row.

    Parameters
    ----------
    model : estimator
        A classifier, or a regressor where a number is predicted; it is cloned.

    Examples
    --------
    >>> from sklearn.neural_network import MLPClassifier
    >>> from jarf import JacobianForestClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> from jarf.ensemble import Geometry, ModelSource
    >>> X, y = make_rotated_halfspace(400, 4, angle=45, random_state=0)
    >>> network = ModelSource(MLPClassifier((8,), solver="lbfgs", max_iter=2000, random_state=0))
    >>> mine = Geometry("network", (network,))
    >>> forest = JacobianForestClassifier(20, geometry=["axes", mine], random_state=0)
    >>> "network" in forest.fit(X, y).race_.winners
    True
    """

    model: Any

    def __call__(self, table: Table, target: Target, rng, n_jobs) -> FittedModel:
        Z, y = table.Z.astype(np.float64), target.answers()
        weights = None if np.ptp(table.weights) == 0 else table.weights
        model = fit_copy(self.model, Z, y, sample_weight=weights, random_state=rng, n_jobs=n_jobs)
        steps = steps_of(table.Z, table.step)
        return FittedModel(model, Differences(steps, Z.min(axis=0), Z.max(axis=0)))


@dataclass(frozen=True)
class FittedModel:
    """Gradients of a fitted model at any rows."""

    model: Any
    differences: Differences

    def gradients(self, table: Table, target: Target, n_jobs) -> np.ndarray:
        Z = table.Z.astype(np.float64)
        blocks = gradient_blocks(self.model, Z, target.answers(), self.differences, n_jobs=n_jobs)
        found = np.concatenate(list(blocks))
        if found.shape[1] == 1:
            return found[:, 0]
        return found[np.arange(len(found)), target.observed_outputs()]


@dataclass(frozen=True, eq=False)
class GivenGradients:
    """Gradients that were computed elsewhere, in the units of the columns.

    A race between such gradients and plain axes is valid only if they were computed without the
    labels of the training rows.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        One row for each row that the forest is fitted on.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JacobianForestRegressor
    >>> from jarf.ensemble import Geometry, GivenGradients
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] + X[:, 1]
    >>> known = GivenGradients(np.tile([1.0, 1.0, 0.0], (200, 1)))
    >>> model = JacobianForestRegressor(10, geometry=Geometry("known", (known,)), random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    """

    values: np.ndarray

    def __call__(self, table: Table, target: Target, rng, n_jobs) -> GivenGradients:
        shape, wanted = np.shape(self.values), (table.n_all, len(table.scale))
        if shape != wanted:
            raise ValueError(
                f"GivenGradients have shape {shape}, but the forest is fitted on {wanted}: rows "
                "with zero weight are dropped, and tables of more than surrogate_rows rows are "
                "sampled."
            )
        if not np.isfinite(self.values).all():
            raise ValueError("GivenGradients contain NaN or infinity.")
        return self

    def gradients(self, table: Table, target: Target, n_jobs) -> np.ndarray:
        return np.asarray(self.values, dtype=np.float64)[table.rows] * table.scale


Fit = Callable[[Table, Target, np.random.RandomState, "int | None"], Source]

SOURCES: dict[str, Fit] = {
    "forest": ForestSource.fit,
    "whitened": WhitenedSource.fit,
    "kernel": KernelSource.fit,
}


def fit_sources(
    sources, table: Table, target: Target, seed: int, part: str, n_jobs
) -> dict[Any, Source]:
    """Fit these surrogates, given by name or as objects.

    Parameters
    ----------
    sources : iterable of str or callable
    table : Table
    target : Target
        Several responses are standardised.
    seed : int
    part : str
        Name of the part of the fit. Every source has its own stream of random numbers.
    n_jobs : int

    Returns
    -------
    dict
        The fitted sources, keyed by what was passed.
    """
    names, target = list(dict.fromkeys(sources)), comparable(target)
    fitted: dict[Any, Source] = {}
    if "forest" in names or "kernel" in names:
        # One forest serves both, and is the same if only one of them is asked for.
        rng = stream(seed, part, "forest")
        fitted["forest"] = SOURCES["forest"](table, target, rng, n_jobs)
    for number, source in enumerate(names):
        if source == "forest":
            continue
        own = not isinstance(source, str)
        rng = stream(seed, part, f"own source {number}" if own else source)
        if source == "kernel":
            fitted[source] = KernelSource.fit(table, target, rng, n_jobs, fitted["forest"])
        else:
            fit = source if own else SOURCES[source]
            fitted[source] = fit(table, target, rng, n_jobs)
    return {source: fitted[source] for source in names}


def comparable(target: Target) -> Target:
    """Return the target with several responses on one scale."""
    return target if isinstance(target, ClassTarget) else target.standardised()
