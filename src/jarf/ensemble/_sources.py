"""Gradients of surrogates at all training rows: what directions are drawn from.

A source is a function ``(table, target, rng, n_jobs) -> gradients`` of shape (n, d), in
standardised coordinates. Those of :data:`SOURCES` have a name; a user's own is passed as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from jarf.ensemble._backend import backend
from jarf.ensemble._forest import Forest
from jarf.ensemble._growing import Limits, Target, grow_tree, grow_trees, make_space
from jarf.gradients import (
    Differences,
    column_std,
    forest_gradients,
    gradient_blocks,
    robust_scale,
)
from jarf.surrogate import (
    KernelSurrogateClassifier,
    KernelSurrogateRegressor,
    PackedForest,
    fit_copy,
)
from jarf.surrogate._packed import NODE

# Surrogates of a Jacobian forest: their size and the step of their differences.
N_TREES = 50
STEP = 0.5
# The whitened source looks at so many principal components, the kernel at so many columns.
MAX_COMPONENTS = 200
MAX_KERNEL_COLUMNS = 500
# A third of the rows carries the kernel machine, within these limits.
KERNEL_ROWS = (300, 1000)
# Gradients are kept with so many largest entries a row.
MAX_ENTRIES = 64


@dataclass(frozen=True)
class Table:
    """Standardised training rows.

    Parameters
    ----------
    Z : ndarray of shape (n, d), float32
    oblique : ndarray of shape (d,), bool
        Columns that may be part of a direction: neither constant nor of two values.
    weights : ndarray of shape (n,)
    is_number : ndarray of shape (d,), bool
        Columns that are numbers, not encoded categories.
    rows : ndarray of shape (n,)
        Which of all training rows these are.
    std : ndarray of shape (d,)
        Standard deviations of the columns before they were standardised, 1 for constants.
    """

    Z: np.ndarray
    oblique: np.ndarray
    weights: np.ndarray
    is_number: np.ndarray
    rows: np.ndarray
    std: np.ndarray

    @classmethod
    def standardised(
        cls, X: np.ndarray, weights: np.ndarray, is_number: np.ndarray | None = None
    ) -> Table:
        std = column_std(X)
        scale = np.where(std > 0, std, 1.0)
        Z = ((X - X.mean(axis=0, dtype=np.float64)) / scale).astype(np.float32)
        oblique = np.array([_has_three_values(Z[:, j]) for j in range(Z.shape[1])])
        is_number = np.ones(Z.shape[1], bool) if is_number is None else is_number
        return cls(Z, oblique & is_number, weights, is_number, np.arange(len(Z)), scale)

    def only(self, rows) -> Table:
        """The same columns at some of the rows."""
        return replace(self, Z=self.Z[rows], weights=self.weights[rows], rows=self.rows[rows])


def _has_three_values(column: np.ndarray) -> bool:
    inner = column[(column > column.min()) & (column < column.max())]
    return len(inner) > 0


def grow_surrogate(Z, target: Target, weights, rng, n_jobs) -> PackedForest:
    """A small plain forest on the native engine, packed for exact differences."""
    n, d = Z.shape
    space = make_space(np.asfortranarray(Z), n_jobs)
    axes = backend().Axes(max(1, int(np.sqrt(d))), np.empty(0))

    def grow_one(seed, stop):
        draws = np.random.RandomState(seed % 2**32).randint(n, size=n)
        counts = np.bincount(draws, minlength=n) * weights
        return grow_tree(space, axes, target, counts, seed, Limits(), stop)

    seeds = rng.randint(np.iinfo(np.int64).max, size=N_TREES, dtype=np.int64)
    forest = Forest.empty(d, target.n_classes).extended(grow_trees(grow_one, seeds, n_jobs, 0))
    nodes = np.ascontiguousarray(forest.nodes).view(NODE).reshape(-1)
    return PackedForest(nodes, forest.roots, forest.values, d)


def steps_of(Z: np.ndarray) -> np.ndarray:
    """Half a robust standard deviation, or enough to reach the next value of a discrete column."""
    steps = STEP * robust_scale(Z)
    for j in range(Z.shape[1]):
        values = np.unique(Z[:2000, j])
        if len(values) > 1:
            steps[j] = max(steps[j], 1.05 * np.median(np.diff(values)))
    return steps


def forest_source(table: Table, target: Target, rng, n_jobs) -> np.ndarray:
    """Exact differences of a forest."""
    return _forest_gradients(table.Z, table.weights, target, rng, n_jobs)


def _forest_gradients(Z, weights, target, rng, n_jobs):
    surrogate = grow_surrogate(Z, target, weights, rng, n_jobs)
    differences = Differences(steps_of(Z), Z.min(axis=0), Z.max(axis=0))
    output = target.labels if target.n_classes else None
    blocks = [block[:, 0] for block in forest_gradients(surrogate, Z, output, differences, n_jobs)]
    return np.concatenate(blocks)


def whitened_source(table: Table, target: Target, rng, n_jobs) -> np.ndarray:
    """The same on principal components of unit variance, mapped back by the chain rule.

    A forest on correlated columns cannot see directions of little variance; here it can.
    """
    columns = np.flatnonzero(table.oblique)
    if len(columns) < 2:
        return np.zeros(table.Z.shape)
    whiten = whitening(table.Z[:, columns])
    white = (table.Z[:, columns] @ whiten).astype(np.float32)
    seen = np.hstack([white, table.Z[:, ~table.oblique]])
    gradients = _forest_gradients(seen, table.weights, target, rng, n_jobs)
    back = np.zeros(table.Z.shape)
    back[:, columns] = gradients[:, : white.shape[1]] @ whiten.T
    return back


def whitening(Z: np.ndarray) -> np.ndarray:
    """Columns that map centred rows to uncorrelated components of unit variance."""
    d = Z.shape[1]
    covariance = np.cov(Z.astype(np.float64), rowvar=False)
    first = max(0, d - MAX_COMPONENTS)
    values, vectors = linalg.eigh(covariance, subset_by_index=(first, d - 1))
    kept = values > 1e-4 * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept])


def kernel_source(table: Table, target: Target, rng, n_jobs) -> np.ndarray:
    """Closed-form gradients of a kernel machine whose metric is its own EJOP."""
    d = table.Z.shape[1]
    columns = np.arange(d)
    if d > MAX_KERNEL_COLUMNS:
        columns = np.sort(rng.permutation(d)[:MAX_KERNEL_COLUMNS])
    Z = table.Z[:, columns].astype(np.float64)
    n_rows = int(np.clip(len(Z) // 3, *KERNEL_ROWS))
    model: Any
    if target.n_classes:
        model = KernelSurrogateClassifier(n_rows, random_state=rng).fit(Z, target.labels)
        _, output = np.unique(target.labels, return_inverse=True)
    else:
        model = KernelSurrogateRegressor(n_rows, random_state=rng).fit(Z, target.responses)
        output = np.zeros(len(Z), dtype=np.intp)
    back = np.zeros(table.Z.shape)
    back[:, columns] = model.gradients(Z, output)
    return back


@dataclass(frozen=True, eq=False)
class ModelSource:
    """Gradients of a model of one's own.

    The model is fitted on standardised columns and differentiated: by its ``input_gradients`` if
    it has that method, by the exact kernel if it is a forest of scikit-learn, else by finite
    differences, which ask it 2 d times for every row.

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
    >>> forest.fit(X, y).race_.winner
    'network'
    """

    model: Any

    def __call__(self, table: Table, target: Target, rng, n_jobs) -> np.ndarray:
        Z = table.Z.astype(np.float64)
        y = target.labels if target.n_classes else target.responses
        weights = None if np.ptp(table.weights) == 0 else table.weights
        model = fit_copy(self.model, Z, y, sample_weight=weights, random_state=rng, n_jobs=n_jobs)
        differences = Differences(steps_of(table.Z), Z.min(axis=0), Z.max(axis=0))
        blocks = gradient_blocks(model, Z, y, differences, n_jobs=n_jobs)
        return np.concatenate([block[:, 0] for block in blocks])


@dataclass(frozen=True, eq=False)
class GivenGradients:
    """Gradients that were computed elsewhere, in the units of the columns.

    A race between such gradients and plain axes is honest only if they were made without the
    labels of the training rows.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        One row for each row that the forest is fitted on.
    """

    values: np.ndarray

    def __call__(self, table: Table, target: Target, rng, n_jobs) -> np.ndarray:
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 2 or len(values) <= table.rows.max() or values.shape[1] != len(table.std):
            raise ValueError(
                f"GivenGradients have shape {values.shape}, but the forest is fitted on "
                f"{table.rows.max() + 1} rows or more of {len(table.std)} columns."
            )
        if not np.isfinite(values).all():
            raise ValueError("GivenGradients hold NaN or infinity.")
        return values[table.rows] * table.std


Source = Callable[[Table, Target, np.random.RandomState, "int | None"], np.ndarray]

SOURCES: dict[str, Source] = {
    "forest": forest_source,
    "whitened": whitened_source,
    "kernel": kernel_source,
}
