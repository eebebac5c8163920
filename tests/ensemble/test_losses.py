"""Losses of boosting: derivatives, constants, leaves and refusals."""

import numpy as np
import pytest
from scipy.optimize import minimize

from jarf.ensemble._losses import (
    LEAST_HESSIAN,
    REGRESSION_LOSSES,
    Huber,
    Logistic,
    Softmax,
    SquaredError,
    best_power,
    classification_loss,
    group_quantiles,
    regression_loss,
)

rng = np.random.default_rng(0)
N = 60
RESPONSE = np.exp(rng.normal(size=(N, 1)))
WEIGHTS = rng.integers(1, 4, N).astype(float)


def case(name):
    """A loss, responses or classes that it takes, and sums at which it is smooth."""
    if name in ("logistic", "softmax"):
        n_classes = 2 if name == "logistic" else 3
        loss = classification_loss(n_classes)
        return loss, rng.integers(0, n_classes, N), rng.normal(size=(N, loss.n_raw))
    if name == "several outputs":
        return SquaredError(2), rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    loss = regression_loss(name, 0.7, 1)
    return loss, RESPONSE, rng.normal(size=(N, 1))


every = pytest.mark.parametrize(
    "name", [*REGRESSION_LOSSES, "several outputs", "logistic", "softmax"]
)


@every
def test_gradients_are_the_derivatives_of_the_loss(name):
    loss, y, raw = case(name)
    gradients, hessians = loss.gradients(y, raw, WEIGHTS)
    assert gradients.shape == hessians.shape == raw.shape
    # Squared error and its kin are written without the half.
    double = 2.0 if name in ("squared_error", "huber", "several outputs") else 1.0
    step = 1e-6
    for output in range(raw.shape[1]):
        moved = step * np.eye(raw.shape[1])[output]
        slope = (loss.losses(y, raw + moved) - loss.losses(y, raw - moved)) / (2 * step)
        np.testing.assert_allclose(double * gradients[:, output], slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["squared_error", "poisson", "gamma", "logistic", "softmax"])
def test_hessians_are_the_derivatives_of_the_gradients(name):
    loss, y, raw = case(name)
    hessians = loss.gradients(y, raw, WEIGHTS)[1]
    step = 1e-6
    for output in range(raw.shape[1]):
        moved = step * np.eye(raw.shape[1])[output]
        up, down = (loss.gradients(y, raw + sign * moved, WEIGHTS)[0] for sign in (1, -1))
        slope = (up - down)[:, output] / (2 * step)
        np.testing.assert_allclose(hessians[:, output], slope, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", sorted({*REGRESSION_LOSSES, "logistic", "softmax"} - {"huber"}))
def test_the_base_minimises_the_loss(name):
    loss, y, _ = case(name)
    base = loss.base(y, WEIGHTS)

    def mean_loss(constant):
        losses = loss.losses(y, np.tile(constant, (N, 1)))
        return np.average(losses, weights=WEIGHTS)

    best = minimize(mean_loss, base + 0.1, method="Nelder-Mead", options={"fatol": 1e-12})
    assert mean_loss(base) <= best.fun + 1e-8


def test_certain_classes_keep_a_hessian():
    for loss, raw in ((Logistic(), np.full((2, 1), 1e3)), (Softmax(3), np.eye(3)[:2] * 1e3)):
        gradients, hessians = loss.gradients(np.array([0, 1]), raw, np.ones(2))
        assert np.isfinite(gradients).all()
        assert (hessians >= LEAST_HESSIAN).all()
        assert np.isfinite(loss.losses(np.array([0, 1]), raw)).all()


@pytest.mark.parametrize("name", ["absolute_error", "quantile"])
def test_leaves_hold_their_quantiles(name):
    loss = regression_loss(name, 0.25, 1)
    residuals = np.array([1.0, 2.0, 3.0, 4.0, 5.0, -1.0])
    steps = loss.leaf_steps(residuals, np.ones(6), np.array([0, 0, 0, 0, 0, 2]), 3)
    middle = 3.0 if name == "absolute_error" else 2.0
    assert steps.tolist() == [middle, 0.0, -1.0]


def test_huber_leaves_lie_between_median_and_mean():
    loss, residuals = Huber(), np.append(np.arange(20.0), 1000.0)
    loss.gradients(residuals[:, None], np.zeros((21, 1)), np.ones(21))
    step = loss.leaf_steps(residuals, np.ones(21), np.zeros(21, int), 1)
    assert np.median(residuals) < step[0] < residuals.mean() / 2


@pytest.mark.parametrize(
    ("quantile", "expected"), [(0.5, [2.0, 15.0]), (0.2, [1.0, 10.0]), (0.9, [3.0, 20.0])]
)
def test_quantiles_of_groups(quantile, expected):
    values = np.array([3.0, 20.0, 1.0, 10.0, 2.0])
    groups = np.array([0, 1, 0, 1, 0])
    found = group_quantiles(values, np.ones(5), groups, 2, quantile)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("quantile", [0.1, 0.25, 0.5, 0.7, 0.9])
def test_a_weight_of_two_counts_as_two_rows(quantile):
    values, groups = rng.normal(size=40), rng.integers(0, 4, 40)
    weights = rng.integers(1, 5, 40)
    twice = np.repeat(np.arange(40), weights)
    np.testing.assert_array_equal(
        group_quantiles(values, weights.astype(float), groups, 4, quantile),
        group_quantiles(values[twice], np.ones(len(twice)), groups[twice], 4, quantile),
    )


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("poisson", [-1.0, 2.0], "not negative"),
        ("poisson", [0.0, 0.0], "above zero"),
        ("gamma", [0.0, 1.0], "positive responses"),
    ],
)
def test_responses_outside_the_loss_are_refused(name, y, message):
    with pytest.raises(ValueError, match=message):
        regression_loss(name, None, 1).check(np.array(y)[:, None])


def test_the_quantile_must_be_named():
    with pytest.raises(ValueError, match=r"quantile=0\.9"):
        regression_loss("quantile", None, 1)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("factor", "expected"), [(3.0, 1 / 3), (0.5, 1.0)])
def test_the_power_undoes_overconfidence_and_nothing_else(n_classes, factor, expected):
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(4000, 1 if n_classes == 2 else n_classes))
    loss = classification_loss(n_classes)
    scores = np.hstack([np.zeros_like(raw), raw]) if n_classes == 2 else raw
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    power = 1.0
    for _ in range(8):
        power = best_power(loss, labels, factor * raw, np.ones(4000), power)
    assert power == pytest.approx(expected, rel=0.05)


def test_the_power_stays_within_bounds():
    """Labels that contradict the sums ask for a power of zero; few rows must not go there."""
    loss, labels = classification_loss(2), np.array([0, 1])
    power = 1.0
    for _ in range(20):
        power = best_power(loss, labels, np.array([[50.0], [-50.0]]), np.ones(2), power)
    assert 0.25 <= power < 1.0
