"""Downloads from a local server that implements OpenML's API."""

import hashlib
import http.server
import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from urllib.parse import urlparse

import pytest
import sklearn.datasets._openml as client

from jarf.bench import DatasetError, load_table
from jarf.bench._datasets import Dataset

LEVELS = ["x", "y"]
LINES = [f"{0.5 * i},{LEVELS[i % 2]},{'no' if i < 12 else 'yes'}" for i in range(20)]
ARFF = "\n".join(
    [
        *("@relation small", "@attribute a numeric", "@attribute b {x,y}"),
        *("@attribute class {no,yes}", "@data", *LINES, ""),
    ]
).encode()
FEATURES = [
    {"index": str(i), "name": name, "data_type": kind, "is_target": str(name == "class").lower()}
    | {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
    | ({"nominal_value": levels} if levels else {})
    for i, (name, kind, levels) in enumerate(
        [("a", "numeric", None), ("b", "nominal", LEVELS), ("class", "nominal", ["no", "yes"])]
    )
]
DATASET = Dataset(
    "small", "classification", n_rows=20, n_features=2, class_counts={"0": 12, "1": 8}, openml_id=7
)


class OpenML:
    """The answers, how often each was asked for, and what is wrong with them."""

    def __init__(self):
        self.asked = []
        self.faults = {}  # part of a path -> list of faults, used up one by one
        about = {
            "id": "7",
            "name": "small",
            "version": "1",
            "status": "active",
            "format": "ARFF",
            "description": "made up",
            "file_id": "70",
            "url": "https://www.openml.org/data/v1/download/70/small.arff",
            "md5_checksum": hashlib.md5(ARFF).hexdigest(),
        }
        qualities = [{"name": "NumberOfInstances", "value": "20"}]
        self.bodies = {
            "data/7": json.dumps({"data_set_description": about}).encode(),
            "features/7": json.dumps({"data_features": {"feature": FEATURES}}).encode(),
            "qualities/7": json.dumps({"data_qualities": {"quality": qualities}}).encode(),
            "download/70": ARFF,
        }

    def answer(self, path):
        """Status, body and promised length."""
        self.asked.append(path)
        name = next((name for name in self.bodies if name in path), None)
        if name is None:
            return 404, b"", 0
        body, faults = self.bodies[name], self.faults.get(name, [])
        fault = faults.pop(0) if faults else ""
        if fault == "500":
            return 500, b"", 0
        if fault == "cut off":
            return 200, body[: len(body) // 2], len(body)
        if fault == "changed":
            return 200, body.replace(b"0.5", b"0.7"), len(body)
        return 200, body, len(body)


@contextmanager
def serving(openml):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, body, length = openml.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def openml(monkeypatch, tmp_path):
    """scikit-learn's client, sent to a server on loopback instead of www.openml.org."""
    monkeypatch.setenv("JARF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JARF_DATA", raising=False)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    found = OpenML()
    with serving(found) as address:

        def elsewhere(request, *arguments, **words):
            path = urlparse(getattr(request, "full_url", request)).path
            return urllib.request.urlopen(address + path, timeout=120)

        monkeypatch.setattr(client, "urlopen", elsewhere)
        yield found


def test_a_dataset_is_downloaded_checked_and_kept(openml):
    table = load_table(DATASET)
    assert table.source == "OpenML 7"
    assert table.X["a"].tolist() == [0.5 * i for i in range(20)]
    assert table.X["b"].tolist() == LEVELS * 10
    assert table.y.tolist() == ["no"] * 12 + ["yes"] * 8
    asked = len(openml.asked)
    assert load_table(DATASET).source == "small.parquet"
    assert len(openml.asked) == asked


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("download/70", ["500", "500"]),
        ("data/7", ["500"]),
        ("download/70", ["cut off"]),
        ("download/70", ["changed", "changed", "changed"]),
        ("features/7", ["cut off"]),
    ],
)
def test_temporary_failures_are_retried(openml, name, faults):
    openml.faults[name] = list(faults)
    assert load_table(DATASET).source == "OpenML 7"
    assert sum(name in path for path in openml.asked) == len(faults) + 1


@pytest.mark.parametrize("fault", ["changed", "cut off"])
def test_a_wrong_checksum_is_refused_and_nothing_is_kept(openml, tmp_path, fault):
    openml.faults["download/70"] = [fault] * 20
    with pytest.raises(DatasetError, match=r"could not be downloaded.*checksum"):
        load_table(DATASET)
    assert not (tmp_path / "cache" / "small.parquet").exists()


def test_an_unknown_id_and_facts_that_disagree(openml):
    with pytest.raises(DatasetError, match=r"OpenML 8 could not be downloaded.*404"):
        load_table(Dataset("other", "classification", openml_id=8))
    wrong = Dataset("wrong", "classification", n_rows=20, n_features=3, openml_id=7)
    with pytest.raises(DatasetError, match="2 columns where 3 are registered"):
        load_table(wrong)


def test_no_network_is_explained_in_one_sentence(openml, monkeypatch):
    def refuse(*arguments, **words):
        openml.asked.append("refused")
        raise urllib.error.URLError("Network is unreachable")

    monkeypatch.setattr(client, "urlopen", refuse)
    with pytest.raises(DatasetError, match="Network is unreachable") as error:
        load_table(DATASET)
    assert "JARF_DATA" in str(error.value)
    assert len(openml.asked) == 4  # scikit-learn's three retries; ours would only wait
