"""Final ensembles of other libraries: scikit-learn's forests as arrays, XGBoost as its JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from jarf._sklearn import is_classifier
from jarf.export._booster import checked_booster
from jarf.export._checks import check_children, check_shares, node_depths, require
from jarf.export._kinds import EstimatorKind, as_int64, bytes_of, check_names

_NODE_FIELDS = (
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "missing_go_to_left",
)
# Bytes of one tree beside its nodes, at most; XGBoost's models are larger.
_TREE, _BOOSTER = 8192, 2**16
# XGBoost sets it for the whole process: an invalid value makes it reject every later model.
_PROCESS_WIDE = "verbosity"


@dataclass(frozen=True)
class ForestKind(EstimatorKind):
    """scikit-learn's forests: the nodes of all trees in one array per field."""

    def state(self, value: Any) -> dict[str, Any]:
        state = super().state(value)
        if hasattr(value, "estimators_"):
            states = [tree.tree_.__getstate__() for tree in value.estimators_]
            nodes = np.concatenate([part["nodes"] for part in states])
            require(
                set(nodes.dtype.names or ()) == set(_NODE_FIELDS),
                "trees of another version of scikit-learn",
            )
            state["trees"] = {
                "sizes": as_int64([part["node_count"] for part in states]),
                "values": np.concatenate([part["values"] for part in states]),
                **{name: np.ascontiguousarray(nodes[name]) for name in _NODE_FIELDS},
            }
        return state

    def cost(self, state: dict[str, Any]) -> int:
        trees = state.get("trees", {})
        n_trees = np.size(trees.get("sizes", ()))
        return super().cost(state) + 3 * bytes_of(trees) + _TREE * n_trees

    def make(self, state: dict[str, Any]) -> Any:
        trees = state.pop("trees", None)
        made = super().make(state)
        if trees is not None:
            made.estimators_ = _grown(made, trees)
        return made


def _grown(forest: Any, arrays: dict[str, np.ndarray]) -> list[Any]:
    """Restore scikit-learn's trees after checking them: scikit-learn itself checks nothing."""
    require(set(arrays) == {"sizes", "values", *_NODE_FIELDS}, "trees with other fields")
    template = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0]).tree_
    layout = template.__getstate__()["nodes"].dtype
    require(set(layout.names) == set(_NODE_FIELDS), "this scikit-learn's trees have other fields")
    nodes = np.zeros(len(arrays["feature"]), dtype=layout)
    for name in _NODE_FIELDS:
        fine = arrays[name].shape == nodes.shape and arrays[name].dtype == layout[name]
        require(fine, f"trees without {name}")
        nodes[name] = arrays[name]
    n_classes = len(forest.classes_) if hasattr(forest, "classes_") else 1
    values, sizes = arrays["values"], arrays["sizes"]
    fine = values.shape == (len(nodes), 1, n_classes) and np.isfinite(values).all()
    require(fine and values.dtype == np.float64, "the trees' values are wrong")
    if hasattr(forest, "classes_"):
        check_shares(values, "forest")
    depths = _checked_depths(nodes, sizes, forest.n_features_in_)
    ends = np.cumsum(sizes)
    pattern = clone(forest.estimator)
    pattern.set_params(**{name: getattr(forest, name) for name in forest.estimator_params})
    grown = []
    for start, end, depth in zip(ends - sizes, ends, depths, strict=True):
        tree = type(template)(forest.n_features_in_, np.array([n_classes]), 1)
        part = slice(start, end)
        tree.__setstate__(
            {
                "max_depth": int(depth),
                "node_count": int(end - start),
                "nodes": np.ascontiguousarray(nodes[part]),
                "values": np.ascontiguousarray(values[part]),
            }
        )
        grown.append(_wrapped(pattern, forest, tree))
    return grown


def _wrapped(pattern: Any, forest: Any, tree: Any) -> Any:
    made = clone(pattern)
    made.tree_, made.n_features_in_, made.n_outputs_ = tree, forest.n_features_in_, 1
    made.max_features_ = forest.n_features_in_
    if hasattr(forest, "classes_"):
        made.classes_ = np.arange(len(forest.classes_), dtype=np.float64)
        made.n_classes_ = len(forest.classes_)
    return made


def _checked_depths(nodes: np.ndarray, sizes: np.ndarray, n_features: int) -> np.ndarray:
    """Check the nodes of all trees; return the depth of each tree, which scikit-learn relies on."""
    fine = sizes.dtype == np.int64 and len(sizes) > 0 and (sizes > 0).all()
    require(fine and (sizes <= len(nodes)).all(), "a forest without trees")
    require(sizes.sum() == len(nodes), "the trees' sizes are wrong")
    leaf = nodes["left_child"] == -1
    starts = np.cumsum(sizes) - sizes
    shift = np.repeat(starts, sizes)
    left, right = nodes["left_child"] + shift, nodes["right_child"] + shift
    check_children(left, right, leaf, starts, "forest")
    require((leaf == (nodes["right_child"] == -1)).all(), "a node has one child")
    feature = nodes["feature"][~leaf]
    require(
        ((feature >= 0) & (feature < n_features)).all(),
        "a cut is along a column that does not exist",
    )
    require((nodes["feature"][leaf] == -2).all(), "a leaf is cut")
    require(not np.isnan(nodes["threshold"]).any(), "a threshold is not a number")
    require((nodes["missing_go_to_left"] <= 1).all(), "missing values have an invalid direction")
    weights, impurity = nodes["weighted_n_node_samples"], nodes["impurity"]
    weighed = np.isfinite(weights).all() and (weights >= 0).all() and (weights[starts] > 0).all()
    require(weighed and (nodes["n_node_samples"] >= 0).all(), "a tree without rows")
    require(np.isfinite(impurity).all(), "an impurity is not a number")
    return np.maximum.reduceat(node_depths(left, right, leaf, starts, "forest"), starts)


def check_sklearn(forest: Any) -> None:
    """Check the rest of a scikit-learn forest, after its trees."""
    check_names(forest)
    classifies = is_classifier(forest)
    require(classifies == hasattr(forest, "classes_"), "classes are missing, or too many")
    require(classifies == hasattr(forest, "n_classes_"), "classes are missing, or too many")
    require(
        hasattr(forest, "estimators_") and forest.n_outputs_ == 1, "a forest of several outputs"
    )


@dataclass(frozen=True)
class BoosterKind(EstimatorKind):
    """XGBoost's estimators: its own JSON, checked before XGBoost reads it."""

    def state(self, value: Any) -> dict[str, Any]:
        state: dict[str, Any] = {"params": self.params(value)}
        if value.__sklearn_is_fitted__():
            content = bytes(value.get_booster().save_raw("json"))
            state["booster"] = checked_booster(content, is_classifier(value))
        return state

    def cost(self, state: dict[str, Any]) -> int:
        return super().cost(state) + _BOOSTER

    def make(self, state: dict[str, Any]) -> Any:
        booster = state.pop("booster", None)
        kept = {name: value for name, value in state["params"].items() if name != _PROCESS_WIDE}
        made = self.cls(**kept)
        if booster is not None:
            made.load_model(bytearray(checked_booster(booster, is_classifier(made))))
        return made
