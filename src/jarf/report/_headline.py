"""The first figure and sentence: accuracy against fit time on public tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jarf.bench import PMLB, SRBENCH, Results, mean_ranks
from jarf.pages import Painter, save_png
from jarf.report._headline_figure import DARK, LIGHT, HeadlinePanel, draw_panels

__all__ = [
    "draw_headline",
    "headline_panels",
    "headline_sentence",
    "write_headline",
]

NAME = "accuracy-and-time"
_NAMES = {
    "JF": "the Jacobian forest (JF)",
    "JB": "Jacobian boosting (JB)",
    "JE": "the Jacobian ensemble (JE)",
}
_PLACES = (
    ("classification", "kappa", PMLB),
    ("regression", "r2", SRBENCH),
)
_ORDER = ("most", "second most", "third most", "fourth most", "fifth most")


def headline_panels(results: Results) -> list[HeadlinePanel]:
    """Classification and regression, as far as several methods were run on the same tables.

    PMLB's and SRBench's tables come first; without them, those of the paper's study are shown.
    """
    found = []
    for task, metric, collection in _PLACES:
        panel = _panel(results, results.datasets(task, collection=collection), task, metric)
        panel = panel or _panel(results, results.datasets(task), task, metric, study=True)
        if panel is not None:
            found.append(panel)
    return found


def _panel(
    results: Results, datasets: list[str], task: str, metric: str, study: bool = False
) -> HeadlinePanel | None:
    """One panel over the tables on which every method has a result."""
    methods = results.methods(datasets)
    scores = results.matrix(datasets, methods, metric)
    whole = ~np.isnan(scores).any(axis=1)
    if len(methods) < 3 or "RF" not in methods or whole.sum() < 2:
        return None
    seconds = results.matrix(datasets, methods, "time_cpu")[whole]
    ratios = np.median(seconds / seconds[:, [methods.index("RF")]], axis=0)
    return HeadlinePanel(
        task,
        int(whole.sum()),
        dict(zip(methods, map(float, mean_ranks(scores[whole])), strict=True)),
        dict(zip(methods, map(float, ratios), strict=True)),
        study,
    )


def headline_sentence(panels: Sequence[HeadlinePanel]) -> str:
    """One sentence on our best method of each panel, whatever its place."""
    groups: dict[tuple[str, str], list[HeadlinePanel]] = {}
    for panel in panels:
        own = next((method for method in panel.order if method in _NAMES), None)
        if own is not None:
            groups.setdefault((own, _standing(panel, own)), []).append(panel)
    parts = []
    for (own, standing), same in groups.items():
        tables = " and ".join(f"on {panel.n_tables} public {panel.task} tables" for panel in same)
        times = " and ".join(f"{panel.times[own]:.1f}" for panel in same)
        parts.append(
            f"{_NAMES[own]} is on average {standing} {tables}, and a fit takes {times} times as "
            "long as that of a random forest"
        )
    return f"Without tuning, {'; '.join(parts)}." if parts else ""


def _standing(panel: HeadlinePanel, own: str) -> str:
    """The place of a method, for a sentence."""
    place = panel.order.index(own)
    word = _ORDER[place] if place < len(_ORDER) else f"number {place + 1} of the most"
    behind = f", behind {', '.join(panel.order[:place])}," if place else ""
    return f"the {word} accurate of {len(panel.order)} methods{behind}"


def headline_notes(panels: Sequence[HeadlinePanel]) -> str:
    """How the figure was measured, and what our methods were developed on."""
    collections = {"classification": "PMLB", "regression": "SRBench"}
    named = dict.fromkeys(
        "the paper's study" if panel.study else collections[panel.task] for panel in panels
    )
    text = (
        "Each point is a method: its mean rank over the tables, by Cohen's kappa or R², against "
        "the median CPU time of a fit on one thread. Up and to the left is better. The tables are "
        f"those of {' and '.join(named)}. "
    )
    if any("XGB" in panel.times for panel in panels):
        text += "XGBoost is tuned; its time leaves out the search. "
    if all(panel.study for panel in panels):
        return text + (
            "The Jacobian forest was developed on these tables and is a member of the ensemble, so "
            "the results of both are not independent evidence."
        )
    return text + "Default settings of our methods were chosen on these tables."


def draw_headline(results: Results, dark: bool = False) -> Painter | None:
    """Mean rank against fit time, one point per method, ours in colour; None without panels."""
    panels = headline_panels(results)
    if not panels:
        return None
    title = "Accuracy against fit time on public tables"
    return draw_panels(NAME, title, headline_notes(panels), panels, DARK if dark else LIGHT)


def write_headline(results: Results, page: str | os.PathLike[str]) -> str:
    """Write both images into ``_static`` or ``docs/_static`` and return what shows them.

    Parameters
    ----------
    results : Results
    page : path
        The Markdown file that will show the figure. The images go into the folder ``_static``
        beside it if there is one, otherwise into ``docs/_static``.

    Returns
    -------
    str
        Markdown.
    """
    panels = headline_panels(results)
    if not panels:
        raise ValueError(
            "the results have no figure of accuracy and time: it needs at least three methods, RF "
            f"among them, on the same tables (jarf reproduce --only {SRBENCH} {PMLB})"
        )
    home = Path(page).resolve().parent
    folder = "_static" if (home / "_static").is_dir() else "docs/_static"
    (home / folder).mkdir(parents=True, exist_ok=True)
    shown = {theme: f"{folder}/{NAME}-{theme}.png" for theme in ("light", "dark")}
    for theme, path in shown.items():
        painter = draw_headline(results, dark=theme == "dark")
        assert painter is not None
        save_png(painter, home / path)
    sentence, alt = headline_sentence(panels), _alternative(panels)
    return (
        f"{sentence}\n\n<picture>\n"
        f'  <source media="(prefers-color-scheme: dark)" srcset="{shown["dark"]}">\n'
        f'  <img alt="{alt}" src="{shown["light"]}">\n'
        f"</picture>\n\n*{headline_notes(panels)}*\n"
    )


def _alternative(panels: Sequence[HeadlinePanel]) -> str:
    """The figure in words, for readers who do not see it."""
    parts = [
        f"{panel.n_tables} public {panel.task} tables, mean rank and fit time relative to a "
        "random forest: "
        + ", ".join(f"{m} {panel.ranks[m]:.1f} and {panel.times[m]:.2g}" for m in panel.order)
        for panel in panels
    ]
    return "; ".join(parts) + "."
