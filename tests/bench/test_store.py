import errno
import json
import os

import pytest

from jarf.bench import ResultStore, StoreError, read_rows

SETTINGS = {"name": "quick", "n_trees": 5}


def row(fold=0, **more):
    key = {"dataset": "d", "method": "m", "variant": "", "repeat": 0, "cap": 0, "seed": 0}
    return {**key, "fold": fold, "status": "ok", **more}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


def test_rows_come_back(folder):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0, metrics={"kappa": 0.5}))
        store.append(row(1))
    assert [r["fold"] for r in read_rows(folder)] == [0, 1]
    assert json.loads((folder / "run.json").read_text()) == SETTINGS


def test_a_key_is_stored_once(folder):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row())
        with pytest.raises(ValueError, match="already stored"):
            store.append(row(metrics={}))


@pytest.mark.parametrize("cut", range(1, 30, 4))
def test_a_half_written_line_is_ignored_and_repaired(folder, cut):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0))
        store.append(row(1))
    path = folder / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    assert [r["fold"] for r in read_rows(folder)] == [0]
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(1))
    assert [r["fold"] for r in read_rows(folder)] == [0, 1]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_garbage_lines_do_not_stop_reading(folder):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0))
    with (folder / "rows.jsonl").open("ab") as stream:
        stream.write(b'\x00\xff\n[1, 2]\n{"dataset": "d"}\n')
    assert len(read_rows(folder)) == 1


def test_a_folder_belongs_to_one_run(folder):
    ResultStore(folder, SETTINGS).close()
    with pytest.raises(StoreError, match="another n_trees"):
        ResultStore(folder, {**SETTINGS, "n_trees": 6})


def test_more_repeats_are_the_same_run(folder):
    ResultStore(folder, {**SETTINGS, "repeats": 1}).close()
    ResultStore(folder, {**SETTINGS, "repeats": 5}).close()
    assert json.loads((folder / "run.json").read_text())["repeats"] == 5


def test_two_runs_at_once_are_refused(folder):
    pytest.importorskip("fcntl")
    with (
        ResultStore(folder, SETTINGS),
        pytest.raises(StoreError, match="another run is writing"),
    ):
        ResultStore(folder, SETTINGS)


def test_environments_are_remembered_once(folder):
    for version in ("1", "1", "2"):
        ResultStore(folder, SETTINGS, {"jarf": version}).close()
    assert json.loads((folder / "environment.json").read_text()) == [{"jarf": "1"}, {"jarf": "2"}]


def test_forgetting_rows(folder):
    with ResultStore(folder, SETTINGS) as store:
        for fold in range(3):
            store.append(row(fold, status="error" if fold == 1 else "ok"))
        store.forget([key for key, r in store.rows.items() if r["status"] == "error"])
        store.append(row(1))
    assert sorted(r["fold"] for r in read_rows(folder)) == [0, 1, 2]
    assert {r["status"] for r in read_rows(folder)} == {"ok"}


def test_a_full_disk_is_explained_and_leaves_whole_lines(folder, monkeypatch):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0))

        def full(descriptor):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr("jarf.bench._store.os.fsync", full)
            with pytest.raises(StoreError, match=r"No space left on device.*--out"):
                store.append(row(1))
        store.append(row(1))
    assert (folder / "rows.jsonl").read_text().count("\n") == 2


def test_a_disk_that_fills_up_within_a_line(folder):
    resource = pytest.importorskip("resource")
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0))
        room = (folder / "rows.jsonl").stat().st_size + 40
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        try:
            with pytest.raises(StoreError, match="cannot write results"):
                store.append(row(1))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        store.append(row(2))
    lines = (folder / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line)["fold"] for line in lines] == [0, 2]


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write results"):
        ResultStore(tmp_path / "file" / "results", SETTINGS)


def test_no_results(tmp_path):
    with pytest.raises(StoreError, match="holds no results"):
        read_rows(tmp_path)
