"""Parts of a self-contained page: sortable tables, figures with hover texts, filters.

Every text that may come from data or users passes `html.escape`. The parts do not depend on the
paper, so that other commands can use them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from jarf.pages._style import Painter
from jarf.pages._svg import inline_svg
from jarf.pages._tables import NONE, number, row_digits

__all__ = ["claims_html", "figure_html", "page_html", "simple_table", "table_html"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_CLASSES = {"holds": "holds", "holds in part": "part", "does not hold here": "not"}


def page_html(
    title: str,
    lead: str,
    sections: Sequence[tuple[str, str, str]],
    filters: Mapping[str, Sequence[str]],
    footer: str = "",
    compares: bool = True,
) -> str:
    """Return the whole page.

    Parameters
    ----------
    title : str
        Plain text.
    lead, footer : str
        HTML.
    sections : sequence of (id, title, html)
    filters : dict of str to names
        What can be hidden, by kind: "dataset", "method".
    compares : bool
        Whether tables contain the paper's numbers, to switch between views.
    """
    links = "".join(f'<a href="#{escape(name)}">{escape(text)}</a>' for name, text, _ in sections)
    body = "".join(
        f'<section id="{escape(name)}"><h2>{escape(text)}</h2>{html}</section>'
        for name, text, html in sections
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{_asset("page.css")}</style>
</head>
<body data-view="all">
<header class="top"><h1>{escape(title)}</h1>{lead}<nav class="contents">{links}</nav></header>
{_bar(filters, compares)}
<main>{body}<footer>{footer}</footer></main>
<div id="tip" role="status"></div>
<script>{_asset("page.js")}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return files("jarf.pages").joinpath("assets", name).read_text(encoding="utf-8")


def _bar(filters: Mapping[str, Sequence[str]], compares: bool) -> str:
    menus = "".join(_menu(kind, names) for kind, names in filters.items() if names)
    views = "".join(
        f'<button type="button" value="{value}" aria-pressed="{str(value == "all").lower()}">'
        f"{text}</button>"
        for value, text in (
            ("all", "all numbers"),
            ("ours", "ours"),
            ("paper", "paper"),
            ("difference", "difference"),
        )
    )
    switch = f'<span class="views" role="group" aria-label="numbers shown">{views}</span>'
    return (
        f'<div class="bar"><div>{menus}{switch if compares else ""}<span class="grow"></span>'
        '<button type="button" id="theme">light / dark</button></div></div>'
    )


def _menu(kind: str, names: Sequence[str]) -> str:
    boxes = "".join(
        f'<label><input type="checkbox" checked data-filter="{kind}" value="{escape(name)}"> '
        f"{escape(name)}</label>"
        for name in names
    )
    every = (
        f'<label class="all"><input type="checkbox" checked data-filter="{kind}" value=""> '
        "all</label>"
    )
    return (
        f'<details class="filter" data-kind="{kind}"><summary>{kind}s</summary>'
        f'<div class="choices">{every}{boxes}</div></details>'
    )


def table_html(table: dict[str, Any], starred: Sequence[str] = ()) -> str:
    """Return a sortable table: our number, with the paper's and the difference below.

    Parameters
    ----------
    table : dict
        As made by `beside_paper`.
    starred : sequence of str
        Row names to mark with a star.
    """
    head = _head(table["row_header"], "ascending", "")
    for column in table["columns"]:
        first = "ascending" if column["better"] == "low" else "descending"
        head += _head(column["label"], first, _names(column["kind"], column["name"]))
    rows = "".join(_row(row, table["columns"], row["key"] in starred) for row in table["rows"])
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table["notes"])
    place = f" (paper: {table['reference']})" if table["reference"] else ""
    return (
        f"<h3>{escape(table['title'] + place)}</h3>"
        f'<div class="scroll"><table id="table-{escape(table["id"])}">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{notes}"
    )


def _head(text: str, first: str, names: str) -> str:
    return (
        f'<th scope="col" tabindex="0" aria-sort="none" data-first="{first}"{names}>'
        f"{escape(text)}</th>"
    )


def _names(kind: str, name: str) -> str:
    """Return the attribute that the filters use."""
    return f' data-{kind}="{escape(name)}"' if kind in ("method", "dataset") else ""


def _row(row: dict[str, Any], columns: list[dict[str, Any]], starred: bool) -> str:
    label = escape(row["label"]) + ("*" if starred else "")
    cells = f'<td data-text="{escape(row["label"])}">{label}</td>'
    for column in columns:
        cell, digits = row["cells"].get(column["key"], {}), row_digits(row, column)
        cells += _cell(cell, digits, _names(column["kind"], column["name"]))
    kind = row["kind"]
    css = ' class="summary"' if kind == "summary" else ""
    return f"<tr{css}{_names(kind, row['key'])}>{cells}</tr>"


def _cell(cell: dict[str, Any], digits: int, names: str) -> str:
    if not cell:
        return f"<td{names}></td>"
    data = "".join(
        f' data-{short}="{cell[name]:.6g}"'
        for short, name in (("ours", "ours"), ("paper", "paper"), ("gap", "difference"))
        if cell.get(name) is not None and not math.isnan(cell[name])
    )
    best = " best" if cell.get("best") else ""
    html = f'<span class="ours{best}">{number(cell.get("ours"), digits) or NONE}'
    html += f"{escape(cell.get('mark') or '')}</span>"
    if cell.get("se") is not None:
        html += f'<span class="se">±{cell["se"]:.{digits}f}</span>'
    if "paper" in cell:
        best = " best" if cell.get("paper_best") else ""
        mark = escape(cell.get("paper_mark") or "")
        html += f'<span class="paper{best}"><span class="word">paper </span>'
        html += f"{number(cell['paper'], digits)}{mark}</span>"
    if "difference" in cell:
        html += f'<span class="gap">{number(cell["difference"], digits, signed=True)}</span>'
    return f"<td{names}{data}>{html}</td>"


def simple_table(name: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A sortable table of plain texts and numbers."""
    words = [all(isinstance(row[place], str) for row in rows) for place in range(len(head))]
    heads = "".join(
        _head(text, "ascending", ' class="text"' if is_text else "")
        for text, is_text in zip(head, words, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_simple_cell, row))}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table id="table-{escape(name)}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _simple_cell(value: Any) -> str:
    if isinstance(value, str):
        return f'<td class="text" data-text="{escape(value)}">{escape(value)}</td>'
    return "<td></td>" if value is None else f'<td data-ours="{value}">{value:,}</td>'


def figure_html(painter: Painter) -> str:
    """Return a figure whose marks respond to the pointer and the filters."""
    return (
        f'<figure id="figure-{escape(painter.name)}"><div class="frame">{inline_svg(painter)}</div>'
        f"<figcaption><b>{escape(painter.title)}.</b> {escape(painter.caption)}</figcaption>"
        "</figure>"
    )


def claims_html(claims: Sequence[dict[str, str]]) -> str:
    """Return one card per claim: the paper's statement and our finding."""
    cards = "".join(
        f'<article class="claim {_CLASSES.get(claim["verdict"], "none")}">'
        f'<div class="verdict">{escape(claim["verdict"])}</div>'
        f"<p>{escape(claim['claim'])}</p>"
        f'<p class="soft">{escape(claim["evidence"])} '
        f'<a href="#{escape(claim["experiment"])}">{escape(claim["where"])}</a></p></article>'
        for claim in claims
    )
    return f'<div class="claims">{cards}</div>'
