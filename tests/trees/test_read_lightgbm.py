import numpy as np
import pytest

from jarf.trees import UnreadableTrees, read_trees

lightgbm = pytest.importorskip("lightgbm")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(1)
SCORE = X[:, 0] + X[:, 1]
FEW = {"n_estimators": 5, "num_leaves": 7, "verbose": -1, "n_jobs": 1}


def test_nodes_count_their_rows():
    forest = read_trees(lightgbm.LGBMRegressor(**FEW).fit(X, SCORE))
    np.testing.assert_array_equal(forest.weights[forest.roots], 300)
    inner = ~forest.is_leaf
    left, right = forest.nodes["left"][inner], forest.nodes["right"][inner]
    np.testing.assert_array_equal(
        forest.weights[inner], forest.weights[left] + forest.weights[right]
    )
    leaves = forest.apply(X.astype(np.float32)) + forest.roots
    np.testing.assert_array_equal(
        np.bincount(leaves.ravel(), minlength=len(inner))[~inner], forest.weights[~inner]
    )


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")  # older versions know no other
def test_early_stopping_keeps_the_best_rounds():
    model = lightgbm.LGBMRegressor(n_estimators=60, learning_rate=1.0, verbose=-1, n_jobs=1)
    stop = lightgbm.early_stopping(2, verbose=False)
    model.fit(X[:100], SCORE[:100], eval_set=[(X[100:], SCORE[100:])], callbacks=[stop])
    forest = read_trees(model)
    assert forest.n_trees == model.best_iteration_ < 60
    np.testing.assert_allclose(forest.predict(X.astype(np.float32))[:, 0], model.predict(X))


def half_squares(y, predicted):
    return predicted - y, np.ones_like(y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}, "random forests"),
        ({"zero_as_missing": True}, "zero_as_missing"),
        ({"linear_tree": True}, "linear_tree"),
        ({"objective": "cross_entropy"}, "cross_entropy"),
        ({"reg_sqrt": True}, "sqrt"),
        ({"objective": half_squares}, "a function"),
        ({"objective": "binary", "sigmoid": 0.5}, "sigmoid"),
    ],
)
def test_models_that_are_not_understood_are_refused(settings, message):
    y = (SCORE > 0).astype(float) if settings.get("objective") != half_squares else SCORE
    model = lightgbm.LGBMRegressor(**{**FEW, **settings}).fit(X, y)
    with pytest.raises(UnreadableTrees, match=message):
        read_trees(model)


def test_splits_on_categories_are_refused():
    table = np.column_stack([np.arange(300) % 5, X[:, 0]])
    model = lightgbm.LGBMRegressor(min_data_per_group=1, **FEW)
    model.fit(table, np.arange(300) % 5 % 2 + SCORE, categorical_feature=[0])
    with pytest.raises(UnreadableTrees, match="categories"):
        read_trees(model)
