"""Figures of the public yardsticks: mean ranks, distributions of R2, training times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jarf.bench import PMLB, Results, ResultTable, critical_difference
from jarf.bench.experiments import OURS, YardstickScores, srbench_scores
from jarf.pages import (
    GRID,
    INK,
    Painter,
    full_mark,
    log_axis,
    method_colour,
    method_marker,
    number,
    subplots,
)

__all__ = ["PUBLIC_FIGURES"]

_LOWEST = -0.1  # of the R2 axis: worse models are drawn at its end


@dataclass(frozen=True)
class RankPanel:
    """Mean ranks of methods over a number of tables."""

    title: str
    ranks: Mapping[str, float]
    n_tables: int


def _mark(ax: Any, x: float, y: float, method: str, run: Sequence[str]) -> Any:
    """A filled mark for a method that was run, an open circle for a published one."""
    if method in run:
        return full_mark(ax, x, y, method_colour(method, list(run)), method_marker(method))
    return ax.plot(x, y, "o", ms=5, mfc="none", mec=GRID, mew=1.2)[0]


def _name_methods(ax: Any, order: Sequence[str]) -> None:
    """Methods on the vertical axis, the first on top, ours in bold."""
    ax.set_yticks(range(len(order)), list(order))
    ax.set_ylim(len(order) - 0.4, -0.6)
    for label in ax.get_yticklabels():
        if label.get_text() in OURS:
            label.set_fontweight("bold")


def _draw_ranks(painter: Painter, axes: Any, panels: Sequence[RankPanel], run: list[str]) -> None:
    order = sorted(panels[0].ranks, key=lambda m: panels[0].ranks[m])
    for ax, panel in zip(axes, panels, strict=True):
        best = min(panel.ranks.values())
        reach = critical_difference(len(order), panel.n_tables)
        ax.axvspan(best, best + reach, color=GRID, alpha=0.18, lw=0)
        for place, method in enumerate(order):
            mark = _mark(ax, panel.ranks[method], place, method, run)
            tip = f"{method}, {panel.title}: mean rank {panel.ranks[method]:.1f}"
            painter.tag(mark, tip, method=method if method in run else "")
        ax.set(title=f"{panel.title} ({panel.n_tables} tables)", xlabel="mean rank, 1 is best")
    _name_methods(axes[0], order)


_BAND = (
    "The band begins at the best method and is as wide as Nemenyi's critical difference at 5 %: "
    "methods inside it cannot be told apart from the best. Ours are in bold."
)
_PUBLISHED = " Open circles are medians that SRBench publishes, filled marks were run here."


def _srbench_ranks(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    scores = srbench_scores(results)
    if scores is None or len(scores.datasets) < 2:
        return None
    names = {"all": "all", "friedman": "Friedman's functions", "other": "other tables"}
    panels = [
        RankPanel(
            names[name],
            dict(zip(scores.methods, map(float, scores.ranks(mask)), strict=True)),
            int(mask.sum()),
        )
        for name, mask in scores.groups().items()
    ]
    size = (3.3 * len(panels) + 1.2, 1.2 + 0.23 * len(scores.methods))
    figure, axes = subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
    painter = Painter("srbench-ranks", "SRBench: mean ranks", _BAND + _PUBLISHED, figure)
    _draw_ranks(painter, axes[0], panels, scores.run)
    return painter


def _srbench_scores(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    scores = srbench_scores(results)
    if scores is None or len(scores.datasets) < 2:
        return None
    groups = {k: m for k, m in scores.groups().items() if k != "all"}
    size = (3.6 * len(groups) + 3.6, 1.2 + 0.23 * len(scores.methods))
    figure, axes = subplots(1, len(groups) + 1, figsize=size, sharey=True, squeeze=False)
    painter = Painter(
        "srbench-r2",
        "SRBench: distribution of the test R² over tables, and training times",
        "Boxes are quartiles, lines reach the 5th and 95th percentile; R² below "
        f"{number(_LOWEST, 1)} is drawn there. Published times include tuning and were measured "
        "on other machines." + _PUBLISHED,
        figure,
    )
    middle = np.nanmedian(scores.r2, axis=0)
    order = [scores.methods[i] for i in np.argsort(-middle, kind="stable")]
    words = {"friedman": "Friedman's functions", "other": "other tables"}
    for ax, (name, mask) in zip(axes[0], groups.items(), strict=False):
        _boxes(painter, ax, scores, mask, order)
        ax.set(title=f"{words[name]} ({mask.sum()} tables)", xlabel="test R²")
        ax.set_xlim(_LOWEST - 0.03, 1.03)
    last = axes[0][-1]
    for place, method in enumerate(order):
        seconds = float(np.nanmedian(scores.seconds[:, scores.methods.index(method)]))
        mark = _mark(last, seconds, place, method, scores.run)
        painter.tag(mark, f"{method}: {seconds:.3g} s", method if method in scores.run else "")
    last.set(title="training time", xlabel="median seconds")
    log_axis(last, "x")
    _name_methods(axes[0][0], order)
    return painter


def _boxes(
    painter: Painter, ax: Any, scores: YardstickScores, mask: np.ndarray, order: list[str]
) -> None:
    for place, method in enumerate(order):
        values = scores.r2[mask, scores.methods.index(method)]
        values = np.clip(values[~np.isnan(values)], _LOWEST, None)
        low, first, middle, third, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
        was_run = method in scores.run
        colour = method_colour(method, scores.run) if was_run else GRID
        ax.plot([low, high], [place, place], color=colour, lw=1)
        box = ax.barh(
            place,
            third - first,
            left=first,
            height=0.6,
            color=colour,
            alpha=0.75 if was_run else 0.3,
        )[0]
        tip = f"{method}: median R² {number(middle)}, quartiles {number(first)} to {number(third)}"
        painter.tag(box, tip, method if was_run else "")
        ax.plot([middle, middle], [place - 0.3, place + 0.3], color=INK, lw=1.6)
    ax.grid(axis="y", visible=False)


def _pmlb_ranks(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    panels = []
    for name, title in ((PMLB, "Cohen's kappa"), (f"{PMLB}-log-loss", "log loss")):
        cells = tables[name].cells if name in tables else {}
        ranks = {m: cell.value for (row, m), cell in cells.items() if row == "Mean rank"}
        counts = [cell.n for (row, _), cell in cells.items() if row == "Mean"]
        if len(ranks) > 1 and counts[0]:
            panels.append(RankPanel(title, ranks, counts[0]))
    if not panels:
        return None
    size = (3.6 * len(panels) + 1.2, 1.2 + 0.28 * len(panels[0].ranks))
    figure, axes = subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
    painter = Painter("pmlb-ranks", "PMLB: mean ranks by kappa and by log loss", _BAND, figure)
    _draw_ranks(painter, axes[0], panels, list(panels[0].ranks))
    return painter


PUBLIC_FIGURES = (_srbench_ranks, _srbench_scores, _pmlb_ranks)
