"""Figures of the paper's theory: gains against the EJOP, rates of risk, recovered subspaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.bench import Results, ResultTable
from jarf.bench.experiments import (
    RiskCurve,
    gain_points,
    probe_curves,
    rate,
    recovery_curves,
    risk_curves,
)
from jarf.pages import GRID, INK, Painter, full_mark, log_axis, method_colour, subplots

__all__ = ["THEORY_FIGURES"]

_DASHED = (0, (4, 3))
_FUNCTIONS = ("linear", "curved", "even", "product")
_COLOURS = ("#15803d", "#d1491c", "#3b82c4")


def _gain(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    found = {name: gain_points(results, name) for name in _FUNCTIONS}
    drawn = {name: points for name, points in found.items() if points is not None}
    if not drawn:
        return None
    size = (2.7 * len(drawn) + 0.4, 4.9)
    figure, axes = subplots(2, len(drawn), figsize=size, squeeze=False, sharex="col")
    painter = Painter(
        "theory-gain",
        "Proposition A.2: gain of the best cut along a direction w against w' H0 w",
        "Each point is a direction of one draw: orange, the two leading eigenvectors of H0; grey, "
        "axes and random directions. Dashed: proportionality, with the exact factor of a linear "
        "function and Gaussian rows. Top: small nodes; bottom: the root.",
        figure,
    )
    for column, (name, points) in zip(axes.T, drawn.items(), strict=True):
        for ax, where in zip(column, ("node", "root"), strict=True):
            _directions(painter, ax, points, name, where)
        column[0].set_title(name)
        column[1].set_xlabel("w' H0 w")
    axes[0][0].set_ylabel("gain, small nodes")
    axes[1][0].set_ylabel("gain, root")
    return painter


def _directions(
    painter: Painter, ax: Any, points: dict[str, np.ndarray], name: str, where: str
) -> None:
    slopes, gains = points["slopes"], points[where]
    end = float(slopes.max())
    ax.plot([0, end], [0, 2 / np.pi * end], color=INK, ls=_DASHED, lw=1)
    for place in reversed(range(len(slopes))):
        colour = _COLOURS[1] if place < 2 else GRID
        mark = full_mark(ax, float(slopes[place]), float(gains[place]), colour)
        kind = "leading eigenvector" if place < 2 else "direction"
        painter.tag(mark, f"{name}, {kind}: w' H0 w {slopes[place]:.4f}, gain {gains[place]:.4f}")
    ax.set(xlim=(0, 1.08 * end), ylim=(0, 1.08 * max(float(gains.max()), 2 / np.pi * end)))
    ax.locator_params(nbins=4)


def _risk(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    curves = risk_curves(results)
    if not curves:
        return None
    sizes = sorted({curve.d for curve in curves})
    labels = list(dict.fromkeys(curve.label for curve in curves))
    figure, axes = subplots(1, len(sizes), figsize=(10.5, 4.2), sharey=True, squeeze=False)
    painter = Painter(
        "theory-risk",
        "Theorem 1: risk against training rows, for functions of two directions",
        "Mean squared error against the function itself, in variances of the target. Dashed: the "
        "rate of a regressor in two dimensions; dotted: in d dimensions. Slopes are in the table.",
        figure,
    )
    for ax, d in zip(axes[0], sizes, strict=True):
        here = [curve for curve in curves if curve.d == d]
        _rates(ax, here, d)
        for curve in here:
            colour = _curve_colour(curve.label, labels)
            line = ax.plot(curve.n, curve.risk, "o-", ms=4, color=colour, lw=1.5)[0]
            painter.tag(line, f"{curve.label}, d = {d}: slope {curve.slope:.2f}")
        ax.set(title=f"d = {d}", xlabel="training rows")
        log_axis(ax, "x")
    log_axis(axes[0][0], "y")
    axes[0][0].set_ylabel("risk")
    _legend(figure, labels)
    return painter


def _rates(ax: Any, curves: list[RiskCurve], d: int) -> None:
    """The two rates, from the mean of the curves at the fewest rows."""
    n = curves[0].n
    start = float(np.exp(np.mean([np.log(curve.risk[0]) for curve in curves])))
    for dimension, style in ((2, _DASHED), (d, (0, (1, 2)))):
        ax.plot(n, start * (n / n[0]) ** rate(dimension), color=INK, ls=style, lw=1)


def _curve_colour(label: str, labels: list[str]) -> str:
    known = {"JARF, top 2": "#bf8700", "RF on true subspace": "#7aa6d8"}
    return known.get(label) or method_colour(label, labels)


def _legend(figure: Any, labels: list[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_curve_colour(name, labels), marker="o", ms=4, label=name)
        for name in labels
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(labels))


def _recovery(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    every_panel = ((recovery_curves, "training rows"), (probe_curves, "probes"))
    panels = [(curves, what) for curves, what in every_panel if curves(results)]
    if not panels:
        return None
    size = (4.4 * len(panels) + 0.6, 3.9)
    figure, axes = subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
    painter = Painter(
        "theory-recovery",
        "Recovery of the subspace: principal angle to the true directions",
        "Largest (solid) and smallest (dotted) angle between the two leading eigenvectors of the "
        "EJOP and the two true directions: 0 is perfect, at 90 degrees a direction was not found.",
        figure,
    )
    every = sorted({d for curves, _ in panels for d in curves(results)})
    for ax, (curves, what) in zip(axes[0], panels, strict=True):
        for metric, style in (("angle", "o-"), ("least_angle", "o:")):
            for d, points in curves(results, metric).items():
                colour = _COLOURS[every.index(d) % len(_COLOURS)]
                label = f"d = {d}" if metric == "angle" else None
                line = ax.plot(*zip(*points, strict=True), style, ms=4, color=colour, label=label)
                text = ", ".join(f"{n:,}: {angle:.0f}°" for n, angle in points)
                painter.tag(line[0], f"d = {d}: {text}")
        ax.set(xlabel=what, ylim=(0, 92))
        log_axis(ax, "x")
    axes[0][0].set_ylabel("angle, degrees")
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(every))
    return painter


THEORY_FIGURES = (_gain, _risk, _recovery)
