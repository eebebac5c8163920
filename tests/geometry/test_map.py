import numpy as np
import pytest

from jarf.geometry import LinearMap, preconditioner_matrix, spectrum
from jarf.geometry import _map as module

rng = np.random.default_rng(0)
A = rng.normal(size=(4, 4))
PSD = A @ A.T
X = rng.normal(size=(50, 4)) * [1, 10, 100, 1000] + 5


def test_preconditioner_by_hand():
    H = preconditioner_matrix(np.diag([3.0, 1.0]), gamma=1.0)
    np.testing.assert_allclose(H, np.diag([4.0, 2.0]) / 3.0)
    np.testing.assert_allclose(
        preconditioner_matrix(np.diag([3.0, 1.0]), 1.0, False), [[4, 0], [0, 2]]
    )


def test_trace_is_the_dimension_and_zero_stays_zero():
    assert np.trace(preconditioner_matrix(PSD)) == pytest.approx(4)
    assert not preconditioner_matrix(np.zeros((3, 3)), gamma=0.0).any()


def test_spectrum_falls_and_rebuilds_the_matrix():
    values, vectors = spectrum(PSD)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose((vectors * values) @ vectors.T, PSD)
    assert (vectors[np.abs(vectors).argmax(axis=0), range(4)] > 0).all()


def linear_map(matrix=PSD):
    return LinearMap(X.mean(axis=0), X.std(axis=0), matrix)


def test_map_is_the_formula_whatever_the_blocks(monkeypatch):
    expected = ((X - X.mean(axis=0)) / X.std(axis=0)) @ PSD
    np.testing.assert_allclose(linear_map().transform(X), expected)
    monkeypatch.setattr(module, "BLOCK_VALUES", 28)
    np.testing.assert_allclose(linear_map().transform(X), expected)
    assert linear_map().transform(X.astype(np.float32)).dtype == np.float32


def test_inverse():
    np.testing.assert_allclose(linear_map().inverse_transform(linear_map().transform(X)), X)


@pytest.mark.parametrize(
    ("matrix", "message"), [(PSD[:, :2], "keeps 2 of 4"), (np.diag([1.0, 1, 1, 0]), "gamma > 0")]
)
def test_maps_without_an_inverse_are_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        linear_map(matrix).inverse_transform(np.zeros((2, matrix.shape[1])))


def test_credit_goes_to_the_features_behind_a_column():
    mixing = np.array([[3.0, 0.0], [4.0, 0.0], [0.0, 1.0]])
    shared = LinearMap(np.zeros(3), np.ones(3), mixing).credit(np.array([0.6, 0.4]), np.ones(3))
    np.testing.assert_allclose(shared, [0.6 * 9 / 25, 0.6 * 16 / 25, 0.4])
    # In units ten times smaller the first feature's weight is ten times smaller, not its part.
    rescaled = LinearMap(np.zeros(3), np.ones(3), mixing / [[10.0], [1.0], [1.0]])
    np.testing.assert_allclose(
        rescaled.credit(np.array([0.6, 0.4]), np.array([10.0, 1, 1])), shared
    )


def test_credit_in_extreme_units():
    mixing = np.array([[3.0, 0.0], [4.0, 0.0], [0.0, 1.0]])
    linear = LinearMap(np.zeros(3), np.ones(3), mixing)
    expected = linear.credit(np.array([0.6, 0.4]), np.ones(3))
    for unit in (1e-200, 1e200):
        credit = linear.credit(np.array([0.6, 0.4]), np.full(3, unit))
        np.testing.assert_allclose(credit, expected)


def test_proposition_a1_a_split_of_a_mapped_column_is_an_oblique_halfspace():
    H = preconditioner_matrix(PSD)
    mapped = X @ H
    for j in range(4):
        for tau in np.quantile(mapped[:, j], [0.2, 0.5, 0.8]) + 1e-9:
            np.testing.assert_array_equal(mapped[:, j] <= tau, X @ H[:, j] <= tau)


def test_far_away_rows_stay_finite():
    """A column of spread 1e-300 in training, and a value of 1 later."""
    far = LinearMap(np.zeros(2), np.array([1e-308, 1.0]), np.array([[1.0, 0.5], [0.5, 1.0]]))
    mapped = far.transform(np.array([[10.0, 1.0], [0.0, 1.0]]))
    assert np.isfinite(mapped.astype(np.float32)).all()
    np.testing.assert_array_equal(mapped[1], [0.5, 1.0])
