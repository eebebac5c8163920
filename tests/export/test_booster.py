import json
from copy import deepcopy

import numpy as np
import pytest

from jarf import JARFClassifier, JARFRegressor
from jarf.export import load, save
from jarf.export._booster import checked_booster
from jarf.export._members import Budget, UnsoundFile, read_members, write_members

xgboost = pytest.importorskip("xgboost")
X = np.random.default_rng(0).normal(size=(120, 4))
Y = np.digitize(X[:, 0] + X[:, 1], [-1, 1])


@pytest.fixture(scope="module")
def model():
    final = xgboost.XGBClassifier(n_estimators=2, max_depth=3, n_jobs=1)
    return JARFClassifier(final, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def content(model):
    return json.loads(bytes(model.estimator_.get_booster().save_raw("json")))


def test_a_sound_booster_is_the_same_afterwards(model, content):
    booster = xgboost.Booster()
    booster.load_model(bytearray(checked_booster(json.dumps(content).encode(), True)))
    mapped = xgboost.DMatrix(model.preconditioner_.transform(X))
    known = model.estimator_.get_booster().predict(mapped)
    np.testing.assert_array_equal(booster.predict(mapped), known)


CHANGES = [
    lambda learner, tree: tree["left_children"].__setitem__(0, 0),
    lambda learner, tree: tree["right_children"].__setitem__(0, 10**6),
    lambda learner, tree: tree["split_indices"].__setitem__(0, 77),
    lambda learner, tree: tree["parents"].__setitem__(1, -1),
    lambda learner, tree: tree["split_conditions"].pop(),
    lambda learner, tree: tree["split_conditions"].__setitem__(0, 1e300),
    lambda learner, tree: tree["split_type"].__setitem__(0, 1),
    lambda learner, tree: tree["default_left"].__setitem__(0, 7),
    lambda learner, tree: tree["categories_nodes"].append(1),
    lambda learner, tree: tree["tree_param"].update(size_leaf_vector="-1"),
    lambda learner, tree: tree["tree_param"].update(num_nodes="1000000000"),
    lambda learner, tree: tree.update(id=7),
    lambda learner, tree: tree.update(evil=1),
    lambda learner, tree: learner["gradient_booster"].update(name="dart"),
    lambda learner, tree: learner["gradient_booster"]["model"]["tree_info"].append(5),
    lambda learner, tree: learner["gradient_booster"]["model"]["tree_info"].__setitem__(0, 3),
    lambda learner, tree: learner["gradient_booster"]["model"]["iteration_indptr"].append(9),
    lambda learner, tree: learner["learner_model_param"].update(num_feature="3"),
    lambda learner, tree: learner["learner_model_param"].update(base_score="[1, 2]"),
    lambda learner, tree: learner["feature_names"].append("x"),
    lambda learner, tree: learner["objective"].update(name="reg:squarederror"),
    lambda learner, tree: learner["objective"].update(name="multi:softmax"),
    lambda learner, tree: learner["objective"].update(name="binary:logistic"),
    lambda learner, tree: learner["objective"].update(name=["multi:softprob"]),
    lambda learner, tree: learner["objective"].update(evil={"x": "1"}),
    lambda learner, tree: learner["objective"]["softmax_multiclass_param"].update(num_class="1000"),
    lambda learner, tree: learner["objective"]["softmax_multiclass_param"].update(num_class="nan"),
    lambda learner, tree: learner["learner_model_param"].update(base_score="[3e38, 0, 0]"),
    lambda learner, tree: tree.update(split_conditions=[3e38] * len(tree["split_conditions"])),
    lambda learner, tree: learner["attributes"].update(best_iteration="99"),
    lambda learner, tree: learner["attributes"].update(best_iteration="-1"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_spoiled_boosters_are_refused(content, change):
    spoiled = deepcopy(content)
    change(spoiled["learner"], spoiled["learner"]["gradient_booster"]["model"]["trees"][0])
    with pytest.raises(ValueError):  # noqa: PT011
        checked_booster(json.dumps(spoiled).encode(), True)


@pytest.mark.parametrize("score", ["[1.5E0]", "[0E0]", "[-1E0]"])
def test_base_scores_outside_zero_and_one_are_refused(score):
    model = xgboost.XGBClassifier(n_estimators=1, max_depth=1).fit(X, Y > 0)
    content = json.loads(bytes(model.get_booster().save_raw("json")))
    assert checked_booster(json.dumps(content).encode(), True)
    content["learner"]["learner_model_param"]["base_score"] = score
    with pytest.raises(UnsoundFile, match="outside the range"):
        checked_booster(json.dumps(content).encode(), True)


OBJECTIVES = ["reg:squarederror", "reg:squaredlogerror", "reg:absoluteerror", "reg:gamma"]
OBJECTIVES += ["reg:pseudohubererror", "reg:quantileerror", "count:poisson", "reg:tweedie"]


@pytest.mark.parametrize("objective", [*OBJECTIVES, "reg:logistic"])
def test_objectives_of_regressors_are_kept(objective, tmp_path):
    final = xgboost.XGBRegressor(objective=objective, n_estimators=2, max_depth=2, n_jobs=1)
    if objective == "reg:quantileerror":
        final.set_params(quantile_alpha=0.5)
    model = JARFRegressor(final, random_state=0).fit(X, 1 / (1 + X[:, 0] ** 2))
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_an_objective_without_probabilities_is_not_saved(tmp_path):
    final = xgboost.XGBClassifier(objective="multi:softmax", n_estimators=1, n_jobs=1)
    model = JARFClassifier(final, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="cannot be saved: XGBoost's objective 'multi:softmax'"):
        save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("text", ["{}", "[]", '{"learner": NaN, "version": [1, 2, 3]}'])
def test_other_json_is_refused(text):
    with pytest.raises(UnsoundFile):
        checked_booster(text.encode(), True)


def test_a_file_with_a_spoiled_booster_is_refused(model, content, tmp_path):
    path = tmp_path / "model"
    save(model, path)
    manifest, members = read_members(path, Budget())
    name = manifest["model"]["state"]["estimator_"]["state"]["booster"]["bytes"]
    spoiled = deepcopy(content)
    spoiled["learner"]["gradient_booster"]["model"]["trees"][0]["parents"][1] = -1
    members = {**members, name: json.dumps(spoiled).encode()}
    write_members(path, {"model": manifest["model"]}, members)
    with pytest.raises(ValueError, match="wrong parent"):
        load(path)


@pytest.mark.parametrize("verbosity", [-1, 3, 2**31 - 1])
def test_a_file_does_not_change_settings_of_the_whole_process(model, verbosity, tmp_path):
    path, before = tmp_path / "model", xgboost.get_config()
    save(model, path)
    manifest, members = read_members(path, Budget())
    for pair in manifest["model"]["state"]["estimator_"]["state"]["params"]["dict"]:
        if pair[0] == "verbosity":
            pair[1] = verbosity
    write_members(path, {"model": manifest["model"]}, members)
    try:
        np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
        assert xgboost.get_config() == before
    finally:
        xgboost.set_config(**before)
