"""Monotone constraints: predictions never move the wrong way, leaves keep their bounds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import cython_lapack

from jarf._native import engine
from jarf.trees import Forest, Limits, NewtonTarget, grow_tree, make_columns, ordered_values

SIGNS = np.array([1, 0, -1, 0, 0])
FREE = SIGNS == 0
rng = np.random.default_rng(0)
X = rng.standard_normal((300, 5)).astype(np.float32)
# Waves against the constraints, and a slope that only a direction can follow.
Y = X[:, 0] + np.sin(4 * X[:, 0]) - X[:, 2] * np.cos(X[:, 1]) + 2 * np.abs(X[:, 1] + X[:, 3])
Y += 0.3 * rng.standard_normal(300)
H = rng.random(300) + 0.2
TARGET = NewtonTarget(-Y * H, H, 0.5, monotonic=SIGNS)


def proposals():
    """Axes, and axes beside directions that are free of constrained columns, or are not."""
    kind, dsyev = engine(), cython_lapack.__pyx_capi__["dsyev"]
    axes, none = kind.Axes(5, np.empty(0)), np.empty((0, 0), np.int32)
    slopes = np.random.default_rng(1).standard_normal((300, 5)).astype(np.float32)
    scales = np.ones(5, np.float32)

    def draws(gradients):
        source = kind.Gradients(gradients, none, 5, none.ravel())
        return kind.GradientDraws([source], scales, 4, 2, 0, 0.0)

    return {
        "axes": axes,
        "drawn axes": kind.Axes(2, np.empty(0)),
        "gradients": kind.Sequence([axes, draws(slopes * FREE.astype(np.float32))]),
        "canonical": kind.Sequence(
            [axes, kind.CanonicalCorrelation(3, False, 0, 0, dsyev, FREE.astype(float))]
        ),
        "sparse": kind.SparseRandom(6, 2.0, FREE.astype(np.float32), np.empty(0)),
        "all columns": kind.Sequence(
            [
                *(kind.SparseRandom(6, 2.0, scales, np.empty(0)), draws(slopes)),
                kind.CanonicalCorrelation(2, True, 0, 0, dsyev, np.empty(0)),
            ]
        ),
    }


SEARCHES = {
    "exact": (False, {}),
    "binned": (True, {"histogram_from": 10}),
    "sampled": (False, {"sample_from": 100}),
    "best first": (False, {"max_leaf_nodes": 20}),
    "node histograms": (True, {"max_leaf_nodes": 20, "histogram_from": 10, "sample_from": 100}),
}


def grow(target=TARGET, proposal="axes", weights=None, bins=False, rows=X, **limits):
    weights = np.ones(len(rows)) if weights is None else weights
    columns, limits = make_columns(rows, bins=bins), Limits(**limits)
    made = proposals()[proposal]
    return grow_tree(columns, made, target, weights, 3, limits, keep_leaves=True)


def wrong_moves(tree, signs=SIGNS):
    """Count the steps against the constraints of rows that move along a constrained column."""
    forest, count = Forest.empty(5, n_outputs=1).extended([tree]), 0
    for column in np.flatnonzero(signs):
        cuts = tree.nodes["threshold"][tree.nodes["feature"] == column]
        grid = np.sort(np.concatenate([cuts, np.nextafter(cuts, np.float32(9)), X[:40, column]]))
        moved = np.repeat(X[:60], len(grid), axis=0)
        moved[:, column] = np.tile(grid, 60)
        steps = np.diff(forest.predict(moved).reshape(60, len(grid)))
        count += int((steps * signs[column] < 0).sum())
    return count


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("proposal", proposals())
def test_predictions_never_move_the_wrong_way(proposal, search):
    bins, limits = SEARCHES[search]
    for seed in range(3):
        weights = np.random.default_rng(seed).poisson(1.0, 300).astype(float)
        tree = grow(TARGET, proposal, weights, bins, **limits)
        assert wrong_moves(tree) == 0
        assert {0, 2} <= set(tree.nodes["feature"])
        free = grow(replace(TARGET, monotonic=None), proposal, weights, bins, **limits)
        assert wrong_moves(free) > 0


@pytest.mark.parametrize("proposal", proposals())
def test_directions_are_free_of_constrained_columns(proposal):
    tree = grow(proposal=proposal, max_depth=5)
    assert FREE[tree.features].all()
    assert (tree.nodes["feature"] < -1).any() == (proposal not in ("axes", "drawn axes"))


@pytest.mark.parametrize("limits", [{"max_depth": 6}, {"max_leaf_nodes": 12}])
def test_bounds_part_the_children(limits, both_engines):
    tree = grow(**limits)
    nodes, bounds = tree.nodes, tree.bounds
    assert bounds.shape == (len(nodes), 2)
    np.testing.assert_array_equal(bounds[0], [-np.inf, np.inf])
    for node in np.flatnonzero(nodes["feature"] != -1):
        left, right = (bounds[nodes[side][node]] for side in ("left", "right"))
        sign = SIGNS[nodes["feature"][node]]
        lower, upper = (left, right) if sign > 0 else (right, left)
        np.testing.assert_array_equal([lower[0], upper[1]], bounds[node])
        if sign == 0:
            np.testing.assert_array_equal(left, right)
        else:
            assert lower[1] == upper[0]
            assert bounds[node][0] <= lower[1] <= bounds[node][1]
    leaves = np.flatnonzero(nodes["feature"] == -1)
    values = tree.values[nodes["left"][leaves], 0]
    assert ((bounds[leaves, 0] <= values) & (values <= bounds[leaves, 1])).all()
    rows = [tree.leaves == leaf for leaf in leaves]
    steps = [-TARGET.gradients[r].sum() / (H[r].sum() + 0.5) for r in rows]
    np.testing.assert_allclose(values, np.clip(steps, *bounds[leaves].T), rtol=1e-12)
    assert (values != steps).any()


@pytest.mark.parametrize("limits", [{"max_depth": 6}, {"max_leaf_nodes": 12}])
def test_refitted_values_are_put_in_order(limits):
    tree = grow(**limits)
    np.testing.assert_array_equal(ordered_values(tree, tree.values, SIGNS), tree.values)
    for seed in range(20):
        refitted = 100 * np.random.default_rng(seed).standard_normal(tree.values.shape)
        assert wrong_moves(tree._replace(values=refitted)) > 0
        ordered = ordered_values(tree, refitted, SIGNS)
        assert wrong_moves(tree._replace(values=ordered)) == 0
        assert refitted.min() <= ordered.min() < ordered.max() <= refitted.max()


def score(rows, bounds=(-np.inf, np.inf)):
    """Value and decrease of the penalised loss, by definition."""
    gradient, hessian = TARGET.gradients[rows].sum(), H[rows].sum() + 0.5
    value = np.clip(-gradient / hessian, *bounds)
    return value, -(2 * gradient * value + hessian * value**2)


def test_the_best_split_within_bounds_is_taken(both_engines):
    """Every split of a small tree is the best among those that the constraints allow."""
    tree = grow(max_depth=3)
    inside = {0: np.ones(300, bool)}
    for node, (feature, threshold, left, right) in enumerate(tree.nodes.tolist()):
        if feature == -1:
            continue
        rows, bounds = inside[node], tree.bounds[node]
        best = -np.inf
        for column in range(5):
            for cut in np.sort(X[rows, column])[:-1]:
                below = rows & (X[:, column] <= cut)
                (low, gain), (high, more) = score(below, bounds), score(rows & ~below, bounds)
                if SIGNS[column] * (high - low) >= 0:
                    best = max(best, gain + more)
        np.testing.assert_allclose(tree.gains[node], best - score(rows, bounds)[1], rtol=1e-9)
        inside[left] = rows & (X[:, feature] <= threshold)
        inside[right] = rows & ~inside[left]


def test_histograms_search_as_exactly():
    coarse = np.round(X * 2)
    for limits in ({"max_depth": 5}, {"max_leaf_nodes": 15}):
        exact = grow(rows=coarse, **limits)
        binned = grow(rows=coarse, bins=True, histogram_from=10, **limits)
        np.testing.assert_array_equal(exact.leaves, binned.leaves)
        np.testing.assert_allclose(exact.values, binned.values, rtol=1e-9)
        np.testing.assert_allclose(exact.bounds, binned.bounds, rtol=1e-9)


def test_a_node_at_its_bound_is_not_split_further(both_engines):
    """Gradients against the constraint: all values would be clipped, no split gains."""
    rows = np.linspace(-1, 1, 300, dtype=np.float32)[:, None] * np.ones(5, np.float32)
    falling = NewtonTarget(rows[:, 0].astype(float), np.ones(300), monotonic=np.ones(5))
    assert len(grow(falling, rows=rows).nodes) == 1
    # A step down in the right half: its children would be clipped to its lower bound.
    steps = np.where(rows[:, 0] < 0, -1.0, np.where(rows[:, 0] < 0.5, 1.0, 0.9))
    tree = grow(NewtonTarget(-steps, np.ones(300), monotonic=np.ones(5)), rows=rows)
    assert len(tree.nodes) == 3


def test_no_constraints_cost_nothing():
    plain = grow(replace(TARGET, monotonic=None))
    zeros = grow(replace(TARGET, monotonic=np.zeros(5)))
    np.testing.assert_array_equal(plain.nodes, zeros.nodes)
    np.testing.assert_array_equal(plain.values, zeros.values)
    assert plain.bounds.shape == zeros.bounds.shape == (0, 2)
    several = NewtonTarget(np.column_stack([Y, Y]), np.column_stack([H, H]), monotonic=[0] * 5)
    assert several.monotonic is None


def test_constraints_stay_when_rows_are_chosen():
    np.testing.assert_array_equal(TARGET.only(np.arange(9)).monotonic, SIGNS)


@pytest.mark.parametrize("monotonic", [[2, 0], [0.5, 1], [[1], [0]], 1, ["up", "down"]])
def test_signs_that_are_none_are_refused(monotonic):
    with pytest.raises(ValueError, match="monotonic must hold -1, 0 or 1 for each column"):
        NewtonTarget(Y, H, monotonic=monotonic)


def test_several_outputs_are_refused():
    with pytest.raises(ValueError, match="monotonic is supported for one output, got gradients"):
        NewtonTarget(np.column_stack([Y, Y]), np.column_stack([H, H]), monotonic=SIGNS)
