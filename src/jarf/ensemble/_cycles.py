"""Cycles: geometries that the rounds of boosting use in turn, or that share a forest's trees."""

from __future__ import annotations

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
