import numpy as np
import pandas as pd
import pytest

from jarf.bench import DatasetError, Table, dataset_names, get_dataset, load_table
from jarf.bench import register_dataset as register
from jarf.bench._catalog import CLASSIFICATION, EMBEDDED, REGRESSION, SIMULATED
from jarf.bench._datasets import Dataset


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"a": rng.normal(size=20), "b": list("xy") * 10, "target": ["no"] * 12 + ["yes"] * 8}
    )


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("JARF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JARF_DATA", raising=False)


def small(**facts):
    known = {"n_rows": 20, "n_features": 2, "class_counts": {"0": 12, "1": 8}}
    return Dataset("small", "classification", **{**known, **facts})


def test_the_study_has_its_datasets():
    assert (len(CLASSIFICATION), len(REGRESSION), len(SIMULATED)) == (15, 5, 12)
    assert set(CLASSIFICATION + REGRESSION + SIMULATED + EMBEDDED) <= set(dataset_names())
    for name in CLASSIFICATION:
        dataset = get_dataset(name)
        assert sum(dataset.class_counts.values()) == dataset.n_rows
        assert dataset.licence


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_data_need_no_file(name):
    table = load_table(get_dataset(name))
    assert table.X.shape == (get_dataset(name).n_rows, get_dataset(name).n_features)
    assert not table.partial


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_of_the_data_folder(frame, tmp_path, ending):
    path = tmp_path / f"small.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    table = load_table(small(), tmp_path)
    assert table.source == path.name
    assert list(table.X) == ["a", "b"]
    assert sorted(set(table.y)) == ["no", "yes"]


def test_environment_variable_names_the_folder(frame, tmp_path, monkeypatch):
    frame.to_csv(tmp_path / "small.csv", index=False)
    monkeypatch.setenv("JARF_DATA", str(tmp_path))
    assert load_table(small()).source == "small.csv"


def test_fewer_rows_are_partial(frame, tmp_path):
    frame.iloc[::2].to_csv(tmp_path / "small.csv", index=False)
    assert load_table(small(), tmp_path).partial


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"n_rows": 19}, "20 rows where 19"),
        ({"n_features": 3}, "2 columns where 3"),
        ({"class_counts": {"0": 10, "1": 10}}, "class counts"),
        ({"class_counts": {"0": 10, "1": 5, "2": 5}}, "2 classes where 3"),
    ],
)
def test_other_facts_are_refused_with_the_reason(frame, tmp_path, facts, reason):
    frame.to_csv(tmp_path / "small.csv", index=False)
    with pytest.raises(DatasetError, match=reason):
        load_table(small(**facts), tmp_path)


def test_no_target_column(frame, tmp_path):
    frame.drop(columns="target").to_csv(tmp_path / "small.csv", index=False)
    with pytest.raises(DatasetError, match="no column named 'target'"):
        load_table(small(), tmp_path)


def test_missing_targets(frame, tmp_path):
    frame.loc[3, "target"] = None
    frame.to_csv(tmp_path / "small.csv", index=False)
    with pytest.raises(DatasetError, match="1 rows have no target"):
        load_table(small(), tmp_path)


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "small.parquet").write_bytes(b"not parquet")
    with pytest.raises(DatasetError, match=r"small\.parquet cannot be read"):
        load_table(small(), tmp_path)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_damaged_files_are_refused_or_read_as_a_table(frame, tmp_path, ending):
    path = tmp_path / f"small.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    content, refused = path.read_bytes(), 0
    rng = np.random.default_rng(0)
    for attempt in range(150):
        damaged = bytearray(content)
        if attempt % 3:
            damaged[rng.integers(len(content))] ^= 1 << rng.integers(8)
        else:
            del damaged[rng.integers(len(content)) :]
        path.write_bytes(damaged)
        try:
            table = load_table(small(), tmp_path)
        except DatasetError:
            refused += 1
        else:
            assert table.X.shape[1] == 2
            assert len(table.X) == len(table.y) <= 20
    assert refused > 20


@pytest.mark.parametrize("name", ["../secret", "a/b", "", ".hidden", "a b"])
def test_names_cannot_leave_the_folder(name):
    with pytest.raises(ValueError, match="a dataset name may hold"):
        register(name, "classification")


@pytest.mark.posix
def test_links_out_of_the_folder_are_not_followed(frame, tmp_path):
    inside = tmp_path / "data"
    inside.mkdir()
    frame.to_csv(tmp_path / "elsewhere.csv", index=False)
    (inside / "small.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(DatasetError, match="no file small"):
        load_table(small(), inside)


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(DatasetError, match="does not exist"):
        load_table(small(), tmp_path / "nowhere")


def test_download_is_kept_with_a_checksum(frame, tmp_path):
    calls = []

    def fetch(dataset, cache):
        calls.append(dataset.openml_id)
        return frame[["a", "b"]], frame["target"]

    dataset = small(openml_id=7)
    assert load_table(dataset, fetch=fetch).source == "OpenML 7"
    assert load_table(dataset, fetch=fetch).source == "small.parquet"
    assert calls == [7]
    stored = tmp_path / "cache" / "small.parquet"
    frame.iloc[:10].to_parquet(stored)
    with pytest.raises(DatasetError, match="does not match its checksum"):
        load_table(dataset, fetch=fetch)
    stored.write_bytes(b"PAR1 is not read before its checksum is")
    with pytest.raises(DatasetError, match="does not match its checksum"):
        load_table(dataset, fetch=fetch)


def test_offline_is_tried_again_and_then_explained(monkeypatch):
    monkeypatch.setattr("jarf.bench._loading.time.sleep", lambda seconds: None)
    calls = []

    def fetch(dataset, cache):
        calls.append(dataset.openml_id)
        raise OSError("no network")

    with pytest.raises(DatasetError, match="no network") as error:
        load_table(small(openml_id=7), fetch=fetch)
    assert len(calls) == 3
    assert "JARF_DATA" in str(error.value)


def test_registering_and_looking_up():
    dataset = register("my-own", "regression", load=lambda: Table(pd.DataFrame({"a": [1]}), [1.0]))
    assert get_dataset("my-own") is dataset
    with pytest.raises(KeyError, match="unknown dataset 'nope'"):
        get_dataset("nope")
    with pytest.raises(ValueError, match="task must be"):
        register("other", "clustering")
