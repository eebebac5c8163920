import dataclasses
import os

import pytest
from sklearn.datasets import load_iris

from jarf.bench import BUDGETS, _datasets, _methods, dataset_names, load_rows, method_names
from jarf.cli import main


@pytest.fixture(autouse=True)
def clean_registries(monkeypatch):
    method_names()
    dataset_names()
    for module in (_methods, _datasets):
        monkeypatch.setattr(module, "_REGISTRY", dict(module._REGISTRY))


@pytest.fixture(autouse=True)
def tiny_budget(monkeypatch):
    tiny = dataclasses.replace(
        BUDGETS["quick"], n_trees=3, train_cap=60, test_cap=60, simulated_rows=60
    )
    monkeypatch.setitem(BUDGETS, "quick", tiny)


def test_list_names_everything(capsys):
    assert main(["reproduce", "--list"]) == 0
    out = capsys.readouterr().out
    for name in ("simulation", "per-tree", "JARF-XGB", "mnist-784", "halfspace-d100-a60"):
        assert f"  {name} " in out
    assert "OpenML 1590" in out


def test_a_selection_runs_and_builds_its_page(tmp_path, capsys):
    out = str(tmp_path / "results")
    command = ["reproduce", "--only", "classification", "--datasets", "iris", "--jobs", "1"]
    assert main([*command, "--methods", "RF", "JARF", "--out", out]) == 0
    captured = capsys.readouterr()
    assert "4 fits, 0 stored, 4 to do" in captured.err
    assert "4/4 fits" in captured.err
    assert os.path.isfile(captured.out.split("page: ")[1].strip())
    assert main([*command, "--methods", "RF", "JARF", "--out", out, "--no-report"]) == 0
    assert "4 fits, 4 stored, 0 to do" in capsys.readouterr().err
    more = [*command, "--methods", "RF", "--repeats", "2", "--out", out, "--no-report"]
    assert main(more) == 0
    assert "4 fits, 2 stored, 2 to do" in capsys.readouterr().err


def test_sizes_can_be_chosen(tmp_path, capsys):
    command = ["reproduce", "--only", "sizes", "--datasets", "iris", "--methods", "RF"]
    command += ["--jobs", "1", "--no-report", "--out", str(tmp_path / "results")]
    assert main([*command, "--rows", "30", "50"]) == 0
    assert {(r.cap, r.n_train) for r in load_rows(tmp_path / "results")} == {(30, 30), (50, 50)}
    assert main([*command, "--rows", "40"]) == 0  # other sizes join the same folder
    assert "2 fits, 0 stored, 2 to do" in capsys.readouterr().err


def test_a_users_method_joins(tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from sklearn.tree import DecisionTreeClassifier\n"
        "from jarf.bench import register_dataset, register_method\n"
        "register_method('one tree', DecisionTreeClassifier())\n"
        "register_dataset('my-table', 'classification')\n"
    )
    table = load_iris(as_frame=True).frame
    table.to_csv(tmp_path / "my-table.csv", index=False)
    out = str(tmp_path / "results")
    command = ["reproduce", "--only", "classification", "--data", str(tmp_path), "--jobs", "1"]
    command += ["--out", out, "--methods", "RF", "--no-report"]
    command += ["--method-file", str(plugin), "--method", "sklearn.dummy:DummyClassifier"]
    assert main(command) == 0
    rows = load_rows(out)
    assert {r.method for r in rows} == {"RF", "one tree", "DummyClassifier"}
    assert {r.dataset for r in rows} == {"iris", "wine", "breast-cancer", "digits", "my-table"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "nope"], "unknown experiment 'nope'"),
        (["--methods", "nope"], "unknown method 'nope'"),
        (["--datasets", "../x"], "unknown dataset '../x'"),
        (["--ablation-repeats", "0"], "--ablation-repeats must be at least 1"),
        (["--jobs", "0"], "--jobs must be at least 1"),
        (["--rows", "0"], "--rows must be at least 1"),
        (["--data", "/does/not/exist", "--datasets", "adult"], "does not exist"),
        (["--method-file", "missing.py"], "no method file"),
    ],
)
def test_errors_are_one_line(tmp_path, capsys, arguments, message):
    assert main(["reproduce", "--out", str(tmp_path / "r"), *arguments]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("jarf: ")
    assert message in lines[-1]


@pytest.mark.parametrize("command", [["reproduce", "--list"], ["report", "somewhere"]])
def test_missing_packages_are_named(monkeypatch, capsys, command):
    monkeypatch.setattr("jarf.cli._extras.find_spec", lambda name: None)
    assert main(command) == 1
    assert "pip install 'jarf[bench]'" in capsys.readouterr().err


def test_read_only_folder(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    out = str(tmp_path / "file" / "results")
    assert main(["reproduce", "--datasets", "iris", "--out", out]) == 1
    assert "cannot write results" in capsys.readouterr().err


@pytest.mark.posix
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_stops_cleanly(tmp_path, jobs, interrupt):
    out = tmp_path / "results"
    command = ["reproduce", "--quick", "--only", "simulation", "--jobs", jobs]
    interrupt([*command, "--methods", "RF", "--out", str(out)], out)
    assert len(load_rows(out)) >= 2
