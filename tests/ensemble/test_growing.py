import numpy as np
import pytest
from jarf.ensemble._backend import backend
from jarf.ensemble._forest import Forest
from jarf.ensemble._growing import Limits, Target, grow_tree, make_space
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from jarf._native import kernels

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 6)).astype(np.float32)
LABELS = 1 * (X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(300) > 0) + (X[:, 3] > 0.5)
RESPONSES = X[:, 0] ** 2 + X[:, 1] + rng.standard_normal(300)


def axes(n=1000):
    return backend().Axes(n, np.empty(0))


def grow(X, target, proposal=None, weights=None, bins=False, seed=0, **limits):
    weights = np.ones(len(X)) if weights is None else weights
    space = make_space(np.asarray(X, np.float32), bins=bins)
    return grow_tree(space, proposal or axes(), target, weights, seed, Limits(**limits))


def as_forest(tree, n_features, n_classes=0):
    return Forest.empty(n_features, n_classes).extended([tree])


def classes(y, criterion="gini"):
    return Target.of_classes(np.asarray(y), int(np.max(y)) + 1, criterion)


def parts(leaves):
    """The partition of the rows that leaf numbers name."""
    return {tuple(np.flatnonzero(leaves == leaf)) for leaf in np.unique(leaves)}


@pytest.mark.parametrize("bins", [False, True])
@pytest.mark.parametrize("depth", [1, 2, None])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_exact_trees_are_scikit_learns(criterion, depth, bins):
    if criterion == "squared_error":
        target, peer = Target.of_responses(RESPONSES), DecisionTreeRegressor(max_depth=depth)
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
    tree = grow(X, Target.of_responses(RESPONSES), weights=weights, max_depth=3)
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
    weighted = grow(X, classes(LABELS), weights=counts.astype(float))
    repeated = grow(X[rows], classes(LABELS[rows]))
    np.testing.assert_array_equal(weighted.nodes, repeated.nodes)


@pytest.mark.parametrize("proposal", ["axes", "sparse", "canonical"])
@pytest.mark.parametrize("bins", [False, True])
def test_limits_hold(proposal, bins):
    target = classes(LABELS)
    tree = grow(X, target, many(proposal), bins=bins, min_samples_leaf=7)
    leaves = as_forest(tree, 6, 3).apply(X, None)[:, 0]
    assert np.unique(leaves, return_counts=True)[1].min() >= 7
    tree = grow(X, target, many(proposal), bins=bins, min_samples_split=40)
    assert tree.weights[tree.nodes[:, 0] != -1].min() >= 40
    tree = grow(X, target, many(proposal), bins=bins, min_weight_fraction_leaf=0.1)
    assert tree.weights.min() >= 30
    tree = grow(X, target, many(proposal), bins=bins, max_leaf_nodes=9)
    assert (tree.nodes[:, 0] == -1).sum() == 9
    tree = grow(X, target, many(proposal), bins=bins, min_impurity_decrease=0.01)
    assert tree.gains[tree.nodes[:, 0] != -1].min() >= 0.01 * 300
    assert len(tree.nodes) > 1


def many(name):
    from scipy.linalg import cython_lapack

    dsyev = cython_lapack.__pyx_capi__["dsyev"]
    return {
        "axes": lambda: axes(3),
        "sparse": lambda: backend().SparseRandom(3, 2.0, np.ones(6, np.float32), np.empty(0)),
        "canonical": lambda: backend().CanonicalCorrelation(3, True, 0, 0, dsyev, np.empty(0)),
    }[name]()


def test_best_first_takes_the_largest_gains():
    full = grow(X, Target.of_responses(RESPONSES))
    small = grow(X, Target.of_responses(RESPONSES), max_leaf_nodes=5)
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
        else backend().SparseRandom(4, 2.0, np.ones(64, np.float32), np.empty(0))
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
        "sparse": backend().SparseRandom(20, 2.0, np.ones(5, np.float32), np.empty(0)),
    }
    for proposal in kinds.values():
        exact = grow(big, classes(y), proposal, histogram_from=10**9, max_depth=1)
        binned = grow(big, classes(y), proposal, bins=True, max_depth=1, sample_from=1024)
        assert exact.gains[0] >= binned.gains[0] * (1 - 1e-12)
        assert binned.gains[0] > 0.99 * exact.gains[0]


@pytest.mark.parametrize("skewed", [np.exp, lambda z: np.sign(z) * z**8, np.round])
def test_histograms_of_skewed_columns(skewed):
    z = np.random.default_rng(2).standard_normal((5000, 2))
    y = Target.of_responses(z[:, 0] + 0.1 * z[:, 1])
    columns = skewed(z).astype(np.float32)
    oblique = backend().SparseRandom(12, 1.0, np.ones(2, np.float32), np.empty(0))
    exact = grow(columns, y, oblique, max_depth=1, histogram_from=10**9)
    binned = grow(columns, y, oblique, max_depth=1, histogram_from=100, sample_from=100)
    assert binned.gains[0] > 0.95 * exact.gains[0]


def test_bins_of_few_values_are_exact():
    coarse = np.round(X * 3)
    for target in (classes(LABELS), Target.of_responses(RESPONSES)):
        exact, binned = (grow(coarse, target, bins=bins, max_depth=4) for bins in (False, True))
        np.testing.assert_array_equal(exact.nodes[:, :2], binned.nodes[:, :2])


def test_constant_columns_are_not_counted():
    wide = np.ones((300, 50), np.float32)
    wide[:, 17] = X[:, 0]
    wide[:, 31] = X[:, 1]
    tree = grow(wide, classes(LABELS), axes(1))
    assert set(tree.nodes[:, 0]) == {-1, 17, 31}
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
        else backend().SparseRandom(3, 2.0, np.ones(2000, np.float32), np.empty(0))
    )
    tree = grow(wide, classes(y), proposal)
    assert (as_forest(tree, 2000, 2).predict(wide, None).argmax(axis=1) == y).all()


def test_chances_steer_the_axes():
    chances = np.array([0.0, 0.0, 1.0, 0.0, 1e-3, 0.0])
    proposal = backend().Axes(1, chances)
    roots = [grow(X, classes(LABELS), proposal, seed=s, max_depth=1).nodes[0, 0] for s in range(60)]
    assert set(roots) <= {2, 4}
    assert roots.count(2) > 50
    tree = grow(X, classes(LABELS), backend().Axes(6, chances))
    assert set(tree.nodes[:, 0]) == {-1, 2, 4}


def test_sequence_tries_all_its_parts():
    sparse = backend().SparseRandom(8, 3.0, np.ones(6, np.float32), np.empty(0))
    tree = grow(X, classes(LABELS), backend().Sequence([axes(2), sparse]))
    assert (tree.nodes[:, 0] >= 0).any()
    assert (tree.nodes[:, 0] < -1).any()


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
    proposal = backend().SparseRandom(5, 4.0, np.full(6, 10.0, np.float32), np.empty(0))
    tree = grow(huge, classes(LABELS), proposal)
    predicted = as_forest(tree, 6, 3).predict(huge, None)
    assert (predicted.argmax(axis=1) == LABELS).all()


def test_responses_far_from_zero_keep_their_digits():
    near, far = (
        grow(X, Target.of_responses(RESPONSES + shift), max_depth=3) for shift in (0.0, 1e8)
    )
    np.testing.assert_array_equal(near.nodes[:, 0], far.nodes[:, 0])


def test_thousand_classes():
    y = np.arange(3000) % 1000
    tall = np.random.default_rng(3).standard_normal((3000, 4)).astype(np.float32)
    tree = grow(tall, classes(y), axes(2), bins=True)
    assert (as_forest(tree, 4, 1000).predict(tall, None).argmax(axis=1) == y).all()
    assert len(tree.values) == 0  # all leaves pure


def test_growth_stops_when_asked():
    native = kernels()
    big, y = np.random.default_rng(4).standard_normal((40_000, 3)), rng.integers(0, 2, 40_000)
    space = make_space(big.astype(np.float32))
    with pytest.raises(native.Stopped):
        grow_tree(
            space, axes(), classes(y), np.ones(40_000), 0, Limits(), stop=np.ones(1, np.uint8)
        )


def test_border_refuses_nonsense():
    space = make_space(X)
    with pytest.raises(ValueError, match="labels"):
        grow_tree(space, axes(), classes(LABELS)._replace(n_classes=2), np.ones(300), 0, Limits())
    with pytest.raises(ValueError, match="weights"):
        grow_tree(space, axes(), classes(LABELS), np.ones(299), 0, Limits())
    with pytest.raises(ValueError, match="above zero"):
        grow_tree(space, axes(), classes(LABELS), np.zeros(300), 0, Limits())
    with pytest.raises(ValueError, match="chances"):
        grow(X, classes(LABELS), backend().Axes(2, np.ones(5)))
    with pytest.raises(ValueError, match="scales"):
        grow(
            X, classes(LABELS), backend().SparseRandom(2, 2.0, np.ones(5, np.float32), np.empty(0))
        )
    with pytest.raises(ValueError, match="mean_size"):
        backend().SparseRandom(2, 0.0, np.ones(3, np.float32), np.empty(0))


@pytest.mark.parametrize("load", [load_breast_cancer, load_diabetes])
def test_a_seed_is_a_tree(load):
    data, y = load(return_X_y=True)
    target = classes(y) if load is load_breast_cancer else Target.of_responses(y)
    trees = [grow(data, target, axes(3), seed=seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(trees[0].nodes, trees[1].nodes)
    assert not np.array_equal(trees[0].nodes, trees[2].nodes)
