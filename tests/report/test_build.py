import json
import re
import shutil
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from jarf.bench import EXPERIMENTS, ResultRow, ResultStore, StoreError, read_rows
from jarf.bench._rows import row_line
from jarf.cli import main
from jarf.report import (
    build_report,
    headline_markdown,
    judge,
    load_results,
    simple_table,
    summarise,
    tables_markdown,
)
from jarf.report._claims import CLAIMS, HOLDS, NOT_HERE, PART, UNTESTED

FIGURES = ["simulation", "gains", "beeswarm", "times", "mechanism", "ablations", "subsample"]


@pytest.fixture(scope="module")
def summary(results_folder):
    return summarise(results_folder)


def test_the_summary_is_plain_and_whole(summary, results_folder):
    json.dumps(summary)
    usual = [name for name, experiment in EXPERIMENTS.items() if experiment.usual]
    assert [e["name"] for e in summary["experiments"]] == usual
    assert len(summary["claims"]) == len(CLAIMS)
    assert {c["verdict"] for c in summary["claims"]} <= {HOLDS, PART, NOT_HERE, UNTESTED}
    assert summary["counts"]["errors"] == 1
    partial = [d["name"] for d in summary["datasets"] if d["partial"]]
    assert partial == ["covertype"]
    assert "| covertype\\* |" in tables_markdown(results_folder)


def test_tables_name_missing_results(summary):
    table = summary["experiments"][1]["tables"][0]
    assert any("lacks 16" in note for note in table["notes"])


def test_claims_follow_the_numbers(results_folder):
    results = load_results(results_folder)
    tables = {t.id: t for e in EXPERIMENTS.values() for t in e.tables(results)}
    verdicts = {c["claim"]: c for c in judge(results, tables)}
    cost = verdicts["JARF costs about 1.67 times RF."]
    assert (cost["verdict"], "1.17" in cost["evidence"]) == (HOLDS, True)
    best = verdicts["JARF is best on 12 of 15 classification datasets."]
    assert best["verdict"] == NOT_HERE
    never = verdicts["JARF is never worse than RF by more than one standard error."]
    assert never["verdict"] == HOLDS
    aligned = next(c for text, c in verdicts.items() if text.startswith("Split normals"))
    assert aligned["verdict"] == HOLDS


def test_claims_without_rows_are_not_tested(tmp_path):
    ResultStore(tmp_path, {}).close()
    results = load_results(tmp_path)
    assert {c["verdict"] for c in judge(results, {})} == {UNTESTED}


def test_files(report_page):
    folder = report_page.parent
    for name in FIGURES:
        assert (folder / "figures" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
        ET.parse(folder / "figures" / f"{name}.svg")
    tables = {path.name for path in (folder / "tables").iterdir()}
    assert {"classification.csv", "classification.md", "surrogate-family.csv", "rows.csv"} <= tables
    assert json.loads((folder / "summary.json").read_text())["run"]["name"] == "standard"


def test_building_again_changes_nothing(results_folder, report_page, tmp_path):
    again = build_report(results_folder, tmp_path)
    assert again.read_text() == report_page.read_text()


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.scripts, self.ids, self.outside, self.handlers = 0, [], [], []

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href") and re.match(r"(https?:)?//", value or ""):
                self.outside.append(value)
            if name.startswith("on"):
                self.handlers.append(name)


def test_the_page_is_one_file_and_nothing_escapes(report_page):
    text = report_page.read_text()
    page = Page()
    page.feed(text)
    assert page.scripts == 1
    assert page.outside == []
    assert page.handlers == []
    assert len(page.ids) == len(set(page.ids))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_plain_tables_align_words_and_numbers():
    html = simple_table("t", ["name", "n"], [["<a>", 1200], ["b", None]])
    assert '<td class="text" data-text="&lt;a&gt;">&lt;a&gt;</td>' in html
    assert '<td data-ours="1200">1,200</td>' in html
    assert html.count('class="text"') == 3


def test_figures_answer_to_filters(report_page):
    text = report_page.read_text()
    assert 'data-method="CCF"' in text
    assert 'data-tip="adult, ours: +' in text
    assert "url(#" not in re.sub(
        r"url\(#(accuracy|simulation|gains|beeswarm|times|mech|abl|sub)", "", text
    )


def test_markdown_for_readme_and_docs(results_folder, tmp_path, capsys):
    text = headline_markdown(results_folder)
    assert text.startswith("| method | mean kappa |")
    assert "| JARF | " in text
    assert "(0.810)" not in text  # other datasets than the paper's: nothing to set beside it
    tables = tables_markdown(results_folder)
    assert "### Ablations of JARF" in tables
    assert "| not tested |" not in tables  # such claims are only counted
    readme = tmp_path / "README.md"
    readme.write_text("<!-- results:start --><!-- results:end -->")
    out = str(tmp_path / "out")
    assert main(["report", str(results_folder), "--out", out, "--headline", str(readme)]) == 0
    assert text.strip() in readme.read_text()
    assert capsys.readouterr().out.strip().endswith("index.html")


def test_figures_are_shown_with_the_tables(results_folder, tmp_path, capsys):
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("<!-- results:start --><!-- results:end -->")
    images = tmp_path / "docs" / "_static"
    asked = ["report", str(results_folder), "--out", str(tmp_path / "out")]
    assert main([*asked, "--tables", str(page), "--images", str(images)]) == 0
    files = sorted(path.name for path in images.iterdir())
    assert f"{results_folder.name}-gains.png" in files
    for name in files:
        assert f"](_static/{name})" in page.read_text()
    assert "### Ablations of JARF" in page.read_text()
    assert main([*asked, "--tables", str(page), "--only", "times"]) == 0
    assert page.read_text().count("### ") == 1
    assert main([*asked, "--tables", str(page), "--only", "theory"]) == 1
    assert "--only theory: no such experiment among the results" in capsys.readouterr().err
    assert main([*asked, "--images", str(images)]) == 1
    assert "--images needs --tables" in capsys.readouterr().err


def test_no_results_is_one_line(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 1
    assert "holds no results" in capsys.readouterr().err


def test_links_in_a_results_folder_lead_nowhere(results_folder, tmp_path):
    folder, elsewhere = tmp_path / "results", tmp_path / "elsewhere"
    shutil.copytree(results_folder, folder, ignore=shutil.ignore_patterns("report"))
    elsewhere.mkdir()
    (folder / "report").symlink_to(elsewhere)
    with pytest.raises(StoreError, match="report is a link"):
        build_report(folder)
    assert list(elsewhere.iterdir()) == []
    (folder / "report").unlink()
    (folder / "report").mkdir()
    (elsewhere / "precious").write_text("precious")
    (folder / "report" / "index.html").symlink_to(elsewhere / "precious")
    build_report(folder)
    assert (elsewhere / "precious").read_text() == "precious"


def test_the_flat_csv_has_no_formulas(results_folder, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(results_folder, folder)
    lines = (folder / "rows.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        del row["crc"]
        row["source"] = "=cmd|' /C calc'!A0"
    text = "".join(row_line(ResultRow.from_dict(row)) for row in rows)
    (folder / "rows.jsonl").write_text(text)
    build_report(folder)
    text = (folder / "report" / "tables" / "rows.csv").read_text()
    assert ",'=cmd" in text
    assert not re.search(r"(^|,)[\"]?=", text, flags=re.M)


def test_methods_without_results_are_listed(results_folder, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(results_folder, folder)
    (folder / "environment.json").write_text(json.dumps([{"not_installed": ["LGBM"]}]))
    left = {entry["name"]: entry["why"] for entry in summarise(folder)["not_run"]}
    assert (left["LGBM"], left["CatBoost"]) == ("not installed", "not run")
    assert "RF" not in left
    page = build_report(folder).read_text()
    assert ">not installed<" in page
    assert "LightGBM, untuned: at most 500 rounds" in page


def test_the_prose_of_the_reproduction_states_no_result():
    text = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text("utf-8")
    prose = text.split("<!-- results:start -->")[0] + text.split("<!-- results:end -->")[1]
    assert re.findall(r"\d\.\d\d", prose) == []


def test_the_columns_of_the_flat_table_are_documented(results_folder):
    text = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text("utf-8")
    table = text.split("| columns | type |")[1].split("\n\n")[0]
    documented = set(re.findall(r"`(\w+)(?:\.\.\.)?`", table))
    prefixes = ("surrogate_", "extra_")
    shown = {name for name in read_rows(results_folder) if not name.startswith(prefixes)}
    assert shown <= documented
