import json

import numpy as np
import pandas as pd
import pytest

from jarf.bench import ResultRow, TableError
from jarf.bench._comparison import compare_rows
from jarf.bench._own_table import OwnTable


def made_rows(levels, task="classification", n=10, caps=(0,)):
    """Rows in which every method has a level of its own and shares the noise of a split."""
    rng = np.random.default_rng(0)
    for cap in caps:
        for split in range(n):
            shared = rng.normal(0, 0.05)
            for method, level in levels.items():
                score = level + shared + rng.normal(0, 0.002) - (0.1 if cap else 0)
                metrics = {"kappa": score, "accuracy": score, "log_loss": 1 - score}
                if task == "regression":
                    metrics = {"r2": score, "rmse": 1 - score}
                yield {
                    "dataset": "t-1",
                    "method": method,
                    "variant": "",
                    "repeat": split // 5,
                    "fold": split % 5,
                    "cap": cap,
                    "seed": 0,
                    "status": "ok",
                    "error": "",
                    "task": task,
                    "n_train": cap or 80,
                    "n_test": 20,
                    "partial": False,
                    "metrics": metrics,
                    "times": {"total": 1.0, "cpu": 2.0 if method == "RF" else 3.0, "predict": 0.1},
                    "extra": {"geometry": "axes"} if method == "JF" else {},
                }


def records(rows):
    return [ResultRow.from_dict(row) for row in rows]


def table(task="classification"):
    X = pd.DataFrame({"a": np.arange(100.0), "k": list("xyxyx") * 20})
    y = np.repeat(["n", "p"], 50) if task == "classification" else np.arange(100.0)
    return OwnTable("t.csv", "y", task, X, y, 500, 3, ["a note"], ["a warning"])


def compared(levels, metric=None, task="classification", **options):
    rows = made_rows(levels, task, **options)
    return compare_rows(records(rows), {"sensitivities": []}, table(task), {"seed": 0}, [], metric)


def test_the_best_comes_first_and_pairs_are_judged():
    found = compared({"RF": 0.5, "JF": 0.6, "XGB": 0.6005})
    assert list(found.scores) == ["XGB", "JF", "RF"]
    verdicts = {(p["first"], p["second"]): p["verdict"] for p in found.summary["pairs"]}
    assert verdicts["XGB", "RF"] == verdicts["JF", "RF"] == "more than noise"
    assert verdicts["XGB", "JF"] == "within noise"
    scores, pairs, times = found.summary["tables"]
    assert [row["key"] for row in scores["rows"]] == ["XGB", "JF", "RF"]
    assert scores["rows"][0]["cells"]["kappa"]["best"] is True
    assert scores["rows"][2]["cells"]["log_loss"]["best"] is False
    assert pairs["rows"][0]["key"].endswith("over RF")
    assert times["rows"][1]["cells"]["ratio"]["ours"] == 1.5


def test_a_metric_that_should_be_low():
    found = compared({"RF": 0.5, "JF": 0.6}, metric="log_loss")
    assert list(found.scores) == ["JF", "RF"]
    assert found.summary["pairs"][0]["gain"] > 0
    assert "log-loss 0.4" in found.answer[0]
    found = compared({"RF": 0.5, "JF": 0.6}, task="regression", metric="rmse")
    assert list(found.scores) == ["JF", "RF"]


def test_metrics_of_the_other_task_are_refused():
    with pytest.raises(TableError, match="one of r2, rmse, not 'kappa'"):
        compared({"RF": 0.5}, task="regression", metric="kappa")


def test_the_learning_curve_is_a_table_of_its_own():
    found = compared({"RF": 0.5, "JF": 0.6}, caps=(20, 40, 0))
    curve = found.summary["tables"][-1]
    assert [row["key"] for row in curve["rows"]] == ["20", "40", "80"]
    assert curve["rows"][2]["cells"]["JF"]["n"] == 5  # folds of the first repeat
    assert curve["rows"][0]["cells"]["JF"]["ours"] < curve["rows"][2]["cells"]["JF"]["ours"]


def test_failed_fits_are_named_and_the_rest_stands():
    rows = list(made_rows({"RF": 0.5, "JF": 0.6}))
    rows[1].update(status="error", error="ValueError: no")
    found = compare_rows(records(rows), {"sensitivities": []}, table(), {})
    assert found.summary["errors"] == [{"method": "JF", "error": "ValueError: no", "fits": 1}]
    assert len(found.summary["splits"]["JF"]) == 9
    for row in rows:
        row.update(status="error", error="ValueError: no")
    with pytest.raises(TableError, match="every fit failed: ValueError: no"):
        compare_rows(records(rows), {"sensitivities": []}, table(), {})


def test_the_object_speaks_every_language(comparison, tmp_path):
    assert str(comparison) == "\n".join(comparison.answer)
    assert json.loads(comparison.json())["answer"] == comparison.answer
    assert comparison.answer[0] in comparison.markdown()
    frame = comparison._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert "<script" not in frame  # it is escaped inside the attribute
    page = comparison.save(tmp_path / "made")
    assert page.read_text() == comparison.html()
    assert {p.name for p in page.parent.iterdir()} == {
        *("index.html", "comparison.json", "comparison.md"),
    }
