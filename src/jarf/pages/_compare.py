"""The page and the Markdown of a comparison on a user's own table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from jarf.pages._compare_figures import draw_comparison
from jarf.pages._compare_words import (
    glossary_html,
    glossary_terms,
    next_steps,
    next_steps_html,
)
from jarf.pages._page import figure_html, page_html, simple_table, table_html
from jarf.pages._style import Painter
from jarf.pages._tables import plain_text, printable, table_markdown

__all__ = ["comparison_markdown", "comparison_page"]


def comparison_markdown(summary: dict[str, Any]) -> str:
    """Return the answer, the tables and the notes as Markdown."""
    parts = [f"# {plain_text(_title(summary))}", ""]
    parts += [f"{plain_text(line)}  " for line in summary["answer"]]
    parts += ["", "## What to do next", "", *(plain_text(s) + "  " for s in next_steps(summary))]
    if summary["code"]:
        parts += ["", *(f"    {line}" for line in printable(summary["code"]).split("\n"))]
    parts += ["", "## Results", "", *(table_markdown(table) for table in summary["tables"])]
    parts += [f"- {plain_text(line)}" for line in (*_what_matters(summary), *_remarks(summary))]
    parts += ["", "## In plain words", ""]
    parts += [f"- **{plain_text(t)}**: {plain_text(text)}" for t, text in glossary_terms(summary)]
    return "\n".join(parts) + "\n"


def comparison_page(summary: dict[str, Any]) -> str:
    """Return one self-contained page: the answer first, then the evidence."""
    figures = draw_comparison(summary)
    tables = {table["id"]: table_html(table) for table in summary["tables"]}
    sections = [
        ("next", "What to do next", next_steps_html(summary)),
        ("scores", "Who wins", tables["compare-scores"] + _shown(figures, "splits", "gains")),
        ("noise", "More than noise?", tables["compare-pairs"]),
    ]
    if "compare-curve" in tables:
        html = _shown(figures, "curve") + tables["compare-curve"]
        sections.append(("curve", "With fewer rows", html))
    sections += [
        ("directions", "Which directions matter", _directions(summary, figures)),
        ("times", "Times", tables["compare-times"] + _shown(figures, "times")),
        ("words", "In plain words", glossary_html(summary)),
        ("table", "The table", _table(summary)),
    ]
    if summary["errors"]:
        sections.append(("errors", "Fits that failed", _errors(summary)))
    sections.append(("how", "How it was run", _how(summary)))
    return page_html(
        _title(summary),
        _lead(summary),
        sections,
        {"method": list(summary["scores"])},
        "Built by jarf compare.",
        compares=False,
    )


def _title(summary: dict[str, Any]) -> str:
    return f"{summary['table']['label']}: predicting {summary['table']['target']}"


def _lead(summary: dict[str, Any]) -> str:
    first, *rest = summary["answer"]
    html = f'<p class="answer">{escape(first)}</p>'
    if rest:
        html += f"<p>{escape(' '.join(rest))}</p>"
    for warning in summary["warnings"]:
        html += f'<p class="warning">Warning: {escape(warning)}.</p>'
    return html + f'<p class="soft">{escape(_protocol(summary))}</p>'


def _protocol(summary: dict[str, Any]) -> str:
    table, run = summary["table"], summary["settings"]["budget"]
    used = f"{table['rows_used']:,}"
    if table["rows_used"] < table["n_rows"]:
        used += f" of {table['n_rows']:,}"
    return (
        f"{table['task'].capitalize()}, {used} rows, {table['columns_used']} columns. "
        f"{run['repeats']} x {run['folds']} folds, the same for every method; "
        f"{run['n_trees']} trees each."
    )


def _shown(figures: dict[str, Painter], *names: str) -> str:
    found = [figures[f"compare-{name}"] for name in names if f"compare-{name}" in figures]
    return f'<div class="figures">{"".join(map(figure_html, found))}</div>'


def _paragraphs(lines: Sequence[str]) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def _directions(summary: dict[str, Any], figures: dict[str, Painter]) -> str:
    names = ("sensitivities", "loadings", "spectrum", "heat")
    html = _paragraphs(_what_matters(summary)) + _shown(figures, *names)
    if "compare-plane" in figures:
        html += "<h3>Where a rotated cut lies</h3>" + _paragraphs(_cut_words(summary))
        html += _shown(figures, "plane")
    return html


def _what_matters(summary: dict[str, Any]) -> list[str]:
    """Describe the directions in sentences."""
    found = summary["directions"]
    if "error" in found:
        return [f"The directions could not be computed: {found['error']}"]
    said = []
    if "shares" not in found:
        said.append("There are fewer than two numeric columns, so there are no directions.")
    else:
        shares = found["shares"]
        few = sum(share >= 0.1 for share in shares)
        account = "accounts for 10 % or more" if few == 1 else "account for 10 % or more each"
        said.append(
            "A direction is a weighted sum of the numeric columns; the strongest are those along "
            "which a forest's prediction changes most. Here the first direction accounts for "
            f"{100 * shares[0]:.0f} % of the total (the trace of the EJOP of the "
            f"{len(found['columns'])} numeric columns), the first two "
            f"{100 * sum(shares[:2]):.0f} %; {few} of {len(shares)} {account}. "
            f"They were estimated on the {found['n_rows']:,} training rows of the first split."
        )
        if found["agreement"]:
            first, second = found["agreement"]
            said.append(
                "The directions were also estimated on two halves of these rows. The cosine "
                f"between the two estimates is {first:.2f} for the first direction and "
                f"{second:.2f} for the second; 1 means the same direction. Do not interpret a "
                "direction whose cosine is low. A high cosine shows that a direction is not due to "
                "chance, not that it is causal."
            )
    if found.get("not_differentiated"):
        names = ", ".join(found["not_differentiated"])
        said.append(f"Not differentiated (more than 50 levels, or too many categories): {names}.")
    return said


def _cut_words(summary: dict[str, Any]) -> list[str]:
    cuts = summary["directions"]["cuts"]
    rotated, axis = cuts["rotated"], cuts["axis"]
    unit = "Brier score" if summary["table"]["task"] == "classification" else "squared error"
    return [
        f"The best single cut across a direction ({rotated['loadings']}) removes "
        f"{100 * rotated['worth']:.1f} % of the {unit} of the test rows; the best cut of a single "
        f"column, number or category, is '{axis['words']}' and removes "
        f"{100 * axis['worth']:.1f} %.",
        f"In the units of the table the rotated cut is: {rotated['words']}.",
    ]


def _remarks(summary: dict[str, Any]) -> list[str]:
    return [
        *summary["notes"],
        *summary["left_out"],
        *(f"Warning: {w}." for w in summary["warnings"]),
    ]


def _table(summary: dict[str, Any]) -> str:
    table = summary["table"]
    names = {
        "n_rows": "rows in the table",
        "rows_used": "rows used",
        "n_columns": "columns in the table",
        "columns_used": "columns used",
        "numbers": "of them numbers",
        "categories": "of them categories",
        "n_classes": "classes",
    }
    rows = [[text, table[key]] for key, text in names.items() if key in table]
    html = _paragraphs(_remarks(summary)) + simple_table("facts", ["what", "count"], rows)
    if "classes" in table:
        counts = [[name, count] for name, count in table["classes"].items()]
        html += "<h3>Rows by class</h3>" + simple_table("classes", ["class", "rows"], counts)
    return html


def _errors(summary: dict[str, Any]) -> str:
    names = ["method", "error", "fits"]
    return simple_table("errors", names, [[e[n] for n in names] for e in summary["errors"]])


def _how(summary: dict[str, Any]) -> str:
    run = summary["settings"]["budget"]
    text = (
        "Folds are stratified in classification and the same for every method. Encoders, scalers, "
        "imputers, maps and grid searches see the training rows of a split only. Numeric columns "
        "are standardised, with medians for missing values; categories, and numeric columns with "
        f"two values, are one-hot encoded, with the {run['max_levels']} most frequent levels each. "
    )
    if "XGB" in summary["scores"]:
        text += (
            "XGBoost's grid is searched inside every training part, on at most "
            f"{run['tune_rows']:,} rows in {run['tune_folds']} folds. The other methods use their "
            "default settings. "
        )
    else:
        text += "The methods use their default settings. "
    text += "Every fit runs on one thread."
    return f"<p>{escape(text)}</p><pre>{escape(json.dumps(summary['settings'], indent=1))}</pre>"
