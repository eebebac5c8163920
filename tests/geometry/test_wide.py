"""Above a number of features, lowered here, nothing of d x d is formed; the answers stay."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from jarf import JacobianPreconditioner, JARFClassifier, expected_jacobian_outer_product
from jarf.geometry import LowRankPreconditioner, leading_spectrum
from jarf.gradients import WideEJOP, _ejop, _wide

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:200], y[:200]


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setattr(_ejop, "WIDE_FROM", 20)


def pre(**params):
    return JacobianPreconditioner(RandomForestClassifier(10), random_state=0, **params)


def narrow_and_wide(monkeypatch, make):
    narrow = make()
    monkeypatch.setattr(_ejop, "WIDE_FROM", 20)
    return narrow, make()


@pytest.mark.parametrize("params", [{}, {"outputs": "all"}, {"normalize": False, "gamma": 0.1}])
def test_the_same_map(monkeypatch, params):
    weights = np.random.default_rng(0).random(len(y))
    one, two = narrow_and_wide(monkeypatch, lambda: pre(**params).fit(X, y, sample_weight=weights))
    assert isinstance(two.ejop_, WideEJOP)
    assert isinstance(two.preconditioner_, LowRankPreconditioner)
    np.testing.assert_allclose(two.transform(X), one.transform(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(two.ejop_.matrix, one.ejop_.matrix, atol=1e-15)
    np.testing.assert_allclose(two.feature_sensitivities_, one.feature_sensitivities_)
    np.testing.assert_allclose(
        two.preconditioner_.columns(np.array([3, 0])), one.preconditioner_[:, [3, 0]], atol=1e-12
    )
    again = pickle.loads(pickle.dumps(two))
    np.testing.assert_array_equal(again.transform(X), two.transform(X))
    with pytest.raises(ValueError, match="cannot be inverted"):
        two.inverse_transform(two.transform(X))


def test_the_same_leading_eigenvectors(monkeypatch):
    one, two = narrow_and_wide(monkeypatch, lambda: pre(n_components=3).fit(X, y))
    np.testing.assert_allclose(two.transform(X), one.transform(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(two.eigenvalues_[:5], one.eigenvalues_[:5], rtol=1e-8)


def test_columns_that_pass_through(monkeypatch):
    holes = X.copy()
    holes[::7, 2] = np.nan
    one, two = narrow_and_wide(monkeypatch, lambda: pre().fit(holes, y))
    np.testing.assert_allclose(two.transform(holes), one.transform(holes), rtol=1e-9, atol=1e-12)


def test_the_same_importances(monkeypatch):
    model = JARFClassifier(
        n_estimators=20,
        preconditioner=JacobianPreconditioner(RandomForestClassifier(10)),
        random_state=0,
    )
    one, two = narrow_and_wide(monkeypatch, lambda: model.fit(X, y).feature_importances_)
    np.testing.assert_allclose(two, one, atol=0.02)
    np.testing.assert_allclose(two.sum(), 1)


def test_options_that_wide_tables_do_not_support(wide):
    with pytest.raises(ValueError, match="per-tree"):
        JARFClassifier(n_estimators=2, share="per-tree").fit(X, y)
    with pytest.raises(ValueError, match="n_components"):
        pre(n_components=2).fit(np.where(X > 100, np.nan, X), y)


def test_estimates_add_up(monkeypatch):
    monkeypatch.setattr(_ejop, "WIDE_FROM", 20)
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    options = {"step_rule": X.std(axis=0), "feature_range": (X.min(axis=0), X.max(axis=0))}
    whole = expected_jacobian_outer_product(model, X, y, **options)
    parts = [
        expected_jacobian_outer_product(model, X[rows], y[rows], **options)
        for rows in (slice(50), slice(50, None))
    ]
    merged = parts[0] + parts[1]
    assert merged.n_probes == 200
    np.testing.assert_allclose(merged.matrix, whole.matrix, atol=1e-15)
    scale = np.linspace(1, 2, 30)
    np.testing.assert_allclose(
        whole.rescaled(scale).matrix, whole.matrix * np.outer(scale, scale), atol=1e-12
    )
    with pytest.raises(ValueError, match="30 and 2 features"):
        merged + WideEJOP(csr_array(np.eye(2)), 2.0, 2)
    with pytest.raises(TypeError):
        merged + 1
    monkeypatch.setattr(_wide, "WIDE_FROM", 20)
    with pytest.raises(ValueError, match="not formed"):
        merged.matrix  # noqa: B018


def test_a_spectrum_of_few_gradients():
    ejop = WideEJOP(csr_array(np.array([[3.0, 0, 4.0], [0, 0, 0]])), 2.0, 2)
    values, vectors = leading_spectrum(ejop, 5)
    np.testing.assert_allclose(values, [12.5])
    np.testing.assert_allclose(vectors[:, 0], [0.6, 0, 0.8])
    values, vectors = leading_spectrum(WideEJOP(csr_array((2, 3)), 2.0, 2), 5)
    assert values.shape == (0,)
    assert vectors.shape == (3, 0)


def test_thousands_of_columns():
    """6,000 columns, the real limit: the direction that matters is found."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 6000)).astype(np.float32)
    Z[:, :2] *= 3
    labels = Z[:, 0] + Z[:, 1] > 0
    surrogate = RandomForestClassifier(20, max_features=0.5, random_state=0)
    model = JacobianPreconditioner(surrogate, step=1.0, random_state=0).fit(Z, labels)
    assert isinstance(model.ejop_, WideEJOP)
    assert set(np.argsort(model.feature_sensitivities_)[-2:]) == {0, 1}
    assert model.eigenvectors_.shape == (6000, 50)
    assert model.transform(Z[:5]).shape == (5, 6000)
