"""Intervals, quantiles and sets: the coverage they promise, on rows that no model saw."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from jarf import (
    JacobianBoostingRegressor,
    JacobianForestClassifier,
    JacobianForestRegressor,
)
from jarf.ensemble import ConformalResiduals, ConformalSets
from jarf.ensemble._conformal import conformal_quantile
from jarf.export import load, save


def noisy(n, seed=0):
    """A response whose noise grows with the first column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, X[:, 1] + (0.1 + np.maximum(X[:, 0], 0)) * rng.standard_normal(n)


TRAIN, TEST = noisy(500), noisy(2000, seed=1)


def small(cls=JacobianForestRegressor, **params):
    return cls(**{"n_estimators": 60, "geometry": "axes", "random_state": 0, **params})


@pytest.fixture(scope="module")
def fitted():
    return small().fit(*TRAIN)


@pytest.mark.parametrize(("n", "level"), [(9, 0.9), (99, 0.9), (100, 0.5), (19, 0.95), (7, 0.3)])
def test_quantile_has_the_rank_of_split_conformal_prediction(n, level):
    scores = np.random.default_rng(n).permutation(n).astype(float)
    rank = int(np.ceil((n + 1) * level - 1e-9))
    assert conformal_quantile(scores, np.ones(n), level) == rank - 1
    assert conformal_quantile(scores, np.full(n, 7.0), level) == rank - 1


def test_quantile_of_too_few_rows_is_infinite():
    assert conformal_quantile(np.arange(8.0), np.ones(8), 0.9) == np.inf
    assert conformal_quantile(np.empty(0), np.empty(0), 0.5) == np.inf


def test_quantile_ignores_rows_of_weight_zero_and_moves_with_weights():
    scores, weights = np.arange(40.0), np.repeat([1.0, 0.0], 20)
    assert conformal_quantile(scores, weights, 0.8) == 16
    heavy = np.where(scores < 10, 10.0, 1.0)
    assert conformal_quantile(scores, heavy, 0.5) < conformal_quantile(scores, np.ones(40), 0.5)


def test_residuals_scaled_by_the_true_spread_give_narrower_intervals():
    rng = np.random.default_rng(0)
    spread = rng.uniform(0.1, 2, (2000, 1))
    residuals = spread * rng.standard_normal((2000, 1))
    local = ConformalResiduals.fit(residuals, spread, np.ones(2000))
    level = ConformalResiduals.fit(residuals, np.ones((2000, 1)), np.ones(2000))
    assert local.half_widths(spread, 0.9).mean() < 0.95 * level.half_widths(spread, 0.9).mean()
    # The floor dominates an uninformative spread.
    noise = rng.permutation(spread**4)
    useless = ConformalResiduals.fit(residuals, noise, np.ones(2000))
    widths = useless.half_widths(noise, 0.9)
    assert widths.std() < 0.05 * widths.mean()


def test_spreads_of_zero_are_welcome():
    found = ConformalResiduals.fit(np.arange(-10.0, 11)[:, None], np.zeros((21, 1)), np.ones(21))
    np.testing.assert_array_equal(found.half_widths(np.zeros((3, 1)), 0.5), np.full((3, 1), 5.0))


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_intervals_cover_as_often_as_promised(fitted, coverage):
    low, high = fitted.predict_interval(TEST[0], coverage).T
    covered = np.mean((low <= TEST[1]) & (TEST[1] <= high))
    assert abs(covered - coverage) < 0.04


def test_intervals_are_wider_where_there_is_more_noise(fitted):
    widths = np.diff(fitted.predict_interval(TEST[0]), axis=1)[:, 0]
    noisy_rows = TEST[0][:, 0] > 0.5
    assert widths[noisy_rows].mean() > 2 * widths[TEST[0][:, 0] < 0].mean()
    wider = np.diff(fitted.predict_interval(TEST[0], 0.95), axis=1)[:, 0]
    assert (wider > widths).all()


def test_the_prediction_lies_in_the_middle(fitted):
    middle = fitted.predict_interval(TEST[0]).mean(axis=1)
    np.testing.assert_allclose(middle, fitted.predict(TEST[0]))


def test_quantiles_are_ordered_and_lie_where_they_should(fitted):
    levels = [0.05, 0.25, 0.49, 0.5, 0.75, 0.95]
    found = fitted.predict_quantiles(TEST[0], levels)
    assert found.shape == (2000, 6)
    assert (np.diff(found, axis=1) >= 0).all()
    shares = (TEST[1][:, None] <= found).mean(axis=0)
    np.testing.assert_allclose(shares, levels, atol=0.05)
    np.testing.assert_array_equal(fitted.predict_quantiles(TEST[0], 0.25), found[:, 1])


def test_several_outputs_have_an_interval_each():
    X, y = TRAIN
    model = small().fit(X, np.column_stack([y, 100 * y]))
    one = model.predict_interval(X[:4])
    assert one.shape == (4, 2, 2)
    assert np.diff(one[:, 1]).mean() > 20 * np.diff(one[:, 0]).mean()
    assert model.predict_quantiles(X[:4], [0.2, 0.5, 0.8]).shape == (4, 2, 3)
    assert model.predict_quantiles(X[:4], 0.5).shape == (4, 2)


def test_large_offsets_of_the_target_change_nothing(fitted):
    far = small().fit(TRAIN[0], TRAIN[1] + 1e8)  # splits may differ in a few nodes
    widths = [np.diff(m.predict_interval(TEST[0]), axis=1).mean() for m in (far, fitted)]
    assert widths[0] == pytest.approx(widths[1], rel=0.02)


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 90, "0.9", True, None, np.nan])
def test_levels_outside_zero_and_one_are_refused(fitted, coverage):
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        fitted.predict_interval(TEST[0], coverage)
    with pytest.raises(ValueError, match="q must lie between 0 and 1"):
        fitted.predict_quantiles(TEST[0], [0.5, coverage])


def test_levels_beyond_the_held_out_rows_are_refused():
    model = small().fit(TRAIN[0][:30], TRAIN[1][:30])
    with pytest.raises(ValueError, match=r"coverage=0.99 .* 30 rows"):
        model.predict_interval(TEST[0], 0.99)
    with pytest.raises(ValueError, match=r"q=0.001 .* 30 rows"):
        model.predict_quantiles(TEST[0], 0.001)


def test_models_without_held_out_rows_explain_the_fix():
    model = small(calibrate=False).fit(*TRAIN)
    with pytest.raises(ValueError, match="calibrate=False or there were too few rows"):
        model.predict_interval(TEST[0])
    with pytest.raises(NotFittedError):
        small().predict_interval(TEST[0])
    refitted = small().fit(*TRAIN).set_params(calibrate=False).fit(*TRAIN)
    assert not hasattr(refitted, "conformal_")


def test_calibration_does_not_change_predictions(fitted):
    plain = small(calibrate=False).fit(*TRAIN)
    np.testing.assert_array_equal(plain.predict(TEST[0]), fitted.predict(TEST[0]))


def test_files_and_pickles_keep_intervals(fitted, tmp_path):
    save(fitted, tmp_path / "model")
    expected = fitted.predict_interval(TEST[0])
    for copy in (load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(copy.predict_interval(TEST[0]), expected)


@pytest.mark.parametrize("loss", ["squared_error", "gamma"])
def test_intervals_of_boosting(loss):
    (X, y), (rows, truth) = TRAIN, TEST
    y, truth = (np.exp(y), np.exp(truth)) if loss == "gamma" else (y, truth)
    model = JacobianBoostingRegressor(loss, geometry="axes", max_iter=80, random_state=0).fit(X, y)
    low, high = model.predict_interval(rows, 0.8).T
    assert abs(np.mean((low <= truth) & (truth <= high)) - 0.8) < 0.08
    widths = high - low
    if loss == "gamma":  # errors grow with the prediction
        assert np.corrcoef(widths, model.predict(rows))[0, 1] > 0.99
    else:
        np.testing.assert_allclose(widths, widths[0])
    bare = JacobianBoostingRegressor(loss, geometry="axes", max_iter=5, calibrate=False).fit(X, y)
    with pytest.raises(ValueError, match="calibrate=False"):
        bare.predict_interval(rows)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_sets_hold_the_true_class_as_often_as_promised(n_classes):
    def draw(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 4))
        return X, (X[:, :n_classes] + rng.gumbel(size=(n, n_classes))).argmax(axis=1)

    X, y = draw(2000, 1)
    model = small(JacobianForestClassifier).fit(*draw(600, 0))
    sizes = []
    for coverage in (0.6, 0.8, 0.95):
        sets = model.predict_set(X, coverage)
        assert sets.shape == (2000, n_classes)
        held = sets[np.arange(2000), y].mean()
        assert held > coverage - 0.04
        sizes.append(sets.sum(axis=1).mean())
        assert sets[np.arange(2000), model.predict_proba(X).argmax(axis=1)].all()
    assert sizes == sorted(sizes)
    assert held < 0.99


def test_sets_of_too_few_rows_hold_every_class():
    sets = ConformalSets(np.array([0.1, 0.2]), np.ones(2))
    assert sets.sets(np.array([[0.9, 0.1], [0.5, 0.5]]), 0.9).all()
