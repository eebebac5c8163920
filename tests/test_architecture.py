"""The map of ARCHITECTURE.md holds, checked from the syntax tree.

Each rule is a function from a source tree to the list of its violations, so that every rule is
itself tested on a small tree that breaks it.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

import jarf

SOURCE = Path(jarf.__file__).parent
ORDER = [
    *("table", "trees", "surrogate", "gradients", "geometry", "datasets", "ensemble"),
    *("inspection", "export", "dask", "pages", "bench", "report", "cli"),
]
DOOR, KERNELS = "_native.py", "jarf._kernels"
SKLEARN = "_sklearn.py"
NAMED_TUPLE = {"_replace", "_fields", "_asdict", "_make"}
# Imports to the right that were decided on: (file, folder). The door opens to the compiled kernels
# or to the reference, which lies in trees.
EXCEPTIONS = frozenset({("_native.py", "trees")})


@dataclass(frozen=True)
class Import:
    """One imported thing: the module, and the name taken from it if any."""

    line: int
    module: str
    name: str | None = None

    @property
    def words(self):
        return [*self.module.split("."), *([self.name] if self.name else [])]


@dataclass(frozen=True)
class Source:
    """A file of the package."""

    root: Path
    path: Path

    @property
    def place(self):
        return self.path.relative_to(self.root).as_posix()

    @property
    def folder(self):
        """The package it belongs to; empty at top level."""
        return self.place.split("/")[0] if "/" in self.place else ""

    @property
    def tree(self):
        return ast.parse(self.path.read_text("utf-8"))

    def imports(self):
        """Return all imports of the file, with absolute names."""
        here = ["jarf", *self.path.relative_to(self.root).parts[:-1]]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (Import(node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                above = here[: len(here) + 1 - node.level] if node.level else []
                module = ".".join([*above, *([node.module] if node.module else [])])
                yield from (Import(node.lineno, module, alias.name) for alias in node.names)
            elif isinstance(node, ast.Call) and node.args:
                called = ast.unparse(node.func).split(".")[-1]
                wanted = node.args[0]
                if called in ("import_module", "__import__") and isinstance(wanted, ast.Constant):
                    yield Import(node.lineno, str(wanted.value))


def sources(root):
    return [Source(root, path) for path in sorted(root.rglob("*.py"))]


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def folder_of(found, root):
    """The folder of this package that an import leads to, "" for the package itself."""
    words = found.words
    if words[0] != "jarf":
        return None
    if len(words) == 1:
        return ""
    if (root / words[1]).is_dir() or words[1] in ORDER:
        return words[1]
    return None if (root / f"{words[1]}.py").exists() else _origin(words[1], root)


def _origin(name, root):
    """Where the package's own ``__init__`` has a name from."""
    for found in Source(root, root / "__init__.py").imports():
        if found.name == name and found.words[0] == "jarf" and len(found.words) > 2:
            return found.words[1]
    return ""


def _position(folder, root):
    """Place in ORDER; the package itself is where the last folder it imports is."""
    if folder:
        return ORDER.index(folder) if folder in ORDER else len(ORDER)
    inside = [folder_of(found, root) for found in Source(root, root / "__init__.py").imports()]
    return max((_position(name, root) for name in inside if name), default=-1)


def imports_to_the_right(root, exceptions=frozenset()):
    """Imports of a folder to the right; helper modules at top level import no folder at all."""
    wrong, used = [], set()
    for source in sources(root):
        if source.place == "__init__.py":
            continue
        mine = _position(source.folder, root) if source.folder else -1
        for found in source.imports():
            folder = folder_of(found, root)
            if folder is None or folder == source.folder or _position(folder, root) < mine:
                continue
            if (source.place, folder) in exceptions:
                used.add((source.place, folder))
            else:
                wrong.append(f"{source.place}:{found.line} imports {folder or 'jarf'}")
    return wrong + [f"{place} no longer imports {folder}" for place, folder in exceptions - used]


def unknown_folders(root):
    """Folders with code that have no place in ORDER."""
    folders = {source.folder for source in sources(root)} - {""}
    return sorted(folders - set(ORDER))


def private_imports(root):
    """Imports of another package's private module, or of a private name of another package."""
    wrong = []
    for source in sources(root):
        for found in source.imports():
            words = found.words
            if words[0] != "jarf" or len(words) < 2 or words[1] == source.folder:
                continue
            shared = (root / f"{words[1]}.py").exists()  # a helper module at top level
            hidden = words[2:] if shared else words[1:]
            if any(map(is_private, hidden)) and ".".join(words[:2]) != KERNELS:
                wrong.append(f"{source.place}:{found.line} imports {'.'.join(words)}")
    return wrong


def _defined(tree):
    """Names that a file gives itself: classes, functions, variables, attributes of self."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(part, ast.Name):
                        yield part.id
                    elif isinstance(part, ast.Attribute) and _is_own(part.value):
                        yield part.attr


def _is_own(value):
    if isinstance(value, ast.Name):
        return value.id in ("self", "cls")
    return isinstance(value, ast.Call) and ast.unparse(value.func) == "super"


def _accessed(tree):
    """Attributes that are read, written or asked for by name: (line, object, attribute)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.lineno, node.value, node.attr
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            asked = ast.unparse(node.func) in ("getattr", "setattr", "hasattr", "delattr")
            if asked and isinstance(node.args[1], ast.Constant):
                yield node.lineno, node.args[0], str(node.args[1].value)


def private_accesses(root):
    """Private attributes of other objects whose name is not defined in the same file."""
    wrong = []
    for source in sources(root):
        if source.place == SKLEARN:
            continue
        tree = source.tree
        fine = {*_defined(tree), *NAMED_TUPLE}
        wrong += [
            f"{source.place}:{line} reads {ast.unparse(owner)}.{name}"
            for line, owner, name in _accessed(tree)
            if is_private(name) and name not in fine and not _is_own(owner)
        ]
    return wrong


def other_doors(root):
    """Return files other than `_native.py` that import the compiled module."""
    return sorted(
        f"{source.place}:{found.line} imports {KERNELS}"
        for source in sources(root)
        if source.place != DOOR
        for found in source.imports()
        if ".".join(found.words[:2]) == KERNELS
    )


def private_sklearn(root):
    """Private modules and names of scikit-learn outside the one file for them."""
    return sorted(
        f"{source.place}:{found.line} imports {'.'.join(found.words)}"
        for source in sources(root)
        if source.place != SKLEARN
        for found in source.imports()
        if found.words[0] == "sklearn" and any(map(is_private, found.words))
    )


# --- the package itself -----------------------------------------------------------------------


def test_imports_point_to_the_left():
    assert imports_to_the_right(SOURCE, EXCEPTIONS) == []


@pytest.mark.parametrize(
    "rule", [unknown_folders, private_imports, private_accesses, other_doors, private_sklearn]
)
def test_rule_holds(rule):
    assert rule(SOURCE) == []


# --- each rule finds what it looks for --------------------------------------------------------


def made_up(tmp_path, **files):
    """A source tree: ``geometry__map="..."`` is the file geometry/map.py."""
    root = tmp_path / "jarf"
    start = {"__init__": "from jarf.ensemble import Forest", "_native": "", "_sklearn": ""}
    for name, text in {**start, **files}.items():
        path = root / (name if name.startswith("_") else name.replace("__", "/", 1))
        path = path.with_name(path.name + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    "text",
    [
        "from jarf.ensemble import Forest",
        "import jarf.ensemble",
        "from jarf import ensemble",
        "from jarf import Forest",  # the package has it from ensemble
        "import jarf",
        "from .. import ensemble",
        "from ..ensemble import Forest",
        "def late():\n    from jarf.ensemble import Forest",
        "importlib.import_module('jarf.ensemble')",
    ],
)
def test_an_import_to_the_right_is_found(tmp_path, text):
    root = made_up(tmp_path, geometry___map=text, ensemble___forest="", bench___job=text)
    line = 2 if text.startswith("def") else 1
    folder = "jarf" if text == "import jarf" else "ensemble"
    assert imports_to_the_right(root) == [f"geometry/_map.py:{line} imports {folder}"]


def test_helpers_at_top_level_import_no_folder(tmp_path):
    root = made_up(tmp_path, _threads="from jarf.table import read_table")
    assert imports_to_the_right(root) == ["_threads.py:1 imports table"]


@pytest.mark.parametrize(
    "text",
    [
        "from jarf.table import read_table",
        "from jarf._native import kernels",
        "from jarf import _native",
        "from . import _other",
        "import numpy as np",
    ],
)
def test_imports_to_the_left_are_fine(tmp_path, text):
    root = made_up(tmp_path, geometry___map=text, geometry___other="")
    assert imports_to_the_right(root) == private_imports(root) == []


def test_an_exception_is_one_import_and_must_be_needed(tmp_path):
    root = made_up(tmp_path, bench___page="from jarf.report import build_report")
    assert imports_to_the_right(root) != []
    assert imports_to_the_right(root, frozenset({("bench/_page.py", "report")})) == []
    stale = imports_to_the_right(root, frozenset({("bench/_page.py", "cli")}))
    assert stale[-1] == "bench/_page.py no longer imports cli"


def test_an_unknown_folder_is_found(tmp_path):
    assert unknown_folders(made_up(tmp_path, utils__x="", table__x="")) == ["utils"]


@pytest.mark.parametrize(
    "text",
    [
        "from jarf.table._parts import Numbers",
        "import jarf.table._parts",
        "from jarf.table import _parts",
        "from jarf.table import _secret",
        "from ..table._parts import Numbers",
        "from jarf._native import _secret",
        "def late():\n    from jarf.table import _parts",
    ],
)
def test_a_private_import_is_found(tmp_path, text):
    root = made_up(tmp_path, geometry___map=text, table___parts="")
    assert len(private_imports(root)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "model._secret",
        "self.part._secret",
        "model.part()._secret",
        "model._secret = 1",
        "getattr(model, '_secret', None)",
        "setattr(model, '_secret', 1)",
        "hasattr(model.part, '_secret')",
    ],
)
def test_a_private_access_is_found(tmp_path, text):
    assert len(private_accesses(made_up(tmp_path, table__x=text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "self._own + cls._own + super()._own",
        "getattr(self, '_own')",
        "a._replace(b=1), a._fields, a.__class__",
        "class A:\n    _own: int\ndef f(a):\n    return a._own",
        "class A:\n    def g(self):\n        self._x, self._y = 1, 2\ndef f(a):\n    return a._y",
        "def f(a):\n    return a._f\ndef _f(): ...",
    ],
)
def test_own_attributes_are_fine(tmp_path, text):
    assert private_accesses(made_up(tmp_path, table__x=text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "from jarf import _kernels",
        "import jarf._kernels",
        "from jarf._kernels import grow",
        "importlib.import_module('jarf._kernels')",
    ],
)
def test_a_second_door_is_found(tmp_path, text):
    assert len(other_doors(made_up(tmp_path, table__x=text))) == 1
    assert other_doors(made_up(tmp_path / "door", _native=text)) == []


@pytest.mark.parametrize(
    "text", ["from sklearn.base import _fit_context", "import sklearn.utils._param_validation"]
)
def test_a_private_name_of_scikit_learn_is_found(tmp_path, text):
    assert len(private_sklearn(made_up(tmp_path, table__x=text))) == 1
    assert private_sklearn(made_up(tmp_path / "fine", _sklearn=text)) == []
