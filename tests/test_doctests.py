"""The examples in the docstrings run."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import jarf

MODULES = [
    module.name
    for module in pkgutil.walk_packages(jarf.__path__, "jarf.")
    if not module.name.endswith(("__main__", "._kernels"))
]
PUBLIC = ["jarf"]
PUBLIC += [f"jarf.{name}" for name in ("ensemble", "inspection", "export", "bench", "datasets")]
PUBLIC += [f"jarf.{name}" for name in ("geometry", "gradients", "trees", "surrogate", "dask")]


@pytest.fixture
def clean_registries(monkeypatch):
    """What an example registers is forgotten."""
    for name in ("jarf.bench._datasets", "jarf.bench._methods"):
        module = pytest.importorskip(name)
        module.dataset_names() if name.endswith("datasets") else module.method_names()
        monkeypatch.setattr(module, "_REGISTRY", dict(module._REGISTRY))


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.usefixtures("clean_registries")
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


@pytest.mark.parametrize("name", jarf.__all__)
def test_public_names_are_documented(name):
    assert name == "__version__" or getattr(jarf, name).__doc__


@pytest.mark.parametrize("module", PUBLIC)
def test_public_classes_have_an_example(module):
    if module == "jarf.dask":
        pytest.importorskip("dask.dataframe")
    found = importlib.import_module(module)
    classes = {name: getattr(found, name) for name in found.__all__}
    without = [
        name
        for name, cls in classes.items()
        if inspect.isclass(cls) and ">>>" not in (cls.__doc__ or "")
    ]
    assert without == []
