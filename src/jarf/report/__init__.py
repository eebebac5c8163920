"""Tables, figures and a page out of stored results; nothing is run here."""

from ._build import (
    build_report,
    headline_markdown,
    load_results,
    summarise,
    tables_markdown,
)
from ._claims import judge
from ._figures import draw_figures
from ._page import claims_html, figure_html, page_html, simple_table, table_html
from ._paper import beside_paper, paper_cell, paper_reference
from ._style import Painter
from ._svg import inline_svg, save_figure
from ._tables import number, table_csv, table_markdown, write_between_markers

__all__ = [
    "Painter",
    "beside_paper",
    "build_report",
    "claims_html",
    "draw_figures",
    "figure_html",
    "headline_markdown",
    "inline_svg",
    "judge",
    "load_results",
    "number",
    "page_html",
    "paper_cell",
    "paper_reference",
    "save_figure",
    "simple_table",
    "summarise",
    "table_csv",
    "table_html",
    "table_markdown",
    "tables_markdown",
    "write_between_markers",
]
