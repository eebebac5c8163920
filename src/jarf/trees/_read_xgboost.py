"""Trees of XGBoost, read from the binary JSON that its models are saved as."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from jarf.trees._forest import Forest
from jarf.trees._read_sklearn import flat_nodes
from jarf.trees._ubjson import read_ubjson
from jarf.trees._unreadable import UnreadableTrees

_LINKS = {
    "binary:logistic": "logit",
    "reg:logistic": "logit",
    "multi:softprob": "softmax",
    "multi:softmax": "softmax",
    "reg:squarederror": "identity",
    "reg:absoluteerror": "identity",
    "reg:pseudohubererror": "identity",
    "reg:quantileerror": "identity",
    "count:poisson": "log",
    "reg:gamma": "log",
    "reg:tweedie": "log",
}


def is_xgboost(model: Any) -> bool:
    """Whether ``model`` is one of XGBoost's scikit-learn estimators."""
    return type(model).__module__.startswith("xgboost") and hasattr(model, "get_booster")


def read_xgboost(model: Any) -> Forest:
    """Read a fitted XGBoost model.

    A row goes left there if it lies *below* a threshold; here, if it is not above the next
    smaller float32: the same rows. Leaf values lie in the column of the class that the tree works
    for; the base is on the scale of the sum.
    """
    missing = getattr(model, "missing", np.nan)
    if missing is not None and not np.isnan(missing):
        raise UnreadableTrees(
            f"XGBoost with missing={missing!r} is not read: that number goes its own way at every "
            "split. Use missing=nan."
        )
    booster, last = model.get_booster(), getattr(model, "best_iteration", None)
    if last is not None:  # early stopping
        booster = booster[: last + 1]
    learner = read_ubjson(bytes(booster.save_raw("ubj")))["learner"]
    objective, kind = learner["objective"]["name"], learner["gradient_booster"]["name"]
    if kind != "gbtree" or objective not in _LINKS:
        raise UnreadableTrees(
            f"XGBoost with booster {kind!r} and objective {objective!r} is not read. Readable: "
            f"gbtree with one of {sorted(_LINKS)}."
        )
    link = _LINKS[objective]
    trees = learner["gradient_booster"]["model"]
    if np.any(np.array(trees.get("weight_drop", ())) != 1.0):  # XGBoost from 3.4 on
        raise UnreadableTrees(
            "XGBoost with trees left out in training (dart, rate_drop) is not read."
        )
    facts = learner["learner_model_param"]
    n_outputs = max(1, int(facts["num_class"]), int(facts.get("num_target", 1)))
    nodes, roots, values = _arrays(trees["trees"], trees["tree_info"], n_outputs)
    return Forest.of_axes(
        nodes,
        roots,
        values,
        int(facts["num_feature"]),
        base=_base(facts["base_score"], link, n_outputs),
        link=link,
        averaged=False,
    )


def _base(text: str, link: str, n_outputs: int) -> np.ndarray:
    scores = np.atleast_1d(np.array(json.loads(text), dtype=np.float64))
    base = np.broadcast_to(scores, n_outputs).copy()
    with np.errstate(divide="ignore"):
        if link == "logit":
            base = np.log(base) - np.log1p(-base)
        elif link == "log":
            base = np.log(base)
    if not np.isfinite(base).all():
        raise UnreadableTrees(
            f"XGBoost with base_score={text} is not read: the {link} link makes it infinite. All "
            "labels may be of one class."
        )
    return base


def _arrays(trees: list[dict], classes: list[int], n_outputs: int):
    """Return nodes, roots and leaf values of the trees."""
    if any(np.any(tree["split_type"]) for tree in trees):
        raise UnreadableTrees(
            "XGBoost's splits on categories are not read. Encode categories as numbers."
        )
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        raise UnreadableTrees("XGBoost's trees with several outputs are not read.")

    def each(name: str, kind: type) -> list[np.ndarray]:
        return [np.asarray(tree[name], kind) for tree in trees]

    left, right = each("left_children", np.int64), each("right_children", np.int64)
    features, conditions = each("split_indices", np.int64), each("split_conditions", np.float32)
    is_leaf = [part < 0 for part in left]
    below = [np.nextafter(condition, np.float32(-np.inf)) for condition in conditions]
    nodes, roots = flat_nodes(left, right, features, below, is_leaf)
    leaf = np.concatenate(is_leaf)
    values = np.zeros((int(leaf.sum()), n_outputs))
    column = np.repeat(classes, [len(part) for part in left])[leaf]
    values[np.arange(len(values)), column] = np.concatenate(conditions)[leaf]
    return nodes, roots, values
