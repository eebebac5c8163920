"""The code blocks of the pages run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), flags=re.S)


PAGES = [
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if "```python\n" in path.read_text()
]


@pytest.fixture(autouse=True)
def clean_registries(monkeypatch):
    """What a page registers is forgotten."""
    _datasets = pytest.importorskip("jarf.bench._datasets")
    _methods = pytest.importorskip("jarf.bench._methods")
    _datasets.dataset_names(), _methods.method_names()
    for module in (_datasets, _methods):
        monkeypatch.setattr(module, "_REGISTRY", dict(module._REGISTRY))


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    for name in ("xgboost", "matplotlib", "onnxruntime", "dask.dataframe"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), names)


def test_the_guide_has_code():
    guide = ["choose", "dataframes", "race", "compare", "uncertainty", "explain"]
    guide += ["export", "scale"]
    assert {"README.md", *(f"docs/{name}.md" for name in guide)} <= set(PAGES)


def test_first_two_commands_install_run_and_test():
    first, second = blocks("README.md", "bash")[0].strip().splitlines()
    assert re.fullmatch(r'pip install (\.|"\.\[bench\]") && jarf \w+( --quick)?', first)
    assert second == 'pip install ".[test]" && pytest'
