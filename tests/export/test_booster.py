import json
from copy import deepcopy

import numpy as np
import pytest

from jarf import JARFClassifier
from jarf.export import load, save
from jarf.export._booster import checked_booster
from jarf.export._members import UnsoundFile, read_members, write_members

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
    booster.load_model(bytearray(checked_booster(json.dumps(content).encode())))
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
]


@pytest.mark.parametrize("change", CHANGES)
def test_spoiled_boosters_are_refused(content, change):
    spoiled = deepcopy(content)
    change(spoiled["learner"], spoiled["learner"]["gradient_booster"]["model"]["trees"][0])
    with pytest.raises(UnsoundFile):
        checked_booster(json.dumps(spoiled).encode())


@pytest.mark.parametrize("text", ["{}", "[]", '{"learner": NaN, "version": [1, 2, 3]}'])
def test_other_json_is_refused(text):
    with pytest.raises(UnsoundFile):
        checked_booster(text.encode())


def test_a_file_with_a_spoiled_booster_is_refused(model, content, tmp_path):
    path = tmp_path / "model"
    save(model, path)
    manifest, members = read_members(path, 2**30, None)
    name = manifest["model"]["state"]["estimator_"]["state"]["booster"]["bytes"]
    spoiled = deepcopy(content)
    spoiled["learner"]["gradient_booster"]["model"]["trees"][0]["parents"][1] = -1
    members = {**members, name: json.dumps(spoiled).encode()}
    write_members(path, {"model": manifest["model"]}, members)
    with pytest.raises(ValueError, match="another parent"):
        load(path)
