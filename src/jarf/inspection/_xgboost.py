"""XGBoost's trees as the engine's arrays, read from its own JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from jarf.ensemble import Forest

_LINKS = {
    "binary:logistic": "logistic",
    "reg:logistic": "logistic",
    "multi:softprob": "softmax",
    "multi:softmax": "softmax",
    "reg:squarederror": "identity",
    "reg:absoluteerror": "identity",
    "reg:pseudohubererror": "identity",
    "reg:quantileerror": "identity",
    "count:poisson": "exp",
    "reg:gamma": "exp",
    "reg:tweedie": "exp",
}


def is_xgboost(model: Any) -> bool:
    """Whether ``model`` is one of XGBoost's scikit-learn estimators."""
    return type(model).__module__.startswith("xgboost") and hasattr(model, "get_booster")


def boosted_trees(model: Any) -> tuple[Forest, str, np.ndarray]:
    """Read a fitted XGBoost model.

    A row goes left there if it lies *below* a threshold; here, if it is not above the next
    smaller float32: the same rows.

    Parameters
    ----------
    model : XGBClassifier, XGBRegressor, ...

    Returns
    -------
    forest : Forest
        Leaf values in the column of the class that the tree works for.
    link : str
    base : ndarray of shape (n_outputs,)
        What is added to the sum, on the scale of the sum.
    """
    booster = model.get_booster()
    if getattr(model, "early_stopping_rounds", None):
        booster = booster[: model.best_iteration + 1]
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    objective, kind = learner["objective"]["name"], learner["gradient_booster"]["name"]
    if kind != "gbtree" or objective not in _LINKS:
        raise ValueError(
            f"XGBoost with booster {kind!r} and objective {objective!r} is not read. Readable: "
            f"gbtree with one of {sorted(_LINKS)}."
        )
    link = _LINKS[objective]
    trees = learner["gradient_booster"]["model"]
    if np.any(np.array(trees.get("weight_drop", ())) != 1.0):  # XGBoost from 3.4 on
        raise ValueError("XGBoost with trees left out in training (dart, rate_drop) is not read.")
    facts = learner["learner_model_param"]
    n_outputs = max(1, int(facts["num_class"]))
    forest = _forest(trees["trees"], trees["tree_info"], n_outputs, int(facts["num_feature"]))
    return forest, link, _base(facts["base_score"], link, n_outputs)


def _base(text: str, link: str, n_outputs: int) -> np.ndarray:
    scores = np.atleast_1d(np.array(json.loads(text), dtype=np.float64))
    base = np.broadcast_to(scores, n_outputs).copy()
    if link == "logistic":
        return np.log(base) - np.log1p(-base)
    return np.log(base) if link == "exp" else base


def _forest(trees: list[dict], classes: list[int], n_outputs: int, n_features: int) -> Forest:
    left, right, features, conditions = (
        [np.asarray(tree[key], kind) for tree in trees]
        for key, kind in (
            ("left_children", np.int64),
            ("right_children", np.int64),
            ("split_indices", np.int64),
            ("split_conditions", np.float32),
        )
    )
    if any(np.any(tree["split_type"]) for tree in trees):
        raise ValueError("XGBoost's splits on categories are not read.")
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        raise ValueError("XGBoost's trees with several outputs are not read.")
    sizes = np.array([len(part) for part in left])
    roots = np.cumsum(sizes) - sizes
    start = np.repeat(roots, sizes)
    is_leaf = np.concatenate(left) < 0
    condition = np.concatenate(conditions)
    nodes = np.empty((len(is_leaf), 4), np.int32)
    nodes[:, 0] = np.where(is_leaf, -1, np.concatenate(features))
    nodes[:, 1] = np.nextafter(condition, np.float32(-np.inf)).view(np.int32)
    row = np.cumsum(is_leaf) - 1
    nodes[:, 2] = np.where(is_leaf, row, np.concatenate(left) + start)
    nodes[:, 3] = np.where(is_leaf, row, np.concatenate(right) + start)
    values = np.zeros((int(is_leaf.sum()), n_outputs))
    values[np.arange(len(values)), np.repeat(classes, sizes)[is_leaf]] = condition[is_leaf]
    return Forest.of_axes(nodes, roots.astype(np.int32), values, n_features)
