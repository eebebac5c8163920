"""Tables, figures and the first sentence of the public yardsticks, from synthetic rows."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from jarf.bench import BUDGETS, EXPERIMENTS, PMLB, SRBENCH, ResultRow, Results, get_dataset
from jarf.bench import published as published_medians
from jarf.bench._rows import row_line
from jarf.bench.experiments import srbench_scores
from jarf.cli import main
from jarf.report import (
    HeadlinePanel,
    beside_paper,
    build_report,
    draw_headline,
    headline_panels,
    headline_sentence,
    load_results,
)
from jarf.report._headline_figure import LIGHT, draw_panels

REGRESSION = [
    "1027_ESL",
    "210_cloud",
    "579_fri_c0_250_5",
    "656_fri_c1_100_5",
    "690_visualizing_galaxy",
]
CLASSES = ["car", "diabetes", "monk1", "tae"]
GAINS = {"RF": 0.0, "CatBoost": 0.03, "JF": 0.05}
SECONDS = {"RF": 1.0, "CatBoost": 4.0, "JF": 1.5}


def row(dataset, method, repeat, metrics, task, seconds, cap):
    return ResultRow(
        *(f"pmlb-{dataset}", method, "", repeat, 0, cap, 0),
        task=task,
        n_train=100,
        n_test=50,
        d=4,
        d_numeric=4,
        n_classes=2,
        n_rows=150,
        partial=False,
        source="made up",
        n_trees=200,
        metrics=metrics,
        times={"cpu": seconds, "total": seconds, "fit": seconds, "predict": 0.1},
    )


def made_rows():
    for method, gain in GAINS.items():
        for place, name in enumerate(REGRESSION):
            for repeat in range(2):
                r2 = 0.6 + place / 20 + gain + repeat / 100
                yield row(name, method, repeat, {"r2": r2}, "regression", SECONDS[method], 0)
        for place, name in enumerate(CLASSES):
            for repeat in range(2):
                scores = {"kappa": 0.6 + place / 20 + gain, "log_loss": 0.5 - gain}
                yield row(name, method, repeat, scores, "classification", SECONDS[method], 5000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("public")
    (place / "rows.jsonl").write_text("".join(map(row_line, made_rows())))
    (place / "run.json").write_text(json.dumps({**BUDGETS["standard"].as_dict(), "seed": 0}))
    return place


@pytest.fixture(scope="module")
def results(folder):
    return load_results(folder)


@pytest.fixture(scope="module")
def tables(results):
    return {t.id: t for name in (SRBENCH, PMLB) for t in EXPERIMENTS[name].tables(results)}


def test_scores_are_medians_next_to_published_ones(results):
    scores = srbench_scores(results)
    assert [get_dataset(name).label for name in scores.datasets] == REGRESSION
    assert scores.run == ["RF", "JF", "CatBoost"]
    assert scores.r2[0, 0] == pytest.approx(0.605)
    column = scores.methods.index("XGB, published")
    assert scores.r2[0, column] == published_medians().r2["1027_ESL"]["XGB"]
    assert scores.friedman.tolist() == [False, False, True, True, False]
    assert scores.seeds == {"RF": 2, "JF": 2, "CatBoost": 2}


def test_the_number_of_seeds_is_stated(tables):
    assert "2 of its ten seeds" in tables["srbench"].notes[0]
    some = [row for row in made_rows() if row.method != "CatBoost" or row.repeat == 0]
    fewer = {table.id: table for table in EXPERIMENTS[SRBENCH].tables(Results(some))}
    assert "1 (CatBoost) and 2 (RF, JF) of its ten seeds" in fewer["srbench"].notes[0]


def test_a_missing_published_result_takes_the_last_rank(results):
    scores = srbench_scores(results)
    feynman = scores.methods.index("AIFeynman")
    scores.r2[:, feynman] = np.nan
    assert scores.ranks(np.ones(5, dtype=bool))[feynman] == len(scores.methods)


def test_tables_with_other_methods_missing_are_left_out(results):
    rows = [r for r in results.every if (r.dataset, r.method) != ("pmlb-1027_ESL", "JF")]
    fewer = Results(rows, results.settings)
    assert len(srbench_scores(fewer).datasets) == 4
    notes = EXPERIMENTS[SRBENCH].tables(fewer)[0].notes
    assert any(note.startswith("Left out: 1 tables") for note in notes)
    assert EXPERIMENTS[SRBENCH].tables(Results([])) == []


def test_friedman_and_other_tables_are_apart(tables):
    cells = tables["srbench"].cells
    assert cells["JF", "rank all"].n == 5
    assert cells["JF", "rank friedman"].n == 2
    assert cells["JF", "rank other"].n == 3
    assert cells["JF", "r2 friedman"].value == pytest.approx(0.78)
    assert cells["RF", "seconds"].value == 1.0
    labels = {row.key: row.label for row in tables["srbench"].rows}
    assert (labels["JF"], labels["Operon"]) == ("JF", "Operon (SRBench)")
    assert labels["XGB, published"] == "XGB (SRBench)"


def test_tables_whose_file_has_changed_are_marked(tables):
    labels = [row.label for row in tables["srbench-tables"].rows]
    assert labels[:2] == ["1027_ESL", "210_cloud†"]
    labels = [row.label for row in tables[PMLB].rows][:4]
    assert labels == ["car†", "diabetes†", "monk1", "tae"]


@pytest.mark.parametrize("name", ["srbench", PMLB, f"{PMLB}-log-loss"])
def test_tables_say_that_settings_were_chosen_on_them(tables, name):
    assert any("not independent evidence" in note for note in tables[name].notes)


def test_log_loss_is_better_when_low(tables):
    cells = tables[f"{PMLB}-log-loss"].cells
    assert cells["Mean rank", "JF"].value == 1
    assert cells["Worse than RF", "JF"].value == 0
    made = beside_paper(tables[f"{PMLB}-log-loss"])
    first = made["rows"][0]["cells"]
    assert [method for method, cell in first.items() if cell.get("best")] == ["JF"]


def test_the_page_begins_with_the_figure_and_a_sentence(folder, tmp_path):
    page = build_report(folder, tmp_path)
    text = page.read_text()
    assert text.index('id="figure-accuracy-and-time"') < text.index('id="claims"')
    assert "most accurate of 3 methods on 4 public classification tables" in text
    assert "Our measurements on tables that others published." in text
    assert "0 x 2" not in text
    assert 'id="goals"' not in text  # nothing here tests them
    assert "These results do not test the claims of the paper." in text
    for name in ("srbench-ranks", "srbench-r2", "pmlb-ranks", "accuracy-and-time"):
        ET.parse(tmp_path / "figures" / f"{name}.svg")
    for name in ("srbench-ranks", "srbench-r2", "pmlb-ranks"):
        assert f'id="figure-{name}"' in text


def opaque(image):
    """Colours of the opaque pixels of an image, one per row."""
    return image[image[..., 3] == 1][:, :3]


@pytest.mark.parametrize("beside", [False, True])
def test_a_page_shows_the_figure_in_two_themes(folder, tmp_path, beside):
    imread = pytest.importorskip("matplotlib.image").imread
    if beside:
        (tmp_path / "_static").mkdir()
    page = tmp_path / "README.md"
    page.write_text("<!-- figure:start -->\n<!-- figure:end -->\n")
    out = str(tmp_path / "out")
    assert main(["report", str(folder), "--out", out, "--figure", str(page)]) == 0
    text = page.read_text()
    dark, light = re.findall(r'(?:src|srcset)="([^"]+)"', text)
    assert light.startswith("_static/" if beside else "docs/_static/")
    assert opaque(imread(tmp_path / light)).min() < 0.2  # dark texts
    assert opaque(imread(tmp_path / dark)).min() > 0.2
    assert "the most accurate of 3 methods" in text
    assert "Default settings of our methods were chosen on these tables." in text


def panel(task, n, ranks, study=False):
    return HeadlinePanel(task, n, ranks, {"RF": 1.0, "CatBoost": 3.0, "JF": 1.5, "JE": 6.0}, study)


def test_sentences_do_not_hide_a_lower_place():
    ranks = {"RF": 3.0, "CatBoost": 1.2, "JF": 1.8}
    assert headline_sentence([panel("regression", 98, ranks)]) == (
        "Without tuning, the Jacobian forest (JF) is on average the second most accurate of 3 "
        "methods, behind CatBoost, on 98 public regression tables, and a fit takes 1.5 times as "
        "long as that of a random forest."
    )
    assert headline_sentence([]) == ""


def test_one_sentence_speaks_of_both_tasks():
    first = panel("classification", 55, {"RF": 3.0, "CatBoost": 2.2, "JF": 1.8})
    assert headline_sentence([first, panel("regression", 98, first.ranks)]) == (
        "Without tuning, the Jacobian forest (JF) is on average the most accurate of 3 methods on "
        "55 public classification tables and on 98 public regression tables, and a fit takes 1.5 "
        "and 1.5 times as long as that of a random forest."
    )
    other = panel("regression", 98, {"RF": 3.0, "CatBoost": 2.2, "JE": 1.8})
    assert "; the Jacobian ensemble (JE) is on average" in headline_sentence([first, other])


def test_tables_of_the_study_stand_in_for_missing_collections(results):
    names = {"pmlb-car": "phoneme", "pmlb-monk1": "vehicle"}
    rows = [replace(r, dataset=names[r.dataset]) for r in results.every if r.dataset in names]
    (found,) = headline_panels(Results(rows, results.settings))
    assert (found.task, found.n_tables, found.study) == ("classification", 2, True)
    assert found.times == pytest.approx({"RF": 1.0, "CatBoost": 4.0, "JF": 1.5})
    both = headline_panels(Results([*results.every, *rows], results.settings))
    assert [one.study for one in both] == [False, False]


def test_names_in_the_figure_do_not_overlap():
    many = {f"method {i}": 2.0 + i / 20 for i in range(6)}
    times = {name: 1.0 + i / 10 for i, name in enumerate(many)}
    painter = draw_panels("x", "t", "c", [HeadlinePanel("regression", 9, many, times)], LIGHT)
    boxes = [text.get_window_extent() for text in painter.figure.axes[0].texts]
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])


def test_too_few_methods_make_no_figure(results, tmp_path, capsys):
    few = Results([r for r in results.every if r.method == "RF"], results.settings)
    assert headline_panels(few) == []
    assert draw_headline(few) is None
    (tmp_path / "rows.jsonl").write_text("".join(map(row_line, few.every)))
    readme = tmp_path / "README.md"
    readme.write_text("<!-- figure:start --><!-- figure:end -->")
    assert main(["report", str(tmp_path), "--figure", str(readme)]) == 1
    assert "at least three methods" in capsys.readouterr().err
