import numpy as np
import pytest
from jarf.surrogate._packed import NODE
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from jarf.gradients import forest_differences, reference_differences
from jarf.surrogate import PackedForest, pack


def hand_made_tree():
    """x0 <= 1 ? (x1 <= 5 ? 10 : 20) : (x0 <= 3 ? 30 : 40)."""
    nodes = [
        (0, 1.0, 1, 4),
        (1, 5.0, 2, 3),
        (-1, 0.0, 0, -1),
        (-1, 0.0, 1, -1),
        (0, 3.0, 5, 6),
        (-1, 0.0, 2, -1),
        (-1, 0.0, 3, -1),
    ]
    values = np.array([[10.0], [20.0], [30.0], [40.0]])
    return PackedForest(np.array(nodes, dtype=NODE), np.array([0], dtype=np.int32), values, 2)


@pytest.mark.parametrize("function", [forest_differences, reference_differences])
def test_hand_made_tree(function):
    centre = np.array([[0.0, 0.0], [0.0, 6.0], [1.0, 5.0], [2.0, 9.0]], dtype=np.float32)
    upper = np.array([[2.0, 9.0], [4.0, 7.0], [1.5, 5.0], [2.5, 9.5]], dtype=np.float32)
    lower = np.array([[-1.0, -1.0], [-1.0, 4.0], [1.0, 4.0], [0.5, 1.0]], dtype=np.float32)
    # Row 0: x0 -> 2 reaches 30 from 10; x1 -> 9 reaches 20 from 10.
    # Row 1: x0 -> 4 leaves at the root and goes on right of 3: 40 from 20; x1 -> 4: 20 - 10.
    # Row 2 sits on both thresholds (left): x0 -> 1.5 reaches 30 from 10; x1 stays left.
    # Row 3: x0 -> 0.5 reaches 20 from 30; x1 is not asked on its path.
    expected = np.array([[20.0, 10.0], [20.0, 10.0], [20.0, 0.0], [10.0, 0.0]])
    answer = function(hand_made_tree(), centre, upper, lower)
    np.testing.assert_array_equal(answer[:, 0, :], expected)


def rows_and_probes(X, seed=0, reach=1.0):
    rng = np.random.default_rng(seed)
    upper, lower = X + reach * rng.random(X.shape), X - reach * rng.random(X.shape)
    upper[rng.random(X.shape) < 0.2] += 100  # beyond the range
    still = rng.random(X.shape) < 0.1
    return X, np.where(still, X, upper), np.where(still, X, lower)


def by_prediction(model, X, upper, lower):
    """The definition, with the model's own predictions."""
    predict = getattr(model, "predict_proba", None) or (lambda rows: model.predict(rows)[:, None])
    columns = []
    for j in range(X.shape[1]):
        up, down = X.copy(), X.copy()
        up[:, j], down[:, j] = upper[:, j], lower[:, j]
        columns.append(predict(up) - predict(down))
    return np.stack(columns, axis=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(n_estimators=20, random_state=0),
        DecisionTreeClassifier(random_state=0),
        RandomForestRegressor(n_estimators=10, random_state=0),
        ExtraTreesRegressor(n_estimators=10, max_leaf_nodes=20, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_equals_two_predictions_per_feature(model, dtype):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(150, 6)), 1).astype(dtype)  # rounded: ties at thresholds
    y = (X[:, 0] + X[:, 1] > 0) + (X[:, 2] > 0.3).astype(int)
    model.fit(X, y)
    probes = tuple(np.round(rows, 2).astype(dtype) for rows in rows_and_probes(X))
    answer = forest_differences(pack(model), *probes)
    np.testing.assert_allclose(answer, by_prediction(model, *probes), atol=1e-12)


def test_observed_output_is_that_slice_of_all():
    X, y = load_iris(return_X_y=True)
    forest = pack(RandomForestClassifier(n_estimators=9, random_state=0).fit(X, y))
    probes = rows_and_probes(X)
    everything = forest_differences(forest, *probes)
    observed = forest_differences(forest, *probes, output=y.astype(np.int32))
    np.testing.assert_array_equal(observed[:, 0], everything[np.arange(150), y])


def test_native_equals_reference():
    X, y = load_iris(return_X_y=True)
    forest = pack(RandomForestClassifier(n_estimators=9, random_state=0).fit(X, y))
    probes = [rows.astype(np.float32) for rows in rows_and_probes(X)]
    for output in (None, y.astype(np.int32)):
        native = forest_differences(forest, *probes, output=output)
        reference = reference_differences(forest, *probes, output)
        np.testing.assert_allclose(native, reference, atol=1e-13)
        np.testing.assert_array_equal(native == 0, np.abs(reference) < 1e-13)


def test_a_tree_that_is_one_leaf_never_changes():
    X = np.zeros((5, 2))
    forest = pack(RandomForestRegressor(n_estimators=2).fit(X, np.ones(5)))
    assert not forest_differences(forest, X, X + 1, X - 1).any()
