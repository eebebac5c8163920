import numpy as np
import pytest
from scipy import sparse, stats

from jarf.geometry import (
    alignment_curve,
    eigenvector_alignment,
    normals_alignment,
    random_alignment,
)


def test_alignment_grows_to_one():
    rng = np.random.default_rng(0)
    normals = rng.normal(size=(50, 6))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    basis = stats.ortho_group.rvs(6, random_state=0)
    curve = alignment_curve(normals, basis)
    assert (np.diff(curve, axis=1) >= -1e-12).all()
    np.testing.assert_allclose(curve[:, -1], 1)
    np.testing.assert_allclose(alignment_curve(sparse.csr_array(normals), basis), curve)


def test_random_directions_follow_the_beta_law():
    rng = np.random.default_rng(0)
    normals = rng.normal(size=(20_000, 8))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    median = np.median(alignment_curve(normals, np.eye(8)), axis=0)
    np.testing.assert_allclose(random_alignment(8), median, atol=0.01)
    assert random_alignment(3)[-1] == 1.0


def test_eigenvectors_in_another_order_span_the_same():
    basis = stats.ortho_group.rvs(5, random_state=1)
    each, span = eigenvector_alignment(basis, basis[:, [1, 0, 2, 3, 4]], k=2)
    assert (each, span) == (pytest.approx(0), pytest.approx(1))
    assert eigenvector_alignment(basis, -basis) == (pytest.approx(1), pytest.approx(1))


def test_normals_are_compared_in_the_units_of_the_eigenvectors():
    """In standard deviations the cut (1, 0.1) of columns with deviations (1, 10) is (1, 1)."""
    vectors = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
    normals = sparse.csr_array(np.array([[1.0, 0.1, 0.0], [0.0, 0.0, 1.0]]))
    found = normals_alignment(normals, np.array([1.0, 10.0, 1.0]), vectors, np.array([0, 1]))
    np.testing.assert_allclose(found, [[1.0, 1.0]])
