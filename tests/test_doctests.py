"""The examples in the docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import jarf

MODULES = [
    module.name
    for module in pkgutil.walk_packages(jarf.__path__, "jarf.")
    if not module.name.endswith(("__main__", "._kernels"))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


@pytest.mark.parametrize("name", jarf.__all__)
def test_public_names_are_documented(name):
    assert name == "__version__" or getattr(jarf, name).__doc__
