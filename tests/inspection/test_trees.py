import warnings

import numpy as np
import pytest
from jarf.inspection._xgboost import boosted_trees
from scipy.special import expit, softmax
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier

from jarf import JARFClassifier, JARFRegressor, SPORFClassifier
from jarf.inspection._trees import forest_of, trees_of

RNG = np.random.default_rng(0)
# Few values, so that rows lie on thresholds.
X = RNG.normal(size=(300, 4)).round(1).astype(np.float32)
SCORE = X[:, 0] + X[:, 1]


@pytest.mark.parametrize(
    ("model", "y"),
    [(RandomForestClassifier(5), np.digitize(SCORE, [-1, 1])), (ExtraTreesRegressor(5), SCORE)],
)
def test_a_forest_of_scikit_learn_predicts_the_same_here(model, y):
    model.fit(X, y)
    forest = forest_of(model)
    known = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)[:, None]
    np.testing.assert_allclose(forest.predict(X, None) / 5, known, atol=1e-12)


@pytest.mark.parametrize("objective", ["binary", "classes", "squares", "counts"])
def test_boosted_trees_predict_the_same_here(objective):
    xgboost = pytest.importorskip("xgboost")
    settings = {"n_estimators": 5, "max_depth": 3, "n_jobs": 1}
    if objective == "squares":
        model, y = xgboost.XGBRegressor(**settings), SCORE + 10
    elif objective == "counts":
        model = xgboost.XGBRegressor(objective="count:poisson", **settings)
        y = np.floor(np.exp(SCORE))
    else:
        model = xgboost.XGBClassifier(gamma=2.0, **settings)
        y = np.digitize(SCORE, [-1, 1] if objective == "classes" else [0.3])
    model.fit(X, y)
    forest, link, base = boosted_trees(model)
    score = forest.predict(X, None) + base
    known = {
        "identity": lambda: (score[:, 0], model.predict(X)),
        "exp": lambda: (np.exp(score[:, 0]), model.predict(X)),
        "logistic": lambda: (expit(score[:, 0]), model.predict_proba(X)[:, 1]),
        "softmax": lambda: (softmax(score, axis=1), model.predict_proba(X)),
    }
    np.testing.assert_allclose(*known[link](), rtol=1e-5, atol=1e-6)


def test_other_boosters_are_refused():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(booster="dart", rate_drop=0.9, n_estimators=5, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions would rather have rate_drop alone
        model.fit(X, SCORE)
    with pytest.raises(ValueError, match="dart"):
        boosted_trees(model)


def test_early_stopping_keeps_the_best_rounds():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(
        n_estimators=60, early_stopping_rounds=2, learning_rate=1.0, n_jobs=1
    )
    model.fit(X[:100], SCORE[:100], eval_set=[(X[100:], SCORE[100:])], verbose=False)
    forest, _, base = boosted_trees(model)
    assert forest.n_trees == model.best_iteration + 1 < 60
    np.testing.assert_allclose(
        forest.predict(X, None)[:, 0] + base, model.predict(X), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("share", ["global", "per-tree"])
def test_normals_of_mapped_cuts_are_in_original_columns(share):
    model = JARFRegressor(n_estimators=3, share=share, random_state=0).fit(X, SCORE)
    trees = trees_of(model)
    normals = trees.normals()
    place = 0
    for linear, forest in trees.parts:
        inner, directions = forest.directions()
        shift = linear.transform(X[:5].astype(np.float64)) @ directions.T.toarray()
        base = linear.transform(np.zeros((1, 4))) @ directions.T.toarray()
        own = normals[place : place + len(inner)].toarray()
        np.testing.assert_allclose(X[:5] @ own.T, shift - base, atol=1e-5)
        place += len(inner)
    assert place == normals.shape[0]


def test_trees_are_numbered_through_the_parts():
    y = SCORE > 0
    model = JARFClassifier(n_estimators=3, share="per-tree", random_state=0).fit(X, y)
    trees = trees_of(model)
    assert trees.n_trees == 3
    assert trees.locate(2)[0] is trees.parts[2]
    forest = trees_of(SPORFClassifier(3, random_state=0).fit(X, y))
    assert forest.locate(2) == (forest.parts[0], 2)
