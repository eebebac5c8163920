"""The plain Python reference grows and walks the same trees."""

import numpy as np
import pytest
from jarf.ensemble._backend import backend
from jarf.ensemble._growing import Limits, Target, grow_tree, make_space
from jarf.ensemble._reference_proposals import Rng
from sklearn.datasets import load_diabetes, load_wine

import jarf.ensemble

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
        target = Target.of_classes(y, 3, criterion)
        space = make_space(X.astype(np.float32), bins=False)
        proposal = backend().Axes(3, np.linspace(0, 1, X.shape[1]))
        trees.append(grow_tree(space, proposal, target, weights, 5, Limits()))
    np.testing.assert_array_equal(trees[0].nodes, trees[1].nodes)
    np.testing.assert_allclose(trees[0].gains, trees[1].gains, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("native", [True, False])
def test_sequences_too(monkeypatch, native):
    monkeypatch.setenv("JARF_NO_NATIVE", "0" if native else "1")
    X, y = load_wine(return_X_y=True)
    space = make_space(X.astype(np.float32))
    sparse = backend().SparseRandom(3, 2.0, np.ones(X.shape[1], np.float32), np.empty(0))
    proposal = backend().Sequence([backend().Axes(2, np.empty(0)), sparse])
    target = Target.of_classes(y, 3, "gini")
    tree = grow_tree(space, proposal, target, np.ones(len(y)), 0, Limits())
    kinds = np.unique(np.minimum(tree.nodes[:, 0], 0))
    assert kinds.min() < -1
    assert kinds.max() == 0


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
