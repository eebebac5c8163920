"""The scripts of the gallery run, draw nothing on a screen and warn of nothing."""

import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_runs(script, tmp_path, monkeypatch, capsys):
    for name in ("pandas", "xgboost", "onnxruntime"):
        pytest.importorskip(name)
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        plt.close("all")
    assert capsys.readouterr().out  # it prints something


def test_the_gallery_is_complete():
    subjects = ["quickstart", "dataframe", "xgboost", "when_it_helps"]
    subjects += ["ejop", "surrogate", "tuning", "onnx", "boosting"]
    assert len(SCRIPTS) == len(subjects)
    for subject, script in zip(subjects, SCRIPTS, strict=True):
        assert subject in script.stem
