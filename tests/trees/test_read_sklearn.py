import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from jarf.trees import UnreadableTrees, find_trees, read_trees
from jarf.trees._read_sklearn import round_down

X, y = load_iris(return_X_y=True)


def test_rows_at_a_threshold_go_the_same_way():
    # Thresholds lie halfway between integers, and rows are put exactly on them.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(300, 3)).astype(float)
    model = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, X @ [1, 2, 3])
    at_thresholds = X + 0.5
    np.testing.assert_allclose(
        read_trees(model).predict(at_thresholds.astype(np.float32))[:, 0],
        model.predict(at_thresholds),
    )


def test_round_down_keeps_every_float32_comparison():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000).astype(np.float32)
    threshold = (x.astype(float)[:, None] + rng.normal(size=(2000, 3)) * 1e-8).ravel()
    threshold = np.append(threshold, [1e300, -1e300, 0.0])
    x = np.append(np.repeat(x, 3), np.float32([3e38, -3e38, 0.0]))
    np.testing.assert_array_equal(x <= round_down(threshold), x.astype(float) <= threshold)


def test_a_forest_is_sent_after_it_was_used():
    forest = read_trees(RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y))
    forest.checked()
    copied = pickle.loads(pickle.dumps(forest))
    rows = X.astype(np.float32)
    np.testing.assert_array_equal(copied.predict(rows), forest.predict(rows))
    copied.checked()


def test_boosting_may_start_from_a_constant():
    model = GradientBoostingRegressor(
        n_estimators=3, init=DummyRegressor(strategy="constant", constant=7.0)
    ).fit(X, y)
    forest = read_trees(model)
    np.testing.assert_array_equal(forest.base, [7.0])
    np.testing.assert_allclose(forest.predict(X.astype(np.float32))[:, 0], model.predict(X))


@pytest.mark.parametrize(
    "init", [RandomForestClassifier(2), DummyClassifier(strategy="uniform", random_state=0)]
)
def test_boosting_that_starts_from_a_model_is_refused(init):
    model = GradientBoostingClassifier(n_estimators=3, init=init).fit(X, y)
    with pytest.raises(UnreadableTrees, match=f"init={type(init).__name__}"):
        read_trees(model)
    assert find_trees(model) is None


@pytest.mark.parametrize("depth", [1, None])
def test_categorical_features_of_histogram_boosting_are_refused(depth):
    """Also where no split uses them: they have changed the order of the columns."""
    table = np.column_stack([X, np.arange(len(X)) % 3])
    model = HistGradientBoostingRegressor(max_iter=2, max_depth=depth, categorical_features=[4])
    with pytest.raises(UnreadableTrees, match="categorical features"):
        read_trees(model.fit(table, y))


def test_several_outputs_of_classes_are_refused():
    model = RandomForestClassifier(2).fit(X, np.column_stack([y, y > 0]))
    with pytest.raises(UnreadableTrees, match="several outputs of classes"):
        read_trees(model)
