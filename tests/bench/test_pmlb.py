"""Public tables: the registry, SRBench's protocol and figures, files and downloads."""

import dataclasses
import gzip
import hashlib

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from jarf.bench import (
    BUDGETS,
    PMLB,
    SRBENCH,
    DatasetError,
    Protocol,
    dataset_names,
    get_dataset,
    load_table,
    make_split,
    published,
)
from jarf.bench._datasets import in_collection

ESL = "pmlb-1027_ESL"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("JARF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JARF_DATA", raising=False)
    monkeypatch.setattr("time.sleep", lambda seconds: None)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 9, size=(488, 4)), columns=list("abcd"))
    return frame.assign(d=frame["d"] > 4, target=rng.normal(size=488)).astype(float)


def test_the_registry_has_both_collections():
    tables = {name: get_dataset(name) for name in (*in_collection(SRBENCH), *in_collection(PMLB))}
    assert (len(in_collection(SRBENCH)), len(in_collection(PMLB))) == (117, 55)
    assert len(dataset_names()) == len(set(dataset_names()))
    assert sum(not table.facts["newest"] for table in tables.values()) == 20
    assert all((t.protocol is None) == (t.task == "classification") for t in tables.values())
    assert get_dataset(ESL).label == "1027_ESL"
    assert get_dataset("diabetes").task == "regression"  # scikit-learn's, not PMLB's


def test_published_medians_cover_the_registered_tables():
    facts = published()
    assert (len(facts.methods), len(facts.symbolic), len(facts.r2)) == (21, 14, 122)
    assert len(facts.friedman) == 62
    assert {get_dataset(name).label for name in in_collection(SRBENCH)} <= set(facts.r2)
    assert facts.r2["1027_ESL"]["AIFeynman"] == 0.64558
    missing = [table for table, line in facts.r2.items() if "AIFeynman" not in line]
    assert len(missing) == 15
    assert facts.seconds["1027_ESL"]["AdaBoost"] == pytest.approx(25.61)


def test_splits_are_those_of_srbench():
    protocol = get_dataset(ESL).protocol
    train, test = protocol.rows(488, 0)
    expected = train_test_split(np.arange(488), train_size=0.75, test_size=0.25, random_state=23654)
    assert np.array_equal(train, expected[0])
    assert np.array_equal(test, expected[1])
    assert len(protocol.seeds) == 10


def test_of_large_tables_training_rows_are_drawn_with_replacement():
    train, test = Protocol((7,), 0.75, max_rows=100).rows(200, 0)
    pool, rest = train_test_split(np.arange(200), train_size=0.75, test_size=0.25, random_state=7)
    drawn = np.random.RandomState(7).choice(np.arange(150), size=100)  # as np.random.seed(7)
    assert np.array_equal(train, pool[drawn])
    assert np.array_equal(test, rest)


def test_every_column_is_a_standardised_number(frame, tmp_path):
    (tmp_path / "pmlb" / "regression").mkdir(parents=True)
    frame.to_parquet(tmp_path / "pmlb" / "regression" / "1027_ESL.parquet")
    dataset = get_dataset(ESL)
    split = make_split(dataset, 3, 0, BUDGETS["full"], 0, tmp_path)
    rows = dataset.protocol.rows(488, 3)[0]
    assert split.numeric.all()  # also the column of two values
    expected = (frame.drop(columns="target") - frame.iloc[rows, :4].mean()).iloc[rows]
    expected /= frame.iloc[rows, :4].std(ddof=0)
    assert np.allclose(split.X_train, expected)
    assert (len(split.X_train), len(split.X_test)) == (366, 122)
    capped = dataclasses.replace(BUDGETS["quick"], train_cap=50, public_cap=40)
    split = make_split(dataset, 3, 0, capped, 0, tmp_path)
    assert (len(split.X_train), len(split.X_test)) == (50, 40)


@pytest.mark.parametrize(
    "place",
    ["pmlb/regression/1027_ESL", "1027_ESL", "1027_ESL/1027_ESL", "datasets/1027_ESL/1027_ESL"],
)
def test_folders_of_several_kinds(frame, tmp_path, place):
    path = tmp_path / f"{place}.tsv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, sep="\t", index=False)
    table = load_table(get_dataset(ESL), tmp_path)
    assert table.source == "1027_ESL.tsv.gz"
    assert np.allclose(table.y, frame["target"])


def served(frame, tmp_path, newest=True, content=None):
    """A registered table whose download is a file of this machine."""
    content = content or gzip.compress(frame.to_csv(sep="\t", index=False).encode(), mtime=0)
    path = tmp_path / "served.tsv.gz"
    path.write_bytes(content)
    return dataclasses.replace(
        get_dataset(ESL),
        url=path.as_uri(),
        sha256=hashlib.sha256(content).hexdigest(),
        facts={"newest": newest},
    )


def test_a_table_is_downloaded_and_kept(frame, tmp_path):
    dataset = served(frame, tmp_path)
    assert load_table(dataset).source == "PMLB"
    (tmp_path / "served.tsv.gz").unlink()
    assert load_table(dataset).source == f"{ESL}.parquet"


def test_a_changed_download_is_refused_where_the_registered_file_is_the_newest(frame, tmp_path):
    dataset = dataclasses.replace(served(frame, tmp_path), sha256="0" * 64)
    with pytest.raises(DatasetError, match=r"PMLB could not be downloaded.*registered is 000"):
        load_table(dataset)
    older = dataclasses.replace(dataset, facts={"newest": False})
    assert load_table(older).source == "PMLB"


def test_broken_and_missing_downloads_are_explained(frame, tmp_path):
    whole = gzip.compress(frame.to_csv(sep="\t", index=False).encode())
    for content in (whole[:-20], b"version https://git-lfs.github.com/spec/v1\n"):
        with pytest.raises(DatasetError, match=r"pmlb/regression/1027_ESL\.parquet or \.csv"):
            load_table(served(frame, tmp_path, content=content))
    gone = dataclasses.replace(get_dataset(ESL), url=(tmp_path / "none").as_uri())
    with pytest.raises(DatasetError, match="URLError"):
        load_table(gone)


def test_the_shape_must_be_that_of_the_registry(frame, tmp_path):
    dataset = served(frame.drop(columns="a"), tmp_path)
    with pytest.raises(DatasetError, match="3 columns where 4 are registered"):
        load_table(dataset)
