"""The first figure and sentence: accuracy against fit time on public tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jarf.bench import PMLB, SRBENCH, Results, mean_ranks
from jarf.bench.experiments import OURS
from jarf.pages import GRID, INK, Painter, drawing, full_mark, log_axis, save_themed, subplots

__all__ = [
    "HeadlinePanel",
    "draw_headline",
    "headline_panels",
    "headline_sentence",
    "write_headline",
]

NAME = "accuracy-and-time"
_COLOUR, _ON_DARK = "#15803d", "#4ac26b"
_NAMES = {
    "JARF": "the paper's method (JARF)",
    "JF": "the Jacobian forest (JF)",
    "JB": "Jacobian boosting (JB)",
    "JE": "the Jacobian ensemble (JE)",
}
IN_SIGHT = "Default settings of our methods were chosen on these tables."
_ORDER = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True)
class HeadlinePanel:
    """Mean rank and median CPU seconds of a fit of each method on one collection."""

    title: str
    tables: str
    n_tables: int
    ranks: dict[str, float]
    seconds: dict[str, float]

    @property
    def order(self) -> list[str]:
        """Methods, the best first."""
        return sorted(self.ranks, key=lambda method: self.ranks[method])

    @property
    def best_of_ours(self) -> str | None:
        """Our method with the best mean rank."""
        return next((method for method in self.order if method in _NAMES), None)


def headline_panels(results: Results) -> list[HeadlinePanel]:
    """Classification and regression, as far as several methods were run on the same tables."""
    found = []
    for collection, metric, title in (
        (PMLB, "kappa", "classification"),
        (SRBENCH, "r2", "regression"),
    ):
        datasets = results.datasets(collection=collection)
        methods = results.methods(datasets)
        scores = results.matrix(datasets, methods, metric)
        whole = ~np.isnan(scores).any(axis=1)
        if len(methods) < 3 or whole.sum() < 2:
            continue
        seconds = np.median(results.matrix(datasets, methods, "time_cpu")[whole], axis=0)
        found.append(
            HeadlinePanel(
                *(title, f"public {title} tables", int(whole.sum())),
                dict(zip(methods, map(float, mean_ranks(scores[whole])), strict=True)),
                dict(zip(methods, map(float, seconds), strict=True)),
            )
        )
    return found


def headline_sentence(panels: Sequence[HeadlinePanel]) -> str:
    """One sentence on our best method of each panel, whatever its place."""
    parts = []
    for panel in panels:
        own = panel.best_of_ours
        if own is None:
            continue
        place, order = panel.order.index(own), panel.order
        rank = f"ranks {_ordinal(place)} of {len(order)} methods"
        if place:
            rank += f", behind {', '.join(order[:place])},"
        time = ""
        if "RF" in panel.seconds and own != "RF":
            ratio = panel.seconds[own] / panel.seconds["RF"]
            time = f" and takes {ratio:.1f} times the fit time of a random forest"
        parts.append(f"on {panel.n_tables} {panel.tables}, {_NAMES[own]} {rank}{time}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _ordinal(place: int) -> str:
    return _ORDER[place] if place < len(_ORDER) else f"number {place + 1}"


def draw_headline(results: Results) -> Painter | None:
    """Mean rank against fit time, one point per method, ours in colour."""
    panels = headline_panels(results)
    if not panels:
        return None
    with drawing():
        size = (4.9 * len(panels) + 0.4, 4.1)
        figure, axes = subplots(1, len(panels), figsize=size, squeeze=False)
        painter = Painter(
            NAME,
            "Accuracy against fit time on public tables",
            "Each point is a method: mean rank over the tables against the median CPU time of a "
            "fit on one thread. Up and to the left is better; our methods are green. The tables "
            "are those of PMLB (classification, Cohen's kappa) and SRBench (regression, R²). "
            + IN_SIGHT,
            figure,
        )
        for ax, panel in zip(axes[0], panels, strict=True):
            _panel(painter, ax, panel)
        axes[0][0].set_ylabel("mean rank (1 is best)")
    return painter


def _panel(painter: Painter, ax: Any, panel: HeadlinePanel) -> None:
    values = list(panel.seconds.values())
    ax.set_xlim(min(values) / 1.6, max(values) * 3.2)
    reach = max(panel.ranks.values()) - min(panel.ranks.values()) or 1.0
    ax.set_ylim(max(panel.ranks.values()) + 0.12 * reach, min(panel.ranks.values()) - 0.12 * reach)
    log_axis(ax, "x")
    heights = _label_heights(panel, 0.062 * reach)
    for method, rank in panel.ranks.items():
        ours = method in OURS
        seconds = panel.seconds[method]
        mark = full_mark(ax, seconds, rank, _COLOUR if ours else GRID, "o")
        mark.set_markersize(10 if ours else 7)
        tip = f"{method}: mean rank {rank:.2f}, {seconds:.2g} s"
        painter.tag(mark, tip, method)
        ax.annotate(
            method,
            (seconds, rank),
            xytext=(seconds * 1.16, heights[method]),
            va="center",
            color=_COLOUR if ours else INK,
            fontweight="bold" if ours else "normal",
        )
    ax.set(title=f"{panel.n_tables} {panel.tables}", xlabel="median fit time, seconds")


def _label_heights(panel: HeadlinePanel, gap: float) -> dict[str, float]:
    """Heights of the labels, moved apart where labels of near times would overlap."""
    heights: dict[str, float] = {}
    for method in panel.order:
        height = panel.ranks[method]
        near = [
            other for other in heights if 1 / 4 < panel.seconds[other] / panel.seconds[method] < 4
        ]
        while any(abs(heights[other] - height) < gap for other in near):
            height += gap / 4
        heights[method] = height
    return heights


def write_headline(
    results: Results, readme: str | os.PathLike[str], folder: str = "docs/_static"
) -> str:
    """Write both images into a folder beside a Markdown file and return what shows them.

    Parameters
    ----------
    results : Results
    readme : path
        The file that will show the figure.
    folder : str
        Where the images go, relative to that file.

    Returns
    -------
    str
        Markdown.
    """
    painter = draw_headline(results)
    if painter is None:
        raise ValueError(
            "the results have no figure of accuracy and time: it needs at least three methods on "
            f"the tables of {PMLB} or {SRBENCH} (jarf reproduce --only {SRBENCH} {PMLB})"
        )
    place = Path(readme).resolve().parent / folder
    place.mkdir(parents=True, exist_ok=True)
    light, dark = (
        f"{folder}/{path.name}" for path in save_themed(painter, place, {_COLOUR: _ON_DARK})
    )
    sentence = f"{headline_sentence(headline_panels(results))} {IN_SIGHT}"
    return (
        "<picture>\n"
        f'<source media="(prefers-color-scheme: dark)" srcset="{dark}">\n'
        f'<img alt="{painter.title}" src="{light}">\n'
        f"</picture>\n\n{sentence}\n"
    )
