"""Results in Markdown: the headline table of a README, and all tables for the documentation."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jarf.bench import CLASSIFICATION, EXPERIMENTS, REGRESSION
from jarf.pages import plain_text, save_png, table_markdown
from jarf.report._build import figures_of, partial_datasets, summarise
from jarf.report._claims import HOLDS, NOT_HERE, PART, UNTESTED
from jarf.report._figures import figure_names
from jarf.report._goals import IN_SIGHT

__all__ = ["headline_markdown", "tables_markdown", "write_images"]


def headline_markdown(folder: str | os.PathLike[str]) -> str:
    """Return the short table for a README: mean score, rank and time of each method."""
    summary = summarise(folder)
    tables = {t["id"]: t for e in summary["experiments"] for t in e["tables"]}
    names = {facts["name"] for facts in summary["datasets"]}
    paper = names.issuperset(CLASSIFICATION + REGRESSION)
    places = (
        ("classification", "Mean", None, 3),
        ("classification", "Mean rank", None, 2),
        ("regression", "Mean", None, 3),
        ("regression", "Mean rank", None, 2),
        ("times", None, "ratio", 2),
    )
    lines = [
        "| method | mean kappa | mean rank | mean R² | mean rank | fit time / RF |",
        "|---|---|---|---|---|---|",
    ]
    for method in (m["name"] for m in summary["methods"]):
        cells = [
            _pick(tables, table, row or method, column or method, digits, paper)
            for table, row, column, digits in places
        ]
        lines.append(f"| {plain_text(method)} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", _headline_note(summary, paper)]) + "\n"


def write_images(
    folder: str | os.PathLike[str],
    target: str | os.PathLike[str],
    page: str | os.PathLike[str],
    only: Sequence[str] | None = None,
) -> dict[str, str]:
    """Write figures as PNG files on white.

    Parameters
    ----------
    folder : path
        A results folder.
    target : path
        Where to write; it is created if needed. File names start with that of the results folder.
    page : path
        The Markdown file that will show the figures.
    only : sequence of str or None, default=None
        Names of experiments; None: all.

    Returns
    -------
    dict of str to str
        Markdown that shows each figure with its caption, by the names of the figures.
    """
    prefix, home = Path(folder).resolve().name, Path(target).resolve()
    home.mkdir(parents=True, exist_ok=True)
    address = Path(os.path.relpath(home, Path(page).resolve().parent)).as_posix()
    painters, shown = figures_of(folder), {}
    for experiment in _wanted(summarise(folder), only):
        for name in figure_names(experiment["name"], painters):
            file, painter = f"{prefix}-{name}.png", painters[name]
            save_png(painter, home / file, dpi=110, white=True)
            title, caption = plain_text(painter.title), plain_text(painter.caption)
            shown[name] = f"![{title}]({address}/{file})\n\n*{title}.* {caption}\n"
    return shown


def tables_markdown(
    folder: str | os.PathLike[str],
    images: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
) -> str:
    """Return verdicts and tables, for the documentation.

    Parameters
    ----------
    folder : path
        A results folder.
    images : mapping of str to str or None, default=None
        Markdown of figures by name; see :func:`write_images`.
    only : sequence of str or None, default=None
        Names of experiments; their tables are returned without verdicts. None: all.
    """
    summary, images = summarise(folder), images or {}
    starred = partial_datasets(summary)
    parts = []
    if only is None:
        parts += _judged("The paper's claims", summary["claims"])
        parts += _judged("Goals for our own forest (JF)", summary["goals"], IN_SIGHT)
    for experiment in _wanted(summary, only):
        parts += [f"### {experiment['title']}", ""]
        parts += [images[name] for name in figure_names(experiment["name"], images)]
        parts += [table_markdown(table, starred=starred) for table in experiment["tables"]]
    return "\n".join(parts) + "\n"


def _wanted(summary: dict[str, Any], only: Sequence[str] | None) -> list[dict[str, Any]]:
    """Return the experiments asked for; refuse names without results."""
    known = {experiment["name"]: experiment for experiment in summary["experiments"]}
    missing = [name for name in only or () if name not in known]
    if missing:
        raise ValueError(
            f"--only {missing[0]}: no such experiment among the results, which have "
            f"{', '.join(known)}"
        )
    return [known[name] for name in (known if only is None else only)]


def _judged(title: str, claims: list[dict[str, str]], note: str = "") -> list[str]:
    """Return the claims that these results test; nothing if they test none."""
    tested = [claim for claim in claims if claim["verdict"] != UNTESTED]
    if not tested:
        return []
    lines = [f"### {title}", "", *([note, ""] if note else [])]
    lines += ["| claim | verdict | evidence |", "|---|---|---|"]
    for claim in tested:
        cells = (f"{claim['claim']} ({claim['where']})", claim["verdict"], claim["evidence"])
        lines.append("| " + " | ".join(map(plain_text, cells)) + " |")
    if len(tested) < len(claims):
        lines += ["", f"Not tested by these results: {len(claims) - len(tested)} others."]
    return [*lines, ""]


def _headline_note(summary: dict[str, Any], paper: bool) -> str:
    counted = Counter(claim["verdict"] for claim in summary["claims"])
    every = (HOLDS, PART, NOT_HERE, UNTESTED)
    verdicts = ", ".join(f"{v}: {counted[v]}" for v in every if counted[v])
    tables = [
        table
        for experiment in summary["experiments"]
        if EXPERIMENTS[experiment["name"]].usual
        for table in experiment["tables"]
    ]
    left_out = dict.fromkeys(
        note for table in tables for note in table["notes"] if note.startswith("Not in the summary")
    )
    run = summary["run"]
    text = (
        f"Ours{' (the paper in parentheses)' if paper else ''}. Budget {run.get('name')}, "
        f"{summary['repeats']} x 2 splits, at most {run.get('train_cap') or 'all'} training rows, "
        f"{run.get('n_trees')} trees. Claims of the paper: {verdicts}. "
        f"{summary['unfinished']} {' '.join(left_out)}"
    )
    return plain_text(" ".join([text.rstrip(), *_goals_in_short(summary)]))


def _goals_in_short(summary: dict[str, Any]) -> list[str]:
    """Return how many goals of our own forest hold, if these results test any."""
    counted = Counter(goal["verdict"] for goal in summary["goals"])
    verdicts = [f"{v}: {counted[v]}" for v in (HOLDS, PART, NOT_HERE) if counted[v]]
    return [f"Goals for our own forest (JF): {', '.join(verdicts)}."] if verdicts else []


def _pick(
    tables: dict[str, Any], table: str, row: str, column: str, digits: int, paper: bool
) -> str:
    rows = {r["key"]: r["cells"] for r in tables.get(table, {}).get("rows", [])}
    cell = rows.get(row, {}).get(column, {})
    if "ours" not in cell:
        return ""
    text = f"{cell['ours']:.{digits}f}"
    return f"{text} ({cell['paper']:.{digits}f})" if paper and "paper" in cell else text
