import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from jarf import expected_jacobian_outer_product
from jarf.surrogate import KernelSurrogateClassifier, KernelSurrogateRegressor
from jarf.surrogate._kernel import metric_root

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 6)) * [1, 2, 3, 1, 1, 1] + 5
y = np.sin(X[:, 0] + X[:, 1] / 2)


@parametrize_with_checks([KernelSurrogateClassifier(100), KernelSurrogateRegressor(100)])
def test_estimator_contract(estimator, check):
    check(estimator)


def test_gradients_are_those_of_the_predictions():
    model = KernelSurrogateRegressor(200, random_state=0).fit(X, y)
    rows = X[:20] + 0.3  # away from the anchors, where the kernel has a kink
    slopes = model.input_gradients(rows)[:, :, 0]
    for j in range(6):
        step = np.zeros(6)
        step[j] = 1e-5
        by_difference = (model.predict(rows + step) - model.predict(rows - step)) / 2e-5
        np.testing.assert_allclose(slopes[:, j], by_difference, rtol=1e-4, atol=1e-6)


def test_gradients_of_one_output_are_that_slice_of_all():
    labels = np.digitize(y, [-0.5, 0.5])
    model = KernelSurrogateClassifier(150, random_state=0).fit(X, labels)
    everything = model.input_gradients(X[:30])
    one = model.gradients(X[:30], labels[:30])
    np.testing.assert_allclose(one, everything[np.arange(30), :, labels[:30]])
    # The machine's answers sum to a constant, so its gradients sum to zero.
    np.testing.assert_allclose(everything.sum(axis=2), 0, atol=1e-8)


def test_refinement_finds_the_columns_that_matter():
    plain, refined = (
        KernelSurrogateRegressor(300, n_refinements=k, random_state=0).fit(X[:300], y[:300])
        for k in (0, 3)
    )
    assert refined.score(X[300:], y[300:]) > plain.score(X[300:], y[300:]) + 0.05
    ejop = expected_jacobian_outer_product(refined, X[300:]).matrix
    assert np.diag(ejop)[:2].sum() > 0.9 * np.trace(ejop)


@pytest.mark.parametrize("shape", [(50, 4), (4, 50)])
def test_metric_root_is_a_root_of_the_gram_matrix(shape):
    G = rng.normal(size=shape)
    root = metric_root(G)
    expected = G.T @ G
    expected *= shape[1] / np.trace(expected)
    np.testing.assert_allclose(root @ root.T, expected, atol=1e-8)
    assert metric_root(np.zeros(shape)) is None  # the identity


def test_cost_is_bounded_by_the_rows_it_keeps():
    model = KernelSurrogateRegressor(50, random_state=0).fit(X, y)
    assert model._anchors.shape[0] == 50


def test_singular_systems_are_solved_by_least_squares():
    """Copies of rows, and a ridge that vanishes in the diagonal: the kernel matrix is singular."""
    rows, response = np.repeat(X[:20], 4, axis=0), np.repeat(y[:20], 4)
    model = KernelSurrogateRegressor(ridge=1e-17).fit(rows, response)
    np.testing.assert_allclose(model.predict(rows), response, atol=1e-8)
    # The shortest of all solutions: copies share the weight of their row.
    shares = model._weights.reshape(20, 4)
    np.testing.assert_allclose(shares, shares[:, :1] * np.ones(4), atol=1e-8)
    labels = KernelSurrogateClassifier(ridge=1e-17).fit(rows, response > 0)
    np.testing.assert_array_equal(labels.predict(rows), response > 0)
