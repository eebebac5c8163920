import json
import re

import numpy as np
import pandas as pd
import pytest

from jarf.bench import Table
from jarf.bench._directions import directions_of


def halves(X, y):
    n = len(y) // 2
    parts = ((X.iloc[rows].reset_index(drop=True), y[rows]) for rows in (slice(n), slice(n, None)))
    return [Table(*part) for part in parts]


def oblique(n=1200, task="classification"):
    """The target follows a - b; c is noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)) * [1, 1, 100], columns=["a", "b", "c"])
    score = X["a"].to_numpy() - X["b"].to_numpy()
    y = np.where(score > 0, "up", "down") if task == "classification" else 5 + 2 * score
    return X, y


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_direction_of_the_target_is_found(task):
    X, y = oblique(task=task)
    found = directions_of(*halves(X, y), ["a", "b", "c"], task)
    json.dumps(found, allow_nan=False)
    first = dict(zip(found["columns"], found["loadings"][0], strict=True))
    assert first["a"] * first["b"] < 0
    assert abs(first["a"]) == pytest.approx(0.7, abs=0.15)
    assert abs(first["c"]) < 0.3
    assert sum(found["shares"]) == pytest.approx(1, abs=1e-3)
    assert found["shares"] == sorted(found["shares"], reverse=True)
    assert found["agreement"][0] > 0.9
    assert [name for name, _ in found["sensitivities"]][-1] == "c"
    cuts = found["cuts"]
    assert cuts["rotated"]["direction"] == 1
    assert cuts["rotated"]["worth"] > cuts["axis"]["worth"] + 0.2
    assert cuts["rotated"]["loadings"].split()[1] in ("a", "b")
    assert len(found["plane"]["first"]) == len(found["plane"]["target"]) == 600


def test_categories_are_toggled_but_not_rotated():
    X, y = oblique()
    rng = np.random.default_rng(1)
    X["kind"] = rng.choice(["u", "v"], len(X))
    X["many"] = rng.choice([f"m{i}" for i in range(80)], len(X))
    X["flag"] = rng.integers(0, 2, len(X))
    found = directions_of(*halves(X, y), ["a", "b", "c"], "classification")
    assert found["columns"] == ["a", "b", "c"]
    assert {name for name, _ in found["sensitivities"]} == {"a", "b", "c", "kind", "flag"}
    assert found["not_differentiated"] == ["many"]


def test_missing_numbers_are_handled():
    X, y = oblique()
    X.loc[::7, "a"] = np.nan
    found = directions_of(*halves(X, y), ["a", "b", "c"], "classification")
    assert found["columns"] == ["a", "b", "c"]


def test_one_number_has_no_directions():
    X, y = oblique()
    found = directions_of(*halves(X[["a"]], y), ["a"], "classification")
    assert "loadings" not in found
    assert found["sensitivities"][0][0] == "a"


def test_cuts_are_given_in_the_units_of_the_table():
    X, y = oblique()
    X["a"] = 1000 * X["a"] + 50_000
    train, test = halves(X, y)
    cuts = directions_of(train, test, ["a", "b", "c"], "classification")["cuts"]
    name, sign, value = cuts["axis"]["words"].split()
    column = train.X[name]
    standardised = (column - column.mean()) / column.std()
    assert sign == "<="
    assert ((column <= float(value)) == (standardised <= cuts["axis"]["threshold"])).mean() > 0.99
    assert set(re.findall(r" ([ab])\b", cuts["rotated"]["words"])) == {"a", "b"}
    assert float(cuts["rotated"]["words"].split("<= ")[1].split()[0]) != 0


def test_the_best_cut_of_a_column_may_be_a_category():
    X, y = oblique()
    rng = np.random.default_rng(2)
    y = np.where(rng.random(len(y)) < 0.05, "down", np.where(X["a"] > 5, "down", y))
    told = np.where(y == "up", "married", rng.choice(["single", "widowed"], len(y)))
    X["status"] = np.where(rng.random(len(y)) < 0.05, "single", told)
    cuts = directions_of(*halves(X, y), ["a", "b", "c"], "classification")["cuts"]
    assert cuts["axis"]["words"] in ("status is married", "status is not married")
    assert cuts["axis"]["worth"] > 0.7
    assert cuts["axis"]["normal"] == [0.0, 0.0]  # no line in the plane of the numbers


def computers(n=800):
    """The target follows the memory, whose values lie far apart; the clock is noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "clock": rng.normal(60, 20, n),
            "ram": rng.choice([2, 4, 8, 16, 32], n, p=[0.1, 0.2, 0.4, 0.2, 0.1]),
            "disk": rng.choice([80, 120, 250, 500], n),
        }
    )
    return X, 3.0 * np.log2(X["ram"]).to_numpy() + 0.01 * X["clock"].to_numpy()


def test_a_column_of_few_values_has_its_sensitivity():
    found = directions_of(*halves(*computers()), ["clock", "ram", "disk"], "regression")
    values = dict(found["sensitivities"])
    assert found["sensitivities"][0][0] == "ram"
    assert values["ram"] > 0.5
    assert values["disk"] < 0.1 * values["ram"]
    first = dict(zip(found["columns"], found["loadings"][0], strict=True))
    assert abs(first["ram"]) > 0.95


def test_noise_ranks_below_a_weaker_column_of_few_values():
    """A forest jumps along a continuous column of noise, but is not sensitive to it."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "ram": rng.choice([2, 4, 8, 16, 24, 32], 400),
            "speed": rng.choice([25, 33, 50, 66, 100], 400),
            "noise": rng.normal(size=400),
        }
    )
    y = 60.0 * X["ram"].to_numpy() + 5 * X["speed"].to_numpy() + rng.normal(0, 60, 400)
    found = directions_of(*halves(X, y), list(X), "regression")["sensitivities"]
    assert [name for name, _ in found] == ["ram", "speed", "noise"]


def test_outliers_do_not_multiply_a_sensitivity():
    """One row at 1e4 makes the s.d. huge: no move between other rows changes y by that much."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=600), "b": rng.normal(size=600)})
    y = X["a"].to_numpy() + X["b"].to_numpy()
    X.loc[5, "a"] = 1e4
    values = dict(directions_of(*halves(X, y), ["a", "b"], "regression")["sensitivities"])
    assert values["a"] == pytest.approx(values["b"], rel=0.3)
    assert values["a"] < 1


def test_a_slope_is_that_of_the_function():
    """y = 2 k on a grid of whole numbers: two target units per unit, s.d. of k over s.d. of y."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"k": rng.integers(0, 6, 1200), "x": rng.normal(size=1200)})
    y = 2.0 * X["k"].to_numpy()
    values = dict(directions_of(*halves(X, y), ["k", "x"], "regression")["sensitivities"])
    assert values["k"] == pytest.approx(1.0, abs=0.2)
    assert values["x"] < 0.5 * values["k"]
