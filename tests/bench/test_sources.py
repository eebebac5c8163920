import gzip

import numpy as np
import pandas as pd
import pytest

from jarf.bench import TableError, _csv
from jarf.bench._csv import CsvFormat
from jarf.bench._sources import open_source

FRAME = pd.DataFrame(
    {
        "n": np.arange(50),
        "x": np.linspace(0, 1, 50),
        "kind": [f"k{i % 3}, or so" for i in range(50)],
        "gap": [None if i % 5 == 0 else "v" for i in range(50)],
    }
)


def write(path, frame=FRAME):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.fixture(params=["t.csv", "t.tsv", "t.parquet", "memory"])
def source(request, tmp_path):
    if request.param == "memory":
        return open_source(FRAME)
    return open_source(write(tmp_path / request.param))


def test_columns_and_rows_come_back(source, monkeypatch):
    monkeypatch.setattr(_csv, "CHUNK", 7)  # many parts
    assert source.columns == list(FRAME.columns)
    assert source.column("n").tolist() == list(range(50))
    some = np.array([0, 3, 20, 21, 49])
    part = source.rows(some, ["x", "n", "kind"])
    assert part.columns.tolist() == ["x", "n", "kind"]
    assert part["n"].tolist() == some.tolist()
    assert part["n"].dtype.kind == "i"
    assert part["x"].tolist() == pytest.approx(FRAME["x"][some].tolist())
    assert part["kind"].tolist() == FRAME["kind"][some].tolist()
    whole = source.rows(None, source.columns)
    assert whole["gap"].isna().sum() == 10
    assert len(whole) == 50


def test_separators_marks_and_compression(tmp_path):
    path = tmp_path / "semi.csv"
    path.write_text("\ufeffa;b\n1,5;?\n2,5;3\n", encoding="utf-8")
    source = open_source(path)
    assert source.columns == ["a", "b"]
    assert source.rows(None, ["a"])["a"].tolist() == [1.5, 2.5]
    assert source.column("b").isna().tolist() == [True, False]
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert open_source(packed).rows(None, ["b"])["b"].tolist() == [2]


def test_categories_survive_a_pick_from_parquet(tmp_path, monkeypatch):
    monkeypatch.setattr(_csv, "CHUNK", 4)
    frame = pd.DataFrame({"c": pd.Categorical(list("abcabcabca"))}, index=range(5, 15))
    source = open_source(write(tmp_path / "t.parquet", frame))
    assert source.columns == ["c"]
    assert source.rows(np.array([0, 5, 9]), ["c"])["c"].tolist() == ["a", "c", "a"]


def test_arrays_and_other_frames():
    assert open_source(np.zeros((3, 2))).columns == ["x0", "x1"]
    polars = pytest.importorskip("polars")
    source = open_source(polars.DataFrame({"a": [1, 2], "b": ["u", None]}))
    assert source.column("b").isna().tolist() == [False, True]
    with pytest.raises(TableError, match="two dimensions"):
        open_source(np.zeros(3))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, "there is no file"),
        ("empty.csv", b"", "is empty"),
        ("t.xlsx", b"x", "only CSV"),
        ("broken.parquet", b"not parquet", "cannot be read"),
        ("broken.csv", b'a,b\n"1,2\n', "cannot be read"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3,4\n", "cannot be read"),
        ("shifted.csv", b"a,b\n1,2,3\n1,2,3\n", "more fields than the header"),
        ("latin.csv", "a,b\né,1\n".encode("latin-1"), "--encoding cp1252"),
        ("twice.csv", b"a,b,a\n1,2,3\n", "'a' names more than one column"),
    ],
)
def test_bad_files_are_named(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for columns in (["a"], ["b"]):
        with pytest.raises(TableError, match=message):
            open_source(path).rows(None, columns)


def test_one_column_with_gaps_keeps_its_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n,y\n3,\n")
    assert open_source(path).column("a").isna().tolist() == [False, True, False]
    assert open_source(path).column("b").isna().tolist() == [False, False, True]


def test_two_columns_of_one_name_in_memory():
    frame = pd.DataFrame(np.zeros((2, 2)), columns=[1, "1"])
    with pytest.raises(TableError, match="'1' names more than one"):
        open_source(frame)


GERMAN = "Stadt;Preis;Datum;n\nKöln;1.234,5;01.02.2020;1.200\nUlm;2,25;03.02.2020;3\n;;;\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_a_german_file_is_read_as_it_is_meant(tmp_path, encoding):
    path = tmp_path / "t.csv"
    path.write_text(GERMAN, encoding=encoding)
    form = CsvFormat(encoding="cp1252" if encoding == "cp1252" else None)
    source = open_source(path, form=form)
    assert (source.format.sep, source.format.decimal) == (";", ",")
    for frame in (source.rows(None, source.columns), source.rows(np.arange(3), source.columns)):
        assert frame["Stadt"].tolist()[:2] == ["Köln", "Ulm"]
        assert frame["Preis"].tolist()[:2] == [1234.5, 2.25]
        assert frame["n"].tolist()[:2] == [1200, 3]
        assert frame["Datum"].tolist()[:2] == ["01.02.2020", "03.02.2020"]
        assert frame.iloc[2].isna().all()
    assert source.column("Preis").tolist()[:2] == [1234.5, 2.25]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a;b\n1,5;1.5\n", "'a' has decimal commas, column 'b' decimal points; choose"),
        ("a;b\n1,500;x\n2,250;y\n", "a decimal comma or a thousands separator; use --decimal"),
        ("a;b,c\n1;2,3\n", "';' separate the fields equally well; choose one with --sep"),
    ],
)
def test_ambiguous_files_ask_for_an_option(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(TableError, match=message):
        open_source(path)


def test_requested_formats_are_used(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,500;x\n2,250;y\n")
    comma = open_source(path, form=CsvFormat(decimal=","))
    assert comma.column("a").tolist() == [1.5, 2.25]
    point = open_source(path, form=CsvFormat(decimal="."))
    assert point.column("a").tolist() == ["1,500", "2,250"]  # read as thousands later
    assert open_source(path, form=CsvFormat(sep="|")).columns == ["a;b"]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"sep": ";;"}, "sep is one character"),
        ({"decimal": "x"}, "decimal is '.' or ','"),
        ({"sep": ",", "decimal": ","}, "they must differ"),
        ({"encoding": "klingon"}, "unknown encoding 'klingon'"),
    ],
)
def test_formats_that_make_no_sense(form, message):
    with pytest.raises(TableError, match=message):
        CsvFormat(**form)


def test_semicolons_with_decimal_points_and_quoted_separators(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a;b\n1.5;"x, y; z"\n2.25;"u, v"\n')
    source = open_source(path)
    assert source.rows(None, ["a"])["a"].tolist() == [1.5, 2.25]
    assert source.column("b").tolist() == ["x, y; z", "u, v"]


def test_a_header_alone(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n")
    source = open_source(path)
    assert source.columns == ["a", "b"]
    assert len(source.column("a")) == 0
