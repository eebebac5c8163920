"""The plain Python reference grows and walks the same trees."""

import numpy as np
import pytest
from scipy.linalg import cython_lapack
from sklearn.datasets import load_diabetes, load_wine

import jarf.ensemble
from jarf._native import engine
from jarf.trees import (
    ClassTarget,
    Limits,
    NewtonTarget,
    ResponseTarget,
    grow_tree,
    make_columns,
    rotate_columns,
)
from jarf.trees._reference_proposals import Rng

CASES = [
    ("AxisForest", {}),
    ("AxisForest", {"max_leaf_nodes": 9}),
    ("AxisForest", {"min_samples_leaf": 4, "max_depth": 5, "max_features": 2}),
    ("AxisForest", {"min_weight_fraction_leaf": 0.05}),
    ("SPORF", {"max_depth": 5}),
    ("CanonicalCorrelationForest", {}),
    ("RotationForest", {}),
    ("SPORF", {"max_depth": 5, "categorical_features": [0, 2]}),
    ("CanonicalCorrelationForest", {"categorical_features": [0, 1, 2]}),
    ("RotationForest", {"categorical_features": [1]}),
]


def fitted(monkeypatch, name, params, data, *, native):
    monkeypatch.setenv("JARF_NO_NATIVE", "0" if native else "1")
    return getattr(jarf.ensemble, name)(**{"n_estimators": 4, **params}, random_state=0).fit(*data)


@pytest.mark.parametrize(("name", "params"), CASES)
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_forests_are_the_same(monkeypatch, name, params, kind):
    X, y = (load_wine if kind == "Classifier" else load_diabetes)(return_X_y=True)
    X, y = X[:160], y[:160]
    if "categorical_features" in params:
        X[:, :3] = np.digitize(X[:, :3], np.quantile(X[:, :3], [0.2, 0.4, 0.6, 0.8]))
    native, plain = (
        fitted(monkeypatch, name + kind, params, (X, y), native=native) for native in (True, False)
    )
    for array in ("nodes", "roots", "starts", "features", "loadings"):
        ours, reference = getattr(native.forest_, array), getattr(plain.forest_, array)
        np.testing.assert_array_equal(ours, reference)
    for array in ("weights", "gains", "values"):
        ours, reference = getattr(native.forest_, array), getattr(plain.forest_, array)
        np.testing.assert_allclose(ours, reference, rtol=1e-9, atol=1e-9)
    slow = plain.predict(X), plain.apply(X)
    monkeypatch.setenv("JARF_NO_NATIVE", "0")
    np.testing.assert_allclose(slow[0], plain.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(slow[1], plain.apply(X))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_sample_weights_and_entropy(monkeypatch, criterion):
    X, y = load_wine(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, len(y)) / 2
    trees = []
    for value in ("0", "1"):
        monkeypatch.setenv("JARF_NO_NATIVE", value)
        target = ClassTarget(y, 3, criterion)
        columns = make_columns(X.astype(np.float32), bins=False)
        proposal = engine().Axes(3, np.linspace(0, 1, X.shape[1]))
        trees.append(grow_tree(columns, proposal, target, weights, 5, Limits()))
    np.testing.assert_array_equal(trees[0].nodes, trees[1].nodes)
    np.testing.assert_allclose(trees[0].gains, trees[1].gains, rtol=1e-9, atol=1e-9)


SMALL = np.random.default_rng(1).standard_normal((120, 5)).astype(np.float32)
TRUTH = np.column_stack([SMALL[:, 0] + SMALL[:, 1], SMALL[:, 2] ** 2, SMALL[:, 3]])
NOISY = TRUTH + 0.1 * np.random.default_rng(2).standard_normal((120, 3))
HESSIANS = np.random.default_rng(3).random((120, 3)) + 0.1
TARGETS = {
    "gini": ClassTarget(np.digitize(NOISY[:, 0], [-0.5, 0.5]), 3),
    "entropy": ClassTarget(np.digitize(NOISY[:, 0], [-0.5, 0.5]), 3, "entropy"),
    "response": ResponseTarget(NOISY[:, 0]),
    "responses": ResponseTarget(NOISY),
    "newton": NewtonTarget(-NOISY[:, 0], HESSIANS[:, 0], 0.5, 1.0),
    "vector newton": NewtonTarget(-NOISY, HESSIANS, 0.5, 1.0),
    "no penalty": NewtonTarget(-NOISY, np.where(HESSIANS > 0.5, HESSIANS, 0.0)),
}
MONOTONE = NewtonTarget(NOISY[:, 0], HESSIANS[:, 0], 0.5, 1.0, monotonic=[1, -1, 0, 0, 0])
ROTATION = (
    np.arange(0, 11, 2, dtype=np.int32),
    np.array([0, 1, 1, 2, 2, 3, 3, 4, 4, 0], np.int32),
    np.linspace(-1, 2, 10).astype(np.float32),
)


def proposals():
    """Every proposal of the engine, by name."""
    kind, chances = engine(), np.empty(0)
    gradients = np.random.default_rng(4).standard_normal((2, 120, 5)).astype(np.float32)
    entries = np.tile(np.array([0, 3], np.int32), (120, 1))
    dense, everywhere = np.empty((0, 0), np.int32), np.empty(0, np.int32)
    places = np.where(np.arange(120) % 3, np.arange(120) % 80, -1).astype(np.int32)
    sources = [
        kind.Gradients(gradients[0], dense, 5, everywhere),
        kind.Gradients(np.ascontiguousarray(gradients[1, :, :2]), entries, 5, everywhere),
    ]
    some = [
        kind.Gradients(gradients[0, :80], dense, 5, places),
        kind.Gradients(np.ascontiguousarray(gradients[1, :80, :2]), entries[:80], 5, places),
    ]
    spreads = np.linspace(1, 2, 5).astype(np.float32)
    dsyev = cython_lapack.__pyx_capi__["dsyev"]
    axes = kind.Axes(2, chances)
    sparse = kind.SparseRandom(4, 2.0, np.array([1, 2, 0, 1, 1], np.float32), chances)
    canonical = kind.CanonicalCorrelation(3, True, 0, 0, dsyev, chances)
    draws = kind.GradientDraws(sources, spreads, 3, 4, 2, 0.0)
    return {
        "axes": axes,
        "chances": kind.Axes(2, np.array([0.0, 1.0, 2.0, 0.0, 1.0])),
        "sparse": sparse,
        "canonical": canonical,
        "canonical, bounded": kind.CanonicalCorrelation(4, False, 50, 1, dsyev, chances),
        "gradients": draws,
        "dense gradients": kind.GradientDraws(sources[:1], spreads, 3, 2, 0, 0.0),
        "gradients of some rows": kind.GradientDraws(some, spreads, 3, 4, 2, 0.0),
        "gradients, large loadings": kind.GradientDraws(sources[:1], spreads, 3, 2, 0, 0.5),
        "sequence": kind.Sequence([axes, kind.LargeNodes(30, canonical), draws, sparse]),
    }


# The seed is one without mirrored candidates, whose equal scores differ by rounding.
def small_tree(monkeypatch, target, name, *, native, rotated=False, **limits):
    monkeypatch.setenv("JARF_NO_NATIVE", "0" if native else "1")
    columns = rotate_columns(SMALL, ROTATION) if rotated else make_columns(SMALL, bins=False)
    weights = np.random.default_rng(5).integers(0, 3, 120).astype(float)
    proposal, limits = proposals()[name], Limits(**{"max_depth": 4, **limits})
    return grow_tree(columns, proposal, target, weights, 3, limits, keep_leaves=True)


def assert_same_tree(native, plain):
    for name in ("nodes", "starts", "features", "leaves"):
        np.testing.assert_array_equal(getattr(native, name), getattr(plain, name))
    for name in ("weights", "gains", "values", "bounds"):
        ours, reference = getattr(native, name), getattr(plain, name)
        np.testing.assert_allclose(ours, reference, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(native.loadings, plain.loadings, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", proposals())
def test_every_target_with_every_proposal(monkeypatch, target, name):
    native, plain = (
        small_tree(monkeypatch, TARGETS[target], name, native=native) for native in (True, False)
    )
    assert_same_tree(native, plain)
    assert len(native.nodes) > 5


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_with_rotated_columns_and_best_first(monkeypatch, target):
    for options in ({"rotated": True}, {"max_leaf_nodes": 7, "max_depth": None}):
        native, plain = (
            small_tree(monkeypatch, TARGETS[target], "axes", native=native, **options)
            for native in (True, False)
        )
        assert_same_tree(native, plain)


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 7, "max_depth": None}])
@pytest.mark.parametrize("name", proposals())
def test_monotone_constraints_with_every_proposal(monkeypatch, name, limits):
    native, plain = (
        small_tree(monkeypatch, MONOTONE, name, native=native, **limits) for native in (True, False)
    )
    assert_same_tree(native, plain)
    # Directions alone, all of them with constrained columns, leave nothing to try.
    assert (len(native.nodes) > 3) == ("gradients" not in name)
    assert native.bounds.shape == (len(native.nodes), 2)


SHAPES = {
    "normal": lambda z: z,
    "outliers": lambda z: np.where(np.arange(len(z))[:, None] % 100 == 7, 1e6 * z, z),
    "mostly zero": lambda z: np.where(z < 0.3, 0, np.exp(3 * z)),
    "narrow and broad": lambda z: np.where(np.abs(z) < 0.8, z / 1000, 10 * z),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("target", TARGETS)
def test_bins_of_a_direction(monkeypatch, target, shape):
    columns, rows = SHAPES[shape](SMALL), np.repeat(np.arange(120), 2)
    columns = np.concatenate([columns, columns[::-1] * 1.01]).astype(np.float32)
    trees = []
    for value in ("0", "1"):
        monkeypatch.setenv("JARF_NO_NATIVE", value)
        limits = Limits(max_depth=2, sample_from=30, min_samples_leaf=3)
        made = make_columns(columns, bins=False), proposals()["sparse"], TARGETS[target].only(rows)
        trees.append(grow_tree(*made, np.ones(240), 3, limits, keep_leaves=True))
    assert_same_tree(*trees)


def test_a_sequence_tries_all_its_parts(both_engines, monkeypatch):
    native = both_engines == "native"
    tree = small_tree(monkeypatch, TARGETS["gini"], "sequence", native=native, max_depth=None)
    assert (tree.nodes["feature"] >= 0).any()
    assert (tree.nodes["feature"] < -1).any()


@pytest.mark.parametrize("name", ["AxisForest", "SPORF"])
def test_out_of_bag_on_the_reference(monkeypatch, name):
    X, y = load_wine(return_X_y=True)
    data = X[::2], y[::2]
    scores = [
        fitted(
            monkeypatch,
            f"{name}Classifier",
            {"oob_score": lambda y, p: float(np.mean(y == p)), "n_estimators": 30},
            data,
            native=native,
        ).oob_score_
        for native in (True, False)
    ]
    assert scores[0] == scores[1]


def test_generator_is_uniform():
    rng = Rng(0)
    draws = np.array([rng.below(10) for _ in range(20_000)])
    assert np.abs(np.bincount(draws) / 20_000 - 0.1).max() < 0.01
    uniform = np.array([rng.uniform() for _ in range(20_000)])
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.01
