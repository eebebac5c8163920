import numpy as np
import pandas as pd
import pytest

from jarf.bench._own_columns import clean_columns
from jarf.bench._own_leaks import near_copies, target_copies

N = 40
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "whole": pd.array([*range(N - 1), None], dtype="Int64"),
        "inf": np.where(np.arange(N) == 3, np.inf, RNG.normal(size=N)),
        "day": pd.date_range("2020-01-01", periods=N, tz="UTC"),
        "span": pd.to_timedelta(RNG.integers(0, 5, N), unit="D"),
        "kind": pd.Categorical(RNG.choice(list("ab"), N)),
        "lists": [[i % 2] for i in range(N)],
        "constant": 1,
        "nothing": None,
        "name": [f"n{i}" for i in range(N)],
    }
)


def test_kept_columns_and_notes():
    cleaned = clean_columns(FRAME)
    names = ["x", "whole", "inf", "day", "day (weekday)", "span", "kind", "lists"]
    assert list(cleaned.X) == names
    assert cleaned.X["whole"].dtype == float
    assert np.isnan(cleaned.X["inf"][3])
    assert cleaned.X["day"].diff().dropna().tolist() == [1.0] * (N - 1)
    assert cleaned.X["day"].iloc[0] == 18262  # days from 1970 to 2020
    assert cleaned.X["span"].max() == 4
    said = " ".join(cleaned.notes)
    for words in (
        *("Left out, constant: constant, nothing", "differs in every row: name", "missing: inf"),
        *("days: day, span", "added as columns: day (weekday)"),
    ):
        assert words in said


@pytest.mark.parametrize(
    ("name", "values", "warned"),
    [
        ("anything", np.arange(N), True),
        ("anything", RNG.permutation(N) + 1000, True),
        ("customer_id", np.arange(N) * 977, True),
        ("income", np.arange(N) * 977, False),
        ("customer_id", np.arange(N) % 7, False),
        ("idea", RNG.normal(size=N), False),
        ("width", np.arange(N) * 977, False),
    ],
)
def test_ids_are_suspected(name, values, warned):
    cleaned = clean_columns(pd.DataFrame({name: values}))
    assert bool(cleaned.warnings) == warned
    assert list(cleaned.X) == [name]


def test_copies_of_the_target_are_found():
    y = RNG.choice(["no", "yes"], N)
    X = pd.DataFrame(
        {
            "code": np.where(y == "yes", 7, 3),
            "almost": np.where(np.arange(N) == 0, "other", y),
            "x": RNG.normal(size=N),
        }
    )
    assert target_copies(X, y, "classification") == ["code"]
    z = X["x"].to_numpy()
    assert target_copies(X.assign(unit=3 - 2 * z), z, "regression") == ["x", "unit"]
    assert target_copies(X[["code"]], z, "regression") == []


def test_a_column_that_almost_gives_the_answer_is_found():
    rng = np.random.default_rng(1)
    y = rng.choice(["no", "yes"], 1000, p=[0.8, 0.2])
    flipped = np.where(rng.random(1000) < 0.005, "other", y)
    X = pd.DataFrame(
        {
            "sent": np.where(flipped == "yes", rng.normal(9, 1, 1000), rng.normal(0, 1, 1000)),
            "reason": np.where(
                flipped == "yes",
                "fees " + pd.Series(rng.integers(3, size=1000)).astype(str),
                "none",
            ),
            "noise": rng.normal(size=1000),
            "useful": np.where(y == "yes", 1, 0) + rng.normal(size=1000),
        }
    )
    assert set(near_copies(X, y, "classification")) == {"sent", "reason"}
    z = rng.normal(size=1000)
    nearly = pd.DataFrame({"net": z + rng.normal(scale=0.02, size=1000), "half": z.round()})
    assert list(near_copies(nearly, z, "regression")) == ["net"]


def test_ids_are_dropped_by_a_hint_that_a_shell_understands():
    frame = pd.DataFrame({"Unnamed: 0": np.arange(N), "a\x1b[31m'b": np.arange(N)})
    first, second = clean_columns(frame).warnings
    assert first.endswith("--drop 'Unnamed: 0'")
    assert second.endswith(r"--drop $'a\x1b[31m\'b'")
