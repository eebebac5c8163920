"""Trees of LightGBM, read from its documented dump (``Booster.dump_model``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.trees._forest import Forest
from jarf.trees._read_sklearn import flat_nodes, round_down
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


def is_lightgbm(model: Any) -> bool:
    """Whether ``model`` is one of LightGBM's scikit-learn estimators."""
    return type(model).__module__.startswith("lightgbm") and hasattr(model, "booster_")


def read_lightgbm(model: Any) -> Forest:
    """Read a fitted LightGBM model."""
    dump = model.booster_.dump_model(num_iteration=getattr(model, "best_iteration_", None) or -1)
    objective, *options = dump["objective"].split()
    if objective not in _LINKS or "sqrt" in options:
        raise UnreadableTrees(
            f"LightGBM with objective {dump['objective']!r} is not read. Readable: "
            f"{sorted(_LINKS)}."
        )
    if any(option.startswith("sigmoid:") and option != "sigmoid:1" for option in options):
        raise UnreadableTrees("LightGBM with a sigmoid other than 1 is not read.")
    if dump.get("average_output", False):
        raise UnreadableTrees("LightGBM's random forests (boosting_type='rf') are not read.")
    n_raw = int(dump["num_tree_per_iteration"])
    trees = [_Tree(info["tree_structure"]) for info in dump["tree_info"]]
    nodes, roots = flat_nodes(
        [np.array(tree.left) for tree in trees],
        [np.array(tree.right) for tree in trees],
        [np.array(tree.feature) for tree in trees],
        [round_down(np.array(tree.threshold)) for tree in trees],
        [np.array(tree.left) < 0 for tree in trees],
    )
    values = np.zeros((sum(len(tree.values) for tree in trees), n_raw))
    column = np.repeat(np.arange(len(trees)) % n_raw, [len(tree.values) for tree in trees])
    values[np.arange(len(values)), column] = np.concatenate([tree.values for tree in trees])
    return Forest.of_axes(
        nodes,
        roots,
        values,
        int(dump["max_feature_idx"]) + 1,
        np.concatenate([tree.weights for tree in trees]).astype(np.float64),
        link=_LINKS[objective],
        averaged=False,
    )


class _Tree:
    """One tree of the dump as lists; nodes are numbered parents first."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.left: list[int] = []
        self.right: list[int] = []
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.values: list[float] = []
        self.weights: list[float] = []
        waiting = [(root, -1, self.left)]
        while waiting:
            node, parent, side = waiting.pop()
            index = len(self.left)
            if parent >= 0:
                side[parent] = index
            for column, value in self._entry(node):
                column.append(value)
            if "split_index" in node:
                waiting.append((node["right_child"], index, self.right))
                waiting.append((node["left_child"], index, self.left))
            else:
                self.values.append(node["leaf_value"])

    def _entry(self, node: dict[str, Any]):
        """Return what the columns hold of a node; children are entered when they come."""
        if "split_index" not in node:
            weight = node.get("leaf_count", 1)
            return zip(
                (self.left, self.right, self.feature, self.threshold, self.weights),
                (-1, -1, -1, 0.0, weight),
                strict=True,
            )
        if node["decision_type"] != "<=":
            raise UnreadableTrees(
                "LightGBM's splits on categories are not read. Encode categories as numbers."
            )
        if node["missing_type"] == "Zero":
            raise UnreadableTrees("LightGBM with zero_as_missing=True is not read.")
        return zip(
            (self.left, self.right, self.feature, self.threshold, self.weights),
            (0, 0, node["split_feature"], node["threshold"], node["internal_count"]),
            strict=True,
        )
