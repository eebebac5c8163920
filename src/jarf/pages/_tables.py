"""Tables as CSV and Markdown, and their place between markers in other files."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from jarf._files import atomic_write

# Backslashes, code, emphasis, links and images, cells, strike-through, bare addresses. An
# underscore inside a word is text.
_MARKUP = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])|:(?=//)")
MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"

__all__ = [
    "csv_cell",
    "number",
    "plain_text",
    "printable",
    "table_csv",
    "table_markdown",
    "write_between_markers",
    "write_text",
]


def printable(text: str) -> str:
    """Return text for a terminal or a page: control characters become visible escapes.

    Examples
    --------
    >>> from jarf.pages import printable
    >>> printable("red" + chr(27) + "[31m") == "red" + chr(92) + "x1b[31m"
    True
    """
    return "".join(
        c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


def number(value: float | None, digits: int = 3, signed: bool = False) -> str:
    """Format a number for people, with a real minus sign; None becomes an empty string.

    Examples
    --------
    >>> from jarf.report import number
    >>> number(0.12345), number(-0.5, 2), number(0.25, 2, signed=True), number(None)
    ('0.123', '−0.50', '+0.25', '')
    """
    if value is None or math.isnan(value):
        return ""
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return text.replace("-", MINUS)


def row_digits(row: dict[str, Any], column: dict[str, Any]) -> int:
    """Return the digits of a cell: counts and ranks need fewer than the metric."""
    return {"Mean rank": 2, "Best or within 0.01": 0, "Worse than RF": 0, "Better than RF": 0}.get(
        row["key"], column["digits"]
    )


def table_csv(table: dict[str, Any]) -> str:
    """Return one line per cell, in tidy form."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = ("ours", "se", "n", "mark", "paper", "paper_se", "difference")
    writer.writerow([table["row_header"], "column", *names])
    for row in table["rows"]:
        for column in table["columns"]:
            cell = row["cells"].get(column["key"])
            if cell:
                writer.writerow(
                    [
                        csv_cell(row["label"]),
                        csv_cell(column["key"]),
                        *(_plain(n, cell) for n in names),
                    ]
                )
    return stream.getvalue()


def _plain(name: str, cell: dict[str, Any]) -> str:
    value = cell.get(name)
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else str(value)


def csv_cell(text: str) -> str:
    """Return text for a CSV file that no spreadsheet interprets as a formula.

    Examples
    --------
    >>> from jarf.pages import csv_cell
    >>> csv_cell("=1+1"), csv_cell("plain")
    ("'=1+1", 'plain')
    """
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") else text


def table_markdown(table: dict[str, Any], title: bool = True, starred: Collection[str] = ()) -> str:
    """Return a Markdown table; a cell reads: ours (paper's, difference).

    ``starred`` are the keys of rows that are marked with a star.
    """
    head = [table["row_header"], *(column["label"] for column in table["columns"])]
    lines = []
    if title:
        lines += [f"**{plain_text(table['title'])}** {_reference(table)}".rstrip(), ""]
    lines.append("| " + " | ".join(map(plain_text, head)) + " |")
    lines.append("|" + "---|" * len(head))
    for row in table["rows"]:
        cells = [
            _markdown_cell(row["cells"].get(column["key"]), row_digits(row, column))
            for column in table["columns"]
        ]
        label = row["label"] + ("*" if row["key"] in starred else "")
        lines.append("| " + " | ".join([plain_text(label), *cells]) + " |")
    legend = "Cells: ours (paper's, difference)." if table["reference"] else ""
    notes = [text for text in (legend, *table["notes"]) if text]
    return "\n".join([*lines, "", *(plain_text(note) + "  " for note in notes)]) + "\n"


def _reference(table: dict[str, Any]) -> str:
    return f"(paper: {table['reference']})" if table["reference"] else ""


def _markdown_cell(cell: dict[str, Any] | None, digits: int) -> str:
    if not cell:
        return ""
    ours = number(cell.get("ours"), digits) or NONE
    if cell.get("se") is not None:
        ours += f" ± {cell['se']:.{digits}f}"
    ours += cell.get("mark", "")
    if cell.get("best"):
        ours = f"**{ours}**"
    if "paper" not in cell:
        return ours
    printed = number(cell["paper"], digits) + cell.get("paper_mark", "")
    gap = number(cell.get("difference"), digits, signed=True)
    return f"{ours} ({printed}, {gap})" if gap else f"{ours} ({printed})"


def plain_text(text: str) -> str:
    """Escape text for Markdown: it cannot end a cell, start markup, link or load anything.

    Examples
    --------
    >>> from jarf.pages import plain_text
    >>> plain_text("![x](http://a.b/c.png)").replace(chr(92), "/")
    '!/[x/](http/://a.b/c.png)'
    >>> plain_text("snake_case <b>")
    'snake_case &lt;b&gt;'
    """
    text = _MARKUP.sub(r"\\\g<0>", printable(text.replace("\n", " ")))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("www.", "www\\.")


def write_text(path: str | Path, text: str) -> None:
    """Replace a text file atomically; the old one survives a full disk."""
    with atomic_write(path, "w", newline="", follow_links=False) as stream:
        stream.write(text)


def write_between_markers(path: str | Path, text: str, name: str = "results") -> bool:
    """Put generated text between ``<!-- name:start -->`` and ``<!-- name:end -->``.

    Returns whether the file changed. A file without the two markers is an error.
    """
    path = Path(path).resolve()  # the user named it: a link to it stays a link
    old = path.read_text(encoding="utf-8")
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    if old.count(start) != 1 or old.count(end) != 1 or old.index(start) > old.index(end):
        raise ValueError(f"{path} needs one line {start} and, after it, one line {end}")
    before, rest = old.split(start)
    new = f"{before}{start}\n{text.strip()}\n{end}{rest.split(end)[1]}"
    if new != old:
        write_text(path, new)
    return new != old
