"""Trees of scikit-learn: single trees, forests and both kinds of gradient boosting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from jarf._sklearn import histogram_trees
from jarf.trees._forest import NODE, Forest
from jarf.trees._unreadable import UnreadableTrees

_FORESTS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)
_TREES = (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
_BOOSTERS = (GradientBoostingClassifier, GradientBoostingRegressor)
_HISTOGRAM_BOOSTERS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def is_sklearn(model: Any) -> bool:
    """Whether ``model`` is one of scikit-learn's own tree ensembles.

    Subclasses may predict differently, so they do not count.
    """
    return type(model) in _FORESTS + _TREES + _BOOSTERS + _HISTOGRAM_BOOSTERS


def read_sklearn(model: Any) -> Forest:
    """Read a fitted tree ensemble of scikit-learn."""
    if type(model) in _HISTOGRAM_BOOSTERS:
        return _histogram_booster(model)
    if type(model) in _BOOSTERS:
        return _booster(model)
    if type(model) in _FORESTS:
        return _averaged(model.estimators_, model)
    return _averaged([model], model)


def round_down(threshold: np.ndarray) -> np.ndarray:
    """Return the largest float32 not above each float64.

    ``x <= threshold`` then has the same answer for every float32 ``x``.
    """
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32)
    return np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def flat_nodes(
    left: Sequence[np.ndarray],
    right: Sequence[np.ndarray],
    feature: Sequence[np.ndarray],
    threshold: Sequence[np.ndarray],
    is_leaf: Sequence[np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Join the node arrays of trees, whose children are counted from their own root.

    Leaves take consecutive rows of the values. Thresholds are float32 already.

    Returns
    -------
    nodes : ndarray of dtype NODE
    roots : ndarray of int32
    """
    if not left:
        raise UnreadableTrees("The model has no trees.")
    sizes = np.array([len(part) for part in left])
    if sizes.sum() > np.iinfo(np.int32).max:
        raise UnreadableTrees(
            f"The model has {sizes.sum()} nodes, more than 2**31 - 1. Use fewer or smaller trees."
        )
    roots = np.cumsum(sizes) - sizes
    start, leaf = np.repeat(roots, sizes), np.concatenate(is_leaf).astype(bool)
    row = np.cumsum(leaf) - 1
    nodes = np.empty(len(leaf), dtype=NODE)
    nodes["feature"] = np.where(leaf, -1, np.concatenate(feature))
    nodes["threshold"] = np.where(leaf, np.float32(0), np.concatenate(threshold))
    nodes["left"] = np.where(leaf, row, np.concatenate(left).astype(np.int64) + start)
    nodes["right"] = np.where(leaf, row, np.concatenate(right).astype(np.int64) + start)
    return nodes, roots.astype(np.int32)


def one_column_each(values: Sequence[np.ndarray], n_raw: int) -> np.ndarray:
    """Put the leaf values of tree t into column t mod n_raw."""
    sizes = [len(part) for part in values]
    column = np.repeat(np.arange(len(values)) % n_raw, sizes)
    wide = np.zeros((sum(sizes), n_raw))
    wide[np.arange(len(wide)), column] = np.concatenate(values)
    return wide


def _plain_nodes(trees: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    return flat_nodes(
        [tree.children_left for tree in trees],
        [tree.children_right for tree in trees],
        [tree.feature for tree in trees],
        [round_down(tree.threshold) for tree in trees],
        [tree.children_left < 0 for tree in trees],
    )


def _averaged(estimators: Sequence[Any], model: Any) -> Forest:
    trees = [estimator.tree_ for estimator in estimators]
    if model.n_outputs_ > 1 and hasattr(model, "classes_"):
        raise UnreadableTrees(
            f"{type(model).__name__} with several outputs of classes is not read."
        )
    nodes, roots = _plain_nodes(trees)
    axis = 1 if model.n_outputs_ > 1 else 2  # (nodes, outputs, classes)
    values = [np.moveaxis(tree.value, axis, 1)[tree.children_left < 0, :, 0] for tree in trees]
    weights = np.concatenate([tree.weighted_n_node_samples for tree in trees])
    return Forest.of_axes(nodes, roots, np.concatenate(values), model.n_features_in_, weights)


def _booster(model: Any) -> Forest:
    """Read gradient boosting of plain trees: one per round and output."""
    rounds = model.estimators_
    trees = [estimator.tree_ for estimator in rounds.ravel()]
    nodes, roots = _plain_nodes(trees)
    n_raw = rounds.shape[1]
    # The raw prediction of the exponential loss is half of the log-odds.
    scale = 2.0 if model.loss == "exponential" else 1.0
    values = one_column_each(
        [model.learning_rate * tree.value[tree.children_left < 0, 0, 0] for tree in trees], n_raw
    )
    link = "identity"
    if hasattr(model, "classes_"):
        link = "logit" if n_raw == 1 else "softmax"
    return Forest.of_axes(
        nodes,
        roots,
        scale * values,
        model.n_features_in_,
        np.concatenate([tree.weighted_n_node_samples for tree in trees]),
        base=_start(model, n_raw),
        link=link,
        averaged=False,
    )


def _start(model: Any, n_raw: int) -> np.ndarray:
    """Return the raw prediction that gradient boosting starts from."""
    start = model.init_
    if isinstance(start, str):  # "zero"
        return np.zeros(n_raw)
    if type(start) is DummyRegressor:
        return np.ravel(start.constant_).astype(np.float64)
    if type(start) is DummyClassifier and start.strategy == "prior":
        tiny = np.finfo(np.float32).eps
        prior = np.clip(np.asarray(start.class_prior_, np.float64), tiny, 1 - tiny)
        if n_raw == 1:
            return np.log(prior[1:] / (1.0 - prior[1:]))
        return np.log(prior) - np.log(prior).mean()
    raise UnreadableTrees(
        f"{type(model).__name__} that starts from init={start!r} is not read. Use init=None or "
        "init='zero'."
    )


def _histogram_booster(model: Any) -> Forest:
    """Read histogram gradient boosting; leaf values include the learning rate."""
    if model.is_categorical_ is not None and np.any(model.is_categorical_):  # moved to the front
        raise UnreadableTrees(
            f"{type(model).__name__} with categorical features is not read. Encode categories as "
            "numbers, or fit with categorical_features=None."
        )
    rounds, base = histogram_trees(model)
    trees = [tree for trees in rounds for tree in trees]
    n_raw = len(rounds[0])
    is_leaf = [tree["is_leaf"].astype(bool) for tree in trees]
    nodes, roots = flat_nodes(
        [tree["left"] for tree in trees],
        [tree["right"] for tree in trees],
        [tree["feature_idx"] for tree in trees],
        [round_down(tree["num_threshold"]) for tree in trees],
        is_leaf,
    )
    values = [tree["value"][leaf] for tree, leaf in zip(trees, is_leaf, strict=True)]
    link = "log" if getattr(model, "loss", "") in ("poisson", "gamma") else "identity"
    if hasattr(model, "classes_"):
        link = "logit" if n_raw == 1 else "softmax"
    return Forest.of_axes(
        nodes,
        roots,
        one_column_each(values, n_raw),
        model.n_features_in_,
        np.concatenate([tree["count"] for tree in trees]).astype(np.float64),
        base=base,
        link=link,
        averaged=False,
    )
