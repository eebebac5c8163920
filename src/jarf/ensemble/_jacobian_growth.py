"""How the Jacobian forest grows: directions from the surrogates' gradients at every node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jarf._native import engine
from jarf.ensemble._ccf import canonical_directions, canonical_proposal
from jarf.ensemble._geometries import AXES_FROM, Geometry
from jarf.ensemble._growth import Growth
from jarf.ensemble._sources import MAX_DENSE, MAX_ENTRIES, Source, Table, comparable
from jarf.trees import Columns, Target, TreePlan, make_columns, small_stream

# A direction mixes the gradients of this many random rows of the node.
N_MIXED = 8
# Smaller nodes try no drawn directions, or no local directions.
MIN_ROWS, MIN_LOCAL_ROWS = 10, 20
# Gradients are scaled, and in large tables computed, in blocks of this many rows.
BLOCK_ROWS = 4096
# Each source has gradients at this many random rows, or at this fraction of them if that is more.
# Smaller tables have them at all rows.
GRADIENT_ROWS, GRADIENT_SHARE = 8_000, 1 / 8
# In larger tables, directions lose loadings below this share of their largest: they take time and
# memory and hardly turn the direction.
LEAST_LOADING = 0.1
# A node has one local direction, computed from at most this many of its rows.
MAX_LOCAL_ROWS = 128


@dataclass(frozen=True)
class NodeSizes:
    """Number of candidates that a node tries.

    Parameters
    ----------
    n_axes : int
        Axes of a plain geometry.
    n_axes_beside : int
        Axes, if there are directions too.
    n_directions : int
        Drawn directions; half as many if there are local ones too.
    """

    n_axes: int
    n_axes_beside: int
    n_directions: int


@dataclass(frozen=True, eq=False)
class Gradients:
    """The gradients of all sources that some geometries need, at all rows or at some.

    Parameters
    ----------
    arrays : dict
        Of each source, the arguments of the engine's ``Gradients``: values, the columns they belong
        to (empty: all), the number of columns, and the place of each row's gradient, -1 if it has
        none (empty: all rows have one, in order).
    diagonal : ndarray of shape (d,) or None
        Mean squared derivatives, from which axes may be drawn.
    """

    arrays: dict[Any, tuple[np.ndarray, np.ndarray, int, np.ndarray]]
    diagonal: np.ndarray | None

    @classmethod
    def at(cls, sources: dict[Any, Source], table: Table, target: Target, n_jobs) -> Gradients:
        """Differentiate fitted sources at the rows of a table."""
        arrays, diagonal = {}, None
        for name, source in sources.items():
            found = source.gradients(table, comparable(target), n_jobs)
            if name == AXES_FROM:
                diagonal = np.average(found**2, axis=0, weights=table.weights)
            arrays[name] = (*pack_gradients(found, table.oblique), np.empty(0, np.int32))
        return cls(arrays, diagonal)

    @classmethod
    def sampled(
        cls,
        sources: dict[Any, Source],
        table_at: Callable[[Any], Table],
        weights: np.ndarray,
        target: Target,
        n_jobs,
    ) -> Gradients:
        """As :meth:`at`; in large tables, at random rows only.

        Parameters
        ----------
        sources : dict
        table_at : callable
            ``table_at(rows) -> Table`` of some rows.
        weights : ndarray of shape (n_rows,)
        target : Target
        n_jobs : int
        """
        n = target.n_rows
        if n <= GRADIENT_ROWS:
            return cls.at(sources, table_at(slice(None)), target, n_jobs)
        arrays, diagonal, seen, none = {}, None, comparable(target), table_at(slice(0))
        for number, (name, source) in enumerate(sources.items()):
            rows = gradient_rows(n, number)
            found = np.empty((len(rows), len(none.scale)))
            for at in range(0, len(rows), BLOCK_ROWS):
                some = rows[at : at + BLOCK_ROWS]
                block = source.gradients(table_at(some), seen.only(some), n_jobs)
                found[at : at + BLOCK_ROWS] = block
            if name == AXES_FROM:
                diagonal = np.average(found**2, axis=0, weights=weights[rows])
            places = np.full(n, -1, np.int32)
            places[rows] = np.arange(len(rows))
            arrays[name] = (*pack_gradients(found, none.oblique), places)
        return cls(arrays, diagonal)

    @property
    def is_sampled(self) -> bool:
        """Whether only some rows have gradients."""
        return any(len(places) for *_, places in self.arrays.values())

    def chances(self, power: float) -> np.ndarray:
        """Return the probabilities of axes; empty: uniform."""
        if power == 0 or self.diagonal is None or not self.diagonal.any():
            return np.empty(0)
        share = self.diagonal / self.diagonal.sum()
        # A column that the surrogate ignored keeps a small probability.
        return (share + 1e-4 / len(share)) ** power


def pack_gradients(
    gradients: np.ndarray, oblique: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Scale to unit mean square, drop columns that stay axes, keep the largest entries per row."""
    n, d = gradients.shape
    blocks = [slice(at, at + BLOCK_ROWS) for at in range(0, n, BLOCK_ROWS)]  # to save memory
    squares = np.empty(n)
    for rows in blocks:
        squares[rows] = (np.where(oblique, gradients[rows], 0.0) ** 2).sum(axis=1)
    size = np.sqrt(np.mean(squares))
    packed = np.empty((n, d), np.float32)
    for rows in blocks:
        packed[rows] = np.where(oblique, gradients[rows], 0.0) / (size if size > 0 else 1.0)
    gradients = packed
    if d <= MAX_DENSE:
        return gradients, np.empty((0, 0), np.int32), d
    places = np.argpartition(-np.abs(gradients), MAX_ENTRIES - 1, axis=1)[:, :MAX_ENTRIES]
    places = np.sort(places, axis=1).astype(np.int32)
    values = np.ascontiguousarray(np.take_along_axis(gradients, places, axis=1))
    return values, places, d


def gradient_rows(n_rows: int, number: int) -> np.ndarray:
    """Draw the rows of a large table at which its source of this number has gradients."""
    n_drawn = max(GRADIENT_ROWS, int(GRADIENT_SHARE * n_rows))
    rng = small_stream(0, "gradient rows", str(number))
    return np.sort(rng.choice(n_rows, n_drawn, replace=False))


def needed_sources(geometries: Sequence[Geometry]) -> list[Any]:
    """Return all sources that these geometries draw from."""
    found = [source for geometry in geometries for source in geometry.sources]
    if any(geometry.power for geometry in geometries):
        found.append(AXES_FROM)
    return list(dict.fromkeys(found))


@dataclass(frozen=True, eq=False)
class JacobianGrowth(Growth):
    """Grows trees with the axes and directions of geometries, which share the trees.

    Parameters
    ----------
    rules : Rules
        Without bootstrap: geometries say whether trees see bootstrap samples.
    geometries : tuple of Geometry
    sizes : NodeSizes
    sources : dict
        Fitted surrogates.
    columns : Table
        Of no rows: how columns are standardised for the surrogates.
    """

    geometries: tuple[Geometry, ...]
    sizes: NodeSizes
    sources: dict[Any, Source]
    columns: Table
    needs_context = True

    def context(self, X, weights, target, n_jobs) -> Gradients:
        return Gradients.sampled(
            self.sources, lambda rows: self.columns.at(X, weights, rows), weights, target, n_jobs
        )

    def plan_of(self, X, target, context, n_jobs) -> Callable[[int], TreePlan]:
        return self.plans_on(make_columns(X, n_jobs), len(X), context)

    def plans_on(
        self, columns: Columns, n_rows: int, gradients: Gradients
    ) -> Callable[[int], TreePlan]:
        """As ``plan_of``, on columns that were prepared before."""
        plans = [
            TreePlan(
                columns, self.tried(geometry, gradients), n_rows if geometry.bootstrap else None
            )
            for geometry in self.geometries
        ]
        return lambda seed: plans[seed % len(plans)]

    def tried(self, geometry: Geometry, gradients: Gradients) -> Any:
        """Make the proposal of a geometry."""
        numbers = self.columns.is_number
        if not geometry.axes:
            return canonical_proposal(~numbers)
        n_axes = self.sizes.n_axes if geometry.is_plain else self.sizes.n_axes_beside
        parts = [engine().Axes(n_axes, gradients.chances(geometry.power))]
        if geometry.sources:
            parts.append(engine().LargeNodes(MIN_ROWS, self._draws(geometry, gradients)))
        if geometry.local and numbers.any():
            chances = None if numbers.all() else numbers.astype(float)
            local = canonical_directions(
                int(numbers.sum()), chances=chances, max_rows=MAX_LOCAL_ROWS, max_components=1
            )
            parts.append(engine().LargeNodes(MIN_LOCAL_ROWS, local))
        return parts[0] if len(parts) == 1 else engine().Sequence(parts)

    def _draws(self, geometry: Geometry, gradients: Gradients) -> Any:
        """Draw from the local EJOP; gradients are per standard deviation of the table's rows."""
        n_directions = self.sizes.n_directions
        if geometry.local:
            n_directions = -(-n_directions // 2)
        sources = [engine().Gradients(*gradients.arrays[name]) for name in geometry.sources]
        scale = self.columns.scale.astype(np.float32)
        least = LEAST_LOADING if gradients.is_sampled else 0.0
        return engine().GradientDraws(
            sources, scale, n_directions, N_MIXED, geometry.n_loadings, least
        )
