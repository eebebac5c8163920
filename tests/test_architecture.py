"""The map holds: folders import only from folders to their left."""

import ast
from pathlib import Path

import pytest

import jarf

ORDER = [
    *("table", "surrogate", "gradients", "geometry", "datasets", "ensemble"),
    *("inspection", "export", "dask", "pages", "bench", "report", "cli"),
]
PRIVATE_ALLOWED = {"_sklearn.py"}
SOURCE = Path(jarf.__file__).parent


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_imports_point_to_the_left():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        folder = path.relative_to(SOURCE).parts[0]
        for module in imported(path):
            parts = module.split(".")
            known = folder in ORDER and parts[0] == "jarf" and len(parts) > 1 and parts[1] in ORDER
            if known and ORDER.index(parts[1]) > ORDER.index(folder):
                wrong.append(f"{path.name} imports {module}")
    assert wrong == []


def test_private_names_of_scikit_learn_live_in_one_file():
    wrong = [
        f"{path.name}: {module}"
        for path in SOURCE.rglob("*.py")
        if path.name not in PRIVATE_ALLOWED
        for module in imported(path)
        if module.startswith("sklearn") and any(part.startswith("_") for part in module.split("."))
    ]
    assert wrong == []


def is_private(module):
    return any(part.startswith("_") for part in module.split(".")[2:])


@pytest.mark.parametrize("folder", ["pages", "bench", "report", "cli"])
def test_folders_meet_at_their_public_names(folder):
    wrong = [
        f"{path.name} imports {module}"
        for path in (SOURCE / folder).rglob("*.py")
        for module in imported(path)
        if module.startswith("jarf.") and is_private(module) and module.split(".")[1] != folder
    ]
    assert wrong == []


def test_every_folder_has_its_place():
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert folders == set(ORDER)
