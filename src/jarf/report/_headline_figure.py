"""Draw the first figure: one point per method, with its name beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jarf.pages import INK, Painter, drawing, log_axis, subplots

__all__ = ["DARK", "LIGHT", "OWN", "HeadlinePanel", "Theme", "draw_panels"]

OWN = ("XGB+J", "JF", "JB", "JE")  # the paper's method is not ours
_LABELS = {
    "RF": "random forest",
    "ET": "extra trees",
    "XGB": "XGBoost",
    "LGBM": "LightGBM",
    "HGB": "HistGradientBoosting",
    "JF": "Jacobian forest",
    "JB": "Jacobian boosting",
    "JE": "Jacobian ensemble",
}


@dataclass(frozen=True)
class HeadlinePanel:
    """Mean ranks and fit times of methods on the tables of one task.

    Attributes
    ----------
    task : str
    n_tables : int
        Tables on which every method has a result.
    ranks : dict of str to float
        Mean rank by method.
    times : dict of str to float
        Median over the tables of the CPU time of a fit over that of RF.
    study : bool
        Whether the tables are those of the paper's study.
    """

    task: str
    n_tables: int
    ranks: dict[str, float]
    times: dict[str, float]
    study: bool = False

    @property
    def order(self) -> list[str]:
        """Methods, the best first."""
        return sorted(self.ranks, key=lambda method: self.ranks[method])


@dataclass(frozen=True)
class Theme:
    """Colours of texts, of our methods and of the others."""

    ink: str
    ours: str
    others: str


LIGHT = Theme(INK, "#0072b2", "#6e7781")  # the blue of Okabe and Ito
DARK = Theme("#e6edf3", "#56b4e9", "#9aa4ae")


def draw_panels(
    name: str, title: str, caption: str, panels: Sequence[HeadlinePanel], theme: Theme
) -> Painter:
    """Mean rank against fit time; up and to the left is better."""
    with drawing(theme.ink):
        figure, axes = subplots(1, len(panels), figsize=(4.9 * len(panels), 3.9), squeeze=False)
        painter = Painter(name, title, caption, figure)
        for ax, panel in zip(axes[0], panels, strict=True):
            _draw(painter, ax, panel, theme)
        axes[0][0].set_ylabel("mean rank, 1 is best")
        figure.supxlabel("fit time relative to a random forest (logarithmic)", fontsize=10)
    return painter


def _draw(painter: Painter, ax: Any, panel: HeadlinePanel, theme: Theme) -> None:
    times, ranks = (np.array(list(values.values())) for values in (panel.times, panel.ranks))
    margin = (times.max() / times.min()) ** 0.13 * 1.05
    ax.set_xlim(times.min() / margin, times.max() * margin)
    reach = float(np.ptp(ranks)) or 1.0
    ax.set_ylim(ranks.max() + 0.14 * reach, ranks.min() - 0.14 * reach)
    log_axis(ax, "x")
    ax.axvline(1.0, color=theme.others, lw=0.8, alpha=0.7, zorder=0)
    for method, rank in panel.ranks.items():
        ours, time = method in OWN, panel.times[method]
        colour = theme.ours if ours else theme.others
        face = colour if ours else "none"
        mark = ax.plot(time, rank, "o", ms=9 if ours else 7, mfc=face, mec=colour, mew=1.6)[0]
        tip = f"{method}: mean rank {rank:.2f}, {time:.2g} times the fit time of RF"
        painter.tag(mark, tip, method)
    _label(ax, panel, theme)
    ax.set_title(f"{panel.n_tables} public {panel.task} tables", pad=8)
    ax.text(0.02, 0.97, "↖ better", transform=ax.transAxes, va="top", color=theme.others)


def _label(ax: Any, panel: HeadlinePanel, theme: Theme) -> None:
    """Write the names beside the points, where they cover neither points nor other names."""
    figure = ax.figure
    figure.canvas.draw()  # the layout decides where the points are
    inside = ax.get_window_extent()
    places = ax.transData.transform([(panel.times[m], panel.ranks[m]) for m in panel.order])
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in places]
    taken.append((inside.x0, inside.y1 - 24, inside.x0 + 70, inside.y1))  # the hint in the corner
    for method, (x, y) in zip(panel.order, places, strict=True):
        ours = method in OWN
        text = ax.annotate(
            _LABELS.get(method, method),
            (panel.times[method], panel.ranks[method]),
            xytext=(0, 0),
            textcoords="offset points",
            verticalalignment="bottom",
            color=theme.ours if ours else theme.ink,
            fontweight="bold" if ours else "normal",
        )
        size = text.get_window_extent()
        choices = _boxes(x, y, size.width, size.height)
        best = min(choices, key=lambda box: _cost(box, taken, inside))
        taken.append(best)
        points = 72 / figure.dpi
        text.set_position(((best[0] - x) * points, (best[1] - y) * points))


Box = tuple[float, float, float, float]


def _boxes(x: float, y: float, width: float, height: float) -> list[Box]:
    """Places for a name around a point, the preferred ones first."""
    found = []
    for rise in (0, 12, -12, 20, -20, 30, -30):
        for left in (x + 11, x - 11 - width, x - width / 2):
            if left != x - width / 2 or abs(rise) > 15:
                low = y + rise - height / 2
                found.append((left, low, left + width, low + height))
    return found


def _cost(box: Box, taken: Sequence[Box], inside: Any) -> float:
    """Area that a name would share with others, and what it would have outside the axes."""
    shared = sum(_shared(box, other) for other in taken)
    area = (box[2] - box[0]) * (box[3] - box[1])
    return shared + 2 * (area - _shared(box, (inside.x0, inside.y0, inside.x1, inside.y1)))


def _shared(a: Box, b: Box) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0.0) * max(height, 0.0)
