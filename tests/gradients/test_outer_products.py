import numpy as np
import pytest

from jarf.gradients._outer_products import add_outer_products


@pytest.mark.parametrize("density", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("native", [False, True])
def test_lower_triangle_of_the_weighted_gram_matrix(monkeypatch, density, weighted, native):
    monkeypatch.setenv("JARF_NO_NATIVE", "0" if native else "1")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 30)) * (rng.random((60, 30)) < density)
    weights = rng.random(60) if weighted else None
    start = rng.normal(size=(30, 30))
    lower = start.copy()
    add_outer_products(lower, rows, weights)
    gram = rows.T @ (rows if weights is None else rows * weights[:, None])
    np.testing.assert_allclose(lower, start + np.tril(gram), atol=1e-13)
