"""XGBoost's JSON, checked field by field: its own reader trusts what it reads.

An index that leads astray, a wrong number of a tree or a forged list of categories can crash
XGBoost. So every field is known, is what our models have there, and is written anew.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from jarf.export._checks import check_children, require

NO_PARENT = 2**31 - 1
_INTEGERS = ("left_children", "right_children", "parents", "split_indices")
_FLAGS = ("default_left", "split_type")
_NUMBERS = ("split_conditions", "base_weights", "sum_hessian", "loss_changes")
_EMPTY = ("categories", "categories_nodes", "categories_segments", "categories_sizes")


def checked_booster(content: bytes) -> bytes:
    """Return the same model as JSON that XGBoost can read without harm.

    Parameters
    ----------
    content : bytes
        JSON as ``Booster.save_raw("json")`` writes it.

    Returns
    -------
    bytes
    """
    whole = json.loads(content, parse_constant=_refuse)
    _check_keys(whole, {"learner", "version"})
    require(_integers(whole["version"], 3), "XGBoost's version is none")
    learner = whole["learner"]
    _check_keys(
        learner,
        {"gradient_booster", "learner_model_param", "objective"},
        {"attributes", "feature_names", "feature_types"},
    )
    for name in ("feature_names", "feature_types"):
        require(learner.get(name, []) == [], "XGBoost's columns have names of their own")
    _check_texts(learner.get("attributes", {}))
    _check_texts({k: v for k, v in learner["objective"].items() if not isinstance(v, dict)})
    for part in learner["objective"].values():
        _check_texts(part if isinstance(part, dict) else {})
    n_features, n_groups = _check_facts(learner["learner_model_param"])
    _check_model(learner["gradient_booster"], n_features, n_groups)
    return json.dumps(whole).encode()


def _refuse(name: str) -> None:
    require(False, f"XGBoost's JSON holds {name}")


def _check_keys(value: Any, needed: set[str], allowed: set[str] | None = None) -> None:
    fine = isinstance(value, dict) and needed <= set(value) <= needed | (allowed or set())
    require(fine, "XGBoost's JSON has other fields than it should have")


def _check_texts(value: Any) -> None:
    fine = isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
    require(fine, "XGBoost's settings are not text")


def _integers(values: Any, n: int) -> bool:
    return isinstance(values, list) and len(values) == n and all(type(v) is int for v in values)


def _check_facts(facts: dict[str, Any]) -> tuple[int, int]:
    known = {"base_score", "num_class", "num_feature"}
    _check_keys(facts, known, {"boost_from_average", "num_target"})
    _check_texts(facts)
    n_features, n_groups = int(facts["num_feature"]), max(1, int(facts["num_class"]))
    require(n_features > 0 and n_groups <= 2**16, "XGBoost's model is of no columns")
    require(facts.get("num_target", "1") == "1", "XGBoost's model has several targets")
    require(facts.get("boost_from_average", "1") in ("0", "1"), "XGBoost's settings are wrong")
    scores = np.atleast_1d(np.array(json.loads(facts["base_score"]), dtype=np.float64))
    fine = scores.shape in ((1,), (n_groups,)) and np.isfinite(scores).all()
    require(fine, "XGBoost's base score is wrong")
    return n_features, n_groups


def _check_model(booster: dict[str, Any], n_features: int, n_groups: int) -> None:
    _check_keys(booster, {"model", "name"})
    require(booster["name"] == "gbtree", "XGBoost's booster is not gbtree")
    model = booster["model"]
    needed = {"gbtree_model_param", "tree_info", "trees", "iteration_indptr"}
    _check_keys(model, needed, {"cats"})
    cats = model.get("cats", {})
    empty = isinstance(cats, dict) and all(part == [] for part in cats.values())
    require(empty, "XGBoost's model has categories")
    trees, groups, rounds = model["trees"], model["tree_info"], model["iteration_indptr"]
    settings = model["gbtree_model_param"]
    _check_texts(settings)
    _check_keys(settings, {"num_parallel_tree", "num_trees"})
    fine = int(settings["num_trees"]) == len(trees) and int(settings["num_parallel_tree"]) > 0
    require(fine and _integers(groups, len(trees)), "XGBoost's trees are not as many as it says")
    require(all(0 <= group < n_groups for group in groups), "XGBoost's tree is of no class")
    fine = isinstance(rounds, list) and _integers(rounds, len(rounds)) and sorted(rounds) == rounds
    fine = fine and len(rounds) > 0 and rounds[0] == 0 and rounds[-1] == len(trees)
    require(fine, "XGBoost's rounds are not those of its trees")
    for number, tree in enumerate(trees):
        _check_tree(tree, number, n_features)


def _check_tree(tree: dict[str, Any], number: int, n_features: int) -> None:
    _check_keys(tree, {*_INTEGERS, *_FLAGS, *_NUMBERS, *_EMPTY, "id", "tree_param"})
    require(type(tree["id"]) is int and tree["id"] == number, "XGBoost's tree has another number")
    require(all(tree[name] == [] for name in _EMPTY), "XGBoost's tree has categories")
    facts = tree["tree_param"]
    _check_texts(facts)
    _check_keys(facts, {"num_deleted", "num_feature", "num_nodes", "size_leaf_vector"})
    n_nodes = int(facts["num_nodes"])
    require(facts["size_leaf_vector"] in ("0", "1"), "XGBoost's leaf has several values")
    require(int(facts["num_feature"]) == n_features, "XGBoost's tree is of other columns")
    require(0 <= int(facts["num_deleted"]) < n_nodes, "XGBoost's tree has no nodes")
    for name in (*_INTEGERS, *_FLAGS):
        require(_integers(tree[name], n_nodes), f"XGBoost's tree has wrong {name}")
    for name in _NUMBERS:
        values = np.array(tree[name], dtype=np.float64)
        fine = values.shape == (n_nodes,) and (np.abs(values) <= np.finfo(np.float32).max).all()
        require(fine, f"XGBoost's tree has wrong {name}")
        tree[name] = values.tolist()
    require(not any(tree["split_type"]), "XGBoost's tree splits categories")
    require(set(tree["default_left"]) <= {0, 1}, "XGBoost's tree has a third side")
    _check_nodes(n_features, *(np.array(tree[name], dtype=np.int64) for name in _INTEGERS))


def _check_nodes(n_features: int, left, right, parents, feature) -> None:
    leaf = left == -1
    require((leaf == (right == -1)).all(), "XGBoost's node has one child")
    check_children(left, right, leaf, [0], "XGBoost's tree")
    inner = np.flatnonzero(~leaf)
    above = (parents[left[inner]] == inner) & (parents[right[inner]] == inner)
    known = ((parents >= 0) & (parents < len(leaf))) | (parents == NO_PARENT)
    require(above.all() and known.all(), "XGBoost's node has another parent")
    require(((feature >= 0) & (feature < n_features)).all(), "XGBoost cuts a missing column")
