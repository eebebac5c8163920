import pickle
from dataclasses import replace

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
from jarf.trees import NODE, Forest, nodes_of_words

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
    inner = forest.nodes["feature"] != -1
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
            here = forest.nodes[at[moving]]
            at[moving] = np.where(side, here["right"], here["left"])
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
    values = forest.leaf_values(leaves + forest.roots).mean(axis=1)
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
    forest.nodes["left"][0] = 0
    with pytest.raises(ValueError, match="earlier node"):
        forest.checked()


def test_arrays_that_were_checked_cannot_be_changed():
    model = SPORFClassifier(3, random_state=0).fit(WINE, KIND)
    model.predict(WINE)
    for name in ("nodes", "roots", "starts", "features", "loadings", "values"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model.forest_, name)[0] = 0


def test_boosted_forests_are_sums_with_a_base_and_a_link():
    nodes = [(0, 0.0, 1, 2), (-1, 0, 0, 0), (-1, 0, 1, 1), (-1, 0, 2, 2)]
    forest = Forest.of_axes(
        np.array(nodes, NODE),
        [0, 3],
        [[1.0], [2.0], [0.5]],
        1,
        base=np.array([0.25]),
        link="log",
        averaged=False,
    )
    X = np.array([[-1.0], [1.0]], np.float32)
    np.testing.assert_array_equal(forest.sums(X), [[1.5], [2.5]])
    np.testing.assert_array_equal(forest.raw(X), [[1.75], [2.75]])
    np.testing.assert_allclose(forest.predict(X), np.exp([[1.75], [2.75]]))
    assert (forest.n_trees, forest.n_raw, forest.n_outputs) == (2, 1, 1)
    assert [forest.nodes_of(tree) for tree in (0, 1)] == [slice(0, 3), slice(3, 4)]
    averaged = replace(forest, averaged=True, link="identity")
    np.testing.assert_array_equal(averaged.predict(X), [[1.0], [1.5]])


def test_pairs_of_rows_and_trees_can_be_left_out(case):
    model, X, _ = case
    forest, rows = model.forest_, X[:30].astype(np.float32)
    skip = np.random.default_rng(0).integers(0, 2, (forest.n_trees, 30), np.uint8)
    values = forest.leaf_values(forest.apply(rows) + forest.roots)
    kept = (values * (1 - skip.T)[:, :, None]).sum(axis=1)
    np.testing.assert_allclose(forest.sums(rows, skip=skip), kept, atol=1e-12)


def test_words_are_the_nodes(case):
    forest = case[0].forest_
    assert forest.words().shape == (len(forest.nodes), 4)
    np.testing.assert_array_equal(nodes_of_words(forest.words()), forest.nodes)


def test_importances_of_boosted_trees_weigh_the_large_ones_more():
    """Trees of a bagged forest count alike; gains of boosted trees are added as they are."""
    nodes = [(0, 0.0, 1, 2), (-1, 0, 0, 0), (-1, 0, 1, 1)] * 2
    table = np.array(nodes, NODE)
    table["feature"][3] = 1
    table["left"][3], table["right"][3] = 4, 5
    forest = Forest.of_axes(table, [0, 3], [[0.0], [1.0]], 2)
    forest.gains = np.array([3.0, 0, 0, 1.0, 0, 0])
    np.testing.assert_allclose(forest.importances(np.ones(2)), [0.5, 0.5])
    boosted = replace(forest, averaged=False)
    np.testing.assert_allclose(boosted.importances(np.ones(2)), [0.75, 0.25])


def test_spread_is_the_standard_deviation_of_the_trees(case):
    model, rows, _ = case
    forest, rows = model.forest_, np.ascontiguousarray(rows, np.float32)
    each = forest.leaf_values(forest.apply(rows) + forest.roots)
    np.testing.assert_allclose(forest.spread(rows), each.std(axis=1), atol=1e-7)
