import errno
import gzip
import json
import os
import zlib

import pytest

from jarf._files import atomic_write
from jarf.bench import ResultRow, ResultStore, StoreError, load_rows, read_rows

SETTINGS = {"name": "quick", "n_trees": 5}


def plain(fold=0, **more):
    key = {"dataset": "d", "method": "m", "variant": "", "repeat": 0, "cap": 0, "seed": 0}
    return {**key, "fold": fold, "status": "ok", **more}


def row(fold=0, **more):
    return ResultRow.from_dict(plain(fold, **more))


def signed(text):
    """A line with a checksum that fits, whatever it holds."""
    head = text.rstrip("}")
    return f'{head},"crc":"{zlib.crc32(head.encode()):08x}"}}'.encode()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


def test_rows_come_back(folder):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0, metrics={"kappa": 0.5}))
        store.append(row(1))
    assert [r.fold for r in load_rows(folder)] == [0, 1]
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
    assert [r.fold for r in load_rows(folder)] == [0]
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(1))
    assert [r.fold for r in load_rows(folder)] == [0, 1]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def pack(folder):
    path = folder / "rows.jsonl"
    packed = folder / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return packed


def test_packed_rows_are_read_and_continued(folder):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0))
    packed = pack(folder)
    before = packed.read_bytes()
    assert load_rows(folder) == [row(0)]
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(1))
    assert [r.fold for r in load_rows(folder)] == [0, 1]
    assert packed.read_bytes() == before


def test_packed_rows_that_are_damaged_or_too_large_are_refused(folder, monkeypatch):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0))
    packed = pack(folder)
    content = packed.read_bytes()
    flipped = content[:20] + bytes([content[20] ^ 4]) + content[21:]
    for damaged in (content[:-9], b"no gzip", flipped):
        packed.write_bytes(damaged)
        for read in (load_rows, lambda folder: ResultStore(folder, SETTINGS)):
            with pytest.raises(StoreError, match="damaged"):
                read(folder)
            assert not (folder / "rows.jsonl").exists()
    packed.write_bytes(content)
    monkeypatch.setattr("jarf.bench._rows.MAX_UNPACKED", 10)
    with pytest.raises(StoreError, match="unpacks to more than 10 bytes"):
        load_rows(folder)


HOSTILE = [
    b"\x00\xff",
    b"",
    b"[1, 2]",
    b'{"dataset": "d"}',
    b"[" * 100_000,
    b"9" * 10_000,
    json.dumps(plain(7)).encode(),
    signed('{"dataset":"d"'),
    signed(json.dumps(plain(7, dataset=["d"]))),
    signed(json.dumps(plain("7"))),
    signed(json.dumps(plain(7, metrics=[1]))),
    signed(json.dumps(plain(7, seconds=True))),
    signed(json.dumps(plain(7, unknown=1))),
    signed(json.dumps(plain(7, status="ok", error="<script>", times={"cpu": "<script>", "x": 1}))),
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_an_invalid_line_is_refused_by_number(folder, line):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0))
    path = folder / "rows.jsonl"
    before = path.read_bytes() + line + b"\n"
    path.write_bytes(before)
    for read in (load_rows, lambda folder: ResultStore(folder, SETTINGS)):
        with pytest.raises(StoreError, match="line 2 is damaged"):
            read(folder)
    assert path.read_bytes() == before


@pytest.mark.parametrize("change", ["removed", "CRLF", "space", "after", "other key"])
def test_a_changed_row_is_refused_whatever_its_tail(folder, change):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0, metrics={"kappa": 0.5}))
    path = folder / "rows.jsonl"
    line = path.read_bytes().replace(b"0.5", b"0.9")
    head, tail = line.rsplit(b',"crc"', 1)
    changed = {
        "removed": head + b"}\n",
        "CRLF": line.replace(b"\n", b"\r\n"),
        "space": line.replace(b"}\n", b" }\n"),
        "after": head + b',"crc"' + tail.replace(b"}\n", b',"x":1}\n'),
        "other key": head + b',"CRC"' + tail,
    }[change]
    path.write_bytes(changed)
    with pytest.raises(StoreError, match=r"line 1 is damaged.*missing or does not match"):
        load_rows(folder)


def test_windows_line_ends_are_named(folder):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0))
    path = folder / "rows.jsonl"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(StoreError, match="Windows line endings"):
        load_rows(folder)


@pytest.mark.parametrize("name", [".lock", "rows.jsonl", "run.json", "environment.json"])
@pytest.mark.parametrize("there", [True, False], ids=["a file", "nothing"])
def test_links_out_of_the_folder_are_not_written_through(folder, tmp_path, name, there):
    victim = tmp_path / "victim"
    if there:
        victim.write_text("precious")
    folder.mkdir()
    (folder / name).symlink_to(victim)
    with pytest.raises(StoreError, match=rf"{name} is a link"):
        ResultStore(folder, SETTINGS, {"jarf": "1"})
    assert victim.exists() == there
    if there:
        assert victim.read_text() == "precious"


def test_a_link_at_the_name_of_a_scratch_file_is_not_followed(folder, tmp_path):
    (tmp_path / "victim").write_text("precious")
    folder.mkdir()
    (folder / "run.json.part").symlink_to(tmp_path / "victim")
    ResultStore(folder, SETTINGS).close()
    assert (tmp_path / "victim").read_text() == "precious"


def test_leftovers_of_a_killed_replacement_are_removed(folder):
    folder.mkdir()
    with atomic_write(folder / "run.json", "w") as stream:
        (left,) = [path for path in folder.iterdir() if path.name.endswith(".part")]
        stream.write("{}")
    left.write_text("{")  # as if the process had been killed there
    (folder / "my.part").write_text("mine")
    ResultStore(folder, {}).close()
    assert sorted(path.name for path in folder.iterdir()) == [
        *(".lock", "environment.json", "my.part", "rows.jsonl", "run.json"),
    ]


def test_a_flipped_bit_never_changes_a_row(folder):
    with ResultStore(folder, SETTINGS) as store:
        for fold in range(4):
            store.append(row(fold, metrics={"kappa": 0.123456 * fold}))
    path, rows = folder / "rows.jsonl", load_rows(folder)
    content = path.read_bytes()
    refused = 0
    for bit in range(0, 8 * len(content), 3):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            found = load_rows(folder)
        except StoreError:
            refused += 1
            continue
        assert found == rows[:-1]  # it hit the end of the last line, which is then half
    assert refused > 0.95 * len(range(0, 8 * len(content), 3))


@pytest.mark.parametrize("name", ["run.json", "environment.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"7", b"[" * 100_000])
def test_damaged_settings_are_refused_by_name(folder, name, content):
    ResultStore(folder, SETTINGS, {"jarf": "1"}).close()
    (folder / name).write_bytes(content)
    with pytest.raises(StoreError, match=f"{name} is damaged"):
        ResultStore(folder, SETTINGS, {"jarf": "1"})


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
        store.forget([key for key, r in store.rows.items() if r.status == "error"])
        store.append(row(1))
    assert sorted(r.fold for r in load_rows(folder)) == [0, 1, 2]
    assert {r.status for r in load_rows(folder)} == {"ok"}


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


def test_a_full_disk_while_rows_are_dropped_loses_none(folder):
    resource = pytest.importorskip("resource")
    with ResultStore(folder, SETTINGS) as store:
        for fold in range(4):
            store.append(row(fold))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
        try:
            with pytest.raises(StoreError, match="cannot write results"):
                store.forget(list(store.rows)[:1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        store.append(row(4))
    assert [r.fold for r in load_rows(folder)] == [0, 1, 2, 3, 4]
    assert not list(folder.glob("*.part"))


def test_a_folder_that_cannot_be_created(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write results"):
        ResultStore(tmp_path / "file" / "results", SETTINGS)


def test_no_results(tmp_path):
    with pytest.raises(StoreError, match="holds no results"):
        load_rows(tmp_path)


def test_a_folder_that_became_read_only_keeps_its_rows(folder, monkeypatch):
    with ResultStore(folder, SETTINGS) as store:
        store.append(row(0))
    before = (folder / "rows.jsonl").read_bytes()

    def refuse(*arguments, **words):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("FileIO", "os.replace", "_lock"):
        with monkeypatch.context() as patch:
            patch.setattr(f"jarf.bench._store.{name}", refuse)
            with pytest.raises(StoreError, match=r"Read-only file system.*--out"):
                ResultStore(folder, SETTINGS, {"jarf": name})
    assert [r.fold for r in load_rows(folder)] == [0]
    assert (folder / "rows.jsonl").read_bytes() == before


def test_a_row_is_one_record():
    made = row(3, metrics={"kappa": 0.5}, n_train=7)
    assert made.key == ("d", "m", "", 0, 3, 0, 0)
    assert made.ok
    assert made.task is None
    assert ResultRow.from_dict(made.as_dict()) == made
    with pytest.raises(AttributeError):
        made.fold = 4
    with pytest.raises(ValueError, match=r"the field 'n_train' cannot be 1\.5"):
        row(n_train=1.5)
    with pytest.raises(ValueError, match="not the fields of a row"):
        ResultRow.from_dict({"dataset": "d"})


def test_rows_are_read_as_a_flat_typed_frame(folder):
    with ResultStore(folder, SETTINGS) as store:
        facts = {"task": "classification", "n_train": 7, "partial": False}
        times = {"cpu": 1.5, "surrogate": 0.25}
        extra = {"geometry": "axes", "surrogate": {"ece": 0.1}, "spectrum": [1.0]}
        more = {"versions": {"jarf": "0.1.0"}, "when": "2026-01-02T03:04:05Z", "seconds": 2.0}
        scores = {"kappa": 0.5, "own": 3.0}
        store.append(row(0, metrics=scores, times=times, extra=extra, **facts, **more))
        store.append(row(1, status="error", error="ValueError: no"))
    frame = read_rows(folder)
    kinds = {
        **dict.fromkeys(("repeat", "fold", "cap", "seed"), "int64"),
        **dict.fromkeys(("n_train", "n_rows", "d"), "Int64"),
        **dict.fromkeys(("kappa", "r2", "own", "time_cpu", "time_predict"), "float64"),
        "partial": "boolean",
        "surrogate_ece": "float64",
        "seconds": "float64",
    }
    assert {name: str(frame[name].dtype) for name in kinds} == kinds
    assert frame["fold"].tolist() == [0, 1]
    assert frame["status"].tolist() == ["ok", "error"]
    first = frame.iloc[0]
    assert (first["kappa"], first["own"], first["time_surrogate"]) == (0.5, 3.0, 0.25)
    assert (first["n_train"], first["extra_geometry"], first["version"]) == (7, "axes", "0.1.0")
    assert str(first["when"]) == "2026-01-02 03:04:05+00:00"
    assert frame.iloc[1][["kappa", "n_train", "partial", "when"]].isna().all()
    assert "extra_spectrum" not in frame


def test_a_folder_without_rows_has_the_same_columns(folder):
    ResultStore(folder, SETTINGS).close()
    empty = read_rows(folder)
    assert len(empty) == 0
    assert {"dataset", "kappa", "time_cpu", "when"} <= set(empty.columns)
