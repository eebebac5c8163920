"""Several responses at once, in every forest."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import jarf
from jarf import AxisForestRegressor, JacobianForestRegressor, SPORFRegressor
from jarf.export import export_onnx, load, save
from jarf.inspection import shapley_values

FORESTS = [
    *("AxisForestRegressor", "SPORFRegressor", "CanonicalCorrelationForestRegressor"),
    *("RotationForestRegressor", "JacobianForestRegressor"),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 5))
Y = np.column_stack([X[:, 0] + X[:, 1], 100 * np.sin(X[:, 1]), X[:, 2] ** 2])
Y += 0.1 * RNG.normal(size=Y.shape) * Y.std(axis=0)


def make(name, **options):
    return getattr(jarf, name)(n_estimators=20, random_state=0, **options)


@pytest.mark.parametrize("name", FORESTS)
def test_every_forest_predicts_several_responses(name):
    model = make(name).fit(X[:160], Y[:160])
    assert model.n_outputs_ == 3
    assert model.predict(X).shape == Y.shape
    peer = RandomForestRegressor(20, random_state=0).fit(X[:160], Y[:160])
    assert model.score(X[160:], Y[160:]) > peer.score(X[160:], Y[160:]) - 0.1
    assert model.feature_importances_.shape == (5,)
    assert model.feature_importances_[3:].max() < model.feature_importances_[:3].max()


@pytest.mark.parametrize("name", FORESTS)
def test_copies_of_one_response_are_predicted_as_that_one(name):
    options = {"geometry": "sparse"} if name.startswith("Jacobian") else {}
    one = make(name, max_depth=4, **options).fit(X, Y[:, 0]).predict(X)
    two = make(name, max_depth=4, **options).fit(X, Y[:, [0, 0]]).predict(X)
    np.testing.assert_array_equal(two[:, 0], two[:, 1])
    assert np.corrcoef(one, two[:, 0])[0, 1] > 0.95


def test_leaves_hold_means_of_all_responses():
    model = AxisForestRegressor(1, bootstrap=False, max_depth=2, random_state=0).fit(X, Y)
    leaves = model.apply(X)[:, 0]
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        np.testing.assert_allclose(model.predict(X[rows])[0], Y[rows].mean(axis=0))


def test_weights_equal_repetition():
    counts = RNG.integers(0, 3, len(X))
    settings = {"n_estimators": 3, "max_depth": 3, "bootstrap": False, "random_state": 0}
    weighted = AxisForestRegressor(**settings).fit(X, Y, counts)
    rows = np.repeat(np.arange(len(X)), counts)
    repeated = AxisForestRegressor(**settings).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X))


def test_out_of_bag_predictions_have_a_column_per_response():
    model = AxisForestRegressor(60, oob_score=True, random_state=0).fit(X, Y)
    assert model.oob_prediction_.shape == Y.shape
    assert 0.3 < model.oob_score_ < 1.0


def test_a_single_column_is_one_response():
    with pytest.warns(UserWarning, match="column-vector"):
        model = AxisForestRegressor(3, random_state=0).fit(X, Y[:, :1])
    assert model.predict(X).shape == (len(X),)


def test_the_race_compares_the_sum_of_squared_errors():
    model = JacobianForestRegressor(5, random_state=0).fit(X, Y)
    plain = next(row for row in model.race_.rows if row["geometry"] == "axes")
    assert plain["loss"] > 10  # dominated by the response of large numbers


def test_a_warm_start_keeps_the_number_of_responses():
    model = AxisForestRegressor(2, warm_start=True, random_state=0).fit(X, Y)
    model.set_params(n_estimators=4)
    with pytest.raises(ValueError, match="y has 2 outputs"):
        model.fit(X, Y[:, :2])


def test_categories_of_many_levels_have_a_mean_of_every_response():
    pd = pytest.importorskip("pandas")
    level = RNG.integers(0, 60, 600)
    frame = pd.DataFrame({"city": [f"c{k}" for k in level], "x": RNG.normal(size=600)})
    effect = RNG.normal(size=(60, 2))
    model = AxisForestRegressor(20, random_state=0).fit(frame, effect[level] * [1, 100])
    assert model.table_.n_encoded == 3
    assert model.score(frame, effect[level] * [1, 100]) > 0.9


def test_classifiers_and_jarf_refuse_several():
    labels = (Y > 0).astype(int)
    with pytest.raises(ValueError, match="several"):
        jarf.AxisForestClassifier(2).fit(X, labels)
    with pytest.raises(ValueError, match="several"):
        jarf.JARFRegressor(n_estimators=2).fit(X, Y)


def test_shapley_values_add_up_for_every_response():
    model = AxisForestRegressor(3, random_state=0).fit(X, Y)
    found = shapley_values(model, X[:2], background=X[-20:])
    assert found.values.shape == (2, 5, 3)
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict(X[:2]))


def test_onnx_and_model_files_keep_all_responses(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    model = SPORFRegressor(5, random_state=0).fit(X, Y)
    session = runtime.InferenceSession(export_onnx(model).SerializeToString())
    (found,) = session.run(None, {session.get_inputs()[0].name: X})
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-5, atol=1e-4)
    save(model, tmp_path / "model.jarf")
    np.testing.assert_array_equal(load(tmp_path / "model.jarf").predict(X), model.predict(X))
