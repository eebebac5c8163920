"""The directions that each forest tries are the ones its paper describes."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score

from jarf._native import engine
from jarf.datasets import make_rotated_halfspace
from jarf.ensemble import (
    CanonicalCorrelationForestClassifier,
    CanonicalCorrelationForestRegressor,
    RotationForestClassifier,
    RotationForestRegressor,
    SPORFClassifier,
    SPORFRegressor,
)
from jarf.trees import Forest, Limits, ResponseTarget, grow_tree, make_columns, rotate_columns

WINE, KIND = load_wine(return_X_y=True)
BODY, DISEASE = load_diabetes(return_X_y=True)


def normals(model):
    return model.split_normals().normals.toarray()


def cosine(a, b):
    return abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)


# --- SPORF


def test_sporf_weights_are_signs_in_standard_deviations():
    scales = WINE.std(axis=0)
    model = SPORFClassifier(20, density=0.3, random_state=0).fit(WINE, KIND)
    weights = normals(model) * scales
    for row in weights:
        nonzero = np.abs(row[row != 0])
        np.testing.assert_allclose(nonzero, nonzero[0], rtol=1e-5)
    signs = np.sign(weights[weights != 0])
    assert (signs > 0).mean() > 0.3
    raw = normals(SPORFClassifier(5, standardize=False, random_state=0).fit(WINE, KIND))
    for row in raw:
        np.testing.assert_allclose(np.abs(row[row != 0]), np.abs(row).max(), rtol=1e-5)


@pytest.mark.parametrize("mean", [1.0, 2.0, 5.0])
def test_sporf_density(mean):
    X = np.random.default_rng(0).standard_normal((4000, 20))
    y = np.random.default_rng(1).standard_normal(4000)
    model = SPORFRegressor(
        2, density=mean / 20, max_features=1, min_samples_leaf=4, random_state=0
    ).fit(X, y)
    sizes = np.diff(model.split_normals().normals.indptr)
    assert abs(sizes.mean() - mean / (1 - np.exp(-mean))) < 0.25


# --- CCF


def whole(cls, **params):
    """One cut over all columns and all rows."""
    return cls(1, max_depth=1, max_features=1.0, projection_bootstrap=False, **params)


def test_ccf_of_two_classes_is_the_discriminant():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :6]
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).coef_[0]
    found = normals(whole(CanonicalCorrelationForestClassifier).fit(X, y))[0]
    assert cosine(found, expected) > 0.9999


def test_ccf_of_a_response_is_the_regression():
    expected = LinearRegression().fit(BODY, DISEASE).coef_
    found = normals(whole(CanonicalCorrelationForestRegressor).fit(BODY, DISEASE))[0]
    assert cosine(found, expected) > 0.9999


def test_ccf_of_three_classes_is_one_of_the_discriminants():
    X, y = load_iris(return_X_y=True)
    axes = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, :2].T
    found = normals(whole(CanonicalCorrelationForestClassifier).fit(X, y))[0]
    assert max(cosine(found, axis) for axis in axes) > 0.9999


def test_ccf_of_weighted_rows():
    weights = np.random.default_rng(0).integers(1, 4, len(DISEASE)).astype(float)
    expected = LinearRegression().fit(BODY, DISEASE, weights).coef_
    model = whole(CanonicalCorrelationForestRegressor).fit(BODY, DISEASE, weights)
    assert cosine(normals(model)[0], expected) > 0.9999


def test_ccf_with_collinear_and_constant_columns():
    X = np.column_stack([BODY[:, :4], BODY[:, :4] @ [1, 2, 0, 1], np.ones(len(BODY))])
    model = CanonicalCorrelationForestRegressor(10, max_features=1.0, random_state=0)
    assert np.isfinite(model.fit(X, DISEASE).predict(X)).all()
    assert np.isfinite(normals(model)).all()


def test_ccf_draws_as_many_columns_as_published():
    X = np.random.default_rng(0).standard_normal((300, 40))
    y = np.random.default_rng(1).integers(0, 2, 300)
    model = CanonicalCorrelationForestClassifier(3, random_state=0).fit(X, y)
    sizes = np.diff(model.split_normals().normals.indptr)
    assert sizes.max() == np.ceil(np.log2(40) + 1)


# --- rotation forest


@pytest.mark.parametrize(
    ("params", "sizes"),
    [({}, [3, 3, 3, 4]), ({"group_size": 5}, [4, 4, 5]), ({"n_groups": 2}, [6, 7])],
)
def test_rotation_groups(params, sizes):
    model = RotationForestClassifier(1, random_state=0, **params).fit(WINE, KIND)
    forest = model.forest_
    groups = {
        tuple(sorted(forest.features[a:b]))
        for a, b in zip(forest.starts[:-1], forest.starts[1:], strict=True)
    }
    assert sorted(map(len, groups)) == sizes
    assert sorted(sum(groups, ())) == list(range(13))


@pytest.mark.parametrize("cls", [RotationForestClassifier, RotationForestRegressor])
def test_rotations_are_rotations(cls):
    scales = WINE.std(axis=0)
    forest = cls(1, random_state=0).fit(WINE, KIND).forest_
    matrix = np.zeros((13, 13))
    for row, (a, b) in enumerate(zip(forest.starts[:-1], forest.starts[1:], strict=True)):
        matrix[row, forest.features[a:b]] = forest.loadings[a:b]
    matrix *= scales
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(13), atol=1e-5)


def test_every_tree_has_its_own_rotation():
    forest = RotationForestRegressor(2, random_state=0).fit(BODY, DISEASE).forest_
    half = len(forest.features) // 2
    assert not np.array_equal(forest.features[:half], forest.features[half:])


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 40}])
def test_rotated_columns_need_not_exist(limits):
    """Nodes too large to keep their rotated columns project them: the same tree comes out."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15_000, 600)).astype(np.float32)  # 36 MB
    pairs = np.column_stack([np.arange(600), np.roll(np.arange(600), 7)]).astype(np.int32)
    loadings = rng.standard_normal((600, 2)).astype(np.float32)
    rotation = np.arange(0, 1201, 2, dtype=np.int32), pairs.ravel(), loadings.ravel()
    double = loadings.astype(np.float64)
    values = double[:, 0] * X[:, pairs[:, 0]] + double[:, 1] * X[:, pairs[:, 1]]
    values = values.astype(np.float32)
    lazy, whole = (
        grow_tree(
            columns,
            engine().Axes(5, np.empty(0)),
            ResponseTarget(X[:, 0] + X[:, 1]),
            np.ones(len(X)),
            0,
            Limits(max_depth=8, **limits),
        )
        for columns in (rotate_columns(X, rotation), make_columns(values, bins=False))
    )
    for name in ("threshold", "left", "right"):
        np.testing.assert_array_equal(lazy.nodes[name], whole.nodes[name])
    np.testing.assert_array_equal(lazy.gains, whole.gains)
    np.testing.assert_array_equal(
        Forest.empty(600, 0).extended([lazy]).predict(X[:200]),
        Forest.empty(600, 0).extended([whole]).predict(values[:200]),
    )


# --- against peers


def test_oblique_forests_gain_where_boundaries_are_oblique():
    X, y = make_rotated_halfspace(1000, 5, angle=45, random_state=0)
    plain = cross_val_score(RandomForestClassifier(50, random_state=0), X, y).mean()
    for cls in (CanonicalCorrelationForestClassifier, RotationForestClassifier, SPORFClassifier):
        assert cross_val_score(cls(50, random_state=0), X, y).mean() > plain - 0.005


def test_rotation_forest_scores_as_aeons():
    aeon = pytest.importorskip("aeon.classification.sklearn")
    X, y = load_wine(return_X_y=True)
    peer = aeon.RotationForestClassifier(50, random_state=0)
    ours = RotationForestClassifier(50, group_size=3, random_state=0)
    peer.fit(X[::2], y[::2])
    ours.fit(X[::2], y[::2])
    theirs = np.mean(peer.predict(X[1::2]) == y[1::2])
    assert abs(theirs - ours.score(X[1::2], y[1::2])) < 0.05


def test_sporf_scores_as_ydfs():
    ydf = pytest.importorskip("ydf")
    X, y = make_rotated_halfspace(1000, 6, angle=45, random_state=0)
    Z, z = make_rotated_halfspace(2000, 6, angle=45, random_state=1)
    learner = ydf.RandomForestLearner(
        label="label", num_trees=50, split_axis="SPARSE_OBLIQUE", min_examples=1
    )
    peer = learner.train({"x": X.astype(np.float32), "label": y.astype(str)}, verbose=0)
    shares = peer.predict({"x": Z.astype(np.float32)})
    theirs = np.mean((shares > 0.5) == z)
    ours = SPORFClassifier(50, random_state=0).fit(X, y).score(Z, z)
    assert abs(theirs - ours) < 0.02
