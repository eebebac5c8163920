"""Symmetric trees: one cut per level, equal to the reference, within the limits."""

import numpy as np
import pytest

from jarf._native import engine
from jarf.trees import ClassTarget, Limits, NewtonTarget, grow_tree, make_columns

RNG = np.random.default_rng(0)
X = np.asfortranarray(RNG.normal(size=(200, 5)).round(1).astype(np.float32))
Y = np.sign(X[:, 0] * X[:, 1]) + X[:, 2] + 0.1 * RNG.normal(size=200)
HESSIANS = RNG.random(200) + 0.1
EVERY = np.ones(200)


def grown(limits, *, target=None, weights=EVERY, n_axes=5, chances=(), n_threads=1, seed=3):
    target = NewtonTarget(-Y, HESSIANS, 0.5) if target is None else target
    axes = engine().Axes(n_axes, np.array(chances, float))
    options = {"keep_leaves": True, "n_threads": n_threads}
    return grow_tree(make_columns(X), axes, target, weights, seed, limits, **options)


def depths_of(tree):
    depths = np.zeros(len(tree.nodes), int)
    for at, node in enumerate(tree.nodes):
        if node["feature"] != -1:
            depths[[node["left"], node["right"]]] = depths[at] + 1
    return depths


@pytest.mark.parametrize(
    "limits",
    [
        Limits(symmetric=True),
        Limits(symmetric=True, max_depth=4),
        Limits(symmetric=True, max_depth=5, min_samples_leaf=7),
        Limits(symmetric=True, max_depth=6, min_samples_split=30),
        Limits(symmetric=True, max_depth=6, min_weight_fraction_leaf=0.05),
        Limits(symmetric=True, max_depth=6, min_impurity_decrease=0.05),
    ],
)
@pytest.mark.parametrize("min_hessian", [0.0, 2.0])
@pytest.mark.parametrize("chances", [(), (0.0, 1.0, 2.0, 0.5, 1.0)])
def test_native_code_grows_the_tree_of_the_reference(monkeypatch, limits, min_hessian, chances):
    weights = RNG.integers(0, 3, 200).astype(float)
    trees = []
    for value in ("0", "1"):
        monkeypatch.setenv("JARF_NO_NATIVE", value)
        target = NewtonTarget(-Y, HESSIANS, 0.5, min_hessian)
        trees.append(grown(limits, target=target, weights=weights, n_axes=3, chances=chances))
    native, reference = trees
    for name in ("nodes", "leaves"):
        np.testing.assert_array_equal(getattr(native, name), getattr(reference, name))
    for name in ("weights", "gains", "values"):
        both = getattr(native, name), getattr(reference, name)
        np.testing.assert_allclose(*both, rtol=1e-9, atol=1e-9)


def test_a_tree_has_as_many_different_cuts_as_levels():
    tree = grown(Limits(symmetric=True, max_depth=4))
    cuts = tree.nodes[tree.nodes["feature"] >= 0]
    assert len(np.unique(cuts[["feature", "threshold"]])) == depths_of(tree).max() == 4
    assert len(cuts) > 8


def test_leaves_hold_newton_steps_of_enough_rows():
    tree = grown(Limits(symmetric=True, max_depth=6, min_samples_leaf=9))
    for leaf in np.unique(tree.leaves):
        rows = tree.leaves == leaf
        assert rows.sum() >= 9
        step = Y[rows].sum() / (HESSIANS[rows].sum() + 0.5)
        assert tree.values[tree.nodes["left"][leaf], 0] == pytest.approx(step)


def test_a_node_left_whole_by_one_cut_is_divided_by_a_later_one():
    tree = grown(Limits(symmetric=True, max_depth=6, min_samples_leaf=9))
    cuts = tree.nodes[tree.nodes["feature"] >= 0]
    n_cuts = len(np.unique(cuts[["feature", "threshold"]]))
    depths = depths_of(tree)[tree.nodes["feature"] == -1]
    assert len(np.unique(depths)) > 1
    assert n_cuts == 6 >= depths.max()


def test_interactions_of_two_columns_are_found():
    """In a node of four rows that differ in two columns, neither column alone reduces the loss."""
    values = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32).repeat(8, axis=0)
    parity = np.where(values[:, 0] == values[:, 1], 1.0, -1.0)
    weights = np.r_[1.2, np.ones(31)]  # breaks the tie between both columns and no cut
    target = NewtonTarget(-parity, np.ones(32))
    axes = engine().Axes(2, np.empty(0))
    columns = make_columns(np.asfortranarray(values))
    tree = grow_tree(columns, axes, target, weights, 0, Limits(max_depth=2, symmetric=True))
    assert sorted(np.sign(tree.values[:, 0])) == [-1, -1, 1, 1]


def test_threads_do_not_change_bits():
    limits = Limits(symmetric=True, max_depth=6)
    one, two = (grown(limits, n_threads=n) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("no_native", ["0", "1"])
def test_what_cannot_be_symmetric_is_refused(monkeypatch, no_native):
    monkeypatch.setenv("JARF_NO_NATIVE", no_native)
    limits = Limits(symmetric=True, max_depth=3)
    refused = {
        "classes": ClassTarget((Y > 0).astype(int), 2),
        "several outputs": NewtonTarget(np.column_stack([Y, Y]), np.ones((200, 2))),
        "constraints": NewtonTarget(-Y, HESSIANS, monotonic=[1, 0, 0, 0, 0]),
    }
    for target in refused.values():
        with pytest.raises(ValueError, match="Newton steps of one output"):
            grown(limits, target=target)
    sums = engine().SparseRandom(3, 2.0, np.ones(5, np.float32), np.empty(0))
    target = NewtonTarget(-Y, HESSIANS)
    with pytest.raises(ValueError, match="only Axes"):
        grow_tree(make_columns(X), sums, target, EVERY, 0, limits)
    axes = engine().Axes(5, np.empty(0))
    with pytest.raises(ValueError, match="columns that have bins"):
        grow_tree(make_columns(X, bins=False), axes, target, EVERY, 0, limits)
