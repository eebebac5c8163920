"""Rows without hessian do not win splits by the rounding of sums."""

import numpy as np
import pytest

from jarf._native import engine
from jarf.trees import Limits, NewtonTarget, grow_tree, make_columns


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("path", ["0", "1"], ids=["native", "reference"])
def test_a_side_without_hessian_scores_zero(monkeypatch, path, n_outputs):
    monkeypatch.setenv("JARF_NO_NATIVE", path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2)).astype(np.float32)
    gradients = rng.normal(size=(1000, n_outputs))
    hessians = rng.uniform(0.01, 0.25, size=(1000, n_outputs))
    hessians[X[:, 0] > 1.5] = 0
    tree = grow_tree(
        make_columns(X),
        engine().Axes(2, np.empty(0)),
        NewtonTarget(gradients, hessians),
        np.ones(1000),
        0,
        Limits(max_depth=3),
    )
    assert len(tree.nodes) > 3
    assert tree.gains.max() <= np.abs(gradients).sum() ** 2 / hessians[hessians > 0].min()
