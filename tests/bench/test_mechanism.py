import numpy as np
import pytest
from scipy import sparse, stats

from jarf.bench import Fit, Setting, alignment_curve, eigenvector_alignment, random_alignment
from jarf.bench._mechanism import alignment_of_normals
from jarf.bench._protocol import Split


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


class Cuts:
    """A model all of whose cuts are along the true boundary."""

    def __init__(self, normal, n):
        self.normals = sparse.csr_array(np.tile(normal, (n, 1)))

    def split_normals(self):
        return self


def test_cuts_along_the_boundary_lie_in_the_first_eigenvector():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    split = Split(X, y, X, y, np.ones(4, bool), "classification", False, "made")
    normal = np.array([1, 1, 0, 0]) / np.sqrt(2)
    fit = Fit(Cuts(normal, 30), split, Setting("classification", numeric=split.numeric))
    found = alignment_of_normals(fit)["alignment"]
    assert found["median"][0] > 0.95
    assert found["n_normals"] == 30
    assert found["random"][0] < 0.3


def test_models_without_normals_have_no_alignment():
    split = Split(*[np.zeros((2, 2))] * 4, np.ones(2, bool), "classification", False, "")
    fit = Fit(object(), split, Setting("classification", numeric=split.numeric))
    assert alignment_of_normals(fit) == {}
