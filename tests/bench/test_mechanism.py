import numpy as np
from scipy import sparse

from jarf.bench import Fit, Setting
from jarf.bench._mechanism import alignment_of_normals
from jarf.bench._protocol import Split


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
