import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from jarf import JacobianFeatures, JacobianPreconditioner
from jarf.datasets import make_rotated_halfspace
from jarf.ensemble import _features
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
    booster = GradientBoostingRegressor(n_estimators=50, random_state=0)
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


def mixed_table(n=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X[:n], columns=list("abcde"))
    frame["kind"] = rng.choice(["x", "y"], n)
    frame["town"] = rng.integers(0, 60, n).astype(str)
    frame.loc[::7, "b"] = np.nan
    return frame, y[:n]


def test_tables_are_encoded():
    frame, labels = mixed_table()
    model = JacobianFeatures(3, switch="on", random_state=0).set_output(transform="pandas")
    out = model.fit(frame, labels).transform(frame)
    encoded = [*"ab", "b_or_missing", *"cde", "kind_x", "kind_y", "town_mean"]
    assert list(out.columns) == [*encoded, "jacobian0", "jacobian1", "jacobian2"]
    assert not out.isna().any(axis=None)
    np.testing.assert_array_equal(out["kind_x"], frame["kind"] == "x")
    plain = ["b_or_missing", "kind_x", "kind_y", "town_mean"]
    mixed = np.abs(model.directions_).max(axis=1) > 0
    assert set(np.array(encoded)[~mixed]) == set(plain)
    polars = model.set_output(transform="default").transform(pl.from_pandas(frame))
    np.testing.assert_array_equal(polars, out.to_numpy())
    forest = make_pipeline(JacobianFeatures(3, random_state=0), RandomForestClassifier(20))
    assert forest.fit(frame, labels).predict(frame).shape == labels.shape


@pytest.mark.parametrize("kind", ["features", "map"])
def test_training_rows_do_not_see_their_own_target(kind):
    noise = np.random.default_rng(0).normal(size=2000)
    frame = pd.DataFrame({"x": np.arange(2000.0), "id": [f"i{k // 2}" for k in range(2000)]})
    model = {
        "features": JacobianFeatures(1, switch="on", sources=("forest",), random_state=0),
        "map": JacobianPreconditioner(RandomForestRegressor(5), random_state=0),
    }[kind]
    seen = model.fit_transform(frame, noise)[:, 1]
    assert abs(np.corrcoef(seen, noise)[0, 1]) < 0.1
    assert np.corrcoef(model.transform(frame)[:, 1], noise)[0, 1] > 0.5


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


@pytest.fixture
def learned_rows(monkeypatch):
    """The number of rows of every fit of surrogates."""
    seen = []

    def fit_sources(sources, table, *more):
        seen.append(len(table.Z))
        return _features_fit(sources, table, *more)

    _features_fit = _features.fit_sources
    monkeypatch.setattr(_features, "fit_sources", fit_sources)
    return seen


def test_surrogates_are_fitted_once_for_the_switch_and_the_directions(learned_rows):
    data, labels = make_rotated_halfspace(3000, 4, angle=45, noise=0.02, random_state=0)
    assert JacobianFeatures(random_state=0).fit(data[:900], labels[:900]).switched_on_
    assert learned_rows == [600, 600, 600]
    assert JacobianFeatures(random_state=0).fit(data, labels).switched_on_
    assert JacobianFeatures(switch="on", random_state=0).fit(data, labels).switched_on_
    assert learned_rows[3:] == [1500, 1500]


def test_a_first_fold_without_gain_ends_the_comparison(learned_rows):
    seeds = range(4)
    gains = [JacobianFeatures(random_state=seed).fit(X, NOISE).gain_ for seed in seeds]
    assert min(gains) <= 0
    assert len(learned_rows) < 3 * len(gains)
