"""What a node of the Jacobian forest may try, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Geometry:
    """Which axes and which directions a node tries.

    Parameters
    ----------
    name : str
    sources : tuple of str, default=()
        Surrogates whose gradients directions are drawn from ("forest", "whitened", "kernel", or
        a name of the user's own). None: axes only.
    n_loadings : int, default=0
        A direction keeps that many largest loadings; 0 keeps all.
    power : float, default=0.0
        Axes are drawn with probability ~ (mean squared derivative) ** power; 0 draws them alike.
    """

    name: str
    sources: tuple[str, ...] = ()
    n_loadings: int = 0
    power: float = 0.0


PLAIN = Geometry("axes")

_ALL = ("forest", "whitened", "kernel")

GEOMETRIES = {
    geometry.name: geometry
    for geometry in (
        PLAIN,
        Geometry("weighted", power=1.0),
        Geometry("focused", power=2.0),
        Geometry("forest-sparse", ("forest", "whitened"), n_loadings=3),
        Geometry("forest-dense", ("forest", "whitened")),
        Geometry("forest-weighted", ("forest", "whitened"), n_loadings=3, power=1.0),
        Geometry("forest-focused", ("forest",), n_loadings=3, power=2.0),
        Geometry("kernel-dense", ("kernel",)),
        Geometry("mixed-sparse", _ALL, n_loadings=3),
        Geometry("mixed-dense", _ALL),
        Geometry("mixed-weighted", _ALL, n_loadings=3, power=1.0),
    )
}
