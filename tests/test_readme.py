"""The code blocks of the pages run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


PAGES = ["README.md", "docs/compare.md", "docs/explain.md", "docs/export.md"]


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    for name in ("xgboost", "matplotlib", "onnxruntime"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.S)
    assert blocks
    names: dict = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_first_two_commands_install_run_and_test():
    shell = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)[0]
    first, second = shell.strip().splitlines()
    assert re.fullmatch(r'pip install (\.|"\.\[bench\]") && jarf \w+( --quick)?', first)
    assert second == 'pip install ".[test]" && pytest'
