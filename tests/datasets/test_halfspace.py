import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from jarf.datasets import halfspace_bayes_kappa, make_rotated_halfspace


def test_best_rule_scores_the_bayes_kappa():
    X, y = make_rotated_halfspace(200_000, 5, angle=30, random_state=0)
    normal = [np.cos(np.pi / 6), np.sin(np.pi / 6), 0, 0, 0]
    kappa = cohen_kappa_score(y, X @ normal >= 0)
    assert kappa == pytest.approx(halfspace_bayes_kappa(), abs=0.005)
    assert cohen_kappa_score(y, X[:, 0] >= 0) < kappa - 0.1


def test_seed_and_shapes():
    a, b = (make_rotated_halfspace(50, 3, 15, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(a[0], b[0])
    np.testing.assert_array_equal(a[1], b[1])


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"n_features": 1}, "n_features"),
        ({"noise": -1.0}, "noise"),
        ({"n_samples": 0}, "n_samples"),
    ],
)
def test_bad_input(params, name):
    with pytest.raises(ValueError, match=name):
        make_rotated_halfspace(**params)
