import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from jarf import JacobianFeatures
from jarf.datasets import make_rotated_halfspace
from jarf.ensemble._features import draw_directions

X, y = make_rotated_halfspace(600, 5, angle=45, random_state=0)
NOISE = np.random.default_rng(0).integers(0, 2, 600)


@parametrize_with_checks([JacobianFeatures(random_state=0)])
def test_estimator_contract(estimator, check):
    check(estimator)


def test_columns_are_kept_and_directions_appended():
    model = JacobianFeatures(6, switch="on", random_state=0).fit(X, y)
    out = model.transform(X)
    assert out.shape == (600, 11)
    np.testing.assert_array_equal(out[:, :5], X)
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(out[:, 5:], standardised @ model.directions_)
    np.testing.assert_allclose(np.linalg.norm(model.directions_, axis=0), 1)
    assert abs(model.directions_[:, 0] @ [0.5**0.5, 0.5**0.5, 0, 0, 0]) > 0.95


def test_the_switch_is_on_where_the_boundary_is_oblique_and_off_for_noise():
    clear, labels = make_rotated_halfspace(1500, 5, angle=45, noise=0.02, random_state=0)
    on = JacobianFeatures(random_state=0).fit(clear, labels)
    assert on.switched_on_
    assert on.gain_ > on.gain_standard_error_ > 0
    off = JacobianFeatures(random_state=0).fit(X, NOISE)
    assert not off.switched_on_
    np.testing.assert_array_equal(off.transform(X), X)


def test_own_judge_and_regression():
    target = np.sin(2 * X[:, 0] + 2 * X[:, 1])
    judge = RandomForestRegressor(20)
    model = JacobianFeatures(switch=judge, random_state=0).fit(X, target)
    assert model.switched_on_
    assert not hasattr(judge, "estimators_")


def test_it_helps_a_booster():
    booster = HistGradientBoostingRegressor(max_iter=50, random_state=0)
    data = np.random.default_rng(1).normal(size=(2000, 5))
    target = np.sin(data[:, 0] + data[:, 1] - data[:, 2])
    train, test = slice(500), slice(500, None)
    plain = booster.fit(data[train], target[train]).score(data[test], target[test])
    piped = make_pipeline(JacobianFeatures(random_state=0), booster).fit(data[train], target[train])
    assert piped.score(data[test], target[test]) > plain + 0.1


def test_names():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = JacobianFeatures(2, switch="on", random_state=0).set_output(transform="pandas")
    out = model.fit(frame, y).transform(frame)
    assert list(out.columns) == [*"abcde", "jacobian0", "jacobian1"]


def test_same_bits_for_any_n_jobs():
    one, two = (JacobianFeatures(random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.directions_, two.directions_)


@pytest.mark.parametrize("shape", [(40, 3), (4, 30)])
def test_leading_directions_span_the_gradients(shape):
    rng = np.random.RandomState(0)
    basis = np.linalg.qr(rng.normal(size=(shape[1], 2)))[0]
    gradients = rng.normal(size=(shape[0], 2)) @ basis.T
    drawn = draw_directions([gradients], 6, rng)
    leading = drawn[:, :2]
    np.testing.assert_allclose(leading @ leading.T, basis @ basis.T, atol=1e-8)
    assert draw_directions([np.zeros(shape)], 6, rng).shape == (shape[1], 0)


def test_unknown_source_is_named():
    with pytest.raises(ValueError, match="astrology"):
        JacobianFeatures(sources=("astrology",)).fit(X, y)
