"""XGBoost's JSON, checked field by field, because XGBoost's own reader does not check it.

An index out of range, a wrong tree number or a forged list of categories can crash XGBoost. So
every field must be known and have a value that our models can have, and is written again.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from jarf.export._checks import check_children, require
from jarf.export._members import UnsoundFile

NO_PARENT = 2**31 - 1
# Objectives and their settings. Those of classifiers give probabilities; only "multi:softprob" has
# one output per class. All other objectives are rejected.
_PROBABILITIES = {
    "binary:logistic": "reg_loss_param",
    "reg:logistic": "reg_loss_param",
    "multi:softprob": "softmax_multiclass_param",
}
_RESPONSES = {
    "reg:squarederror": "reg_loss_param",
    "reg:squaredlogerror": None,
    "reg:logistic": "reg_loss_param",
    "binary:logistic": "reg_loss_param",
    "reg:absoluteerror": None,
    "reg:pseudohubererror": "pseudo_huber_param",
    "reg:quantileerror": "quantile_loss_param",
    "count:poisson": "poisson_regression_param",
    "reg:gamma": "reg_loss_param",
    "reg:tweedie": "tweedie_regression_param",
}
_LOGISTIC = ("binary:logistic", "reg:logistic")
_POSITIVE = ("count:poisson", "reg:gamma", "reg:tweedie")
_INTEGERS = ("left_children", "right_children", "parents", "split_indices")
_FLAGS = ("default_left", "split_type")
_NUMBERS = ("split_conditions", "base_weights", "sum_hessian", "loss_changes")
_EMPTY = ("categories", "categories_nodes", "categories_segments", "categories_sizes")


def checked_booster(content: bytes, classifies: bool) -> bytes:
    """Return the same model as JSON that XGBoost can read safely.

    Parameters
    ----------
    content : bytes
        JSON as ``Booster.save_raw("json")`` writes it.
    classifies : bool
        Whether it belongs to a classifier.

    Returns
    -------
    bytes
    """
    whole = json.loads(content, parse_constant=_refuse)
    _check_keys(whole, {"learner", "version"})
    require(_integers(whole["version"], 3), "XGBoost's version is missing or invalid")
    learner = whole["learner"]
    _check_keys(
        learner,
        {"gradient_booster", "learner_model_param", "objective"},
        {"attributes", "feature_names", "feature_types"},
    )
    for name in ("feature_names", "feature_types"):
        require(learner.get(name, []) == [], "XGBoost's columns have unexpected names")
    n_features, n_groups, scores = _check_facts(learner["learner_model_param"])
    _check_objective(learner["objective"], classifies, n_groups, scores)
    largest = _check_model(learner["gradient_booster"], n_features, n_groups)
    fine = (np.abs(scores) + largest <= np.finfo(np.float32).max / 2).all()
    require(fine, "XGBoost's scores overflow")
    learner["attributes"] = _known_attributes(
        learner.get("attributes", {}), learner["gradient_booster"]["model"]
    )
    return json.dumps(whole).encode()


def _refuse(name: str) -> None:
    require(False, f"XGBoost's JSON holds {name}")


def _check_keys(value: Any, needed: set[str], allowed: set[str] | None = None) -> None:
    fine = isinstance(value, dict) and needed <= set(value) <= needed | (allowed or set())
    require(fine, "XGBoost's JSON has unexpected fields")


def _check_texts(value: Any) -> None:
    fine = isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
    require(fine, "XGBoost's settings are not text")


def _integers(values: Any, n: int) -> bool:
    return isinstance(values, list) and len(values) == n and all(type(v) is int for v in values)


def _check_objective(found: Any, classifies: bool, n_groups: int, scores: np.ndarray) -> None:
    """Check that the objective is known, and that its settings are those of the model."""
    known = _PROBABILITIES if classifies else _RESPONSES
    name = found.get("name") if isinstance(found, dict) else None
    if not isinstance(name, str) or name not in known:
        kind = "classifier" if classifies else "regressor"
        raise UnsoundFile(
            f"XGBoost's objective {name!r} is not supported for a {kind}; supported: "
            f"{', '.join(known)}"
        )
    settings = known[name]
    _check_keys(found, {"name"}, {settings} if settings else set())
    values = found.get(settings, {})
    _check_texts(values)
    for value in values.values():
        numbers = np.atleast_1d(np.array(json.loads(value, parse_constant=_refuse), np.float64))
        fine = numbers.shape == (1,) and np.isfinite(numbers).all()
        require(fine, "XGBoost's settings are wrong")
    many = name == "multi:softprob"
    fits = not many or int(values.get("num_class", "0")) == n_groups
    require(fits and many == (n_groups > 1), "XGBoost's objective does not match the classes")
    inside = (scores > 0).all() and (name in _POSITIVE or (scores < 1).all())
    free = name not in (*_LOGISTIC, *_POSITIVE)
    require(free or inside, "XGBoost's base score is outside the range of its objective")


def _known_attributes(attributes: Any, model: dict[str, Any]) -> dict[str, str]:
    """Keep the attributes that XGBoost reads; the best round, if any, must be one of its rounds."""
    _check_texts(attributes)
    best, n_rounds = attributes.get("best_iteration", "0"), len(model["iteration_indptr"]) - 1
    require(0 <= int(best) < max(1, n_rounds), "XGBoost's best round is out of range")
    kept = ("best_iteration", "best_score", "scikit_learn")
    return {name: attributes[name] for name in kept if name in attributes}


def _check_facts(facts: dict[str, Any]) -> tuple[int, int, np.ndarray]:
    known = {"base_score", "num_class", "num_feature"}
    _check_keys(facts, known, {"boost_from_average", "num_target"})
    _check_texts(facts)
    n_features, n_groups = int(facts["num_feature"]), max(1, int(facts["num_class"]))
    require(n_features > 0 and n_groups <= 2**16, "XGBoost's model has no columns")
    require(facts.get("num_target", "1") == "1", "XGBoost's model has several targets")
    require(facts.get("boost_from_average", "1") in ("0", "1"), "XGBoost's settings are wrong")
    scores = np.atleast_1d(np.array(json.loads(facts["base_score"]), dtype=np.float64))
    fine = scores.shape in ((1,), (n_groups,)) and np.isfinite(scores).all()
    require(fine, "XGBoost's base score is wrong")
    return n_features, n_groups, scores


def _check_model(booster: dict[str, Any], n_features: int, n_groups: int) -> np.ndarray:
    """Check the trees; return the largest score that they can reach for each class."""
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
    require(
        fine and _integers(groups, len(trees)), "XGBoost's number of trees does not match its trees"
    )
    require(all(0 <= group < n_groups for group in groups), "XGBoost's tree belongs to no class")
    fine = isinstance(rounds, list) and _integers(rounds, len(rounds)) and sorted(rounds) == rounds
    fine = fine and len(rounds) > 0 and rounds[0] == 0 and rounds[-1] == len(trees)
    require(fine, "XGBoost's rounds do not match its trees")
    largest = np.zeros(n_groups)
    for number, tree in enumerate(trees):
        largest[groups[number]] += _check_tree(tree, number, n_features)
    return largest


def _check_tree(tree: dict[str, Any], number: int, n_features: int) -> float:
    """Check one tree; return its largest absolute leaf value."""
    _check_keys(tree, {*_INTEGERS, *_FLAGS, *_NUMBERS, *_EMPTY, "id", "tree_param"})
    require(type(tree["id"]) is int and tree["id"] == number, "XGBoost's tree has the wrong number")
    require(all(tree[name] == [] for name in _EMPTY), "XGBoost's tree has categories")
    facts = tree["tree_param"]
    _check_texts(facts)
    _check_keys(facts, {"num_deleted", "num_feature", "num_nodes", "size_leaf_vector"})
    n_nodes = int(facts["num_nodes"])
    require(facts["size_leaf_vector"] in ("0", "1"), "XGBoost's leaf has several values")
    require(int(facts["num_feature"]) == n_features, "XGBoost's tree does not match the columns")
    require(0 <= int(facts["num_deleted"]) < n_nodes, "XGBoost's tree has no nodes")
    for name in (*_INTEGERS, *_FLAGS):
        require(_integers(tree[name], n_nodes), f"XGBoost's tree has wrong {name}")
    for name in _NUMBERS:
        values = np.array(tree[name], dtype=np.float64)
        fine = values.shape == (n_nodes,) and (np.abs(values) <= np.finfo(np.float32).max).all()
        require(fine, f"XGBoost's tree has wrong {name}")
        tree[name] = values.tolist()
    require(not any(tree["split_type"]), "XGBoost's tree splits categories")
    require(set(tree["default_left"]) <= {0, 1}, "XGBoost's tree has an invalid default direction")
    _check_nodes(n_features, *(np.array(tree[name], dtype=np.int64) for name in _INTEGERS))
    leaves = np.array(tree["left_children"]) == -1
    return float(np.abs(np.array(tree["split_conditions"])[leaves]).max(initial=0.0))


def _check_nodes(n_features: int, left, right, parents, feature) -> None:
    leaf = left == -1
    require((leaf == (right == -1)).all(), "XGBoost's node has one child")
    check_children(left, right, leaf, [0], "XGBoost's tree")
    inner = np.flatnonzero(~leaf)
    above = (parents[left[inner]] == inner) & (parents[right[inner]] == inner)
    known = ((parents >= 0) & (parents < len(leaf))) | (parents == NO_PARENT)
    require(above.all() and known.all(), "XGBoost's node has the wrong parent")
    require(
        ((feature >= 0) & (feature < n_features)).all(),
        "XGBoost cuts along a column that does not exist",
    )
