import csv
import io
import re

import pytest

from jarf.bench import ResultTable
from jarf.bench.experiments import Cell, Column, Row
from jarf.pages import csv_cell, plain_text
from jarf.report import (
    beside_paper,
    number,
    table_csv,
    table_html,
    table_markdown,
    write_between_markers,
)


@pytest.fixture
def table():
    return beside_paper(
        ResultTable(
            "classification",
            "Kappa",
            [Row("adult"), Row("<b>|x"), Row("Mean", "summary")],
            [Column("RF", "method"), Column("JARF", "method")],
            {
                ("adult", "RF"): Cell(0.55, 0.01, 10),
                ("adult", "JARF"): Cell(0.5, None, 10, "†"),
                ("<b>|x", "RF"): Cell(0.1),
            },
            ["a <note>"],
            best_by_row=True,
        )
    )


def test_ours_the_papers_and_the_difference(table):
    cell = table["rows"][0]["cells"]["RF"]
    assert (cell["ours"], cell["paper"]) == (0.55, 0.605)
    assert cell["difference"] == pytest.approx(-0.055)
    assert cell["best"]
    assert "best" not in table["rows"][0]["cells"]["JARF"]
    assert table["rows"][0]["cells"]["JARF"]["paper_best"]
    # not run, but printed
    assert table["rows"][2]["cells"]["JARF"]["paper"] == 0.81


def test_csv_is_tidy(table):
    rows = list(csv.DictReader(io.StringIO(table_csv(table))))
    first = rows[0]
    assert (first["dataset"], first["column"], first["ours"], first["paper"]) == (
        *("adult", "RF", "0.55", "0.605"),
    )
    assert {row["dataset"] for row in rows} == {"adult", "<b>|x", "Mean"}


def test_csv_names_cannot_be_formulas(table):
    table["rows"][1]["label"] = "=1+1"
    assert "'=1+1" in table_csv(table)


def test_markdown(table):
    text = table_markdown(table)
    line = "| adult | **0.550 ± 0.010** (0.605, -0.055) | 0.500† (0.720, -0.220) |"
    assert line.replace("-", "\N{MINUS SIGN}") in text
    assert "&lt;b&gt;\\|x" in text
    assert "<note>" not in text


def test_html_escapes_and_can_be_sorted(table):
    html = table_html(table, starred=["adult"])
    assert "<b>|x" not in html
    assert "&lt;b&gt;|x" in html
    assert 'data-ours="0.55" data-paper="0.605" data-gap="-0.055"' in html
    assert ">adult*<" in html
    assert '<tr class="summary"' in html


def test_numbers():
    assert number(float("nan")) == ""
    assert number(-0.0001, 3) == "0.000"
    assert number(-0.0001, 3, signed=True) == "0.000"


def test_between_markers(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("a\n<!-- results:start -->\nold\n<!-- results:end -->\nb\n")
    assert write_between_markers(path, "new\n")
    assert path.read_text() == "a\n<!-- results:start -->\nnew\n<!-- results:end -->\nb\n"
    assert not write_between_markers(path, "new")
    with pytest.raises(ValueError, match="needs one line"):
        write_between_markers(path, "x", "other")


EVIL = "![x](http://evil.example/a.png) `code` *bold* _it_ [a]: www.evil.example ~no~ a\\b \x1b[31m"


def test_markdown_shows_names_and_does_not_obey_them(table):
    text = plain_text(EVIL)
    for markup in ("![", "](", "http://", "www.", "`code`", "*bold*", "_it_", "~no~", "\x1b"):
        assert not re.search(r"(?<!\\)" + re.escape(markup), text), markup
    assert plain_text("macro_f1 of a_b") == "macro_f1 of a_b"
    table["rows"][0]["label"] = table["notes"][0] = EVIL
    assert table_markdown(table).count(text) == 2


@pytest.mark.parametrize("first", "=+-@\t\r")
def test_no_cell_is_a_formula(first):
    assert csv_cell(first + "1") == "'" + first + "1"


def test_a_full_disk_keeps_the_old_page(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "README.md"
    old = "before <!-- results:start -->\nold\n<!-- results:end --> after"
    path.write_text(old)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_between_markers(path, "new " * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_readme_that_is_a_link_stays_one(tmp_path):
    path = tmp_path / "real.md"
    path.write_text("<!-- results:start --><!-- results:end -->")
    link = tmp_path / "README.md"
    link.symlink_to(path)
    assert write_between_markers(link, "new")
    assert link.is_symlink()
    assert "new" in path.read_text()
