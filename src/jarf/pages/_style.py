"""Colours, markers and the drawing defaults that all figures share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "GRID",
    "INK",
    "Painter",
    "drawing",
    "full_mark",
    "log_axis",
    "method_colour",
    "method_legend",
    "method_marker",
    "subplots",
]

INK = "#1b1f24"  # replaced by the page's text colour in inline SVG
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
    "JB": "#991b1b",
    "JE": "#db2777",
    "ET": "#4b5563",
    "HGB": "#a16207",
    "LGBM": "#65a30d",
    "CatBoost": "#ca8a04",
    "YDF-oblique": "#be185d",
    "YDF-GBT": "#7e22ce",
    "YDF-oblique-GBT": "#a855f7",
    "xRFM": "#0369a1",
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
    "JB": "P",
    "JE": "*",
    "ET": "h",
    "HGB": "d",
    "LGBM": "8",
    "CatBoost": "H",
    "YDF-oblique": "D",
    "YDF-GBT": "v",
    "YDF-oblique-GBT": "<",
    "xRFM": "^",
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
def drawing(ink: str = INK) -> Iterator[Any]:
    """Set up matplotlib without a screen, with our defaults and reproducible SVG.

    ``ink`` is the colour of texts.
    """
    import matplotlib

    settings: dict[Any, Any] = {
        "font.size": 10,
        "font.family": "DejaVu Sans",
        "text.color": ink,
        "axes.edgecolor": GRID,
        "axes.labelcolor": ink,
        "axes.titlesize": 10.5,
        "axes.titlecolor": ink,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.8,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.alpha": 0.25,
        "grid.linewidth": 0.7,
        "xtick.color": ink,
        "ytick.color": ink,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "legend.frameon": False,
        "svg.fonttype": "none",
        "text.parse_math": False,  # a column may be called $x
        "svg.hashsalt": "jarf",
        "figure.dpi": 100,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the page has its own fonts
        yield matplotlib


def subplots(*args: Any, **kwargs: Any) -> Any:
    """Return a new figure and its axes, without pyplot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = kwargs.pop("figsize")
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(*args, **kwargs)


def log_axis(ax: Any, which: str, *, small: bool = False) -> None:
    """Make the "x" or "y" axis logarithmic, with plain numbers where ticks have room.

    Small axes have fewer ticks and smaller numbers.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set(**{f"{which}scale": "log"})
    axis = getattr(ax, f"{which}axis")
    low, high = sorted(axis.get_view_interval())
    span = high / max(low, 1e-300)
    subs = (1.0,) if span > 100 else (1.0, 3.0) if small else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(base=100.0 if span > 1e5 else 10.0, subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())
    axis.set_tick_params(which="minor", length=0)
    if small:
        axis.set_tick_params(which="major", labelsize=8)


def full_mark(ax: Any, x: float, y: float, colour: str, marker: str = "o") -> Any:
    """A filled mark."""
    size = 10 if marker == "*" else 6.5
    return ax.plot(x, y, marker, ms=size, color=colour, mec="white", mew=0.5)[0]


def method_legend(figure: Any, methods: list[str]) -> None:
    """Colours and markers of the methods, above the figure."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            *([], []),
            color=method_colour(m, methods),
            marker=method_marker(m),
            ms=9 if method_marker(m) == "*" else 6,
            label=m,
        )
        for m in methods
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(methods), 6))


class Painter:
    """A figure under construction, with the hover texts of its marks.

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
        """Give an artist a hover text, and names for the page's filters."""
        gid = f"tip-{len(self.tips)}"
        artist.set_gid(gid)
        found = {"data-tip": tip, "data-method": method, "data-dataset": dataset}
        self.tips[gid] = {key: value for key, value in found.items() if value}
        return artist
