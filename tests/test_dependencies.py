"""Every third-party module that the package imports is declared in pyproject.toml."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import jarf

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
NAMES = {"sklearn": "scikit-learn", "distributed": "dask"}
# Folders that import their extra at the top; everything else imports it where it is needed.
EXTRAS = {"dask": ["dask"], "bench": ["bench"], "report": ["bench"], "cli": ["bench"]}


def declared(requirements):
    return {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}


def imported(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def third_party(nodes):
    known = {*sys.stdlib_module_names, "jarf"}
    return {NAMES.get(name, name) for name in imported(nodes) if name not in known}


def test_imports_are_declared():
    core = declared(PROJECT["dependencies"])
    extras = PROJECT["optional-dependencies"]
    anywhere = core.union(*map(declared, extras.values()))
    root = Path(jarf.__file__).parent
    for path in root.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        folder = path.relative_to(root).parts[0]
        allowed = core.union(*(declared(extras[name]) for name in EXTRAS.get(folder, [])))
        assert third_party(tree.body) <= allowed, path
        assert third_party(ast.walk(tree)) <= anywhere, path
