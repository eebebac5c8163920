"""Cuts and paths of a fitted forest, described in the user's own columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.ensemble import TreeEnsemble
from jarf.geometry import LinearMap
from jarf.inspection._models import check_model, encode
from jarf.inspection._trees import Part, Trees, trees_of
from jarf.inspection._words import Wording, number_text
from jarf.trees import Forest


def explain_split(model, tree=0, node=0, *, digits=2, max_terms=6) -> str:
    """Describe in words which rows go left at a node.

    The cut is given in the original columns and units: standardisation and the map H are undone,
    categories and missing values are named.

    Parameters
    ----------
    model : estimator
        Fitted: an oblique or Jacobian forest, Jacobian boosting, or JARF on one of our forests, on
        scikit-learn's random forests and extra trees, or on XGBoost.
    tree : int, default=0
    node : int, default=0
        Number of the node within its tree: 0 is the root; ``apply`` and ``split_normals`` use the
        same numbers, as do scikit-learn and XGBoost for their trees.
    digits : int, default=2
        Significant digits of the weights; the threshold has as many digits as the spread of the sum
        requires.
    max_terms : int or None, default=6
        Columns to name, those with the largest spread first; None names all.

    Returns
    -------
    str
        A weighted sum has weights of length one.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from jarf import SPORFClassifier
    >>> from jarf.inspection import explain_split
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["income", "debt"])
    >>> model = SPORFClassifier(5, random_state=0).fit(X, X["income"] > X["debt"])
    >>> explain_split(model, tree=1)
    '0.70 income - 0.71 debt <= -0.0004'
    """
    check_model(model)
    part, place = _tree(model, tree)
    direction, offset = _cut(part, _node(part.forest, place, node, tree))
    return _wording(model, digits, max_terms).cut(direction, offset)


def explain_path(model, x, tree=0, *, digits=2, max_terms=6) -> list[str]:
    """Describe in words how a row reaches its leaf in one tree.

    Parameters
    ----------
    model : estimator
        As in :func:`explain_split`.
    x : array-like or DataFrame of shape (1, n_features)
        One row.
    tree : int, default=0
    digits, max_terms : as in :func:`explain_split`

    Returns
    -------
    list of str
        The condition that the row meets at each node, starting at the root, and the value of its
        leaf.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import AxisForestRegressor
    >>> from jarf.inspection import explain_path
    >>> X = np.arange(20.0)[:, None]
    >>> model = AxisForestRegressor(1, bootstrap=False, max_depth=1).fit(X, X[:, 0] > 9)
    >>> explain_path(model, [[12.0]])
    ['x0 > 9.5', 'leaf 2: 1']
    """
    check_model(model)
    matrix = encode(model, x)
    if len(matrix) != 1:
        raise ValueError(f"x must be one row, a table of shape (1, n_features); got {len(matrix)}.")
    trees, (part, place) = trees_of(model), _tree(model, tree)
    row = (matrix if part.linear is None else part.linear.transform(matrix))[0]
    words = _wording(model, digits, max_terms)
    said, forest = [], part.forest
    for node, left in _walk(forest, int(forest.roots[place]), row.astype(np.float32)):
        if left is None:
            number = node - int(forest.roots[place])
            said.append(f"leaf {number}: {_leaf(model, trees, forest, node, digits)}")
        else:
            said.append(words.cut(*_cut(part, node), left))
    return said


def _tree(model: Any, tree: int) -> tuple[Part, int]:
    return trees_of(model).locate(tree)


def _wording(model: Any, digits: int, max_terms: int | None) -> Wording:
    oblique = isinstance(model, TreeEnsemble)
    scales = model.feature_scales_ if oblique else model.preconditioner_.learned_.std
    return Wording(model, scales, digits, max_terms)


def _node(forest: Forest, place: int, node: int, tree: int) -> int:
    """Return the node's number in the forest; a leaf is an error."""
    nodes = forest.nodes_of(place)
    found = nodes.start + node
    if node < 0 or found >= nodes.stop:
        raise ValueError(f"node={node}: tree {tree} has nodes 0 to {nodes.stop - nodes.start - 1}.")
    if forest.is_leaf[found]:
        raise ValueError(f"Node {node} of tree {tree} is a leaf: nothing is split there.")
    return found


def _cut(part: Part, node: int) -> tuple[np.ndarray, float]:
    """Return direction (over encoded columns) and offset of a cut: ``direction . x <= offset``."""
    forest, linear = part.forest, part.linear
    features, loadings = _loadings(forest, node)
    offset = float(forest.nodes["threshold"][node])
    if linear is None:
        direction = np.zeros(forest.n_features)
        np.add.at(direction, features, loadings)
        return direction, offset
    direction = _unmapped(linear, features, loadings)
    return direction, offset + float(linear.mean @ direction)


def _unmapped(linear: LinearMap, features: np.ndarray, loadings: np.ndarray) -> np.ndarray:
    return (linear.columns(features) @ loadings) / linear.scale


def _loadings(forest: Forest, node: int) -> tuple[np.ndarray, np.ndarray]:
    feature = int(forest.nodes["feature"][node])
    if feature >= 0:
        return np.array([feature]), np.ones(1, np.float32)
    part = slice(*forest.starts[-2 - feature : -feature])
    return forest.features[part], forest.loadings[part]


def _walk(forest: Forest, node: int, row: np.ndarray):
    """Yield the nodes on a row's path with the side it takes; None at the leaf."""
    while not forest.is_leaf[node]:
        features, loadings = _loadings(forest, node)
        value = np.float32(0)
        for feature, loading in zip(features, loadings, strict=True):
            value = value + loading * row[feature]
        left = bool(value <= forest.nodes["threshold"][node])
        yield node, left
        node = int(forest.nodes["left" if left else "right"][node])
    yield node, None


def _leaf(model: Any, trees: Trees, forest: Forest, node: int, digits: int) -> str:
    values = forest.leaf_values(node)
    if not trees.averaged:
        place = int(np.abs(values).argmax())
        which = ""
        if len(values) > 1:
            names = getattr(model, "classes_", None)
            which = f" of {f'output {place}' if names is None else names[place]}"
        return f"{number_text(values[place], digits)} to the score{which}"
    if not hasattr(model, "classes_"):
        return ", ".join(number_text(value, digits + 2, trim=True) for value in values)
    order = np.argsort(-values, kind="stable")
    shares = [f"{values[k]:.0%} {model.classes_[k]}" for k in order]
    return ", ".join(shares[: max(1, int(np.count_nonzero(values)))])
