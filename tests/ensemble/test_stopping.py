import numpy as np
import pytest

from jarf import AxisForestClassifier, AxisForestRegressor
from jarf.ensemble._holdout import ScoredRows
from jarf.ensemble._stopping import SIZES, Answers, CutBack, answers_of, choose_size
from jarf.trees import NODE, Forest, GrownTree


def hand_made():
    """x <= 0: 6 rows of which x <= -1 has 4; else 2 rows."""
    nodes = np.array(
        [
            (0, 0.0, 1, 2),
            (0, -1.0, 3, 4),
            (-1, 0.0, 0, 0),
            (-1, 0.0, 1, 1),
            (-1, 0.0, 2, 2),
        ],
        NODE,
    )
    tree = GrownTree(
        nodes=nodes,
        weights=np.array([8.0, 6.0, 2.0, 4.0, 2.0]),
        gains=np.zeros(5),
        starts=np.zeros(1, np.int32),
        features=np.empty(0, np.int32),
        loadings=np.empty(0, np.float32),
        values=np.array([[10.0], [1.0], [4.0]]),
        leaves=np.empty(0, np.int32),
    )
    return Forest.empty(1, 0).extended([tree])


def test_a_hand_written_tree_is_pruned():
    forest = hand_made()
    X = np.array([[-2.0], [-0.5], [1.0]], np.float32)
    leaves = forest.apply(X, 1) + forest.roots
    cut = CutBack(forest, 8)
    for size, answer in ((2, [1, 4, 10]), (6, [1, 4, 10]), (7, [2, 2, 10]), (9, [4, 4, 4])):
        found = answers_of(cut.values_at(leaves, size))
        assert found.sums[:, 0].tolist() == answer
        assert found.squares.tolist() == [value**2 for value in answer]


def test_rows_of_a_node_are_its_share_of_the_weight():
    leaves = np.array([[3]])
    assert CutBack(hand_made(), 80).values_at(leaves, 60).item() == 1  # 60 of 80 rows
    assert CutBack(hand_made(), 80).values_at(leaves, 61).item() == 2


@pytest.mark.parametrize("make", [AxisForestClassifier, AxisForestRegressor])
@pytest.mark.parametrize("size", SIZES)
def test_a_cut_back_forest_is_the_one_grown_with_that_limit(make, size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1)).astype(np.float32)  # ties between columns are broken by chance
    y = np.digitize(X[:, 0] + rng.normal(size=300), [-0.5, 0.5])
    settings = {"n_estimators": 2, "max_features": None, "bootstrap": False, "random_state": 0}
    whole = make(**settings).fit(X, y).forest_
    limited = make(**settings, min_samples_split=size).fit(X, y).forest_
    found = CutBack(whole, len(X)).values_at(whole.apply(X, 1) + whole.roots, size)
    np.testing.assert_allclose(found.sum(axis=1), limited.sums(X, 1), atol=1e-12)


def test_answers_add_up():
    one = Answers(np.ones((2, 1)), np.array([1.0, 2.0]))
    both = one + one
    assert both.sums.tolist() == [[2.0], [2.0]]
    assert both.squares.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("means", "size", "tried"),
    [
        ([0.2, 0.1, 0.15, 0.14], 5, [2, 5, 10, 20]),
        ([0.1, 0.11, 0.05, 0.06], 10, [2, 5, 10, 20]),
        ([0.1, 0.9, 0.0, 0.0], 2, [2, 5]),  # clearly worse: larger ones are not tried
        ([0.1, 0.1, 0.1, 0.1], 2, [2, 5, 10, 20]),
    ],
)
def test_the_least_loss_is_chosen(means, size, tried):
    swing = np.tile([1.0, -1.0], 200)  # standard errors of differences are 0.05 to 0.15
    sizes = (2, 5, 10, 20)
    losses = {s: means[k] + k * swing for k, s in enumerate(sizes)}
    chosen, found = choose_size(losses.__getitem__, ScoredRows(np.ones(400)), sizes)
    assert chosen == size
    assert list(found) == tried
    assert found[2] == pytest.approx(means[0])


@pytest.mark.parametrize(("gain", "size"), [(0.05, 2), (0.2, 5)])
def test_the_first_size_may_have_to_be_beaten_clearly(gain, size):
    swing = np.tile([1.0, -1.0], 200)  # a standard error of 0.05
    losses = {2: np.ones(400), 5: 1.0 - gain + swing}
    assert (
        choose_size(losses.__getitem__, ScoredRows(np.ones(400)), (2, 5), clearly=True)[0] == size
    )
    assert choose_size(losses.__getitem__, ScoredRows(np.ones(400)), (2, 5))[0] == 5


def test_weights_count():
    losses = {2: np.tile([0.0, 1.0], 200), 5: np.tile([1.0, 0.0], 200)}
    for weights, size in (([1.0, 1e-9], 2), ([1e-9, 1.0], 5)):
        chosen, _ = choose_size(losses.__getitem__, ScoredRows(np.tile(weights, 200)), (2, 5))
        assert chosen == size
