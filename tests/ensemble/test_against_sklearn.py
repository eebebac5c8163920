"""Single exact trees, split by split, down to the leaves."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from jarf._native import engine
from jarf.trees import ClassTarget, Limits, ResponseTarget, grow_tree, make_columns

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 5)).astype(np.float32)
SIGNAL = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(400)
LABELS = np.digitize(SIGNAL, [-1.0, 0.5])
WEIGHTS = rng.uniform(0.5, 2.0, 400)


def impurity(y, weights, criterion):
    """Total impurity of some rows."""
    if criterion == "squared_error":
        return weights @ (y - np.average(y, weights=weights)) ** 2
    shares = np.bincount(y, weights) / weights.sum()
    if criterion == "gini":
        return weights.sum() * (1 - shares @ shares)
    return -weights.sum() * sum(share * np.log2(share) for share in shares if share > 0)


def is_tied(rows, y, weights, criterion):
    """Whether two splits of a node, of different axes or values, are equally good."""
    found = []
    for column in X[rows].T:
        for threshold in np.sort(column)[:-1]:
            sides = rows[column <= threshold], rows[column > threshold]
            found.append(sum(impurity(y[side], weights[side], criterion) for side in sides))
    best, second = np.partition(found, 1)[:2] if len(found) > 1 else (0.0, np.inf)
    return second - best < 1e-9 * (1 + impurity(y[rows], weights[rows], criterion))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_full_trees_make_scikit_learns_splits(criterion, weighted):
    weights = WEIGHTS if weighted else np.ones(len(X))
    regresses = criterion == "squared_error"
    y = SIGNAL if regresses else LABELS
    target = ResponseTarget(y) if regresses else ClassTarget(y, 3, criterion)
    axes = engine().Axes(X.shape[1], np.empty(0))
    ours = grow_tree(make_columns(X), axes, target, weights, 0, Limits())
    peer = DecisionTreeRegressor() if regresses else DecisionTreeClassifier(criterion=criterion)
    theirs = peer.fit(X, y, weights).tree_

    thresholds = ours.nodes["threshold"]
    waiting, n_same = [(0, 0, np.arange(len(X)))], 0
    while waiting:
        node, other, rows = waiting.pop()
        feature, _, left, right = ours.nodes[node]
        np.testing.assert_allclose(ours.weights[node], theirs.weighted_n_node_samples[other])
        if len(np.unique(y[rows])) == 1:  # theirs may go on, if weights leave a rounded impurity
            assert feature == -1
            continue
        if is_tied(rows, y, weights, criterion):
            continue
        assert feature == theirs.feature[other]
        np.testing.assert_allclose(thresholds[node], theirs.threshold[other], rtol=1e-6)
        is_left = X[rows, feature] <= thresholds[node]
        n_same += 1
        waiting.append((left, theirs.children_left[other], rows[is_left]))
        waiting.append((right, theirs.children_right[other], rows[~is_left]))
    assert n_same > (100 if regresses else 50)
