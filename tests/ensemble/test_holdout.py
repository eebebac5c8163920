import numpy as np
import pytest

from jarf.ensemble._holdout import CROSS_FIT_BELOW, ScoredRows, row_groups, score_splits


@pytest.mark.parametrize("n", [10, 500, CROSS_FIT_BELOW - 1, CROSS_FIT_BELOW, 50_000])
def test_scored_rows_are_never_learned_from(n):
    splits = score_splits(np.arange(n, dtype=np.float32)[:, None], np.random.RandomState(0))
    scored = np.concatenate([score for _, score in splits])
    assert len(np.unique(scored)) == len(scored)
    for learn, score in splits:
        assert not set(learn) & set(score)
    if n < CROSS_FIT_BELOW:
        assert len(scored) == n


@pytest.mark.parametrize("n", [60, 2 * CROSS_FIT_BELOW])
def test_identical_rows_stay_on_one_side(n):
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(n // 2, 3)).astype(np.float32)
    distinct[0] = 0.0
    X = np.repeat(distinct, 2, axis=0)
    X[0] = -0.0  # equal to its copy
    for learn, score in score_splits(X, np.random.RandomState(0)):
        copies = {row.tobytes() for row in X[learn] + np.float32(0)}
        assert not copies & {row.tobytes() for row in X[score] + np.float32(0)}
        assert len(learn) > 0 < len(score)


def test_rows_that_are_all_alike_are_not_split():
    assert score_splits(np.ones((50, 2), np.float32), np.random.RandomState(0)) == []


def test_a_few_copies_do_not_change_the_splits():
    X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    assert row_groups(X) is None
    plain = score_splits(X, np.random.RandomState(0))
    X[1] = X[0]
    for (learn, _), (other, _) in zip(
        plain, score_splits(X, np.random.RandomState(0)), strict=True
    ):
        np.testing.assert_array_equal(learn, other)


@pytest.mark.parametrize("sigma", [0.0, 1.0, 2.0])
def test_the_error_of_a_weighted_mean_is_that_of_repeated_samples(sigma):
    rng = np.random.default_rng(0)
    weights = np.exp(sigma * rng.normal(size=400))
    draws = rng.normal(size=(2000, 400))
    truth = np.std([np.average(values, weights=weights) for values in draws])
    claimed = np.mean([ScoredRows(weights).mean_and_error(values)[1] for values in draws])
    assert claimed == pytest.approx(truth, rel=0.2)


def test_copies_count_as_one_observation():
    rng = np.random.default_rng(0)
    X, values, weights = rng.normal(size=(100, 2)), rng.normal(size=100), rng.random(100)
    once = ScoredRows.of(X, weights).mean_and_error(values)
    twice = ScoredRows.of(np.repeat(X, 2, axis=0), np.repeat(weights, 2))
    assert twice.mean_and_error(np.repeat(values, 2)) == pytest.approx(once)


def test_copies_are_found_in_wide_and_narrow_tables_alike():
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, 20, 60)
    for n_columns in (3, 200):
        X = rng.normal(size=(20, n_columns))
        X[:, 0] = 0.0
        X = X[chosen]
        X[::2, 0] = -0.0
        pairs = np.unique(np.column_stack([chosen, row_groups(X)]), axis=0)
        assert len(pairs) == len(np.unique(chosen)) == len(np.unique(pairs[:, 1]))
