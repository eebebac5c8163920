"""Counts of tables on which other methods stay ahead of ours."""

import numpy as np

from jarf.bench import ResultRow, Results
from jarf.bench.experiments._ahead import ahead_of_ours, ahead_table, kinds_of_tables

METHODS = ["RF", "JF", "JE", "MLP"]
SCORES = np.array([[0.5, 0.6, 0.7, 0.9], [0.5, 0.6, 0.7, 0.705], [0.5, 0.6, 0.7, np.nan]])
GROUPS = {"all": np.ones(3, dtype=bool), "small": np.array([True, False, False])}


def test_others_are_compared_with_the_best_of_ours():
    table = ahead_table("x", "ahead of {}", METHODS, SCORES, GROUPS)
    assert table.title == "ahead of JE"
    assert [row.key for row in table.rows] == ["MLP", "RF"]
    values = {key: cell.value for key, cell in table.cells.items()}
    assert values["MLP", "all"] == values["MLP", "small"] == 1  # 0.005 is level, NaN is ignored
    assert (values["MLP", "behind"], values["RF", "behind"]) == (0, 3)


def test_without_ours_or_others_there_is_no_table():
    assert ahead_table("x", "{}", ["RF", "MLP"], SCORES[:, [0, 3]], GROUPS) is None
    assert ahead_table("x", "{}", ["JF", "JE"], SCORES[:, 1:3], GROUPS) is None
    assert ahead_table("x", "{}", METHODS, SCORES[:0], {}) is None


def row(dataset, method, score, n_rows, n_classes):
    facts = {"task": "classification", "n_rows": n_rows, "n_classes": n_classes}
    scores = {"metrics": {"kappa": score}, "d": 4, "d_numeric": 1 if n_classes > 2 else 4}
    return ResultRow(dataset, method, "", 0, 0, 0, 0, **facts, **scores)


def test_kinds_come_from_stored_rows():
    rows = [
        *(row("a", "JF", 0.5, 500, 2), row("a", "RF", 0.6, 500, 2)),
        *(row("b", "JF", 0.5, 5000, 3), row("b", "RF", 0.4, 5000, 3), row("c", "RF", 0.1, 9, 2)),
    ]
    results = Results(rows)
    kinds = kinds_of_tables(results, ["a", "b"])
    assert kinds["below 1,000 rows"].tolist() == kinds["two classes"].tolist() == [True, False]
    assert kinds["mostly categories"].tolist() == [False, True]
    (table,) = ahead_of_ours(results, ["a", "b", "c"], "kappa", "x", "{}")  # c has no JF
    assert table.cells["RF", "all"].value == table.cells["RF", "below 1,000 rows"].value == 1
    assert table.cells["RF", "from 1,000 rows"].value == 0
