"""The named geometries of the Jacobian forest: what a node tries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Geometry:
    """Which axes and which directions a node tries.

    Parameters
    ----------
    name : str
    sources : tuple, default=()
        Surrogates whose gradients directions are drawn from: "forest", "whitened", "kernel", a
        :class:`ModelSource`, :class:`GivenGradients`, or any function
        ``(table, target, rng, n_jobs) -> gradients``.
    n_loadings : int, default=0
        Number of largest loadings that a drawn direction keeps; 0 keeps all.
    local : bool, default=False
        Whether a node also tries the direction of a linear surrogate of its own: the canonical
        correlation of its rows with their targets in a few random columns.
    power : float, default=0.0
        Axes are drawn with probability ~ (mean squared derivative) ** power; 0 draws them
        uniformly.
    bootstrap : bool, default=False
        Whether trees see bootstrap samples. Random directions make trees diverse enough for every
        tree to see all rows.
    axes : bool, default=True
        False: a node tries its local directions only, and all of them, as in a canonical
        correlation forest.
    symmetric : bool, default=False
        Only in boosting: whether one axis cuts all nodes of a level, as in CatBoost. Such trees
        have no directions.

    Examples
    --------
    >>> from jarf import JacobianForestRegressor
    >>> from jarf.ensemble import Geometry
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> mine = Geometry("mine", sources=("forest",), n_loadings=2)
    >>> model = JacobianForestRegressor(10, geometry=mine, random_state=0).fit(X, y)
    >>> model.geometry_.name
    'mine'
    """

    name: str
    sources: tuple[Any, ...] = ()
    n_loadings: int = 0
    local: bool = False
    power: float = 0.0
    bootstrap: bool = False
    axes: bool = True
    symmetric: bool = False

    def __post_init__(self) -> None:
        if self.symmetric and (self.sources or self.local):
            raise ValueError("A geometry with symmetric=True needs local=False and no sources.")
        if not self.axes and (self.sources or not self.local):
            raise ValueError("A geometry with axes=False needs local=True and no sources.")

    @property
    def is_plain(self) -> bool:
        """Whether this is an ordinary random forest."""
        return not (self.sources or self.local or self.power)


# The source whose mean squared derivatives determine the probabilities of axes (``power``).
AXES_FROM = "forest"

PLAIN = Geometry("axes", bootstrap=True)

_FORESTS = ("forest", "whitened")

GEOMETRIES = {
    geometry.name: geometry
    for geometry in (
        PLAIN,
        Geometry("whole"),
        Geometry("linear", local=True),
        Geometry("canonical", local=True, axes=False),
        Geometry("sparse", _FORESTS, n_loadings=3, local=True),
        Geometry("weighted", _FORESTS, n_loadings=3, local=True, power=1.0),
        Geometry("focused", _FORESTS, n_loadings=3, power=2.0),
        Geometry("dense", _FORESTS, local=True),
        Geometry("smooth", ("kernel",)),
    )
}
