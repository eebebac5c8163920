"""Trees of LightGBM, read from the text that its models are saved as.

``Booster.model_to_string`` holds the arrays of every tree. The same trees as nested JSON
(``Booster.dump_model``) take several times as long to write and to read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.trees._forest import Forest
from jarf.trees._read_sklearn import flat_nodes, one_column_each, round_down
from jarf.trees._unreadable import UnreadableTrees

_LINKS = {
    "binary": "logit",
    "multiclass": "softmax",
    "regression": "identity",
    "regression_l1": "identity",
    "huber": "identity",
    "fair": "identity",
    "quantile": "identity",
    "mape": "identity",
    "poisson": "log",
    "gamma": "log",
    "tweedie": "log",
}


# Bits of ``decision_type``: a split on categories, and zero as a missing value.
_CATEGORIES, _MISSING, _ZERO_IS_MISSING = 1, 12, 4


def is_lightgbm(model: Any) -> bool:
    """Whether ``model`` is one of LightGBM's scikit-learn estimators."""
    return type(model).__module__.startswith("lightgbm") and hasattr(model, "booster_")


def read_lightgbm(model: Any) -> Forest:
    """Read a fitted LightGBM model, up to the best iteration of early stopping.

    The base is part of the first trees' leaf values.
    """
    text = model.booster_.model_to_string().partition("\nend of trees")[0]
    head, *blocks = text.split("\nTree=")
    facts = _fields(head)
    link = _link(facts.get("objective", "a function"))
    if "average_output" in head.splitlines():
        raise UnreadableTrees("LightGBM's random forests (boosting_type='rf') are not read.")
    trees = [_Tree(_fields(block)) for block in blocks]
    nodes, roots = flat_nodes(
        [tree.left for tree in trees],
        [tree.right for tree in trees],
        [tree.feature for tree in trees],
        [tree.threshold for tree in trees],
        [tree.is_leaf for tree in trees],
    )
    return Forest.of_axes(
        nodes,
        roots,
        one_column_each([tree.values for tree in trees], int(facts["num_tree_per_iteration"])),
        int(facts["max_feature_idx"]) + 1,
        np.concatenate([tree.weights for tree in trees]),
        link=link,
        averaged=False,
    )


def _link(text: str) -> str:
    objective, *options = text.split()
    if objective not in _LINKS or "sqrt" in options:
        raise UnreadableTrees(
            f"LightGBM with objective {text!r} is not read. Readable: {sorted(_LINKS)}."
        )
    if any(option.startswith("sigmoid:") and option != "sigmoid:1" for option in options):
        raise UnreadableTrees("LightGBM with a sigmoid other than 1 is not read.")
    return _LINKS[objective]


def _fields(lines: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in lines.splitlines() if "=" in line)


class _Tree:
    """One tree: its splits as LightGBM numbers them, parents first, then its leaves."""

    def __init__(self, fields: dict[str, str]) -> None:
        def numbers(name: str, kind: type) -> np.ndarray:
            return np.array(fields[name].split(), kind)

        if fields.get("is_linear", "0") != "0":
            raise UnreadableTrees("LightGBM with linear_tree=True is not read.")
        decision = numbers("decision_type", np.int64)
        if np.any(decision & _CATEGORIES):
            raise UnreadableTrees(
                "LightGBM's splits on categories are not read. Encode categories as numbers."
            )
        if np.any(decision & _MISSING == _ZERO_IS_MISSING):
            raise UnreadableTrees("LightGBM with zero_as_missing=True is not read.")
        self.values = numbers("leaf_value", np.float64)
        n_splits, n_leaves = len(decision), len(self.values)
        none = np.full(n_leaves, -1)

        def children(name: str) -> np.ndarray:
            """Leaf number k is written as -1 - k."""
            child = numbers(name, np.int64)
            return np.concatenate([np.where(child < 0, n_splits - 1 - child, child), none])

        self.left, self.right = children("left_child"), children("right_child")
        self.feature = np.concatenate([numbers("split_feature", np.int64), none])
        thresholds = round_down(numbers("threshold", np.float64))
        self.threshold = np.concatenate([thresholds, np.zeros(n_leaves, np.float32)])
        self.is_leaf = np.arange(n_splits + n_leaves) >= n_splits
        self.weights = np.concatenate(
            [numbers(name, np.float64) for name in ("internal_count", "leaf_count")]
        )
