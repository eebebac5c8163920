"""Base of all displays: axes and style."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREY = "#3b82c4", "#d1491c", "#6e7781"
SERIES_COLOURS = (BLUE, ORANGE, "#15803d", "#8f5b34", "#7c3aed", "#0b7285", "#be123c", "#a16207")


class Display:
    """Base of the displays; ``plot`` sets ``ax_`` and ``figure_``."""

    ax_: Any
    figure_: Any

    def _start(self, ax: Any, size: tuple[float, float] = (6.0, 4.0)) -> Any:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("Plots need matplotlib: pip install 'jarf[plot]'.") from error
        if ax is None:
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_axisbelow(True)
        return ax
