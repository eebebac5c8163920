import struct

import numpy as np
import pytest

from jarf.gradients import Differences, gradient_blocks
from jarf.trees import UnreadableTrees, find_trees, read_trees

xgboost = pytest.importorskip("xgboost")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(1).astype(np.float32)
SCORE = X[:, 0] + X[:, 1]
FEW = {"n_estimators": 5, "max_depth": 3, "n_jobs": 1}


def test_rows_at_a_threshold_go_the_same_way():
    model = xgboost.XGBRegressor(**FEW).fit(X, SCORE)
    forest = read_trees(model)
    rows = np.repeat(X[:1], len(forest.nodes), axis=0)
    # The thresholds as XGBoost has them: rows on them go right, rows just below go left.
    own = np.nextafter(forest.nodes["threshold"], np.float32(np.inf))
    for move in (own, forest.nodes["threshold"]):
        for j in range(4):
            here = np.where(forest.nodes["feature"] == j, move, rows[:, j])
            moved = rows.copy()
            moved[:, j] = here
            np.testing.assert_allclose(
                forest.predict(moved)[:, 0], model.predict(moved), rtol=1e-5, atol=1e-5
            )


@pytest.mark.parametrize("by_callback", [False, True])
def test_early_stopping_keeps_the_best_rounds(by_callback):
    stop = {"early_stopping_rounds": 2}
    if by_callback:
        stop = {"callbacks": [xgboost.callback.EarlyStopping(rounds=2)]}
    model = xgboost.XGBRegressor(n_estimators=60, learning_rate=1.0, n_jobs=1, **stop)
    model.fit(X[:100], SCORE[:100], eval_set=[(X[100:], SCORE[100:])], verbose=False)
    forest = read_trees(model)
    assert forest.n_trees == model.best_iteration + 1 < 60
    np.testing.assert_allclose(forest.predict(X)[:, 0], model.predict(X), rtol=1e-4, atol=1e-5)


def test_logistic_regression_has_the_second_probability_as_its_output():
    y = (SCORE > 0).astype(float)
    model = xgboost.XGBRegressor(objective="reg:logistic", **FEW).fit(X, y)
    np.testing.assert_allclose(read_trees(model).predict(X)[:, 1], model.predict(X), atol=1e-6)
    differences = Differences(np.full(4, 0.37), X.min(axis=0), X.max(axis=0), boundary="none")
    (block,) = gradient_blocks(model, X[:20], None, differences)
    for j in range(4):
        step = np.zeros(4)
        step[j] = 0.37 / 2
        change = (model.predict(X[:20] + step) - model.predict(X[:20] - step)) / 0.37
        np.testing.assert_allclose(block[:, 0, j], change, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"booster": "dart", "rate_drop": 0.5}, "dart"),
        ({"booster": "gblinear", "max_depth": None}, "gblinear"),
        ({"objective": "reg:squaredlogerror"}, "squaredlogerror"),
        ({"multi_strategy": "multi_output_tree"}, "several outputs"),
        ({"missing": 0.0}, r"missing=0\.0"),
        ({"n_estimators": 0}, "no trees"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")  # dart and gblinear in XGBoost 3.4
def test_models_that_are_not_understood_are_refused(settings, message):
    y = np.column_stack([SCORE, SCORE]) if "multi_strategy" in settings else np.abs(SCORE)
    model = xgboost.XGBRegressor(**{**FEW, **settings}).fit(X, y)
    with pytest.raises(UnreadableTrees, match=message):
        read_trees(model)


def test_dart_without_dropped_trees_is_read_correctly_or_refused():
    """XGBoost from 3.4 on stores such a model as an ordinary one."""
    model = xgboost.XGBRegressor(booster="dart", **FEW).fit(X, SCORE)
    forest = find_trees(model)
    if forest is not None:
        np.testing.assert_allclose(forest.predict(X)[:, 0], model.predict(X), rtol=1e-5, atol=1e-5)


def test_one_class_has_no_finite_start():
    model = xgboost.XGBClassifier(**FEW).fit(X, np.zeros(300, int))
    with pytest.raises(UnreadableTrees, match="base_score"):
        read_trees(model)


def key(name):
    """The name of a field in binary JSON."""
    return b"L" + len(name).to_bytes(8, "big") + name.encode()


def test_trees_with_weights_are_refused(monkeypatch):
    """Later versions write dropped trees as trees with weights."""
    model = xgboost.XGBRegressor(**FEW).fit(X, SCORE)
    booster = model.get_booster()
    written = bytes(booster.save_raw("ubj"))
    weights = key("weight_drop") + b"[$d#L" + (2).to_bytes(8, "big") + struct.pack(">2f", 1, 0.5)
    written = written.replace(key("tree_info"), weights + key("tree_info"))

    class Later:
        def save_raw(self, kind):
            return written

    monkeypatch.setattr(model, "get_booster", Later)
    with pytest.raises(UnreadableTrees, match="left out in training"):
        read_trees(model)


def test_splits_on_categories_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"kind": pandas.Categorical(np.arange(300) % 5), "x": X[:, 0]})
    model = xgboost.XGBRegressor(enable_categorical=True, max_cat_to_onehot=2, **FEW)
    model.fit(frame, (np.arange(300) % 5 % 2) + SCORE)
    with pytest.raises(UnreadableTrees, match="categories"):
        read_trees(model)
