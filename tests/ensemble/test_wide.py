"""Wide tables: no matrix of columns by columns, and the answers that it would give."""

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import make_classification

from jarf import (
    JacobianBoostingClassifier,
    JacobianEnsembleClassifier,
    JacobianFeatures,
    JacobianForestClassifier,
    JacobianKernelClassifier,
)
from jarf.ensemble._features import draw_directions
from jarf.ensemble._sources import (
    MAX_SQUARE,
    Table,
    forest_sensitivities,
    leading_columns,
    leading_components,
    whitening,
)
from jarf.surrogate import KernelSurrogateClassifier, KernelSurrogateRegressor
from jarf.trees import ClassTarget

N_COLUMNS = 6000
SQUARE = 8 * N_COLUMNS**2  # bytes


def wide_table(n_rows=100, n_columns=N_COLUMNS):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n_rows, 8))
    X = hidden @ rng.normal(size=(8, n_columns)) + 0.3 * rng.normal(size=(n_rows, n_columns))
    return X.astype(np.float32), (hidden[:, 0] + hidden[:, 1] > 0).astype(int)


def peak_memory(call):
    tracemalloc.start()
    try:
        result = call()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_leading_components_are_those_of_the_square_matrix():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 5)) @ rng.normal(size=(5, 30))
    values, vectors = leading_components(rows, 4)
    full_values, full_vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    np.testing.assert_allclose(values, full_values[-4:])
    np.testing.assert_allclose(np.abs((vectors * full_vectors[:, -4:]).sum(axis=0)), 1.0)


@pytest.mark.parametrize("n_columns", [61, 200])
def test_whitening_of_few_rows_is_that_of_the_square_matrix(n_columns):
    Z = wide_table(60, n_columns)[0].astype(np.float64) + 3.0
    values, vectors = np.linalg.eigh(np.cov(Z, rowvar=False))
    kept = values > 1e-4 * values[-1]
    expected = vectors[:, kept] / np.sqrt(values[kept])
    np.testing.assert_allclose(np.abs(whitening(Z)), np.abs(expected), atol=1e-8)


def test_whitened_columns_are_uncorrelated():
    Z = wide_table(60, MAX_SQUARE + 1)[0].astype(np.float64)
    found = whitening(Z)
    white = (Z - Z.mean(axis=0)) @ found
    np.testing.assert_allclose(np.cov(white, rowvar=False), np.eye(found.shape[1]), atol=1e-8)


def test_whitening_forms_no_square_matrix():
    Z = wide_table()[0]
    _, peak = peak_memory(lambda: whitening(Z))
    assert peak < SQUARE / 8
    few = Z[:, :1800]  # below MAX_SQUARE, but more columns than rows
    _, peak = peak_memory(lambda: whitening(few))
    assert peak < 8 * 1800**2 / 2


@pytest.mark.parametrize("n_columns", [50, 500, MAX_SQUARE + 1])
def test_drawn_directions_begin_with_eigenvectors_of_the_square_matrix(n_columns):
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(5, n_columns))
    gradients = [rng.normal(size=(40, 5)) * [5, 4, 3, 2, 1] @ mixed for _ in range(2)]
    found = draw_directions(gradients, 6, np.random.RandomState(0))[:, :3]
    stacked = np.concatenate(gradients)
    product = stacked.T @ (stacked @ found)  # the square matrix times what was found
    length = np.linalg.norm(product, axis=0)
    np.testing.assert_allclose(np.abs(product / length), np.abs(found), atol=1e-8)
    singular = np.linalg.svd(stacked, compute_uv=False)
    np.testing.assert_allclose(length, singular[:3] ** 2)


def test_the_ranks_of_columns_hardly_depend_on_the_seed():
    X, y = make_classification(
        n_samples=400,
        n_features=480,
        n_informative=4,
        n_redundant=4,
        n_clusters_per_class=4,
        shuffle=False,
        random_state=3,
    )
    table = Table.standardised(np.asfortranarray(X, np.float32), np.ones(len(X)))
    found = []
    for seed in range(12):
        rng = np.random.RandomState(seed)
        scores = forest_sensitivities(table, ClassTarget(y, 2), rng, 1)
        found.append((leading_columns(scores, 8) < 8).sum())  # the others are noise
    assert min(found) >= 5
    assert np.mean(found) > 5.8


def test_drawing_directions_forms_no_square_matrix():
    gradients = [wide_table()[0].astype(np.float64) for _ in range(2)]
    drawn, peak = peak_memory(lambda: draw_directions(gradients, 8, np.random.RandomState(0)))
    assert drawn.shape == (N_COLUMNS, 8)
    assert peak < SQUARE / 8


@pytest.mark.parametrize("kind", [KernelSurrogateClassifier, KernelSurrogateRegressor])
def test_the_kernel_machine_forms_no_square_matrix(kind):
    X, y = wide_table()
    model, peak = peak_memory(lambda: kind(random_state=0).fit(X, y))
    assert peak < SQUARE / 8
    _, peak = peak_memory(lambda: model.input_gradients(X))
    assert peak < SQUARE / 8


def test_the_kernel_machine_of_many_rows_and_columns_forms_no_square_matrix(monkeypatch):
    X, y = wide_table(400, 300)
    expected = KernelSurrogateRegressor(random_state=0).fit(X, y)
    monkeypatch.setattr("jarf.surrogate._kernel.MAX_SQUARE", 200)
    found = KernelSurrogateRegressor(random_state=0).fit(X, y)
    assert found._root.shape == (300, 400)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-3)


@pytest.mark.parametrize(
    "model",
    [
        JacobianForestClassifier(4, random_state=0, n_jobs=1),
        JacobianFeatures(4, switch="on", random_state=0, n_jobs=1),
        JacobianBoostingClassifier(max_iter=4, random_state=0, n_jobs=1),
        JacobianKernelClassifier(random_state=0),
        JacobianEnsembleClassifier([("kernel", JacobianKernelClassifier())], random_state=0),
    ],
)
def test_a_fit_forms_no_square_matrix(model):
    X, y = wide_table()
    _, peak = peak_memory(lambda: model.fit(X, y))
    assert peak < SQUARE / 2


def test_oblique_columns_have_three_values():
    flags = np.array([[0, 0, 0, 5], [1, 1, 0, 5], [2, 1, 0, 5]], np.float32)
    X = np.repeat(flags, 10, axis=0)
    assert Table.standardised(X, np.ones(30)).oblique.tolist() == [True, False, False, False]
