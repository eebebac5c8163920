import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import ExtraTreesClassifier

from jarf.bench import (
    StoreError,
    TableError,
    _compare,
    _methods,
    compare,
    dataset_names,
    get_method,
    load_rows,
    method_names,
    register_method,
)
from jarf.bench._own_table import own_table

IRIS = load_iris(as_frame=True).frame
TINY = {"methods": ["RF", "JARF"], "cv": 2, "repeats": 1, "n_trees": 3}


@pytest.fixture(autouse=True)
def clean_registry(monkeypatch):
    method_names()
    monkeypatch.setattr(_methods, "_REGISTRY", dict(_methods._REGISTRY))


def test_every_method_meets_the_same_folds(tmp_path):
    compare(IRIS, "target", out=tmp_path, **TINY | {"cv": 3})
    rows = [row for row in load_rows(tmp_path) if row.variant == ""]
    assert [(r.method, r.fold) for r in rows] == [
        *(("RF", 0), ("JARF", 0), ("RF", 1), ("JARF", 1), ("RF", 2), ("JARF", 2)),
    ]
    assert {(r.n_train, r.n_test) for r in rows} == {(100, 50)}


def test_the_default_is_the_usual_choice_and_ours(comparison):
    assert _compare.METHODS == ("RF", "XGB", "CatBoost", "LGBM", "JF", "JB", "JE")
    assert set(comparison.scores) == {"RF", "XGB", "JARF", "JF"}
    assert len(comparison.summary["splits"]["JF"]) == 4
    assert list(comparison.summary["races"]) == ["JF"]
    assert sum(comparison.summary["races"]["JF"].values()) == 4
    times = comparison.summary["tables"][2]
    searched = {row["key"] for row in times["rows"] if "tuning" in row["cells"]}
    assert searched == {"XGB"}


def test_tuning_sees_every_training_part_apart(tmp_path):
    pytest.importorskip("xgboost")
    compare(IRIS, "target", out=tmp_path, **TINY | {"methods": ["XGB"]})
    searches = [row for row in load_rows(tmp_path) if row.variant == "tuning"]
    assert [(row.repeat, row.fold) for row in searches] == [(0, 0), (0, 1)]


def test_regression():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    found = compare(X, y, **TINY)
    assert found.summary["metric"] == "r2"
    assert found.summary["table"]["target"] == "target"
    assert 0 < found.scores["RF"] < 1


def test_a_second_call_continues_and_more_can_be_asked_for(tmp_path, capsys):
    first = compare(IRIS, "target", out=tmp_path, verbose=True, **TINY)
    assert "4 fits, 0 stored, 4 to do" in capsys.readouterr().err
    again = compare(IRIS, "target", out=tmp_path, verbose=True, **TINY)
    assert "4 fits, 4 stored, 0 to do" in capsys.readouterr().err
    assert again.scores == first.scores
    compare(IRIS, "target", out=tmp_path, verbose=True, **TINY | {"repeats": 2})
    assert "8 fits, 4 stored, 4 to do" in capsys.readouterr().err


@pytest.mark.parametrize("change", ["value", "folds", "seed"])
def test_other_data_or_settings_do_not_meet_old_rows(tmp_path, capsys, change):
    compare(IRIS, "target", out=tmp_path, **TINY)
    table, options = IRIS.copy(), dict(TINY)
    if change == "value":
        table.iloc[3, 0] += 0.1
    elif change == "folds":
        options["cv"] = 3
    else:
        options["seed"] = 1
    compare(table, "target", out=tmp_path, verbose=True, **options)
    assert " 0 stored" in capsys.readouterr().err


def test_the_folder_of_another_command_is_left_alone(tmp_path):
    (tmp_path / "run.json").write_text('{"name": "quick"}')
    with pytest.raises(StoreError, match="another command"):
        compare(IRIS, "target", out=tmp_path, **TINY)


def test_a_registered_method_joins_and_the_registry_stays_clean(monkeypatch):
    monkeypatch.setattr(_compare, "METHODS", ("RF",))
    register_method("extra", ExtraTreesClassifier(n_estimators=3))
    before = dataset_names()
    found = compare(IRIS, "target", **TINY | {"methods": None, "n_trees": 2})
    assert set(found.scores) == {"RF", "extra"}
    assert dataset_names() == before


def test_methods_left_out_are_reported(monkeypatch):
    register_method("only classes", ExtraTreesClassifier())
    monkeypatch.setattr(_methods, "find_spec", lambda name: None)
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    found = compare(X, y, **TINY | {"methods": ["RF", "XGB", "only classes"]})
    assert list(found.scores) == ["RF"]
    said = " ".join(found.summary["left_out"])
    assert "xgboost is not installed" in said
    assert "only classes does not support regression" in said
    assert "xgboost is not installed" in found.html()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["nope"]}, "unknown method 'nope'"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"metric": "r2"}, "the metric of classification is one of"),
    ],
)
def test_bad_options_are_found_before_the_first_fit(tmp_path, options, message):
    with pytest.raises(TableError, match=message):
        compare(IRIS, "target", out=tmp_path / "out", **{**TINY, **options})
    assert not (tmp_path / "out").exists()


def test_a_failing_method_is_a_row_and_not_the_end(tmp_path):
    class Broken(ExtraTreesClassifier):
        def fit(self, X, y):
            raise RuntimeError("no luck")

    register_method("broken", Broken())
    found = compare(IRIS, "target", out=tmp_path, **TINY | {"methods": ["RF", "broken"]})
    assert found.summary["errors"][0]["error"] == "RuntimeError: no luck"
    assert "no luck" in found.html()
    assert list(found.scores) == ["RF"]


def test_directions_that_fail_leave_the_rest(monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("no directions today")

    monkeypatch.setattr(_compare, "directions_of", fail)
    found = compare(IRIS, "target", **TINY)
    assert "no directions today" in found.html()


def test_scores_do_not_depend_on_the_name_of_the_file(tmp_path):
    found = []
    for name in ("a.csv", "b.csv"):
        IRIS.to_csv(tmp_path / name, index=False)
        found.append(compare(tmp_path / name, "target", **TINY))
    first, second = (comparison.summary["splits"] for comparison in found)
    assert first == second
    more_trees = compare(IRIS, "target", **TINY | {"n_trees": 4, "methods": ["RF"]})
    rows = [c.summary["table"]["rows_used"] for c in (*found, more_trees)]
    assert rows == [150] * 3


def test_probabilities_are_ranked_too():
    found = compare(IRIS, "target", metric="roc_auc", **TINY | {"methods": ["RF"]})
    assert 0.9 < found.scores["RF"] <= 1
    found = compare(IRIS, "target", metric="average_precision", **TINY | {"methods": ["RF"]})
    assert "average precision" in found.answer[0]


def test_the_page_suggests_code_that_runs(tmp_path):
    path = tmp_path / "data.csv"
    table = IRIS.assign(kind=["u", "v", None] * 50, paid=["1,5 €", "2,5 €"] * 75)
    table.to_csv(path, index=False, sep=";", decimal=",")
    for method in ("RF", "XGB", "LGBM", "CatBoost", "JARF", "JF", "JB"):
        for package in get_method(method).requires:
            pytest.importorskip(package)
        found = compare(path, "target", drop=["paid"], **TINY | {"methods": [method]})
        code = found.summary["code"]
        assert "sep=';', decimal=','" in code
        assert "drop(columns=['target', 'paid'])" in code
        place = {}
        exec(code, place)  # what a reader would paste
        assert len(place["model"].predict(place["X"])) == 150
        assert found.summary["advice"][0].startswith("Use ")
    assert "What to do next" in found.html()
    assert "import pandas as pd" in found.markdown()


def test_the_code_converts_dates_and_amounts_as_the_comparison_did(tmp_path):
    days = pd.Timestamp("2020-01-15 06:30") + pd.to_timedelta(np.arange(150) * 5, "D")
    table = IRIS.assign(
        iso=days.strftime("%Y-%m-%d"),
        german=days.strftime("%d.%m.%Y %H:%M"),
        paid=[f"{1000 + i},50 €".replace("1", "1.", 1) for i in range(150)],
        change=["($2.50)", "$1,200.75"] * 75,
        price=[f"{(i * 37) % 150}.5 %" for i in range(150)],
    )
    table.to_csv(tmp_path / "data.csv", index=False)
    found = compare(tmp_path / "data.csv", "price", **TINY | {"methods": ["JF"]})
    place = {}
    exec(found.summary["code"], place)
    used = own_table(tmp_path / "data.csv", "price")
    assert {"iso (month)", "iso (weekday)", "german", "paid", "change"} <= set(used.X.columns)
    for name in used.X.columns:
        np.testing.assert_allclose(place["X"][name].to_numpy(float), used.X[name].to_numpy(float))
    np.testing.assert_allclose(place["y"], used.y)


def test_a_registered_method_has_no_code():
    register_method("extra", ExtraTreesClassifier(n_estimators=3))
    found = compare(IRIS, "target", **TINY | {"methods": ["extra"]})
    assert found.summary["code"] == ""
    assert "a method of your own" in found.html()
