import pickle

import numpy as np
import pytest
from jarf.gradients._tree_differences import forest_outputs
from jarf.surrogate._packed import round_down
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor

from jarf.surrogate import is_packable, pack

MODELS = [
    RandomForestClassifier(n_estimators=7, random_state=0),
    ExtraTreesClassifier(n_estimators=3, random_state=0),
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(max_leaf_nodes=5, random_state=0),
    RandomForestRegressor(n_estimators=4, max_depth=3, random_state=0),
    ExtraTreeRegressor(random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_packed_forest_predicts_as_the_model_does(model):
    classifies = hasattr(model, "predict_proba")
    X, y = (load_iris if classifies else load_diabetes)(return_X_y=True)
    model.fit(X, y)
    expected = model.predict_proba(X) if classifies else model.predict(X)[:, None]
    np.testing.assert_allclose(forest_outputs(pack(model), X.astype(np.float32)), expected)


def test_rows_at_a_threshold_go_the_same_way():
    # Thresholds lie halfway between integers, and rows are put exactly on them.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(300, 3)).astype(float)
    model = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, X @ [1, 2, 3])
    at_thresholds = X + 0.5
    np.testing.assert_allclose(
        forest_outputs(pack(model), at_thresholds.astype(np.float32))[:, 0],
        model.predict(at_thresholds),
    )


def test_round_down_keeps_every_float32_comparison():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000).astype(np.float32)
    threshold = (x.astype(float)[:, None] + rng.normal(size=(2000, 3)) * 1e-8).ravel()
    threshold = np.append(threshold, [1e300, -1e300, 0.0])
    x = np.append(np.repeat(x, 3), np.float32([3e38, -3e38, 0.0]))
    np.testing.assert_array_equal(x <= round_down(threshold), x.astype(float) <= threshold)


def test_only_scikit_learns_own_trees_are_packable():
    class Odd(RandomForestClassifier):
        def predict_proba(self, X):
            return 1 - super().predict_proba(X)

    assert is_packable(RandomForestClassifier())
    assert not is_packable(Odd())
    assert not is_packable(GradientBoostingRegressor())


def test_a_packed_forest_is_sent_after_it_was_used():
    X, y = load_iris(return_X_y=True)
    forest = pack(RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y))
    forest.native()
    copied = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(forest_outputs(copied, X), forest_outputs(forest, X))
    copied.native()
