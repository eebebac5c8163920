"""Hostile model files; many more of them: ``python tests/export/fuzz_load.py --cases 100000``."""

import copy
import importlib.util
from pathlib import Path

import pytest

from jarf.export import save

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


def attributes(value, path=()):
    """The place of every attribute of every object in a manifest."""
    if isinstance(value, dict):
        if "object" in value:
            yield from ((*path, "state", name) for name in value["state"])
        for key, part in value.items():
            yield from attributes(part, (*path, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from attributes(part, (*path, number))


@pytest.mark.parametrize("stem", ["Boosting", "Kernel", "Ensemble"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
def test_files_without_an_attribute_are_refused_or_answer(stem, tmp_path):
    path, n_refused = tmp_path / "model", 0
    for model, rows in harness.models():
        if not type(model).__name__.startswith(f"Jacobian{stem}"):
            continue
        save(model, path)
        manifest, members = harness.read_members(path, harness.Budget())
        for *way, name in attributes(manifest["model"]):
            changed = copy.deepcopy(manifest)
            state = changed["model"]
            for key in way:
                state = state[key]
            del state[name]
            n_refused += harness.outcome(harness.sealed(changed, members), rows) == "refused"
    assert n_refused > 50
