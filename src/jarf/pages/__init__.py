"""Plain summaries -> HTML pages, Markdown and figures, independent of studies and stored rows."""

from jarf.pages._compare import comparison_markdown, comparison_page
from jarf.pages._compare_figures import draw_comparison
from jarf.pages._page import claims_html, figure_html, page_html, simple_table, table_html
from jarf.pages._style import (
    GRID,
    INK,
    Painter,
    drawing,
    full_mark,
    log_axis,
    method_colour,
    method_legend,
    method_marker,
    subplots,
)
from jarf.pages._svg import inline_svg, save_figure, save_png
from jarf.pages._tables import (
    csv_cell,
    number,
    plain_text,
    printable,
    table_csv,
    table_markdown,
    write_between_markers,
    write_text,
)

__all__ = [
    "GRID",
    "INK",
    "Painter",
    "claims_html",
    "comparison_markdown",
    "comparison_page",
    "csv_cell",
    "draw_comparison",
    "drawing",
    "figure_html",
    "full_mark",
    "inline_svg",
    "log_axis",
    "method_colour",
    "method_legend",
    "method_marker",
    "number",
    "page_html",
    "plain_text",
    "printable",
    "save_figure",
    "save_png",
    "simple_table",
    "subplots",
    "table_csv",
    "table_html",
    "table_markdown",
    "write_between_markers",
    "write_text",
]
