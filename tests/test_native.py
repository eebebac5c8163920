import pytest

from jarf._native import kernels


@pytest.mark.parametrize("value", ["1", "true"])
def test_variable_sends_to_the_reference_path(monkeypatch, value):
    monkeypatch.setenv("JARF_NO_NATIVE", value)
    assert kernels() is None


@pytest.mark.parametrize("value", ["", "0"])
def test_native_by_default(monkeypatch, value):
    monkeypatch.setenv("JARF_NO_NATIVE", value)
    assert kernels().__name__ == "jarf._kernels"
