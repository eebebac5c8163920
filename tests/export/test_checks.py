"""Hostile arrays: files whose hashes are right, but whose trees would lead astray."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from jarf import JARFClassifier, SPORFClassifier
from jarf.export import load, save
from jarf.export._members import Budget, read_members, write_members
from jarf.inspection._models import answers

X = np.random.default_rng(0).normal(size=(120, 4))
Y = np.digitize(X[:, 0] + X[:, 1], [-1, 1])


def entries(value, path=()):
    """All arrays of a manifest, by the path that leads to them."""
    if isinstance(value, dict):
        if "array" in value:
            yield path, value
        for key, part in value.items():
            yield from entries(part, (*path, key))
    elif isinstance(value, list):
        named = value[0] if len(value) == 2 and isinstance(value[0], str) else "item"
        for part in value:
            yield from entries(part, (*path, named))


def array_of(entry, members):
    return np.frombuffer(members[entry["array"]], entry["dtype"]).reshape(entry["shape"]).copy()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    models = {
        "oblique": SPORFClassifier(2, random_state=0),
        "sklearn": JARFClassifier(RandomForestClassifier(2), random_state=0),
        "mapped": JARFClassifier(n_estimators=2, random_state=0),
    }
    for name, model in models.items():
        save(model.fit(X, Y), folder / name)
    return folder


def spoil(path, target, name, change):
    manifest, members = read_members(path, Budget())
    found = [entry for where, entry in entries(manifest["model"]) if {*name.split(".")} <= {*where}]
    assert found
    array = change(array_of(found[0], members))
    members = {**members, found[0]["array"]: array.tobytes()}
    write_members(target, {"model": manifest["model"]}, members)


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


def into_inner(column, value):
    """Write into a field of the first inner node of the engine's nodes."""

    def change(nodes):
        nodes[np.flatnonzero(nodes[:, 0] != -1)[0], column] = value
        return nodes

    return change


def wrapped(starts):
    """Starts whose differences are positive only because 32 bits overflow."""
    starts[1:3] = 2**31 - 1, -(2**31)
    return starts


@pytest.mark.parametrize(
    ("file", "name", "change"),
    [
        ("oblique", "nodes", into_inner(2, 0)),  # a cycle
        ("oblique", "nodes", into_inner(3, 10**6)),
        ("oblique", "nodes", into_inner(2, -5)),
        ("oblique", "nodes", into_inner(0, 4)),  # a column that is not there
        ("oblique", "nodes", into_inner(0, -(10**6))),
        ("oblique", "nodes", into_inner(1, np.float32(np.nan).view(np.int32))),
        ("oblique", "nodes", lambda nodes: np.where(nodes[:, :1] == -1, 10**6, nodes)),
        ("oblique", "roots", put(1, 1)),
        ("oblique", "roots", put(0, -1)),
        ("oblique", "starts", put(1, 10**6)),
        ("oblique", "features", put(0, 99)),
        ("oblique", "loadings", put(0, np.nan)),
        ("oblique", "values", put((0, 0), 7.0)),
        ("oblique", "values", put((-1, 0), np.inf)),
        ("oblique", "feature_scales_", put(0, np.nan)),
        ("oblique", "values", put((-1, slice(None)), [2.0, -1.0, 0.0])),  # no probabilities
        ("oblique", "forest_.weights", put(0, 0.0)),
        ("oblique", "starts", lambda starts: wrapped(starts)),
        ("sklearn", "left_child", put(0, 0)),
        ("sklearn", "right_child", put(0, 10**6)),
        ("sklearn", "left_child", put(0, -1)),
        ("sklearn", "feature", put(0, -3)),
        ("sklearn", "feature", put(0, 4)),
        ("sklearn", "threshold", put(0, np.nan)),
        ("sklearn", "sizes", put(0, 1)),
        ("sklearn", "sizes", put(0, -1)),
        ("sklearn", "values", put((0, 0, 0), np.nan)),
        ("sklearn", "values", put((slice(None), 0), [2.0, -1.0, 0.0])),  # no probabilities
        ("sklearn", "right_child", lambda right: np.where(right > 0, right - 1, right)),  # a DAG
        ("sklearn", "n_node_samples", put(0, -1)),
        ("sklearn", "weighted_n_node_samples", put(0, 0.0)),
        ("sklearn", "impurity", put(0, np.nan)),
        ("sklearn", "missing_go_to_left", put(0, 2)),
        ("mapped", "scale", put(0, 0.0)),
        ("mapped", "matrix", put((0, 0), np.nan)),
        ("mapped", "fill_values", put(0, np.nan)),
    ],
)
def test_spoiled_arrays_are_refused(files, tmp_path, file, name, change):
    spoil(files / file, tmp_path / "spoiled", name, change)
    with pytest.raises(ValueError, match="not a sound model file"):
        load(tmp_path / "spoiled")


def test_depths_are_counted_and_not_read(files, tmp_path):
    """scikit-learn's decision_path trusts a tree's depth and writes past an array."""
    manifest, members = read_members(files / "sklearn", Budget())
    trees = dict(manifest["model"]["state"]["estimator_"]["state"]["trees"]["dict"])
    assert "depths" not in trees
    loaded = load(files / "sklearn").estimator_
    for tree in loaded.estimators_:
        known = tree.tree_.compute_node_depths()
        assert tree.tree_.max_depth == known.max() - 1
    indicator, _ = loaded.decision_path(X)
    assert indicator.shape[0] == len(X)
    zeros = {"array": "data/zeros", "dtype": "int64", "shape": [2], "order": "C"}
    manifest["model"]["state"]["estimator_"]["state"]["trees"]["dict"].append(["depths", zeros])
    write_members(
        tmp_path / "old", {"model": manifest["model"]}, {**members, "data/zeros": bytes(16)}
    )
    with pytest.raises(ValueError, match="trees with other fields"):
        load(tmp_path / "old")


def test_sizes_whose_sum_overflows_are_refused(files, tmp_path):
    """Four times 2**62 is zero: np.repeat would write past an array."""
    manifest, members = read_members(files / "sklearn", Budget())
    trees = dict(manifest["model"]["state"]["estimator_"]["state"]["trees"]["dict"])
    sizes = array_of(trees["sizes"], members)
    sizes = np.concatenate([sizes, np.full(4, 2**62)])
    trees["sizes"]["shape"] = [len(sizes)]
    spoiled = {**members, trees["sizes"]["array"]: sizes.tobytes()}
    write_members(tmp_path / "spoiled", {"model": manifest["model"]}, spoiled)
    with pytest.raises(ValueError, match="a forest without trees"):
        load(tmp_path / "spoiled")


@pytest.mark.parametrize("name", ["sizes", "values", "left_child", "feature", "threshold"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "uint64", "bool"])
def test_members_of_another_type_are_refused(files, tmp_path, name, dtype):
    manifest, members = read_members(files / "sklearn", Budget())
    trees = dict(manifest["model"]["state"]["estimator_"]["state"]["trees"]["dict"])
    array = array_of(trees[name], members)
    if array.dtype == dtype:
        return
    trees[name]["dtype"] = dtype
    with np.errstate(invalid="ignore"):
        spoiled = {**members, trees[name]["array"]: array.astype(dtype).tobytes()}
    write_members(tmp_path / "spoiled", {"model": manifest["model"]}, spoiled)
    with pytest.raises(ValueError, match="not a sound model file"):
        load(tmp_path / "spoiled")


@pytest.mark.parametrize("file", ["oblique", "sklearn", "mapped"])
def test_random_damage_is_refused_or_harmless(files, tmp_path, file):
    """Every model that loads can predict."""
    manifest, members = read_members(files / file, Budget())
    rng = np.random.default_rng(0)
    places = list(entries(manifest["model"]))
    for _ in range(150):
        _, entry = places[rng.integers(len(places))]
        array = array_of(entry, members)
        if array.size == 0:
            continue
        content = bytearray(array.tobytes())
        for _ in range(rng.integers(1, 4)):
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        spoiled = {**members, entry["array"]: bytes(content)}
        write_members(tmp_path / "spoiled", {"model": manifest["model"]}, spoiled)
        try:
            model = load(tmp_path / "spoiled")
        except ValueError:
            continue
        assert answers(model, X).shape == (len(X), 3)


@pytest.mark.parametrize("file", ["oblique", "sklearn", "mapped"])
def test_random_edits_of_the_manifest_are_refused_or_harmless(files, tmp_path, file):
    manifest, members = read_members(files / file, Budget())
    rng = np.random.default_rng(0)
    values = [None, -1, 10**12, "evil", [], {"dict": []}, {"float": "nan"}, True, {"tuple": [1]}]
    for _ in range(150):
        model = deepcopy(manifest["model"])
        holder = model["state"]
        for _ in range(rng.integers(1, 6)):
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = keys[rng.integers(len(keys))]
            if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.2:
                holder[key] = values[rng.integers(len(values))]
                break
            holder = holder[key]
        write_members(tmp_path / "edited", {"model": model}, members)
        try:
            loaded = load(tmp_path / "edited")
        except ValueError:
            continue
        assert len(answers(loaded, X)) == len(X)
