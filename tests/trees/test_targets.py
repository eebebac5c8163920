"""Classes, responses and Newton steps: known answers, and comparisons with each other."""

import numpy as np
import pytest

from jarf._native import engine
from jarf.trees import (
    ClassTarget,
    Forest,
    Limits,
    NewtonTarget,
    ResponseTarget,
    grow_tree,
    make_columns,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((200, 4)).astype(np.float32)
Y = np.column_stack([X[:, 0] ** 2 + X[:, 1], X[:, 2] - X[:, 0]]) + rng.standard_normal((200, 2))
H = rng.random((200, 2)) + 0.2


def grow(target, weights=None, rows=X, seed=0, bins=False, n_axes=4, **limits):
    weights = np.ones(len(rows)) if weights is None else weights
    columns = make_columns(np.asarray(rows, np.float32), bins=bins)
    proposal = engine().Axes(n_axes, np.empty(0))
    return grow_tree(columns, proposal, target, weights, seed, Limits(**limits), keep_leaves=True)


def parts(tree):
    """Return the partition of the rows by a tree."""
    return {tuple(np.flatnonzero(tree.leaves == leaf)) for leaf in np.unique(tree.leaves)}


def cut(scores):
    """The best of all cuts, by a function of the rows on the left."""
    best = max(
        (scores(X[:, j] <= value), j, value) for j in range(4) for value in np.sort(X[:, j])[:-1]
    )
    return best[0], X[:, best[1]] <= best[2]


# --- Newton


def test_leaf_values_of_given_leaves(both_engines):
    """Rows without a leaf do not count; an empty leaf holds zero."""
    leaves = np.arange(200, dtype=np.int32) % 4 - 1
    weights = np.arange(200.0) % 3
    steps = NewtonTarget(-Y, H, l2_regularization=0.5)
    found = steps.leaf_values(weights, leaves, 5)
    for leaf in range(3):
        rows = leaves == leaf
        expected = (weights[rows] @ Y[rows]) / (weights[rows] @ H[rows] + 0.5)
        np.testing.assert_allclose(found[leaf], expected, rtol=1e-12)
    np.testing.assert_array_equal(found[3:], 0.0)


def test_newton_steps_of_the_squared_error_grow_its_tree(both_engines):
    """With hessians of one and no penalty, score and leaves are those of the squared error."""
    y = Y[:, 0] - Y[:, 0].mean()
    newton = grow(NewtonTarget(-y, np.ones(200)), max_depth=4)
    plain = grow(ResponseTarget(y), max_depth=4)
    assert parts(newton) == parts(plain)
    np.testing.assert_array_equal(newton.nodes["feature"], plain.nodes["feature"])
    np.testing.assert_allclose(newton.values, plain.values, atol=1e-12)
    np.testing.assert_allclose(newton.gains, plain.gains, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bins", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_newton_leaves_and_scores_by_hand(n_outputs, bins, both_engines):
    g, h, penalty = -Y[:, :n_outputs], H[:, :n_outputs], 1.5
    tree = grow(NewtonTarget(g, h, penalty), bins=bins, max_depth=1)

    def score(rows):
        return (g[rows].sum(axis=0) ** 2 / (h[rows].sum(axis=0) + penalty)).sum()

    best, left = cut(lambda left: score(left) + score(~left))
    assert parts(tree) == {tuple(np.flatnonzero(left)), tuple(np.flatnonzero(~left))}
    np.testing.assert_allclose(tree.gains[0], best - score(np.ones(200, bool)), rtol=1e-9)
    for leaf in (1, 2):
        rows = tree.leaves == leaf
        step = -g[rows].sum(axis=0) / (h[rows].sum(axis=0) + penalty)
        np.testing.assert_allclose(tree.values[tree.nodes["left"][leaf]], step, rtol=1e-12)


def test_newton_takes_no_split_that_the_penalty_makes_worse(both_engines):
    # Equal gradients: G^2 / (H + 1) = 16 / 5 as a whole, 2 * 4 / 3 in two halves.
    rows, target = np.arange(4.0)[:, None], NewtonTarget(np.ones(4), np.ones(4), 1.0)
    assert len(grow(target, rows=rows).nodes) == 1
    # Squared error splits on, gain or not, until its nodes are pure.
    assert len(grow(ResponseTarget([1.0, -1.0, -1.0, 1.0]), rows=rows).nodes) > 1


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_newton_leaves_hessians_on_either_side(n_outputs, both_engines):
    h = H[:, :n_outputs]
    tree = grow(NewtonTarget(-Y[:, :n_outputs], h, 0.0, 12.0))
    sums = [h[tree.leaves == leaf].sum() / n_outputs for leaf in np.unique(tree.leaves)]
    assert len(sums) > 2
    assert min(sums) >= 12.0
    free = grow(NewtonTarget(-Y[:, :n_outputs], h))
    assert len(free.nodes) > len(tree.nodes)
    shares = grow(NewtonTarget(-Y[:, :n_outputs], h), min_weight_fraction_leaf=0.1)
    sums = [h[shares.leaves == leaf].sum() for leaf in np.unique(shares.leaves)]
    assert min(sums) >= 0.1 * h.sum() * (1 - 1e-12)


def test_newton_without_hessians_takes_no_step(both_engines):
    tree = grow(NewtonTarget(Y[:, 0], np.zeros(200)), max_depth=3)
    assert len(tree.nodes) == 1
    assert not tree.values.any()


def test_newton_weights_multiply_both(both_engines):
    weights = rng.integers(1, 4, 200).astype(float)
    weighted = grow(NewtonTarget(-Y, H, 1.0), weights, max_depth=3)
    scaled = grow(NewtonTarget(-Y * weights[:, None], H * weights[:, None], 1.0), max_depth=3)
    np.testing.assert_array_equal(weighted.nodes, scaled.nodes)
    np.testing.assert_allclose(weighted.values, scaled.values, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Y[:, 0], -H[:, 0]), "hessians must not be negative"),
        ((Y[:, 0], H), "one shape"),
        ((Y, H, -1.0), "l2_regularization"),
        ((Y, H, 0.0, np.inf), "min_hessian"),
        ((np.where(Y > 2, np.nan, Y), H), "NaN"),
        ((Y * 1e200, H), "too large"),
    ],
)
def test_newton_refuses_nonsense(arguments, message):
    with pytest.raises(ValueError, match=message):
        grow(NewtonTarget(*arguments))


# --- several outputs


@pytest.mark.parametrize("bins", [False, True])
def test_several_responses_add_their_squared_errors(bins, both_engines):
    tree = grow(ResponseTarget(Y), bins=bins, max_depth=1)

    def error(rows):
        return ((Y[rows] - Y[rows].mean(axis=0)) ** 2).sum()

    best, left = cut(lambda left: -error(left) - error(~left))
    assert parts(tree) == {tuple(np.flatnonzero(left)), tuple(np.flatnonzero(~left))}
    np.testing.assert_allclose(tree.gains[0], error(np.ones(200, bool)) + best, rtol=1e-9)
    for leaf in (1, 2):
        mean = Y[tree.leaves == leaf].mean(axis=0)
        np.testing.assert_allclose(tree.values[tree.nodes["left"][leaf]], mean, rtol=1e-12)


def copies(one):
    return np.repeat(one[:, None], 4, axis=1)


def test_copies_of_one_output_grow_its_tree(both_engines):
    y, h = Y[:, 0], H[:, 0]
    pairs = [
        (ResponseTarget(y), ResponseTarget(copies(y))),
        (NewtonTarget(-y, h, 1.0, 2.0), NewtonTarget(copies(-y), copies(h), 1.0, 2.0)),
    ]
    for one, several in pairs:
        small, wide = grow(one, max_depth=4), grow(several, max_depth=4)
        np.testing.assert_array_equal(small.nodes, wide.nodes)
        np.testing.assert_allclose(wide.values, np.repeat(small.values, 4, axis=1), rtol=1e-12)
        np.testing.assert_allclose(wide.gains, 4 * small.gains, rtol=1e-9, atol=1e-9)


def test_histograms_of_several_outputs_search_as_exactly():
    coarse = np.round(X * 2)
    for target in (ResponseTarget(Y), NewtonTarget(-Y, H, 1.0), NewtonTarget(-Y[:, 0], H[:, 0])):
        exact = grow(target, rows=coarse, bins=False, max_depth=4)
        binned = grow(target, rows=coarse, bins=True, max_depth=4, histogram_from=10)
        assert parts(exact) == parts(binned)
        np.testing.assert_allclose(exact.values, binned.values, rtol=1e-9)


@pytest.mark.parametrize("kind", ["classes", "responses", "newton"])
def test_weights_count_as_repetition(kind, both_engines):
    counts = rng.integers(0, 4, 200)
    rows = np.repeat(np.arange(200), counts)
    target = {
        "classes": ClassTarget(np.digitize(Y[:, 0], [0.0, 1.0]), 3),
        "responses": ResponseTarget(Y),
        "newton": NewtonTarget(-Y, H, 1.0, 2.0),
    }[kind]
    limits = {"max_depth": 2, "sample_from": 10**9}
    weighted = grow(target, counts.astype(float), **limits)
    repeated = grow(target.only(rows), rows=X[rows], **limits)
    np.testing.assert_array_equal(weighted.nodes, repeated.nodes)
    np.testing.assert_allclose(weighted.values, repeated.values, rtol=1e-9)
    np.testing.assert_array_equal(weighted.leaves[rows], repeated.leaves)


def test_vector_leaves_are_predicted():
    tree = grow(ResponseTarget(Y), max_depth=5)
    forest = Forest.empty(4, n_outputs=2).extended([tree])
    predicted = forest.predict(X)
    for leaf in np.unique(tree.leaves):
        rows = tree.leaves == leaf
        np.testing.assert_allclose(
            predicted[rows], Y[rows].mean(axis=0)[None].repeat(rows.sum(), 0)
        )


# --- what estimators ask of a target


def test_class_targets():
    target = ClassTarget(np.array([2, 0, 0, 2]), 3, "entropy")
    assert (target.n_rows, target.n_outputs, target.first_rows()) == (4, 3, [1, 0])
    np.testing.assert_array_equal(target.indicators([0, 1]), [[0, 0, 1], [1, 0, 0]])
    np.testing.assert_array_equal(target.observed_outputs(), [2, 0, 0, 2])
    assert target.only([1, 2]).criterion == "entropy"
    np.testing.assert_array_equal(target.only([1, 2]).answers(), [0, 0])
    with pytest.raises(ValueError, match="criterion must be one of"):
        ClassTarget(np.zeros(3), 2, "misclassification")


def test_response_targets():
    target = ResponseTarget(Y)
    assert (target.n_rows, target.n_outputs, target.n_classes) == (200, 2, 0)
    np.testing.assert_array_equal(target.observed_outputs()[:4], [0, 1, 0, 1])
    np.testing.assert_allclose(target.standardised().responses.std(axis=0), 1.0)
    flat = ResponseTarget(np.column_stack([Y[:, 0], np.ones(200)]))
    assert np.isfinite(flat.standardised().responses).all()
    single = ResponseTarget(Y[:, 0])
    assert single.standardised() is single
    assert single.answers().shape == (200,)
    assert target.answers().shape == (200, 2)
