from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from jarf._native import engine
from jarf.trees import (
    ClassTarget,
    Forest,
    Limits,
    NewtonTarget,
    ResponseTarget,
    TreePlan,
    bootstrap_counts,
    grow_forest,
    grow_tree,
    grow_trees,
    make_columns,
    rotate_columns,
    stream,
    tree_seeds,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 6)).astype(np.float32)
LABELS = 1 * (X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(300) > 0) + (X[:, 3] > 0.5)
RESPONSES = X[:, 0] ** 2 + X[:, 1] + rng.standard_normal(300)


def axes(n=1000):
    return engine().Axes(n, np.empty(0))


def grow(X, target, proposal=None, weights=None, bins=False, seed=0, **limits):
    weights = np.ones(len(X)) if weights is None else weights
    columns = make_columns(np.asarray(X, np.float32), bins=bins)
    return grow_tree(columns, proposal or axes(), target, weights, seed, Limits(**limits))


def as_forest(tree, n_features, n_classes=0):
    return Forest.empty(n_features, n_classes).extended([tree])


def classes(y, criterion="gini"):
    return ClassTarget(np.asarray(y), int(np.max(y)) + 1, criterion)


def parts(leaves):
    """The partition of the rows that leaf numbers name."""
    return {tuple(np.flatnonzero(leaves == leaf)) for leaf in np.unique(leaves)}


@pytest.mark.parametrize("bins", [False, True])
@pytest.mark.parametrize("depth", [1, 2, None])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_exact_trees_are_scikit_learns(criterion, depth, bins):
    if criterion == "squared_error":
        target, peer = ResponseTarget(RESPONSES), DecisionTreeRegressor(max_depth=depth)
        peer.fit(X, RESPONSES)
    else:
        target = classes(LABELS, criterion)
        peer = DecisionTreeClassifier(max_depth=depth, criterion=criterion).fit(X, LABELS)
    # Two axes may cut a small node alike, and which one is taken is chance: parts of the training
    # rows are compared, down to where that begins.
    tree = grow(X, target, bins=bins, max_depth=depth)
    forest = as_forest(tree, 6, target.n_classes)
    ours, theirs = forest.apply(X, None)[:, 0], peer.apply(X)
    if depth is None:
        assert abs(len(tree.nodes) - peer.tree_.node_count) <= 0.1 * peer.tree_.node_count
    else:
        assert parts(ours) == parts(theirs)
        gains = peer.tree_.weighted_n_node_samples * peer.tree_.impurity
        inner = peer.tree_.children_left >= 0
        gains = gains[inner] - (
            gains[peer.tree_.children_left[inner]] + gains[peer.tree_.children_right[inner]]
        )
        np.testing.assert_allclose(sorted(tree.gains[tree.gains > 0]), sorted(gains), rtol=1e-9)


@pytest.mark.parametrize("weights", [None, rng.integers(0, 4, 300).astype(float), rng.random(300)])
def test_leaf_values_are_weighted_means(weights):
    tree = grow(X, ResponseTarget(RESPONSES), weights=weights, max_depth=3)
    forest = as_forest(tree, 6)
    predicted = forest.predict(X, None)[:, 0]
    leaves = forest.apply(X, None)[:, 0]
    weights = np.ones(300) if weights is None else weights
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        mean = np.average(RESPONSES[rows], weights=weights[rows])
        np.testing.assert_allclose(predicted[rows], mean, rtol=1e-12)
        np.testing.assert_allclose(tree.weights[leaf], weights[rows].sum())


def test_weights_count_as_repetition():
    counts = rng.integers(0, 4, 300)
    rows = np.repeat(np.arange(300), counts)
    weighted = grow(X, classes(LABELS), weights=counts.astype(float), sample_from=10**9)
    repeated = grow(X[rows], classes(LABELS[rows]), sample_from=10**9)
    np.testing.assert_array_equal(weighted.nodes, repeated.nodes)


@pytest.mark.parametrize("proposal", ["axes", "sparse", "canonical"])
@pytest.mark.parametrize("bins", [False, True])
def test_limits_hold(proposal, bins):
    target = classes(LABELS)
    tree = grow(X, target, many(proposal), bins=bins, min_samples_leaf=7)
    leaves = as_forest(tree, 6, 3).apply(X, None)[:, 0]
    assert np.unique(leaves, return_counts=True)[1].min() >= 7
    tree = grow(X, target, many(proposal), bins=bins, min_samples_split=40)
    assert tree.weights[tree.nodes["feature"] != -1].min() >= 40
    tree = grow(X, target, many(proposal), bins=bins, min_weight_fraction_leaf=0.1)
    assert tree.weights.min() >= 30
    tree = grow(X, target, many(proposal), bins=bins, max_leaf_nodes=9)
    assert (tree.nodes["feature"] == -1).sum() == 9
    tree = grow(X, target, many(proposal), bins=bins, min_impurity_decrease=0.01)
    assert tree.gains[tree.nodes["feature"] != -1].min() >= 0.01 * 300
    assert len(tree.nodes) > 1


def many(name):
    from scipy.linalg import cython_lapack

    dsyev = cython_lapack.__pyx_capi__["dsyev"]
    return {
        "axes": lambda: axes(3),
        "sparse": lambda: engine().SparseRandom(3, 2.0, np.ones(6, np.float32), np.empty(0)),
        "canonical": lambda: engine().CanonicalCorrelation(3, True, 0, 0, dsyev, np.empty(0)),
    }[name]()


def test_best_first_takes_the_largest_gains():
    full = grow(X, ResponseTarget(RESPONSES))
    small = grow(X, ResponseTarget(RESPONSES), max_leaf_nodes=5)
    top = np.sort(full.gains)[::-1]
    assert small.gains.max() == top[0]
    greedy = DecisionTreeRegressor(max_leaf_nodes=5).fit(X, RESPONSES)
    ours = as_forest(small, 6).apply(X, None)[:, 0]
    assert parts(ours) == parts(greedy.apply(X))


@pytest.mark.parametrize("bins", [False, True])
@pytest.mark.parametrize("kind", ["axes", "sparse", "canonical"])
def test_full_trees_fit_their_rows(kind, bins):
    digits, y = load_digits(return_X_y=True)
    proposal = (
        many(kind)
        if kind != "sparse"
        else engine().SparseRandom(4, 2.0, np.ones(64, np.float32), np.empty(0))
    )
    tree = grow(digits, classes(y), proposal, bins=bins, histogram_from=300, sample_from=300)
    predicted = as_forest(tree, 64, 10).predict(digits.astype(np.float32), None)
    assert (predicted.argmax(axis=1) == y).all()


def test_histograms_find_splits_about_as_good():
    n = 20_000
    big = np.random.default_rng(1).standard_normal((n, 5)).astype(np.float32)
    y = (big[:, 0] + big[:, 1] > 0.3).astype(int)
    kinds = {
        "axes": axes(),
        "sparse": engine().SparseRandom(20, 2.0, np.ones(5, np.float32), np.empty(0)),
    }
    for proposal in kinds.values():
        exact = grow(big, classes(y), proposal, histogram_from=10**9, max_depth=1)
        binned = grow(big, classes(y), proposal, bins=True, max_depth=1, sample_from=1024)
        assert exact.gains[0] >= binned.gains[0] * (1 - 1e-12)
        assert binned.gains[0] > 0.99 * exact.gains[0]


def outlying(z):
    """One value in a thousand is a million times as large."""
    return np.where(np.arange(len(z))[:, None] % 1000 == 7, 1e6 * z, z)


SKEWED = {
    "exponential": np.exp,
    "power": lambda z: np.sign(z) * z**8,
    "rounded": np.round,
    "outliers": outlying,
    "many outliers": lambda z: outlying(z) * outlying(z[::-1]) ** 3,
    "mostly zero": lambda z: np.where(z < 0.8, 0, np.exp(2 * z)),
    "narrow and broad": lambda z: np.where(np.abs(z) < 0.8, z / 1000, 10 * z),
}


@pytest.mark.parametrize("n_rows", [300, 5000])
@pytest.mark.parametrize("skewed", SKEWED)
def test_histograms_of_skewed_columns(skewed, n_rows):
    z = np.random.default_rng(2).standard_normal((n_rows, 2))
    y = ResponseTarget(z[:, 0] + 0.1 * z[:, 1])
    columns = SKEWED[skewed](z).astype(np.float32)
    oblique = engine().SparseRandom(12, 1.0, np.ones(2, np.float32), np.empty(0))
    exact = grow(columns, y, oblique, max_depth=1, sample_from=10**9)
    binned = grow(columns, y, oblique, max_depth=1, sample_from=100)
    assert binned.gains[0] > 0.99 * exact.gains[0]


def test_bins_of_few_values_are_exact():
    coarse = np.round(X * 3)
    for target in (classes(LABELS), ResponseTarget(RESPONSES)):
        exact, binned = (grow(coarse, target, bins=bins, max_depth=4) for bins in (False, True))
        np.testing.assert_array_equal(
            exact.nodes[["feature", "threshold"]], binned.nodes[["feature", "threshold"]]
        )


def test_constant_columns_are_not_counted():
    wide = np.ones((300, 50), np.float32)
    wide[:, 17] = X[:, 0]
    wide[:, 31] = X[:, 1]
    tree = grow(wide, classes(LABELS), axes(1))
    assert set(tree.nodes["feature"]) == {-1, 17, 31}
    predicted = as_forest(tree, 50, 3).predict(wide, None)
    assert (predicted.argmax(axis=1) == LABELS).all()


@pytest.mark.parametrize("kind", ["axes", "sparse", "canonical"])
def test_one_column_among_many_is_found(kind):
    wide = np.zeros((40, 2000), np.float32)
    wide[:, 1234] = np.arange(40)
    y = np.arange(40) % 2
    proposal = (
        many(kind)
        if kind != "sparse"
        else engine().SparseRandom(3, 2.0, np.ones(2000, np.float32), np.empty(0))
    )
    tree = grow(wide, classes(y), proposal)
    assert (as_forest(tree, 2000, 2).predict(wide, None).argmax(axis=1) == y).all()


def test_chances_steer_the_axes():
    chances = np.array([0.0, 0.0, 1.0, 0.0, 1e-3, 0.0])
    proposal = engine().Axes(1, chances)
    roots = [
        grow(X, classes(LABELS), proposal, seed=s, max_depth=1).nodes["feature"][0]
        for s in range(60)
    ]
    assert set(roots) <= {2, 4}
    assert roots.count(2) > 50
    tree = grow(X, classes(LABELS), engine().Axes(6, chances))
    assert set(tree.nodes["feature"]) == {-1, 2, 4}


def test_sequence_tries_all_its_parts():
    sparse = engine().SparseRandom(8, 3.0, np.ones(6, np.float32), np.empty(0))
    tree = grow(X, classes(LABELS), engine().Sequence([axes(2), sparse]))
    assert (tree.nodes["feature"] >= 0).any()
    assert (tree.nodes["feature"] < -1).any()


def test_equal_rows_and_neighbouring_floats():
    same = np.ones((10, 3), np.float32)
    assert len(grow(same, classes(np.arange(10) % 2)).nodes) == 1
    low = np.float32(1.0)
    near = np.array([[low], [np.nextafter(low, np.float32(2))]], np.float32)
    tree = grow(near, classes([0, 1]))
    predicted = as_forest(tree, 1, 2).predict(near, None)
    np.testing.assert_array_equal(predicted, np.eye(2))
    zeros = np.array([[0.0], [-0.0]], np.float32)
    assert len(grow(zeros, classes([0, 1])).nodes) == 1


def test_overflowing_directions_are_passed_over():
    huge = (X * 1e37).astype(np.float32)
    proposal = engine().SparseRandom(5, 4.0, np.full(6, 10.0, np.float32), np.empty(0))
    tree = grow(huge, classes(LABELS), proposal)
    predicted = as_forest(tree, 6, 3).predict(huge, None)
    assert (predicted.argmax(axis=1) == LABELS).all()


def test_responses_far_from_zero_keep_their_digits():
    near, far = (grow(X, ResponseTarget(RESPONSES + shift), max_depth=3) for shift in (0.0, 1e8))
    np.testing.assert_array_equal(near.nodes["feature"], far.nodes["feature"])


def test_thousand_classes():
    y = np.arange(3000) % 1000
    tall = np.random.default_rng(3).standard_normal((3000, 4)).astype(np.float32)
    tree = grow(tall, classes(y), axes(2), bins=True)
    assert (as_forest(tree, 4, 1000).predict(tall, None).argmax(axis=1) == y).all()
    assert len(tree.values) == 0  # all leaves pure


def test_growth_stops_when_asked():
    big, y = np.random.default_rng(4).standard_normal((40_000, 3)), rng.integers(0, 2, 40_000)
    columns = make_columns(big.astype(np.float32))
    with pytest.raises(engine().Stopped):
        grow_tree(
            columns, axes(), classes(y), np.ones(40_000), 0, Limits(), stop=np.ones(1, np.uint8)
        )


def test_border_refuses_nonsense():
    columns = make_columns(X)
    with pytest.raises(ValueError, match="labels"):
        grow_tree(columns, axes(), replace(classes(LABELS), n_classes=2), np.ones(300), 0, Limits())
    with pytest.raises(ValueError, match="weights"):
        grow_tree(columns, axes(), classes(LABELS), np.ones(299), 0, Limits())
    with pytest.raises(ValueError, match="above zero"):
        grow_tree(columns, axes(), classes(LABELS), np.zeros(300), 0, Limits())
    with pytest.raises(ValueError, match="chances"):
        grow(X, classes(LABELS), engine().Axes(2, np.ones(5)))
    with pytest.raises(ValueError, match="scales"):
        grow(X, classes(LABELS), engine().SparseRandom(2, 2.0, np.ones(5, np.float32), np.empty(0)))
    with pytest.raises(ValueError, match="mean_size"):
        engine().SparseRandom(2, 0.0, np.ones(3, np.float32), np.empty(0))


@pytest.mark.parametrize("load", [load_breast_cancer, load_diabetes])
def test_a_seed_is_a_tree(load):
    data, y = load(return_X_y=True)
    target = classes(y) if load is load_breast_cancer else ResponseTarget(y)
    trees = [grow(data, target, axes(3), seed=seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(trees[0].nodes, trees[1].nodes)
    assert not np.array_equal(trees[0].nodes, trees[2].nodes)


def test_limits_keep_their_names_across_the_border(both_engines):
    names = {"max_depth": 3, "max_leaf_nodes": 5, "min_samples_split": 4, "min_samples_leaf": 2}
    Limits(**names, min_weight_fraction_leaf=0.1, min_impurity_decrease=0.01).crossing()
    with pytest.raises(TypeError):
        engine().Limits(**names, max_dept=3, histogram_from=1, sample_from=1)
    with pytest.raises(TypeError):
        engine().Limits(3, 5, 4, 2, 0.1, 0.01, 1, 1)
    with pytest.raises(TypeError):
        Limits(max_dept=3)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"max_leaf_nodes": 0}, "max_leaf_nodes"),
        ({"min_weight_fraction_leaf": 1.5}, "min_weight_fraction_leaf"),
        ({"min_impurity_decrease": -1.0}, "min_impurity_decrease"),
    ],
)
def test_limits_out_of_range_are_named(limits, message):
    with pytest.raises(ValueError, match=message):
        Limits(**limits).crossing()


def test_streams_depend_on_the_seed_and_their_name_only():
    def draws(seed, *names):
        return tuple(stream(seed, *names).randint(2**31, size=4))

    first = draws(3, "surrogate", "forest")
    draws(3, "surrogate", "another")  # a part that is added draws from elsewhere
    assert draws(3, "surrogate", "forest") == first
    others = [(3, "forest", "surrogate"), (3, "surrogate"), (4, "surrogate", "forest"), (3,)]
    assert len({first, *(draws(*other) for other in others)}) == 5
    # Written down: these numbers are part of what random_state means.
    assert first == (1589570462, 1822831382, 1101814224, 1072833909)


def test_bootstrap_samples_count_rows():
    counts = bootstrap_counts(50, 200, 7)
    assert counts.sum() == 200
    np.testing.assert_array_equal(counts, bootstrap_counts(50, 200, 7))
    assert not np.array_equal(counts, bootstrap_counts(50, 200, 8))
    np.testing.assert_array_equal(bootstrap_counts(50, None, 7), np.ones(50))
    many = bootstrap_counts(4, 300_000, 1)  # more than are drawn at once
    assert many.sum() == 300_000
    np.testing.assert_allclose(many / 300_000, 0.25, atol=0.01)


def test_a_tree_of_a_forest_is_the_tree_of_its_seed():
    """Neither the other trees nor the threads matter, and the bootstrap is by the tree's seed."""
    columns, target, limits = make_columns(X), classes(LABELS), Limits(max_depth=4)
    seeds, weights = tree_seeds(np.random.RandomState(0), 5), rng.random(300) + 0.5

    def plan_of(seed):
        return TreePlan(columns, axes(2), n_draws=200)

    trees = grow_trees(plan_of, target, weights, seeds, limits, n_jobs=2)
    assert len({tree.nodes.tobytes() for tree in trees}) == 5
    for seed, tree in zip(seeds, trees, strict=True):
        sample = bootstrap_counts(300, 200, seed) * weights
        alone = grow_tree(columns, axes(2), target, sample, seed, limits)
        np.testing.assert_array_equal(alone.nodes, tree.nodes)
    forest = grow_forest(plan_of, target, weights, seeds, limits, n_features=6)
    np.testing.assert_array_equal(forest.nodes, Forest.empty(6, 3).extended(trees).nodes)
    extended = grow_forest(plan_of, target, weights, seeds[:2], limits, n_features=6)
    np.testing.assert_array_equal(extended.extended(trees[2:]).nodes, forest.nodes)
    last = trees[2:]
    np.testing.assert_array_equal(extended.extended(last, empty=True).gains, forest.gains)
    assert not last


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 12}, {"max_depth": 3}])
@pytest.mark.parametrize("kind", ["axes", "sparse", "canonical"])
def test_kept_leaves_are_those_that_rows_reach(kind, limits, both_engines):
    weights = rng.integers(0, 3, 300).astype(float)
    columns = make_columns(X, bins=False)
    tree = grow_tree(
        columns, many(kind), classes(LABELS), weights, 0, Limits(**limits), keep_leaves=True
    )
    used = weights > 0
    assert (tree.leaves[~used] == -1).all()
    np.testing.assert_array_equal(tree.leaves[used], as_forest(tree, 6, 3).apply(X)[used, 0])
    without = grow_tree(columns, many(kind), classes(LABELS), weights, 0, Limits(**limits))
    assert len(without.leaves) == 0
    np.testing.assert_array_equal(without.nodes, tree.nodes)


def test_kept_leaves_of_rotated_columns_and_histograms():
    big = np.random.default_rng(5).standard_normal((3000, 4)).astype(np.float32)
    rotation = np.array([0, 2, 4]), np.array([0, 1, 2, 3]), np.array([1.0, 2.0, -1.0, 0.5])
    rotation = tuple(
        part.astype(kind)
        for part, kind in zip(rotation, (np.int32, np.int32, np.float32), strict=True)
    )
    for columns in (make_columns(big), rotate_columns(big, rotation)):
        target = ResponseTarget(big[:, 0] + big[:, 2] ** 2)
        limits = Limits(max_depth=6, histogram_from=200)
        tree = grow_tree(columns, axes(2), target, np.ones(3000), 0, limits, keep_leaves=True)
        np.testing.assert_array_equal(tree.leaves, as_forest(tree, 4).apply(big)[:, 0])


def test_progress_is_reported_after_every_tenth_of_the_trees():
    plan, lines = TreePlan(make_columns(X), axes(2)), []
    grow_trees(
        lambda _: plan,
        classes(LABELS),
        np.ones(300),
        np.arange(20),
        Limits(max_depth=1),
        progress=lines.append,
    )
    assert lines == [f"{n} of 20 trees" for n in range(2, 21, 2)]


@pytest.mark.alone
def test_threads_inside_a_tree_change_nothing():
    """150,000 rows of 4 columns are enough work for threads to start."""
    rows = np.random.default_rng(0).standard_normal((150_000, 4)).astype(np.float32)
    target = NewtonTarget(-rows[:, 0] * rows[:, 1], np.ones(len(rows)))
    columns, limits = make_columns(rows), Limits(max_leaf_nodes=16, histogram_from=64)
    trees = [
        grow_tree(columns, axes(), target, np.ones(len(rows)), 0, limits, n_threads=n_threads)
        for n_threads in (1, 2, 5)
    ]
    assert len(trees[0].nodes) == 31
    for tree in trees[1:]:
        for one, other in zip(trees[0], tree, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.alone
def test_growth_with_threads_can_be_stopped():
    rows = np.zeros((300_000, 4), np.float32)
    rows[::2] = 1.0
    target = NewtonTarget(1.0 - 2.0 * rows[:, 0], np.ones(len(rows)))
    with pytest.raises(engine().Stopped):
        grow_tree(
            *(make_columns(rows), axes(), target, np.ones(len(rows)), 0),
            *(Limits(max_leaf_nodes=4), np.ones(1, np.uint8)),
            n_threads=3,
        )
