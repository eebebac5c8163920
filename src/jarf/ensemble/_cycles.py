"""Cycles: geometries that the rounds of boosting use in turn, or that share a forest's trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jarf.ensemble._geometries import GEOMETRIES, PLAIN, Geometry

# A source that only boosting has: the sum of its own trees so far.
OWN = "own"


@dataclass(frozen=True)
class Cycle:
    """Geometries that take turns from round to round of boosting, or share the trees of a forest.

    Parameters
    ----------
    name : str
    rounds : tuple of Geometry
        Geometries of the rounds, repeated cyclically; each tree of a forest draws one. In addition
        to the sources of a forest, boosting has "own": the gradients of the model so far, which
        replace a surrogate once there are some trees.

    Examples
    --------
    >>> from jarf import JacobianBoostingClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> from jarf.ensemble import Cycle, Geometry
    >>> X, y = make_rotated_halfspace(400, 4, angle=45, random_state=0)
    >>> mine = Cycle("mine", (Geometry("axes"), Geometry("local", local=True)))
    >>> model = JacobianBoostingClassifier(geometry=mine, max_iter=20, random_state=0)
    >>> model.fit(X, y).geometry_.name
    'mine'
    """

    name: str
    rounds: tuple[Geometry, ...]

    def __post_init__(self) -> None:
        if not self.rounds or not all(isinstance(item, Geometry) for item in self.rounds):
            raise ValueError("A Cycle needs a tuple of one or more objects of Geometry.")

    @property
    def is_plain(self) -> bool:
        """Whether all rounds try only plain axes."""
        return all(geometry.is_plain for geometry in self.rounds)

    @property
    def uses_own(self) -> bool:
        """Whether some rounds draw from the gradients of the model so far."""
        return any(OWN in geometry.sources for geometry in self.rounds)


AXES = Cycle("axes", (PLAIN,))
_SYMMETRIC = Geometry("symmetric", symmetric=True)

_LINEAR = Geometry("linear", local=True)
_DENSE = Geometry("dense", ("forest", "whitened"), local=True)
_KERNEL = Geometry("kernel", ("kernel",), n_loadings=3)
_OWN = Geometry("own", (OWN,), local=True)

CYCLES = {
    cycle.name: cycle
    for cycle in (
        AXES,
        Cycle("symmetric", (_SYMMETRIC, PLAIN)),
        Cycle("linear", (_LINEAR,)),
        Cycle("mixed", (_SYMMETRIC, _LINEAR, _DENSE, _KERNEL)),
        Cycle("recursive", (_SYMMETRIC, _LINEAR, _OWN, _SYMMETRIC, _KERNEL, _OWN)),
        Cycle("weighted", (Geometry("weighted", ("forest", "whitened"), 3, True, 1.0),)),
        Cycle("focused", (GEOMETRIES["focused"],)),
    )
}

# The geometry of "fast": the best on average without a race.
FAST = "mixed"
# The geometries that race if none are named, by the minimum number of encoded columns. The first
# has plain axes only: with symmetric trees in turn, they are better than without. "focused"
# draws axes by the square of their sensitivity, for tables in which most columns are noise.
RACERS: dict[int, tuple[str, ...]] = {0: ("symmetric", "mixed", "recursive", "weighted")}
RACERS[50] = (*RACERS[0], "focused")


def racing_cycles(
    geometry: str | Cycle | Geometry | Sequence[str | Cycle | Geometry], n_columns: int
) -> list[Cycle]:
    """List the geometries that race in boosting; a single one is used without a race.

    Parameters
    ----------
    geometry : str, Cycle, Geometry or sequence of these
        "auto": those that race by default; "fast": the best on average without a race. Plain axes
        are added to a sequence.
    n_columns : int
        Number of encoded columns.

    Returns
    -------
    list of Cycle
        The baseline first.
    """
    if isinstance(geometry, Cycle):
        return [geometry]
    if isinstance(geometry, Geometry):
        return [Cycle(geometry.name, (geometry,))]
    if geometry == "auto":
        names = next(names for least, names in reversed(RACERS.items()) if n_columns >= least)
        return [CYCLES[name] for name in names]
    if isinstance(geometry, str):
        return [CYCLES[FAST if geometry == "fast" else geometry]]
    asked = [AXES]
    for item in geometry:
        cycle = CYCLES.get(item) if isinstance(item, str) else item
        if isinstance(cycle, Geometry):
            cycle = Cycle(cycle.name, (cycle,))
        if not isinstance(cycle, Cycle):
            raise ValueError(
                f"geometry holds {item!r}; a race is between objects of Cycle or Geometry and "
                f"the names {', '.join(CYCLES)}."
            )
        if cycle != AXES and cycle.name in {other.name for other in asked}:
            raise ValueError(f"Two geometries of the race are called {cycle.name!r}.")
        asked += [cycle] if cycle != AXES else []
    return asked
