import numpy as np
import pandas as pd
import pytest

from jarf.bench import TableError, _own_table, guess_task
from jarf.bench._own_table import own_table

N = 200
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "income": RNG.normal(size=N),
        "debt": RNG.normal(size=N),
        "kind": RNG.choice(list("abc"), N),
        "churn": np.repeat(["no", "yes"], [150, 50]),
        "price": RNG.normal(size=N),
    }
)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"] * 50, "classification"),
        ([True, False] * 50, "classification"),
        ([0.0, 1.0] * 50, "classification"),
        (list(range(20)) * 5, "classification"),
        (list(range(21)) * 5, "regression"),
        (np.linspace(0, 1, 100), "regression"),
    ],
)
def test_the_task_is_guessed_and_the_reason_given(values, task):
    guess, why = guess_task(pd.Series(values))
    assert guess == task
    assert why.startswith("the target")


def test_a_table_is_read_whole():
    table = own_table(FRAME, "churn", label="mine.csv")
    assert table.task == "classification"
    assert list(table.X) == ["income", "debt", "kind", "price"]
    assert (table.n_rows, table.n_columns, table.label) == (200, 4, "mine.csv")
    assert table.notes[0].startswith("Task: classification, because")
    assert own_table(FRAME, "price").task == "regression"
    assert own_table(FRAME.drop(columns="churn"), FRAME["churn"]).target == "churn"
    assert "churn" not in own_table(FRAME, "price", drop=["churn"]).X


def test_rows_are_sampled_by_class_with_a_note(tmp_path):
    table = own_table(FRAME, "churn", rows=40)
    assert dict(zip(*np.unique(table.y, return_counts=True), strict=True)) == {"no": 30, "yes": 10}
    assert "a random sample of 40 of 200 rows" in " ".join(table.notes)
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    from_file = own_table(tmp_path / "t.csv", "churn", rows=40)
    assert from_file.y.tolist() == table.y.tolist()
    pd.testing.assert_frame_equal(
        from_file.X, table.X.astype(from_file.X.dtypes.to_dict()), check_dtype=False
    )
    assert len(own_table(FRAME, "churn", rows=0).y) == 200


def test_limits_on_rows_and_columns_are_reported(monkeypatch):
    monkeypatch.setattr(_own_table, "MAX_ROWS", 100)
    monkeypatch.setattr(_own_table, "MAX_COLUMNS", 2)
    table = own_table(FRAME, "churn")
    assert table.X.shape == (100, 2)
    said = " ".join(table.notes)
    assert "the first 2 of 4 columns" in said
    assert "100 of 200 rows" in said
    assert (table.n_rows, table.n_columns) == (200, 4)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"y": "chrun"}, r"no column 'chrun'. Did you mean 'churn'\?"),
        ({}, {"y": "CHURN"}, "Did you mean 'churn'"),
        ({"churn": "no"}, {}, "only one class, 'no'"),
        ({"churn": [None] * 190 + ["a", "b"] * 5}, {}, "has 10 rows with a target"),
        ({"churn": [f"c{i // 4}" for i in range(N)]}, {}, "too few for 5 folds"),
        (
            {"churn": [f"c{i % 45 if i < 150 else i % 3}" for i in range(N)]},
            {},
            "45 classes",
        ),
        ({"churn": pd.date_range("2020-01-01", periods=N)}, {}, "holds dates or times"),
        ({"churn": [f"{i % 28 + 1}.5.2020" for i in range(N)]}, {}, r"dates.*'1\.5\.2020'"),
        ({"churn": [*["a"] * 199, "b"]}, {}, "too few for 5 folds"),
        ({"churn": [f"c{i}" for i in range(N)]}, {}, "of which 0 have at least 5 rows"),
        ({}, {"task": "regression"}, "holds text such as 'no'; regression needs numbers"),
        ({"churn": 1.0}, {"task": "regression"}, "the same number in every row"),
        ({"churn": [np.inf, *range(199)]}, {"task": "regression"}, "infinite"),
        ({}, {"task": "ranking"}, "not 'ranking'"),
        ({"copy": FRAME["churn"] == "yes"}, {}, "'copy' determines the target 'churn' exactly"),
        ({}, {"drop": ["nope"]}, "no column 'nope' to drop"),
        ({}, {"drop": ["income", "debt", "kind", "price"]}, "no column is left"),
        ({}, {"rows": -1}, "rows must be at least 0"),
        ({}, {"rows": 5}, "rows is 5; 20 are needed"),
    ],
)
def test_tables_that_cannot_be_compared_are_refused(change, options, message):
    options = {"y": "churn", **options}
    with pytest.raises(TableError, match=message):
        own_table(FRAME.assign(**change), **options)


@pytest.mark.parametrize(("rows", "message"), [(0, "has no rows"), (5, "has 5 rows")])
def test_small_tables_are_refused(rows, message):
    with pytest.raises(TableError, match=message):
        own_table(FRAME.iloc[:rows], "churn")


def test_a_target_of_another_length():
    with pytest.raises(TableError, match="200 rows, but y has 3"):
        own_table(FRAME, [0, 1, 0])


def test_the_name_follows_values_and_settings():
    table = own_table(FRAME, "churn", label="my table.v2.csv")
    name = table.name({"folds": 5})
    assert name.startswith("my-table-")
    assert name == own_table(FRAME.copy(), "churn", label="my table.csv").name({"folds": 5})
    changed = FRAME.copy()
    changed.loc[7, "income"] += 1e-9
    others = [
        own_table(changed, "churn", label="my table").name({"folds": 5}),
        own_table(FRAME.rename(columns={"debt": "d"}), "churn", label="my table").name(
            {"folds": 5}
        ),
        own_table(FRAME, "kind", label="my table").name({"folds": 5}),
        table.name({"folds": 3}),
    ]
    assert len({name, *others}) == 5
    assert own_table(FRAME, "churn", label="???").name({}).startswith("table-")


def test_rows_without_a_target_are_left_out_with_a_note(tmp_path):
    frame = FRAME.copy()
    frame.loc[[3, 50, 51], "price"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, tmp_path / "t.csv"):
        table = own_table(source, "price")
        assert len(table.y) == len(table.X) == 197
        assert table.n_rows == 200
        kept = frame["income"].drop([3, 50, 51])
        assert table.X["income"].tolist() == pytest.approx(kept.tolist())
        assert "3 of 200 rows, whose target 'price' is missing" in table.notes[0]
    assert len(own_table(frame, "price", rows=50).y) == 50


def test_a_target_of_money_is_read_as_numbers():
    amounts = [f"${1000 + i:,}.50" for i in range(N)]
    table = own_table(FRAME.assign(price=amounts), "price")
    assert table.task == "regression"
    assert table.y.tolist() == [1000.5 + i for i in range(N)]
    assert "is read as numbers: '$1,000.50' is one of them" in table.notes[0]
    assert table.recipe.converted == [
        "table['price'] = table['price'].str.replace(r'[^\\d.-]', '', regex=True).astype(float)"
    ]


def test_splits_depend_on_the_target_alone():
    table = own_table(FRAME, "churn", label="a.csv")
    for other in (
        own_table(FRAME, "churn", label="b.csv"),
        own_table(FRAME, "churn", drop=["income"]),
    ):
        assert other.split_key == table.split_key
    changed = FRAME.assign(churn=FRAME["churn"].to_numpy()[::-1])
    assert own_table(changed, "churn").split_key != table.split_key


def test_a_leak_is_a_warning():
    late = np.where(FRAME["churn"] == "yes", 5.0, 0.0) + 0.1 * FRAME["income"]
    (warning,) = own_table(FRAME.assign(**{"refund sum": late}), "churn").warnings
    assert "'refund sum' alone predicts 'churn' almost perfectly (Cohen's kappa 1.00)" in warning
    assert warning.endswith("--drop 'refund sum'")


def test_values_too_large_for_a_tree_are_compared():
    large = FRAME.assign(income=FRAME["income"] * 1e40, churn=FRAME["income"] > 0)
    (warning,) = own_table(large, "churn").warnings
    assert "'income' alone predicts" in warning


def test_a_part_of_a_date_that_leaks_is_left_out_with_its_column():
    days = pd.Series(pd.date_range("2020-01-01", periods=len(FRAME)))
    late = np.where(days.dt.day_of_week >= 5, "yes", "no")
    table = FRAME.assign(day=days.dt.strftime("%Y-%m-%d"), churn=late)
    (warning,) = own_table(table, "churn").warnings
    assert "'day (weekday)' alone predicts" in warning
    assert warning.endswith("--drop day")
    assert own_table(table, "churn", drop=["day"]).warnings == []
    exact = table.assign(churn=days.dt.day_of_week.astype(str))
    with pytest.raises(TableError, match=r"'day \(weekday\)' determines .*: --drop day$"):
        own_table(exact, "churn")
