"""Every tree ensemble that can be read, through one format."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from jarf import SPORFClassifier, expected_jacobian_outer_product
from jarf.gradients import Differences
from jarf.gradients import _input_gradients as gradients
from jarf.trees import UnreadableTrees, find_trees, forest_differences, read_trees

TABLE = np.random.default_rng(0).normal(size=(30, 3))


def close(found, expected, rtol):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def test_forest_predicts_as_the_model_does(ensemble):
    close(
        read_trees(ensemble.model).predict(ensemble.X), ensemble.outputs(ensemble.X), ensemble.rtol
    )


def test_differences_are_two_predictions_per_feature(ensemble):
    rng = np.random.default_rng(1)
    rows = ensemble.X[:60]
    # Steps of whole tenths: probes lie on values of the data, and on thresholds between them.
    upper, lower = (
        (rows + sign * rng.integers(0, 30, rows.shape) / 20).astype(np.float32) for sign in (1, -1)
    )
    expected = []
    for j in range(rows.shape[1]):
        up, down = rows.copy(), rows.copy()
        up[:, j], down[:, j] = upper[:, j], lower[:, j]
        expected.append(ensemble.outputs(up) - ensemble.outputs(down))
    expected = np.stack(expected, axis=2)
    forest = read_trees(ensemble.model)
    found = forest_differences(forest, rows, upper, lower)
    size = np.abs(ensemble.outputs(rows)).max()
    np.testing.assert_allclose(found, expected, atol=4 * ensemble.rtol * size)
    chosen = rng.integers(0, forest.n_outputs, 60).astype(np.int32)
    one = forest_differences(forest, rows, upper, lower, output=chosen)
    np.testing.assert_array_equal(one[:, 0], found[np.arange(60), chosen])


@pytest.mark.parametrize("outputs", ["observed", "all"])
def test_ejop_is_exact_and_asks_for_no_prediction(ensemble, outputs, monkeypatch):
    model, X, y = ensemble.model, ensemble.X[:40], ensemble.y[:40]
    steps = np.full(X.shape[1], 0.37)  # no probe on a threshold: some models compare in float64
    differences = Differences(steps, X.min(axis=0), X.max(axis=0))
    observed = gradients.output_index(model, y) if is_classifier(model) else None
    if outputs == "all":
        observed = None
    probed = np.concatenate(list(gradients._probed(model, X, observed, differences)))

    def refuse(*args, **kwargs):
        raise AssertionError("a model whose trees can be read is not probed")

    for name in ("predict", "predict_proba"):
        if hasattr(model, name):
            monkeypatch.setattr(model, name, refuse)
    ejop = expected_jacobian_outer_product(
        model, X, y, step_rule=steps, outputs=outputs, return_gradients=True
    )
    size = np.abs(read_trees(model).predict(X)).max()
    np.testing.assert_allclose(ejop.gradients, probed, atol=10 * ensemble.rtol * size)
    expected = np.einsum("rkj,rkl->jl", ejop.gradients, ejop.gradients) / len(X)
    np.testing.assert_allclose(ejop.matrix, expected, atol=1e-12 * max(1.0, expected.max()))


def test_models_without_trees_are_refused():
    for model in (LogisticRegression(), KNeighborsRegressor()):
        model.fit(TABLE, np.arange(30) % 2)
        with pytest.raises(UnreadableTrees, match=f"trees of {type(model).__name__} cannot"):
            read_trees(model)
        assert find_trees(model) is None


def test_subclasses_may_predict_differently_and_are_refused():
    class Odd(RandomForestClassifier):
        def predict_proba(self, X):
            return 1 - super().predict_proba(X)

    model = Odd(2).fit(TABLE, np.arange(30) % 2)
    assert find_trees(model) is None


def test_forests_behind_an_encoded_table_are_refused(mixed_table):
    frame, response = mixed_table(80, 0)
    model = SPORFClassifier(2, random_state=0).fit(frame, response > 0)
    with pytest.raises(UnreadableTrees, match="encodes categories or missing values"):
        read_trees(model)
