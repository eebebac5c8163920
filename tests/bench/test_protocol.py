import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jarf.bench import BUDGETS, Table, get_dataset, make_split
from jarf.bench._datasets import Dataset, split_seed
from jarf.bench._protocol import cap_rows, encode, fold_rows, numeric_columns

QUICK = BUDGETS["quick"]


def test_halves_are_two_stratified_halves():
    y = np.repeat([0, 1, 2], [60, 30, 10])
    first, second = fold_rows(y, "classification", seed=0)
    assert sorted([*first, *second]) == list(range(100))
    assert np.bincount(y[first]).tolist() == [30, 15, 5]


def test_a_class_of_one_row_does_not_stop_a_split():
    y = np.array([0] * 10 + [1] * 9 + [2])
    first, second = fold_rows(y, "classification", seed=0)
    assert len(first) + len(second) == 20


@given(
    counts=st.lists(st.integers(1, 80), min_size=2, max_size=6),
    cap=st.integers(6, 60),
    seed=st.integers(0, 5),
)
@settings(max_examples=40, deadline=None)
def test_cap_keeps_shares_and_every_class(counts, cap, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    rows = np.arange(len(y))
    kept = cap_rows(rows, y, cap, "classification", seed)
    assert len(kept) == min(cap, len(y))
    assert len(set(kept)) == len(kept)
    found = np.bincount(y[kept], minlength=len(counts))
    assert (found >= 1).all()
    expected = np.array(counts) * len(kept) / len(y)
    assert (np.abs(found - expected) <= len(counts)).all()


def test_no_cap_keeps_all():
    rows = np.arange(10)
    assert cap_rows(rows, rows, None, "regression", 0) is rows
    assert len(cap_rows(rows, rows, 4, "regression", 0)) == 4


def test_seeds_differ_between_splits_only():
    seeds = {split_seed(0, name, r, f) for name in "ab" for r in range(3) for f in (0, 1)}
    assert len(seeds) == 12
    assert split_seed(0, "a", 1, 0) == split_seed(0, "a", 1, 0)


@pytest.fixture
def mixed():
    train = pd.DataFrame(
        {
            "number": [1.0, 2.0, np.nan, 4.0],
            "flag": [0, 1, 1, 0],
            "word": pd.Categorical(["a", "b", None, "a"]),
        }
    )
    test = pd.DataFrame(
        {"number": [np.nan, 10.0], "flag": [1, 0], "word": pd.Categorical(["c", "b"])}
    )
    return train, test


def test_encoding_is_fitted_on_the_training_half(mixed):
    train, test = mixed
    X, Z, numeric = encode(train, test, ["number"])
    assert numeric.tolist() == [True, *[False] * (X.shape[1] - 1)]
    filled = np.array([1.0, 2.0, 2.0, 4.0])
    np.testing.assert_allclose(X[:, 0], (filled - filled.mean()) / filled.std())
    np.testing.assert_allclose(Z[:, 0], (np.array([2.0, 10.0]) - filled.mean()) / filled.std())
    # flag is one column; word has the levels a, b, missing; the unseen c is all zeros
    assert X.shape[1] == 1 + 1 + 3
    assert Z[0, 2:].tolist() == [0, 0, 0]
    assert not np.isnan(X).any()


def test_two_valued_columns_are_categories(mixed):
    assert numeric_columns(mixed[0]) == ["number"]


def test_folds_are_shared_and_swapped():
    dataset = get_dataset("wine")
    a, b = (make_split(dataset, 0, fold, QUICK, 0) for fold in (0, 1))
    assert len(a.X_train) == len(b.X_test)
    again = make_split(dataset, 0, 0, QUICK, 0)
    np.testing.assert_array_equal(a.X_train, again.X_train)
    other = make_split(dataset, 1, 0, QUICK, 0)
    assert not np.array_equal(a.X_train, other.X_train)


def test_regression_targets_are_standardised_by_the_training_half():
    split = make_split(get_dataset("diabetes"), 0, 0, QUICK, 0)
    assert abs(split.y_train.mean()) < 1e-12
    assert split.y_train.std() == pytest.approx(1)
    assert split.n_classes == 0


def test_simulated_splits_are_fresh_draws():
    dataset = get_dataset("halfspace-d10-a45")
    a, b = (make_split(dataset, 0, fold, QUICK, 0) for fold in (0, 1))
    assert a.X_train.shape == (QUICK.simulated_rows, 10)
    assert len(a.X_test) == QUICK.simulated_test_rows
    assert not np.array_equal(a.X_train, b.X_train)
    assert a.numeric.all()


def test_simulated_splits_know_their_own_limit():
    dataset = get_dataset("halfspace-d10-a30")
    limits = [make_split(dataset, repeat, 0, QUICK, 0).bayes for repeat in range(20)]
    assert np.mean(limits) == pytest.approx(dataset.facts["bayes"], abs=0.01)
    assert np.std(limits) > 0
    assert make_split(get_dataset("wine"), 0, 0, QUICK, 0).bayes is None


def test_labels_the_training_half_lacks_can_only_be_missed():
    def draw(seed, n_train, n_test):
        X = pd.DataFrame({"a": np.arange(4.0)})
        train = Table(X, np.array(["x", "z", "x", "z"]))
        return train, Table(X, np.array(["x", "y", "z", "zz"]))

    split = make_split(Dataset("d", "classification", draw=draw), 0, 0, QUICK, 0)
    assert split.y_train.tolist() == [0, 1, 0, 1]
    assert split.y_test.tolist() == [0, -1, 1, -1]


def test_folds_partition_the_rows_and_keep_the_classes():
    y = np.repeat([0, 1], [80, 20])
    tests = []
    for fold in range(5):
        train, test = fold_rows(y, "classification", 3, fold, 5)
        assert sorted([*train, *test]) == list(range(100))
        assert np.bincount(y[test]).tolist() == [16, 4]
        tests.extend(test)
    assert sorted(tests) == list(range(100))


def test_two_folds_are_each_other_turned_round():
    y = np.random.default_rng(0).normal(size=31)
    (a, b), (c, d) = (fold_rows(y, "regression", 1, fold) for fold in (0, 1))
    assert a.tolist() == d.tolist()
    assert b.tolist() == c.tolist()


def test_rare_levels_share_a_column():
    levels = np.repeat([f"l{i}" for i in range(8)], np.arange(8, 0, -1))
    train = pd.DataFrame({"level": levels})
    few, _, numeric = encode(train, train, [], max_levels=4)
    assert few.shape == (36, 4)
    assert few[:, -1].sum() == 5 + 4 + 3 + 2 + 1
    assert not numeric.any()
    assert encode(train, train, [])[0].shape == (36, 8)
