import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jarf.bench import EXPERIMENTS, Results
from jarf.pages import INK, drawing, method_colour, method_marker, subplots
from jarf.report import Painter, draw_figures, inline_svg, load_results, save_figure
from jarf.report._figures import _swarm


def paint():
    with drawing():
        figure, ax = subplots(figsize=(3, 2))
        made = Painter("small", 'a "title"', "a caption", figure)
        made.tag(ax.plot(1, 1, "o")[0], "<b>tip & more</b>", "RF", "iris")
        ax.set_xlabel("x")
    return made


@pytest.fixture
def painter():
    return paint()


def test_marks_carry_their_words_and_names(painter):
    root = ET.fromstring(inline_svg(painter))
    marks = [e for e in root.iter() if e.get("data-tip")]
    assert [m.get("data-tip") for m in marks] == ["<b>tip & more</b>"]
    assert (marks[0].get("data-method"), marks[0].get("data-dataset")) == ("RF", "iris")


def test_ids_and_references_belong_to_the_figure(painter):
    text = inline_svg(painter)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert ids
    assert all(name.startswith("small-") for name in ids)
    used = re.findall(r'href="#([^"]+)"', text) + re.findall(r"url\(#([^)]+)\)", text)
    assert set(used) <= set(ids)


def test_inline_text_takes_the_colour_of_the_page(painter):
    text = inline_svg(painter)
    assert INK not in text
    assert "currentColor" in text
    assert "<text" in text


def test_files_are_repeatable(tmp_path):
    save_figure(paint(), tmp_path)
    first = (tmp_path / "small.svg").read_bytes()
    save_figure(paint(), tmp_path)
    assert (tmp_path / "small.svg").read_bytes() == first
    assert INK.encode() in first


@given(st.lists(st.floats(-0.2, 0.2), min_size=1, max_size=15))
@settings(max_examples=50, deadline=None)
def test_a_swarm_keeps_close_points_apart(values):
    values = np.array(values)
    shifts = _swarm(values, width=0.035, gap=0.008)
    for i in range(len(values)):
        for j in range(i):
            if abs(values[i] - values[j]) < 0.008:
                assert abs(shifts[i] - shifts[j]) > 0.01


def test_methods_keep_their_colours():
    names = ["RF", "mine", "JARF", "yours"]
    colours = [method_colour(name, names) for name in names]
    assert len(set(colours)) == 4
    assert method_colour("JARF") == colours[2]
    assert method_marker("mine") == "X"


def test_every_figure_of_the_study(results_folder):
    results = load_results(results_folder)
    tables = {t.id: t for e in EXPERIMENTS.values() for t in e.tables(results)}
    drawn = {painter.name: painter for painter in draw_figures(results, tables)}
    assert len(drawn) == 7
    words = {
        name: [tip.get("data-tip", "") for tip in p.tips.values()] for name, p in drawn.items()
    }
    assert any("surrogate" in word for word in words["times"])
    assert any("paper" in word for word in words["gains"])
    assert any(word.startswith("adult, CCF, k = 3") for word in words["mechanism"])


def test_no_rows_no_figures():
    assert draw_figures(Results([]), {}) == []
