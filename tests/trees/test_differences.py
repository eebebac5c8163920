import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jarf.trees import NODE, Forest, apply_link, forest_differences, reference


def forest_of(nodes, values, n_features=2, projections=(), **model):
    """Write one tree by hand; a projection is a list of columns and a list of loadings."""
    return Forest(
        nodes=np.array(nodes, NODE),
        roots=np.zeros(1, np.int32),
        weights=np.ones(len(nodes)),
        gains=np.zeros(len(nodes)),
        starts=np.cumsum([0, *(len(columns) for columns, _ in projections)]).astype(np.int32),
        features=np.array([j for columns, _ in projections for j in columns], np.int32),
        loadings=np.array([w for _, loadings in projections for w in loadings], np.float32),
        values=np.array(values, np.float64),
        n_pure=0,
        n_features=n_features,
        **model,
    )


def stump(values, **model):
    """x0 <= 1 ? the first value : the second."""
    return forest_of([(0, 1.0, 1, 2), (-1, 0, 0, 0), (-1, 0, 1, 1)], values, **model)


def test_a_stump_changes_where_its_threshold_lies_between(both_engines):
    centre = np.array([[0.0, 0.0], [0.9, 9.0], [1.0, 9.0], [1.1, 9.0]], np.float32)
    change = forest_differences(stump([[10.0], [30.0]]), centre, centre + 0.5, centre - 0.5)
    np.testing.assert_array_equal(change[:, 0], [[0, 0], [20, 0], [20, 0], [20, 0]])


@pytest.fixture
def three_cuts():
    """x0 <= 1 ? (x1 <= 5 ? 10 : 20) : (x0 <= 3 ? 30 : 40)."""
    nodes = [
        *((0, 1.0, 1, 4), (1, 5.0, 2, 3), (-1, 0, 0, 0), (-1, 0, 1, 1)),
        *((0, 3.0, 5, 6), (-1, 0, 2, 2), (-1, 0, 3, 3)),
    ]
    return forest_of(nodes, [[10.0], [20.0], [30.0], [40.0]])


def test_probes_leave_the_path_at_the_first_node_and_go_on(three_cuts, both_engines):
    centre = np.array([[0.0, 0.0], [0.0, 6.0], [1.0, 5.0], [2.0, 9.0]])
    upper = np.array([[2.0, 9.0], [4.0, 7.0], [1.5, 5.0], [2.5, 9.5]])
    lower = np.array([[-1.0, -1.0], [-1.0, 4.0], [1.0, 4.0], [0.5, 1.0]])
    # Row 0: x0 -> 2 reaches 30 from 10; x1 -> 9 reaches 20 from 10.
    # Row 1: x0 -> 4 leaves at the root and goes on right of 3: 40 from 20; x1 -> 4: 20 - 10.
    # Row 2 sits on both thresholds (left): x0 -> 1.5 reaches 30 from 10; x1 stays left.
    # Row 3: x0 -> 0.5 reaches 20 from 30; x1 is not asked on its path.
    expected = np.array([[20.0, 10.0], [20.0, 10.0], [20.0, 0.0], [10.0, 0.0]])
    answer = forest_differences(three_cuts, centre, upper, lower)
    np.testing.assert_array_equal(answer[:, 0, :], expected)


def test_an_oblique_node_moves_by_loading_times_step(both_engines):
    # 2 x0 - x2 <= 1 ? 5 : 8. The row lies at 0: a step of 1 takes x0 to 2 and x2 to -1 or 1.
    projections = [([0, 2], [2.0, -1.0])]
    nodes = [(-2, 1.0, 1, 2), (-1, 0, 0, 0), (-1, 0, 1, 1)]
    forest = forest_of(nodes, [[5.0], [8.0]], 3, projections)
    centre = np.zeros((1, 3))
    change = forest_differences(forest, centre, centre + 1, centre - 1)
    np.testing.assert_array_equal(change[0, 0], [3.0, 0.0, 0.0])
    change = forest_differences(forest, centre, centre + 1.01, centre - 1.01)
    np.testing.assert_array_equal(change[0, 0], [3.0, 0.0, -3.0])


def test_links_are_applied_before_the_difference(both_engines):
    centre = np.ones((1, 2))
    sides = centre, centre + 1, centre - 1

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    forest = stump([[-1.0], [2.0]], base=np.array([0.5]), link="logit", averaged=False)
    change = sigmoid(2.5) - sigmoid(-0.5)
    np.testing.assert_allclose(forest_differences(forest, *sides)[0, :, 0], [-change, change])
    one = forest_differences(forest, *sides, output=np.array([1], np.int32))
    np.testing.assert_allclose(one[0], [[change, 0.0]])

    forest = stump([[0.1], [0.7]], base=np.array([1.0]), link="log", averaged=False)
    change = np.exp(1.7) - np.exp(1.1)
    np.testing.assert_allclose(forest_differences(forest, *sides)[0], [[change, 0.0]])

    forest = stump([[0.0, 1.0], [2.0, 0.0]], base=np.zeros(2), link="softmax", averaged=False)
    change = sigmoid(2.0) - sigmoid(-1.0)
    np.testing.assert_allclose(forest_differences(forest, *sides)[0, :, 0], [change, -change])


def test_averaged_trees_are_divided_by_their_number():
    one = stump([[10.0], [30.0]])
    two = Forest.of_axes(
        np.concatenate([one.nodes, np.array([(-1, 0, 0, 0)], NODE)]), [0, 3], one.values, 2
    )
    centre = np.ones((1, 2))
    change = forest_differences(two, centre, centre + 1, centre - 1)
    np.testing.assert_array_equal(change, [[[10.0, 0.0]]])
    summed = Forest.of_axes(two.nodes, [0, 3], one.values, 2, averaged=False)
    change = forest_differences(summed, centre, centre + 1, centre - 1)
    np.testing.assert_array_equal(change, [[[20.0, 0.0]]])


def test_a_tree_that_is_one_leaf_never_changes(both_engines):
    forest = forest_of([(-1, 0, 0, 0)], [[3.0]])
    X = np.zeros((5, 2))
    assert not forest_differences(forest, X, X + 1, X - 1).any()


@st.composite
def oblique_forests(draw):
    """Random oblique trees, whose projections often hit their thresholds exactly."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_features, n_outputs = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    coarse = draw(st.booleans())
    link = draw(st.sampled_from(["identity", "softmax", "log"]))
    size = draw(st.sampled_from([1e-30, 1.0, 1e30]))
    rows = rng.normal(size=(9, n_features)) * size
    rows = (np.round(rows / size * 2) * size if coarse else rows).astype(np.float32)
    nodes, roots, values, projections = [], [], [], []
    for _ in range(draw(st.integers(1, 4))):
        roots.append(len(nodes))
        _grow(rng, rows, nodes, values, projections, coarse, draw(st.integers(0, 4)), n_outputs)
    forest = forest_of(
        nodes, values, n_features, projections, link=link, averaged=draw(st.booleans())
    )
    forest.roots = np.array(roots, np.int32)
    return forest, rows, rng


def _grow(rng, rows, nodes, values, projections, coarse, depth, n_outputs):
    """Append a random tree; thresholds are values that some row, moved or not, has."""
    at = len(nodes)
    nodes.append(None)
    if depth == 0 or rng.random() < 0.1:
        nodes[at] = (-1, 0, len(values), len(values))
        values.append(rng.normal(size=n_outputs))
        return
    row = rows[rng.integers(len(rows))]
    columns = rng.permutation(len(row))[: rng.integers(1, len(row) + 1)].tolist()
    feature, threshold = columns[0], row[columns[0]]
    if len(columns) > 1:
        loadings = rng.normal(size=len(columns)).astype(np.float32)
        loadings = np.round(loadings * 2) if coarse else loadings
        other = rows[rng.integers(len(rows))]
        moved = np.where(rng.random(len(row)) < 0.2, other, row)
        threshold = reference.project(moved[None], columns, loadings)[0]
        projections.append((columns, loadings.tolist()))
        feature = -1 - len(projections)
    _grow(rng, rows, nodes, values, projections, coarse, depth - 1, n_outputs)
    right = len(nodes)
    _grow(rng, rows, nodes, values, projections, coarse, depth - 1, n_outputs)
    nodes[at] = (feature, threshold, at + 1, right)


@settings(max_examples=150)
@given(oblique_forests())
def test_random_oblique_forests_equal_the_definition(case):
    forest, rows, rng = case
    # Probes at the values of other rows: exactly where thresholds were taken from.
    upper, lower = (rng.permuted(rows, axis=0) for _ in range(2))
    found = forest_differences(forest, rows, upper, lower)
    expected = np.empty_like(found)
    plain = reference.CheckedForest(
        *(forest.words(), forest.roots, forest.starts, forest.features, forest.loadings),
        *(forest.values, 0, forest.n_features),
    )

    def predict(rows):
        sums = np.zeros((len(rows), forest.n_raw))
        reference.add_predictions(plain, rows, np.empty((0, 0), np.uint8), sums)
        raw = sums / forest.n_trees if forest.averaged else sums
        return apply_link(forest.link, raw)

    for j in range(rows.shape[1]):
        up, down = rows.copy(), rows.copy()
        up[:, j], down[:, j] = upper[:, j], lower[:, j]
        expected[:, :, j] = predict(up) - predict(down)
    scale = np.abs(predict(rows)).max() + np.abs(expected).max()
    np.testing.assert_allclose(found, expected, atol=1e-13 * max(1.0, scale))
    output = rng.integers(0, forest.n_outputs, len(rows)).astype(np.int32)
    one = forest_differences(forest, rows, upper, lower, output=output)
    np.testing.assert_array_equal(one[:, 0], found[np.arange(len(rows)), output])
