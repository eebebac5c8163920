"""Hostile model files; many more of them: ``python tests/export/fuzz_load.py --cases 100000``."""

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location(
    "fuzz_load", Path(__file__).with_name("fuzz_load.py")
)
harness = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(harness)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_hostile_files_are_refused_or_answer_finitely():
    counts = harness.fuzz(300, seed=1)
    assert counts["refused"] > 200
    assert counts["answers"] > 10
