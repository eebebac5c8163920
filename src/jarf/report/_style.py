"""Colours, markers and the drawing defaults that all figures share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["GRID", "INK", "Painter", "drawing", "method_colour", "method_marker"]

INK = "#1b1f24"  # becomes the page's text colour in the inline form
GRID = "#8b949e"
_COLOURS = {
    "RF": "#6e7781",
    "RotF": "#bf8700",
    "CCF": "#1a9988",
    "SPORF": "#c0569b",
    "XGB": "#3b82c4",
    "PCA+RF": "#7aa6d8",
    "LDA+RF": "#9a7fd1",
    "JARF": "#d1491c",
    "JARF-XGB": "#8f5b34",
    "XGB+J": "#0b7285",
    "JF": "#15803d",
}
_MARKERS = {
    "RF": "o",
    "RotF": "s",
    "CCF": "^",
    "SPORF": "D",
    "XGB": "v",
    "PCA+RF": "<",
    "LDA+RF": ">",
    "JARF": "*",
    "JARF-XGB": "P",
    "XGB+J": "p",
    "JF": "X",
}
_MORE = ("#4d7c0f", "#be123c", "#0e7490", "#7c3aed", "#a16207", "#334155")


def method_colour(name: str, names: list[str] | None = None) -> str:
    """The colour of a method, the same in every figure."""
    if name in _COLOURS:
        return _COLOURS[name]
    others = [n for n in (names or [name]) if n not in _COLOURS]
    return _MORE[others.index(name) % len(_MORE)] if name in others else _MORE[0]


def method_marker(name: str) -> str:
    """The marker of a method."""
    return _MARKERS.get(name, "X")


@contextmanager
def drawing() -> Iterator[Any]:
    """Matplotlib without a screen, with our defaults and repeatable SVG."""
    import matplotlib

    settings: dict[Any, Any] = {
        "font.size": 10,
        "font.family": "DejaVu Sans",
        "text.color": INK,
        "axes.edgecolor": GRID,
        "axes.labelcolor": INK,
        "axes.titlesize": 10.5,
        "axes.titlecolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.8,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.alpha": 0.25,
        "grid.linewidth": 0.7,
        "xtick.color": INK,
        "ytick.color": INK,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "jarf",
        "figure.dpi": 100,
    }
    with matplotlib.rc_context(settings):
        yield matplotlib


class Painter:
    """A figure under construction, with the words to show over its points.

    Parameters
    ----------
    name : str
        File name, and the prefix of all ids in the SVG.
    title, caption : str
        Shown with the figure.
    figure : matplotlib Figure
    """

    def __init__(self, name: str, title: str, caption: str, figure: Any):
        self.name, self.title, self.caption, self.figure = name, title, caption, figure
        self.tips: dict[str, dict[str, str]] = {}

    def tag(self, artist: Any, tip: str = "", method: str = "", dataset: str = "") -> Any:
        """Give an artist a hover text, and names that the page's filters know."""
        gid = f"tip-{len(self.tips)}"
        artist.set_gid(gid)
        found = {"data-tip": tip, "data-method": method, "data-dataset": dataset}
        self.tips[gid] = {key: value for key, value in found.items() if value}
        return artist
