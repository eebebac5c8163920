import subprocess
import sys
import sysconfig

import pytest

from jarf._native import engine, is_native


@pytest.mark.parametrize("value", ["1", "true"])
def test_variable_sends_to_the_reference_path(monkeypatch, value):
    monkeypatch.setenv("JARF_NO_NATIVE", value)
    assert not is_native()
    assert engine().__name__ == "jarf.trees.reference"


@pytest.mark.parametrize("value", ["", "0"])
def test_native_by_default(monkeypatch, value):
    monkeypatch.setenv("JARF_NO_NATIVE", value)
    assert is_native()
    assert engine().__name__ == "jarf._kernels"


def test_the_reference_has_all_names_of_the_compiled_module(monkeypatch):
    monkeypatch.setenv("JARF_NO_NATIVE", "0")
    # Bases of proposals and targets, and how an interrupt is raised, are native only.
    native = {name for name in dir(engine()) if not name.startswith("_")}
    monkeypatch.setenv("JARF_NO_NATIVE", "1")
    assert native - set(engine().__all__) == {"Proposal", "Stopped", "Target"}
    assert set(engine().__all__) <= native


def test_a_missing_module_is_explained(monkeypatch):
    monkeypatch.setenv("JARF_NO_NATIVE", "0")
    monkeypatch.setitem(__import__("sys").modules, "jarf._kernels", None)
    with pytest.raises(ImportError, match="JARF_NO_NATIVE=1"):
        engine()


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="Python with a GIL")
def test_the_module_does_not_enable_the_gil():
    code = "import sys, jarf._kernels; sys.exit(sys._is_gil_enabled())"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
