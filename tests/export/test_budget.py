"""Small files that need much memory: the limit counts what is built, not only what is read."""

import numpy as np
import pytest

from jarf import JARFClassifier, SPORFRegressor
from jarf.export import load, save
from jarf.export._codec import Reader
from jarf.export._members import Budget, UnsoundFile, read_members, write_members

MOST = 2**26


def refuse(name, state, budget):
    raise UnsoundFile(name)


def decode(value, **members):
    return Reader(members, refuse, Budget(MOST)).decode(value)


BOMBS = {
    "one wide text": {"texts": ["a" * 100_000] + ["b"] * 9_999, "shape": [10_000]},
    "a wide number": {"texts": [10**4000] + [1] * 9_999, "shape": [10_000]},
    "many shapes": [
        {"array": "zeros", "dtype": "uint8", "shape": [2**20, 1][::step], "order": order}
        for step in (1, -1)
        for order in "CF"
    ]
    + [
        {"array": "zeros", "dtype": "uint8", "shape": [2**k, 2 ** (20 - k)], "order": "C"}
        for k in range(1, 20)
    ],
    "many empty lists": [[]] * 10**6,
    "many tuples": [{"tuple": []}] * 10**6,
    "many dictionaries": [{"dict": []}] * 10**6,
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_built_objects_are_counted(bomb):
    members = {"zeros": bytes(2**20)}
    budget = Budget(2**24)
    with pytest.raises(UnsoundFile, match="max_bytes=16777216 of memory"):
        Reader(members, refuse, budget).decode(bomb)


def test_an_array_that_is_held_twice_is_counted_once():
    value = {"array": "zeros", "dtype": "uint8", "shape": [2**20], "order": "C"}
    one, two = Reader({"zeros": bytes(2**20)}, refuse, Budget(2**20 + 2**12)).decode([value] * 2)
    assert one is two


def test_an_empty_array_is_not_wide():
    with pytest.raises(UnsoundFile, match="is empty and of the shape"):
        decode({"array": "x", "dtype": "int8", "shape": [0, 2**40], "order": "C"}, x=b"")


def test_the_values_of_a_manifest_are_counted(tmp_path):
    write_members(tmp_path / "model", {"model": [{"": {}}] * 10**6}, {})
    with pytest.raises(ValueError, match="max_bytes=100000000 of memory"):
        load(tmp_path / "model", max_bytes=10**8)


def test_json_is_charged_at_least_its_memory():
    """Measured on shapes that are small as text and large as objects."""
    import json
    import tracemalloc

    for unit in ("[]", "{}", '{"":0}', '{"":{"":{"":{}}}}', '"ab"', "1.5", "999", "[[[]]]"):
        text = ("[" + ",".join([unit] * 20_000) + "]").encode()
        budget = Budget(2**40)
        budget.spend_json(text)
        tracemalloc.start()
        kept = json.loads(text)
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert len(kept) == 20_000
        assert 2**40 - budget.left >= taken, unit


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    from sklearn.ensemble import RandomForestClassifier

    folder = tmp_path_factory.mktemp("models")
    X = np.random.default_rng(0).normal(size=(100, 3))
    forest = JARFClassifier(RandomForestClassifier(2), random_state=0).fit(X, X[:, 0] > 0)
    save(forest, folder / "sklearn")
    save(SPORFRegressor(2, random_state=0).fit(X, X[:, 0]), folder / "ours")
    return folder


def test_many_trees_of_one_node_are_counted(saved, tmp_path):
    """A hundred thousand trees are few bytes in a file and many objects."""
    manifest, members = read_members(saved / "sklearn", Budget())
    trees = dict(manifest["model"]["state"]["estimator_"]["state"]["trees"]["dict"])
    n = 100_000
    for name, entry in trees.items():
        width = entry["shape"][1:]
        filler = {"left_child": -1, "right_child": -1, "feature": -2, "sizes": 1}.get(name, 0.5)
        if name in ("missing_go_to_left", "n_node_samples"):
            filler = 1
        array = np.full([n, *width], filler, entry["dtype"])
        entry["shape"] = [n, *width]
        members[entry["array"]] = array.tobytes()
    write_members(tmp_path / "many", {"model": manifest["model"]}, members)
    assert (tmp_path / "many").stat().st_size < 10**5
    with pytest.raises(ValueError, match="max_bytes=500000000 of memory"):
        load(tmp_path / "many", max_bytes=5 * 10**8)


def test_many_tables_of_one_array_are_counted(saved, tmp_path):
    """Each table makes arrays of its own from the fill values that all share."""
    manifest, members = read_members(saved / "ours", Budget())
    table = manifest["model"]["state"]["table_"]
    table["state"] |= {"filling": None, "parts": None}
    table["state"]["fill_values"]["shape"] = [10**5]
    members[table["state"]["fill_values"]["array"]] = bytes(8 * 10**5)
    manifest["model"]["state"]["stage_times_"] = {"dict": [[k, table] for k in range(1000)]}
    write_members(tmp_path / "many", {"model": manifest["model"]}, members)
    with pytest.raises(ValueError, match="max_bytes=500000000 of memory"):
        load(tmp_path / "many", max_bytes=5 * 10**8)


def test_columns_that_no_array_has_are_counted(saved, tmp_path):
    """The check of projections needs memory for every column that a forest claims to have."""
    manifest, members = read_members(saved / "ours", Budget())
    manifest["model"]["state"]["forest_"]["state"]["n_features"] = 2**31 - 1
    write_members(tmp_path / "wide", {"model": manifest["model"]}, members)
    with pytest.raises(ValueError, match="max_bytes=500000000 of memory"):
        load(tmp_path / "wide", max_bytes=5 * 10**8)


def test_sound_files_need_little(saved):
    for name in ("sklearn", "ours"):
        assert load(saved / name, max_bytes=2**20).n_features_in_ == 3
