"""Tables, figures and a page out of stored results; nothing is run here."""

from jarf.report._build import build_report, load_results, summarise
from jarf.report._claims import judge
from jarf.report._compare import comparison_markdown, comparison_page
from jarf.report._figures import draw_figures
from jarf.report._markdown import headline_markdown, tables_markdown
from jarf.report._page import claims_html, figure_html, page_html, simple_table, table_html
from jarf.report._paper import beside_paper, paper_cell, paper_reference
from jarf.report._style import Painter
from jarf.report._svg import inline_svg, save_figure
from jarf.report._tables import number, table_csv, table_markdown, write_between_markers

__all__ = [
    "Painter",
    "beside_paper",
    "build_report",
    "claims_html",
    "comparison_markdown",
    "comparison_page",
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
