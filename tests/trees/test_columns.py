import numpy as np
import pytest

from jarf._native import engine
from jarf.trees import (
    Forest,
    Limits,
    ResponseTarget,
    grow_tree,
    make_columns,
    narrow,
    rotate_columns,
)


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 40}])
def test_rotated_columns_need_not_exist(limits):
    """Nodes too large to keep their rotated columns project them: the same tree comes out."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15_000, 600)).astype(np.float32)  # 36 MB
    pairs = np.column_stack([np.arange(600), np.roll(np.arange(600), 77)]).astype(np.int32)
    loadings = rng.standard_normal((600, 2)).astype(np.float32)
    rotation = np.arange(0, 1201, 2, dtype=np.int32), pairs.ravel(), loadings.ravel()
    terms = loadings.astype(np.float64).T[:, None] * X[:, pairs.T].transpose(1, 0, 2)
    values = terms.sum(axis=0).astype(np.float32)
    lazy, whole = (
        grow_tree(
            columns,
            engine().Axes(5, np.empty(0)),
            ResponseTarget(X[:, 0] + X[:, 1]),
            np.ones(len(X)),
            0,
            Limits(max_depth=8, **limits),
        )
        for columns in (rotate_columns(X, rotation), make_columns(values, bins=False))
    )
    for field in ("threshold", "left", "right"):
        np.testing.assert_array_equal(lazy.nodes[field], whole.nodes[field])
    np.testing.assert_array_equal(lazy.gains, whole.gains)
    np.testing.assert_array_equal(
        Forest.empty(600).extended([lazy]).predict(X[:200]),
        Forest.empty(600).extended([whole]).predict(values[:200]),
    )


def test_threads_do_not_change_the_columns():
    X = np.random.default_rng(0).normal(size=(2000, 13)).astype(np.float32)
    trees = [
        grow_tree(
            make_columns(X, n_jobs),
            engine().Axes(3, np.empty(0)),
            ResponseTarget(X[:, 0] * X[:, 1]),
            np.ones(len(X)),
            0,
            Limits(histogram_from=100),
        )
        for n_jobs in (1, 3)
    ]
    np.testing.assert_array_equal(trees[0].nodes, trees[1].nodes)


def test_loadings_are_clipped_to_the_range_of_float32():
    found = narrow(np.array([1e300, -1e300, 0.1]))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.float32([3.4028235e38, -3.4028235e38, 0.1]))
