import copy
import re
import xml.etree.ElementTree as ET
from html import unescape
from html.parser import HTMLParser

import pytest

from jarf.pages._compare_figures import draw_comparison, short
from jarf.report import comparison_markdown, comparison_page

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def page(comparison):
    return comparison.html()


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.scripts = 0
        self.links = []

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href")]


def test_the_page_stands_alone(page):
    tags = Tags()
    tags.feed(page)
    assert tags.scripts == 1  # the page's own
    assert all(link.startswith(("#", "data:")) for link in tags.links)
    assert "://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)


def test_the_answer_comes_before_everything(comparison, page):
    body = page.split("<h1>")[1]
    first = comparison.answer[0].replace("'", "&#x27;")
    assert first in body
    assert body.index(first) < body.index("<table")


def test_names_are_text(page):
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    for tag in ("<b>v</b>", "<i>yes</i>"):
        assert tag not in page


def test_every_figure_is_drawn_with_words_over_its_marks(comparison, page):
    figures = draw_comparison(comparison.summary)
    names = ("splits", "gains", "curve", "times", "spectrum", "sensitivities", "loadings", "heat")
    assert set(figures) == {f"compare-{name}" for name in (*names, "plane")}
    for name, painter in figures.items():
        assert f'id="figure-{name}"' in page
        assert any("data-tip" in tip for tip in painter.tips.values())
    for svg in re.findall(r"<svg.*?</svg>", page, flags=re.S):
        ET.fromstring(svg)


def test_limits_and_warnings_are_on_the_page(comparison, page):
    assert "looks like an id" in page
    assert "Task: classification, because" in page
    assert "Dates, converted to days: day." in page
    assert "2 x 2 folds" in page


def test_sentences_are_filled_in(comparison, page):
    text = unescape(page)
    levels = comparison.summary["settings"]["budget"]["max_levels"]
    assert f"with the {levels} most frequent levels each" in text
    assert "{run" not in text
    first, second = comparison.summary["directions"]["agreement"]
    assert f"is {first:.2f} for the first direction and {second:.2f} for the second;" in text
    assert "This is done 2 times. Scores are means over all parts." in text


def test_only_searches_that_were_run_are_described(comparison):
    summary = copy.deepcopy(comparison.summary)
    for scores, tuned in (({"RF": 0.5}, False), ({"RF": 0.5, "XGB": 0.5}, True)):
        summary["scores"] = scores
        assert ("XGBoost's grid" in unescape(comparison_page(summary))) == tuned


def test_numbers_agree_with_their_nouns(comparison):
    summary = copy.deepcopy(comparison.summary)
    summary["settings"]["budget"]["repeats"] = 1
    shares = summary["directions"]["shares"]
    shares[:] = [0.99] + [0.01 / (len(shares) - 1)] * (len(shares) - 1)
    text = unescape(comparison_page(summary))
    assert "This is done once." in text
    assert f"1 of {len(shares)} accounts for 10 % or more." in text


def test_warnings_are_called_warnings_in_the_page_and_in_markdown(comparison, page):
    assert comparison.summary["warnings"]
    for text in (unescape(page), comparison_markdown(comparison.summary)):
        assert "Warning: " in text
        assert "Beware" not in text


def test_markdown_has_every_table_and_no_markup_of_users(comparison):
    text = comparison_markdown(comparison.summary)
    for table in comparison.summary["tables"]:
        assert f"**{table['title']}**" in text
    assert EVIL not in text
    assert "the\\|target" in text


def test_parts_that_are_missing_are_left_out(comparison):
    summary = copy.deepcopy(comparison.summary)
    summary["tables"] = [t for t in summary["tables"] if t["id"] != "compare-curve"]
    summary["directions"] = {"sensitivities": [["a", 0.5]], "not_differentiated": ["many"]}
    summary["errors"] = [{"method": EVIL, "error": "no", "fits": 3}]
    page = comparison_page(summary)
    assert "With fewer rows" not in page
    assert "so there are no directions" in page
    assert "more than 50 levels" in page
    assert "Fits that failed" in page
    assert EVIL not in page


def test_more_classes_than_colours(comparison):
    summary = copy.deepcopy(comparison.summary)
    plane = summary["directions"]["plane"]
    plane["target"] = [f"c{i % 12}" for i in range(len(plane["target"]))]
    figure = draw_comparison(summary)["compare-plane"]
    assert {"data-tip": "others"} in figure.tips.values()


def test_a_numeric_target_gets_a_scale(comparison):
    summary = copy.deepcopy(comparison.summary)
    summary["table"]["task"] = summary["directions"]["task"] = "regression"
    plane = summary["directions"]["plane"]
    plane["target"] = [float(i) for i in range(len(plane["target"]))]
    assert len(draw_comparison(summary)["compare-plane"].figure.axes) == 2


def test_one_method_alone(comparison):
    summary = copy.deepcopy(comparison.summary)
    summary["splits"], summary["pairs"] = {"RF": [0.5]}, []
    figures = draw_comparison(summary)
    assert "compare-gains" not in figures
    assert "compare-splits" in figures


def test_long_and_odd_names_are_shortened():
    assert short("x" * 40) == "x" * 25 + "…"
    assert short("a\x00b") == "a\N{REPLACEMENT CHARACTER}b"
