"""Tables, figures and a page from stored results; nothing is fitted here."""

from jarf.pages import (
    Painter,
    claims_html,
    comparison_markdown,
    comparison_page,
    figure_html,
    inline_svg,
    number,
    page_html,
    save_figure,
    simple_table,
    table_csv,
    table_html,
    table_markdown,
    write_between_markers,
)
from jarf.report._build import build_report, load_results, summarise
from jarf.report._claims import judge
from jarf.report._figures import draw_figures
from jarf.report._headline import (
    draw_headline,
    headline_panels,
    headline_sentence,
    write_headline,
)
from jarf.report._headline_figure import HeadlinePanel
from jarf.report._markdown import headline_markdown, tables_markdown, write_images
from jarf.report._paper import beside_paper, paper_cell, paper_reference

__all__ = [
    "HeadlinePanel",
    "Painter",
    "beside_paper",
    "build_report",
    "claims_html",
    "comparison_markdown",
    "comparison_page",
    "draw_figures",
    "draw_headline",
    "figure_html",
    "headline_markdown",
    "headline_panels",
    "headline_sentence",
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
    "write_headline",
    "write_images",
]
