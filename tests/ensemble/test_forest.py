import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier

from jarf.ensemble import (
    AxisForestClassifier,
    CanonicalCorrelationForestClassifier,
    RotationForestRegressor,
    SPORFClassifier,
    SPORFRegressor,
)

WINE, KIND = load_wine(return_X_y=True)
BODY, DISEASE = load_diabetes(return_X_y=True)
FORESTS = [
    (AxisForestClassifier, WINE, KIND),
    (SPORFClassifier, WINE, KIND),
    (CanonicalCorrelationForestClassifier, WINE, KIND),
    (SPORFRegressor, BODY, DISEASE),
    (RotationForestRegressor, BODY, DISEASE),
]


@pytest.fixture(params=FORESTS, ids=lambda case: case[0].__name__)
def case(request):
    cls, X, y = request.param
    return cls(10, random_state=0, max_depth=6).fit(X, y), X, y


def test_normals_are_unit_and_say_where_rows_go(case):
    model, X, _ = case
    cuts = model.split_normals()
    forest = model.forest_
    np.testing.assert_allclose(cuts.normals.power(2).sum(axis=1), 1.0, rtol=1e-6)
    inner = forest.nodes[:, 0] != -1
    assert cuts.normals.shape == (inner.sum(), X.shape[1])
    # Walk every row down every tree by the normals alone.
    left = (cuts.normals @ X.T.astype(np.float32)) <= cuts.offsets[:, None]
    number = np.full(len(forest.nodes), -1)
    number[inner] = np.arange(inner.sum())
    agree = 0
    for tree, root in enumerate(forest.roots):
        at = np.full(len(X), root)
        for _ in range(7):
            moving = np.flatnonzero(inner[at])
            side = ~left[number[at[moving]], moving]
            at[moving] = forest.nodes[at[moving], 2 + side.astype(int)]
        agree += (at - root == model.apply(X)[:, tree]).mean()
    assert agree / forest.n_trees > 0.99  # float64 here, float32 in the forest


def test_weights_of_cuts_are_shares(case):
    model, _, _ = case
    cuts = model.split_normals()
    roots = cuts.nodes == 0
    np.testing.assert_allclose(cuts.weights[roots], 1.0)
    assert cuts.weights.min() > 0
    assert cuts.weights.max() <= 1
    assert (np.bincount(cuts.trees) > 0).all()


def test_importances_sum_to_one(case):
    model, X, _ = case
    importances = model.feature_importances_
    assert importances.shape == (X.shape[1],)
    assert importances.min() >= 0
    np.testing.assert_allclose(importances.sum(), 1.0)


def test_importances_of_axes_are_the_usual_ones():
    ours = AxisForestClassifier(200, random_state=0).fit(WINE, KIND).feature_importances_
    theirs = RandomForestClassifier(200, random_state=0).fit(WINE, KIND).feature_importances_
    assert np.abs(ours - theirs).max() < 0.03


def test_importances_do_not_depend_on_units():
    units = 10.0 ** np.arange(-4, 6)
    here, there = (
        SPORFRegressor(20, random_state=0, max_depth=3).fit(BODY * scale, DISEASE)
        for scale in (1.0, units)
    )
    np.testing.assert_allclose(here.feature_importances_, there.feature_importances_, atol=0.02)


def test_predictions_are_means_of_leaves(case):
    model, X, _ = case
    forest, leaves = model.forest_, model.apply(X)
    values = forest.values[forest.nodes[leaves + forest.roots, 2]].mean(axis=1)
    predicted = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)[:, None]
    np.testing.assert_allclose(predicted, values, rtol=1e-12)


def test_pickles_predict_the_same(case):
    model, X, _ = case
    model.predict(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_many_rows_are_predicted_in_blocks(case):
    model, X, _ = case
    rows = np.resize(X, (3000, X.shape[1]))
    one_by_one = np.concatenate([model.predict(rows[i : i + 7]) for i in range(0, 3000, 7)])
    np.testing.assert_array_equal(model.predict(rows), one_by_one)
    model.set_params(n_jobs=2)
    np.testing.assert_array_equal(model.predict(rows), one_by_one)


def test_pure_leaves_share_their_values():
    model = AxisForestClassifier(50, random_state=0).fit(WINE, KIND)
    assert len(model.forest_.values) == 3
    np.testing.assert_array_equal(model.forest_.values, np.eye(3))


def test_broken_forests_are_refused(monkeypatch):
    monkeypatch.setenv("JARF_NO_NATIVE", "0")  # the reference trusts its arrays
    model = SPORFClassifier(3, random_state=0).fit(WINE, KIND)
    forest = pickle.loads(pickle.dumps(model.forest_))
    forest.features[0] = 99
    with pytest.raises(ValueError, match="projection"):
        forest.checked()
    forest = pickle.loads(pickle.dumps(model.forest_))
    forest.nodes[0, 2] = 0
    with pytest.raises(ValueError, match="earlier node"):
        forest.checked()


def test_arrays_that_were_checked_cannot_be_changed():
    model = SPORFClassifier(3, random_state=0).fit(WINE, KIND)
    model.predict(WINE)
    for name in ("nodes", "roots", "starts", "features", "loadings", "values"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model.forest_, name)[0] = 0
