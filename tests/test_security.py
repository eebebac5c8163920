"""Data cannot become code: no evaluation, no shell, safe pages and file names."""

import ast
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import jarf
from jarf.bench._rows import ResultRow, row_line
from jarf.report import build_report, headline_markdown, tables_markdown

SOURCE = Path(jarf.__file__).parent
FORBIDDEN = {
    *("eval", "exec", "__import__", "os.system", "os.popen", "os.execv", "os.spawnv"),
    *("pickle.load", "pickle.loads", "joblib.load", "marshal.loads", "shelve.open", "yaml.load"),
    *("subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_output"),
    *("ctypes.CDLL", "code.interact", "tempfile.mktemp"),
}


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {word.arg: word.value for word in node.keywords}


def test_no_evaluation_no_shell_no_pickle():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        for name, words in calls(ast.parse(path.read_text("utf-8"))):
            unsafe = words.get("shell") or words.get("allow_pickle")
            if name in FORBIDDEN or (unsafe is not None and ast.unparse(unsafe) != "False"):
                wrong.append(f"{path.relative_to(SOURCE)}: {name}")
            if name in ("np.load", "numpy.load") and "allow_pickle" not in words:
                wrong.append(f"{path.relative_to(SOURCE)}: {name} without allow_pickle=False")
    assert wrong == []


@pytest.mark.parametrize("line", ["eval('1')", "os.system('ls')", "np.load(f)", "f(shell=True)"])
def test_the_search_finds_what_it_looks_for(line, tmp_path, monkeypatch):
    (tmp_path / "bad.py").write_text(line)
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    with pytest.raises(AssertionError):
        test_no_evaluation_no_shell_no_pickle()


class Page(HTMLParser):
    """Counts what a browser would act on."""

    def __init__(self):
        super().__init__()
        self.found, self.scripts = [], 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        if tag in ("iframe", "object", "embed", "base", "img"):
            self.found.append(tag)
        for name, value in attrs:
            if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.found.append((tag, name, value))


EVIL = "\"'><svg onload=x></script><script>/../escaped"  # short, or figures have no room
KEPT = {"status", "task"}  # a run has no other words here


def poisoned(value):
    """The same with markup in every text."""
    if isinstance(value, str):
        return value and value + EVIL
    if isinstance(value, dict):
        return {k: v if k in KEPT else poisoned(v) for k, v in value.items()}
    return [poisoned(entry) for entry in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def poisoned_folder(results_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "results"
    folder.mkdir()
    lines = (results_folder / "rows.jsonl").read_text().splitlines()
    rows = [poisoned(json.loads(line)) for line in lines[:40] + lines[-1:]]
    for row in rows:
        del row["crc"]
    text = "".join(row_line(ResultRow.from_dict(row)) for row in rows)
    (folder / "rows.jsonl").write_text(text)
    for name in ("run.json", "environment.json"):
        value = json.loads((results_folder / name).read_text())
        (folder / name).write_text(json.dumps(poisoned(value)))
    build_report(folder)
    return folder


def test_pages_show_hostile_text_and_do_not_obey_it(poisoned_folder):
    page = Page()
    page.feed((poisoned_folder / "report" / "index.html").read_text("utf-8"))
    figures = list((poisoned_folder / "report" / "figures").glob("*.svg"))
    assert figures
    for figure in figures:
        page.feed(figure.read_text("utf-8"))
    assert (page.found, page.scripts) == ([], 1)
    for text in (headline_markdown(poisoned_folder), tables_markdown(poisoned_folder)):
        assert "&lt;script&gt;" in text
        page.feed(text)
    assert (page.found, page.scripts) == ([], 1)


def test_files_of_a_report_have_our_names(poisoned_folder):
    report = poisoned_folder / "report"
    ours = re.compile(r"(figures|tables)?/?[a-z0-9-]*(\.[a-z]+)?")
    written = [path.relative_to(report).as_posix() for path in report.rglob("*")]
    assert "index.html" in written
    assert [name for name in written if not ours.fullmatch(name)] == []
    assert not list(poisoned_folder.parent.parent.glob("**/*escaped*"))
