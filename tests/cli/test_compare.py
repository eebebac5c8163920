import json
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

from jarf.bench import _methods, load_rows, method_names
from jarf.cli import main

TINY = ["--cv", "2", "--repeats", "1", "--trees", "3", "--jobs", "1"]


@pytest.fixture(autouse=True)
def clean_registry(monkeypatch):
    method_names()
    monkeypatch.setattr(_methods, "_REGISTRY", dict(_methods._REGISTRY))


@pytest.fixture
def iris(tmp_path):
    path = tmp_path / "iris.csv"
    load_iris(as_frame=True).frame.to_csv(path, index=False)
    return str(path)


def test_a_file_is_answered_with_a_page(tmp_path, iris, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["compare", iris, "--target", "target", "--methods", "RF", "JARF", *TINY]
    assert main([*command, "--rows", "90"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("On this table ")
    assert "a random sample of 90 of 150 rows" in captured.err
    assert "4/4 fits" in captured.err
    folder = tmp_path / "runs" / "compare-iris"
    assert captured.out.splitlines()[-1] == "page: runs/compare-iris/index.html"
    assert (folder / "index.html").is_file()
    assert json.loads((folder / "comparison.json").read_text())["table"]["rows_used"] == 90
    assert main([*command, "--rows", "90", "--metric", "accuracy"]) == 0
    captured = capsys.readouterr()
    assert "4 stored, 0 to do" in captured.err
    assert "accuracy" in captured.out


def test_parquet_a_plug_in_and_a_learning_curve(tmp_path, capsys):
    path = tmp_path / "iris.parquet"
    load_iris(as_frame=True).frame.to_parquet(path)
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from sklearn.tree import DecisionTreeClassifier\n"
        "from jarf.bench import register_method\n"
        "register_method('one tree', DecisionTreeClassifier())\n"
    )
    out = str(tmp_path / "out")
    command = ["compare", str(path), "--target", "target", "--methods", "RF", "--out", out, *TINY]
    command += ["--learning-curve", "--method-file", str(plugin)]
    assert main([*command, "--drop", "sepal width (cm)"]) == 0
    rows = [row for row in load_rows(out) if row.method != "EJOP"]
    assert {row.method for row in rows} == {"RF", "one tree"}
    assert {row.cap for row in rows} == {0, 37}
    assert {row.d for row in rows} == {3}


def test_a_failed_method_sets_the_exit_code(tmp_path, iris):
    plugin = tmp_path / "broken.py"
    plugin.write_text(
        "from jarf.bench import register_method\n"
        "def fail(setting):\n"
        "    raise RuntimeError('no luck')\n"
        "register_method('broken', fail)\n"
    )
    command = ["compare", iris, "--target", "target", "--methods", "RF", *TINY]
    assert main([*command, "--method-file", str(plugin), "--out", str(tmp_path / "o")]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "taget"], "no column 'taget'. Did you mean 'target'?"),
        (["--target", "zzz"], "no column 'zzz'. Its columns are 'sepal length (cm)', "),
        (["--target", "target", "--sep", ";"], "the separator is another one; choose it with"),
        (["--target", "target", "--methods", "nope"], "unknown method 'nope'"),
        (["--target", "target", "--cv", "1"], "cv must be at least 2"),
        (["--target", "target", "--jobs", "0"], "--jobs must be at least 1"),
        (["--target", "target", "--metric", "r2"], "is one of kappa"),
        (["--target", "target", "--encoding", "klingon"], "unknown encoding 'klingon'"),
    ],
)
def test_errors_are_one_line(tmp_path, iris, capsys, arguments, message):
    assert main(["compare", iris, "--out", str(tmp_path / "out"), *TINY, *arguments]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("jarf: ")
    assert message in last


def test_a_missing_file_and_missing_packages(capsys, monkeypatch):
    assert main(["compare", "nowhere.csv", "--target", "y"]) == 1
    assert "there is no file nowhere.csv" in capsys.readouterr().err
    monkeypatch.setattr("jarf.cli._extras.find_spec", lambda name: None)
    assert main(["compare", "nowhere.csv", "--target", "y"]) == 1
    assert "pip install 'jarf[bench]'" in capsys.readouterr().err


@pytest.mark.posix
def test_an_interrupt_stops_cleanly_and_the_same_command_continues(
    tmp_path, iris, capsys, interrupt
):
    out = tmp_path / "out"
    command = ["compare", iris, "--target", "target", "--methods", "RF", "--trees", "60"]
    command += ["--cv", "5", "--repeats", "4", "--out", str(out)]
    interrupt([*command, "--jobs", "2"], out)
    stored = len(load_rows(out))
    assert 2 <= stored < 20
    assert main([*command, "--jobs", "1"]) == 0
    assert f"20 fits, {stored} stored" in capsys.readouterr().err


def test_a_german_file_with_dates_and_gaps_in_the_target(tmp_path, capsys):
    frame = load_iris(as_frame=True).frame
    frame["Preis"] = frame.pop("petal length (cm)").round(2)
    frame["Tag"] = [f"{i % 28 + 1:02}.0{i % 9 + 1}.202{i % 3}" for i in range(150)]
    frame.loc[[1, 2], "Preis"] = None
    path = tmp_path / "größe.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252")
    command = ["compare", str(path), "--target", "Preis", "--methods", "RF", *TINY]
    command += ["--out", str(tmp_path / "out"), "--encoding", "cp1252"]
    assert main(command) == 0
    told = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert told["scores"]["RF"] > 0.8
    assert told["table"]["rows_used"] == 148
    said = " ".join(told["notes"])
    for words in ("decimal sign ','", "2 of 150 rows", "days: Tag", "Tag (month), Tag (weekday)"):
        assert words in said


def test_a_tab_can_be_typed_as_an_escape(tmp_path, iris):
    table = tmp_path / "tabs.csv"
    table.write_text(Path(iris).read_text().replace(",", "\t"))
    command = ["compare", str(table), "--target", "target", "--methods", "RF", *TINY]
    assert main([*command, "--sep", r"\t", "--out", str(tmp_path / "out")]) == 0


def test_a_header_alone_is_one_line(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,target\n")
    assert main(["compare", str(path), "--target", "target", *TINY]) == 1
    assert capsys.readouterr().err == "jarf: t.csv has no rows\n"


def test_names_cannot_talk_to_the_terminal(tmp_path, capsys):
    frame = load_iris(as_frame=True).frame
    frame["\x1b]0;evil\x07id"] = range(150)
    frame["\x1b]0;constant"] = 1
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    command = ["compare", str(path), "--target", "target", "--methods", "RF", *TINY]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    captured = capsys.readouterr()
    assert "\x1b]0;" not in captured.err + captured.out
    assert "looks like an id" in captured.err
    assert r"constant: \x1b]0;constant" in captured.err
    assert main([*command, "--drop", "\x1b[2Jnope"]) == 1
    assert "\x1b[2J" not in capsys.readouterr().err
