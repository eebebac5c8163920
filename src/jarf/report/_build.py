"""From a results folder to summary, tables, figures and page. Nothing is fitted here."""

from __future__ import annotations

import json
import os
from collections import Counter
from html import escape
from pathlib import Path
from typing import Any

from jarf.bench import (
    CLASSIFICATION,
    EXPERIMENTS,
    PMLB,
    REGRESSION,
    SRBENCH,
    Results,
    ResultTable,
    StoreError,
    get_dataset,
    get_method,
    load_rows,
    method_names,
    read_run,
)
from jarf.pages import (
    Painter,
    claims_html,
    csv_cell,
    figure_html,
    page_html,
    save_figure,
    simple_table,
    table_csv,
    table_html,
    table_markdown,
    write_text,
)
from jarf.report._claims import HOLDS, NOT_HERE, PART, UNTESTED, judge
from jarf.report._figures import draw_figures, figure_names
from jarf.report._goals import GOALS, IN_SIGHT
from jarf.report._headline import draw_headline, headline_panels, headline_sentence
from jarf.report._paper import beside_paper, paper_cell, paper_reference

__all__ = [
    "build_report",
    "load_results",
    "summarise",
]


def load_results(folder: str | os.PathLike[str]) -> Results:
    """Return the stored rows and settings of a results folder."""
    return Results(load_rows(folder), read_run(folder)[0])


def result_tables(results: Results) -> dict[str, list[ResultTable]]:
    """Return the tables of every experiment that has results."""
    made = {name: experiment.tables(results) for name, experiment in EXPERIMENTS.items()}
    kept = {name: [table for table in tables if table.cells] for name, tables in made.items()}
    kept = {name: tables for name, tables in kept.items() if tables}
    note = _other_data(results)
    for table in (table for tables in kept.values() for table in tables):
        if note and paper_reference(table.id) and table.id != "beeswarm":
            table.notes.append(note)
    return kept


def _other_data(results: Results) -> str:
    """Return a note if the paper's means are over other datasets than this run's."""
    missing = [d for d in CLASSIFICATION + REGRESSION if d not in results.datasets()]
    if not missing:
        return ""
    return (
        "The paper's means, counts and times are over its own 15 + 5 datasets, of which this run "
        f"lacks {len(missing)}: compare with care."
    )


def summarise(folder: str | os.PathLike[str], results: Results | None = None) -> dict[str, Any]:
    """Return everything on the page as a plain dict.

    Parameters
    ----------
    folder : path
        A results folder.
    results : Results or None
        Its rows, if they are already read.

    Returns
    -------
    dict
        ``run``, ``environment``, ``counts``, ``headline``, ``experiments`` with their tables,
        ``claims``, ``goals``, ``datasets``, ``methods``, ``not_run``, ``errors``.
    """
    return _summary_and_tables(folder, load_results(folder) if results is None else results)[0]


def _summary_and_tables(
    folder: str | os.PathLike[str], results: Results
) -> tuple[dict[str, Any], dict[str, ResultTable]]:
    tables = result_tables(results)
    by_id = {table.id: table for group in tables.values() for table in group}
    names = results.datasets() + results.datasets(simulated=True)
    for collection in (SRBENCH, PMLB):
        names += results.datasets(collection=collection)
    methods = results.methods(names)
    environments = read_run(folder)[1]
    summary = {
        "run": results.settings,
        "environment": environments,
        "counts": {
            "rows": len(results.rows),
            "errors": len(results.errors),
            "study": len(results.datasets()),
        },
        "headline": headline_sentence(headline_panels(results)),
        "repeats": results.repeats(),
        "unfinished": results.unfinished().strip(),
        "experiments": [
            {
                "name": name,
                "title": EXPERIMENTS[name].title,
                "paper": EXPERIMENTS[name].paper,
                "tables": [beside_paper(table) for table in group],
            }
            for name, group in tables.items()
        ],
        "claims": judge(results, by_id),
        "goals": judge(results, by_id, GOALS) if "JF" in methods else [],
        "datasets": [_dataset_facts(results, name) for name in names],
        "methods": [{"name": name, "note": _note(name)} for name in methods],
        "not_run": _not_run(methods, environments),
        "errors": _errors(results),
    }
    return summary, by_id


def _not_run(methods: list[str], environments: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return methods of the study without results, and why, so that no table has a silent gap."""
    missing = {name for found in environments for name in found.get("not_installed", [])}
    return [
        {"name": name, "why": "not installed" if name in missing else "not run"}
        for name in method_names()
        if name not in methods
    ]


def _dataset_facts(results: Results, name: str) -> dict[str, Any]:
    rows = results.frame[results.frame["dataset"] == name]
    first = rows.iloc[0]
    printed = {key: paper_cell("datasets", name, key) for key in ("rows", "columns")}
    return {
        "name": name,
        "task": str(first["task"]),
        **{name: int(rows[name].fillna(0).max()) for name in ("n_rows", "n_train", "n_test")},
        "columns": int(first["d"]),
        "numeric": int(first["d_numeric"]),
        "classes": int(first["n_classes"]),
        "paper_rows": printed["rows"] and printed["rows"]["value"],
        "paper_columns": printed["columns"] and printed["columns"]["value"],
        "partial": bool(rows["partial"].any()),
        "source": str(first["source"]),
        "licence": _licence(name),
        "fits": len(rows),
    }


def _licence(name: str) -> str:
    try:
        return get_dataset(name).licence
    except KeyError:
        return "not stated"


def _note(name: str) -> str:
    try:
        return get_method(name).note
    except KeyError:
        return "registered by the user"


def _errors(results: Results) -> list[dict[str, Any]]:
    counted = Counter((row.dataset, row.method, row.variant, row.error) for row in results.errors)
    names = ("dataset", "method", "variant", "error")
    return [{**dict(zip(names, key, strict=True)), "fits": n} for key, n in counted.items()]


def build_report(folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """Write ``index.html``, ``summary.json``, ``tables/`` and ``figures/``.

    Parameters
    ----------
    folder : path
        A results folder.
    out : path or None
        Where to write; None means ``report`` inside the results folder.

    Returns
    -------
    Path
        The page.
    """
    results = load_results(folder)
    summary, by_id = _summary_and_tables(folder, results)
    target = _own_folder(Path(folder) / "report") if out is None else Path(out)
    tables, figures = (_own_folder(target / name) for name in ("tables", "figures"))
    for experiment in summary["experiments"]:
        for table in experiment["tables"]:
            write_text(tables / f"{table['id']}.csv", table_csv(table))
            text = table_markdown(table, starred=partial_datasets(summary))
            write_text(tables / f"{table['id']}.md", text)
    painters = {painter.name: painter for painter in draw_figures(results, by_id)}
    for painter in painters.values():
        save_figure(painter, figures)
    write_text(target / "summary.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")
    write_text(tables / "rows.csv", _rows_csv(results))
    page = target / "index.html"
    first = draw_headline(results)
    if first is not None:
        save_figure(first, figures)
    write_text(page, _page(summary, painters, first))
    return page


def figures_of(folder: str | os.PathLike[str]) -> dict[str, Painter]:
    """Draw all figures of a results folder; return them by name."""
    results = load_results(folder)
    by_id = _summary_and_tables(folder, results)[1]
    return {painter.name: painter for painter in draw_figures(results, by_id)}


def partial_datasets(summary: dict[str, Any]) -> list[str]:
    """Return the datasets of which only a part of the registered rows was available."""
    return [facts["name"] for facts in summary["datasets"] if facts["partial"]]


def _own_folder(path: Path) -> Path:
    """Create a folder of the report; a link in its place would redirect our files."""
    if path.is_symlink():
        raise StoreError(f"{path} is a link; remove it, or choose another folder with --out")
    path.mkdir(parents=True, exist_ok=True)
    return path


def _rows_csv(results: Results) -> str:
    """Write all rows as one flat table, safe against formulas in spreadsheets."""
    frame = results.frame.copy()
    frame.columns = [csv_cell(str(name)) for name in frame.columns]
    for name in frame.columns:
        if frame[name].dtype.kind not in "biufc":
            frame[name] = [csv_cell(v) if isinstance(v, str) else v for v in frame[name]]
    return frame.to_csv(index=False, lineterminator="\n")


def _page(summary: dict[str, Any], painters: dict[str, Painter], first: Painter | None) -> str:
    starred = partial_datasets(summary)
    sections = [("claims", "The paper's claims", _claims(summary))]
    if any(goal["verdict"] != UNTESTED for goal in summary["goals"]):
        sections.append(("goals", "Goals for our own forest", _goals(summary)))
    for experiment in summary["experiments"]:
        names = figure_names(experiment["name"], painters)
        html = "".join(figure_html(painters[name]) for name in names)
        html += "".join(table_html(table, starred) for table in experiment["tables"])
        sections.append((experiment["name"], experiment["title"], html))
    sections.append(("data", "Data and methods", _data(summary)))
    if summary["errors"]:
        sections.append(("errors", "Fits that failed", _error_table(summary)))
    sections.append(("how", "How it was run", _how(summary)))
    filters = {
        "dataset": [facts["name"] for facts in summary["datasets"]],
        "method": [method["name"] for method in summary["methods"]],
    }
    return page_html(
        "Jacobian Aligned Random Forests: a replication study",
        _first(summary, first) + _lead(summary),
        sections,
        filters,
        "Built by jarf report from stored results alone.",
    )


def _first(summary: dict[str, Any], painter: Painter | None) -> str:
    """Return the start of the page: accuracy and time on public tables, as text and figure."""
    if painter is None:
        return ""
    return f"<p>{escape(summary['headline'])}</p>{figure_html(painter)}"


def _lead(summary: dict[str, Any]) -> str:
    run, counts = summary["run"], summary["counts"]
    cap = f"at most {run['train_cap']:,}" if run.get("train_cap") else "no cap on"
    real = [f for f in summary["datasets"] if not f["source"].startswith("jarf.datasets")]
    study = summary["counts"]["study"]
    text = "Our measurements on tables that others published."
    if study or not real:
        text = (
            "Our measurements next to the numbers printed in <i>Jacobian Aligned Random "
            "Forests</i> (Rauniyar, ICLR 2026). The protocol is the paper's; nothing was tuned to "
            "match its results."
        )
    splits = f"{summary['repeats']} x 2 cross-validation, {cap} training rows, " if study else ""
    return (
        f"<p>{text}</p>"
        f'<p class="soft">{counts["rows"]:,} fits on {len(real)} datasets, budget '
        f"<b>{escape(str(run.get('name', '?')))}</b>: {splits}{run.get('n_trees', '?')} trees"
        f"{', ' + str(counts['errors']) + ' fits failed' if counts['errors'] else ''}. "
        f"{summary['unfinished']}</p>"
    )


def _claims(summary: dict[str, Any]) -> str:
    counted = Counter(claim["verdict"] for claim in summary["claims"])
    if set(counted) == {UNTESTED}:
        return '<p class="note">These results do not test the claims of the paper.</p>'
    words = "".join(
        f"<span><b>{counted[verdict]}</b> {verdict}</span>"
        for verdict in (HOLDS, PART, NOT_HERE, UNTESTED)
        if counted[verdict]
    )
    small = ""
    if summary["run"].get("name") == "quick":
        small = (
            '<p class="note">A quick run uses small datasets that ship with scikit-learn, not '
            "the paper's. Its verdicts only demonstrate the page.</p>"
        )
    rule = (
        '<p class="note">Each verdict follows a fixed rule in the code: a claim holds if our '
        "number is close to the paper's, and holds in part if it has the right sign and a "
        "substantial share of the size.</p>"
    )
    return f'<div class="counts">{words}</div>{small}{rule}{claims_html(summary["claims"])}'


def _goals(summary: dict[str, Any]) -> str:
    note = (
        '<p class="note">JF is our Jacobian forest: directions from gradients at every node, if '
        f"they help on held-out rows. {IN_SIGHT}</p>"
    )
    return note + claims_html(summary["goals"])


_FACTS = {
    "task": "task",
    "n_rows": "rows",
    "paper_rows": "paper's rows",
    "n_train": "training rows",
    "n_test": "test rows",
    "columns": "columns",
    "numeric": "numeric",
    "paper_columns": "paper's columns",
    "classes": "classes",
    "source": "source",
    "licence": "licence",
    "fits": "fits",
}


def _data(summary: dict[str, Any]) -> str:
    rows = [
        [facts["name"] + ("*" if facts["partial"] else ""), *(facts[key] or None for key in _FACTS)]
        for facts in summary["datasets"]
    ]
    html = simple_table("datasets", ["dataset", *_FACTS.values()], rows)
    if any(f["partial"] for f in summary["datasets"]):
        html += '<p class="note">* Only a part of the registered rows was available.</p>'
    html += (
        '<p class="note">Columns are counted after one-hot encoding (the paper counts before); '
        "only numeric columns are rotated. Columns with two values count as categories.</p>"
    )
    methods = [[method["name"], method["note"], "run"] for method in summary["methods"]]
    methods += [[left["name"], _note(left["name"]), left["why"]] for left in summary["not_run"]]
    return html + simple_table("methods", ["method", "what it is", "in this run"], methods)


def _error_table(summary: dict[str, Any]) -> str:
    names = ["dataset", "method", "variant", "error", "fits"]
    return simple_table("errors", names, [[e[n] for n in names] for e in summary["errors"]])


def _how(summary: dict[str, Any]) -> str:
    run = summary["run"]
    tuning = "the training half of the first split of each dataset, for all its splits"
    if run.get("tune_each_split"):
        tuning = "every training half"
    text = (
        "<p>Repeated two-fold splits, stratified in classification, the same for all methods. "
        "Encoders, scalers, imputers, maps and grid searches see the training half only. Numeric "
        "columns "
        "are standardised with medians for missing values, categories are one-hot encoded, numeric "
        "targets are standardised. Every fit runs on one thread. XGBoost's grid (appendix B.1) is "
        f"searched inside {tuning}, on at most {run.get('tune_rows') or 'all'} rows.</p>"
    )
    facts = {"settings": run, "environment": summary["environment"]}
    return text + f"<pre>{escape(json.dumps(facts, indent=1))}</pre>"
