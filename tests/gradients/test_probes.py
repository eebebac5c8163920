import numpy as np
import pytest

from jarf.gradients import (
    column_std,
    difference_steps,
    probe_positions,
    robust_scale,
    value_gaps,
)


def test_scale_of_a_normal_sample_is_its_standard_deviation():
    X = np.random.default_rng(0).normal(size=(20_000, 2)) * [1.0, 50.0]
    np.testing.assert_allclose(robust_scale(X), [1.0, 50.0], rtol=0.03)


def test_scale_falls_back_where_the_mad_is_zero():
    binary = np.repeat([0.0, 1.0], [90, 10])
    constant = np.full(100, 0.1)
    inflated = np.concatenate([np.zeros(80), np.arange(20.0)])
    scale = robust_scale(np.column_stack([binary, constant, inflated]))
    np.testing.assert_allclose(scale, [binary.std(), 0.0, inflated.std()])


def test_std_survives_extreme_units():
    unit = np.array([1e-300, 1e-30, 1.0, 1e30, 1e300])
    column = np.array([1.0, 2.0, 3.0, 6.0])
    np.testing.assert_allclose(column_std(np.outer(column, unit)), column.std() * unit)
    assert (column_std(np.full((7, 1), 0.1)) == 0).all()


def test_steps_by_rule():
    X = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 10.0, 0.0]
    np.testing.assert_allclose(difference_steps(X, 0.2), 0.2 * robust_scale(X))
    std = X.std(axis=0)
    one = difference_steps(X, 0.1, "global")
    np.testing.assert_allclose(one[:2], 0.1 * np.sqrt((std[:2] ** 2).mean()))
    assert one[2] == 0
    in_units = difference_steps(X, 0.1, "global", unit=np.where(std > 0, std, 1.0))
    np.testing.assert_allclose(in_units, 0.1 * std)
    np.testing.assert_array_equal(difference_steps(X, 9, [1, 2, 3]), [1, 2, 3])
    assert (difference_steps(np.ones((5, 2)), 0.1, "global") == 0).all()


def test_gaps_between_values():
    rng = np.random.default_rng(0)
    columns = [
        5.0 * rng.integers(0, 11, 5000),
        rng.choice([0.1, 0.35, 0.6], 5000),
        np.full(5000, 7.0),
        np.where(np.arange(5000) == 4321, 3.0, 1.0),  # a value that a sample of rows may miss
        rng.normal(size=5000),
    ]
    gaps = value_gaps(np.column_stack(columns))
    np.testing.assert_allclose(gaps[:4], [5.0, 0.25, 0.0, 2.0])
    assert 0 < gaps[4] < 0.01


@pytest.mark.parametrize("n_rows", [1, 2, 3, 40, 41])
def test_gaps_are_medians_of_the_differences_of_distinct_values(n_rows):
    rng = np.random.default_rng(n_rows)
    X = np.column_stack(
        [rng.normal(size=n_rows), rng.integers(0, 9, n_rows) ** 2, rng.choice([0.0, -0.0], n_rows)]
    )
    expected = [np.median(np.diff(np.unique(c))) if len(set(c)) > 1 else 0.0 for c in X.T]
    np.testing.assert_array_equal(value_gaps(X), expected)


@pytest.mark.parametrize(("scheme", "factor"), [("centered", 2.0), ("forward", 1.0)])
def test_automatic_steps_reach_the_next_value(scheme, factor):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=5000), 5.0 * rng.integers(0, 11, 5000), np.ones(5000)])
    steps = difference_steps(X, scheme=scheme)
    mad = difference_steps(X, rule="mad", scheme=scheme)
    assert steps[0] == mad[0]  # continuous: the paper's step
    assert mad[1] < 5.0
    assert steps[1] == 5.0 * factor
    assert steps[2] == 0.0


@pytest.mark.parametrize(
    ("step", "rule", "message"),
    [
        (0.0, "mad", "positive"),
        (-1.0, "global", "positive"),
        (float("nan"), "mad", "positive"),
        (0.1, "other", "step_rule"),
        (0.1, [1.0], "2 finite, non-negative steps"),
        (0.1, [1.0, -1.0], "non-negative"),
        (0.1, [1.0, np.inf], "finite"),
    ],
)
def test_bad_steps_are_refused(step, rule, message):
    with pytest.raises(ValueError, match=message):
        difference_steps(np.eye(2), step, rule)


STEPS, LOW, HIGH = np.array([1.0]), np.array([0.0]), np.array([10.0])


@pytest.mark.parametrize(
    ("scheme", "boundary", "x", "expected"),
    [
        ("centered", "one-sided", 5.0, (5.5, 4.5)),
        ("centered", "one-sided", 9.9, (9.9, 9.4)),
        ("centered", "one-sided", 0.1, (0.6, 0.1)),
        ("centered", "clip", 9.9, (10.0, 9.4)),
        ("centered", "none", 9.9, (10.4, 9.4)),
        ("forward", "one-sided", 5.0, (6.0, 5.0)),
        ("forward", "one-sided", 9.9, (9.9, 8.9)),
        ("forward", "clip", 9.9, (10.0, 9.9)),
        ("forward", "none", 9.9, (10.9, 9.9)),
    ],
)
def test_positions(scheme, boundary, x, expected):
    upper, lower = probe_positions(np.array([[x]]), STEPS, LOW, HIGH, scheme, boundary)
    np.testing.assert_allclose((upper[0, 0], lower[0, 0]), expected)


@pytest.mark.parametrize("scheme", ["centered", "forward"])
def test_step_wider_than_the_range_probes_its_ends(scheme):
    upper, lower = probe_positions(np.array([[5.0]]), np.array([90.0]), LOW, HIGH, scheme)
    assert (upper[0, 0], lower[0, 0]) == (10.0, 0.0)
