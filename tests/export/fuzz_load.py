"""Hostile model files, many of them: each is refused by ``ValueError`` or answers finitely.

    python tests/export/fuzz_load.py --cases 100000

Saved models are changed at random, in two ways: their bytes (flipped, cut, doubled), which the
checksums should notice; and what they say (numbers of arrays, JSON values, whole parts), with
checksums that are right again, as an attacker would make them.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import io
import json
import random
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

import jarf
from jarf.export import load, save
from jarf.export._members import MANIFEST, Budget, read_members

EDGES = [0, 1, -1, 2, 2**31 - 1, -(2**31), 2**63, 1e308, float("inf"), True, None, "", "x" * 99]
EDGES += [[], {}, [[]], {"float": "nan"}, {"tuple": []}, {"object": "os.system", "state": {}}]


def models():
    """One small model of every estimator, on numbers with holes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    X[::5, 1] = np.nan
    for name in sorted(jarf.__all__):
        kind = getattr(jarf, name)
        if hasattr(kind, "fit"):
            wanted = {"n_estimators": 2, "random_state": 0}
            known = kind().get_params()
            model = kind(**{key: wanted[key] for key in wanted if key in known})
            yield model.fit(X, X[:, 0] if name.endswith("Regressor") else (X[:, 0] > 0) * 1)


def places(value, parent=None, key=None):
    """Every place of a JSON value that something else can be put into."""
    if parent is not None:
        yield parent, key
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for name, entry in inside:
            yield from places(entry, value, name)


def other_bytes(content: bytes, dice: random.Random) -> bytes:
    """Flip, cut, double or put in some bytes."""
    changed = bytearray(content)
    at = dice.randrange(len(changed) + 1) if changed else 0
    stroke = dice.randrange(4)
    if stroke == 0 and changed:
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    elif stroke == 1:
        del changed[at:]
    elif stroke == 2:
        changed[at:at] = changed[: dice.randrange(64)]
    else:
        edge = dice.choice((0, 1, -1, 2**31 - 1, -(2**31)))
        changed[at // 4 * 4 : at // 4 * 4 + 4] = edge.to_bytes(4, "little", signed=True)
    return bytes(changed)


def other_words(manifest: dict, dice: random.Random) -> None:
    """Put something else into one place of what the file says."""
    parent, key = dice.choice(list(places(manifest)))
    spare, name = dice.choice(list(places(manifest)))
    parent[key] = copy.deepcopy(spare[name] if dice.random() < 0.5 else dice.choice(EDGES))


def hostile(saved: tuple, dice: random.Random) -> bytes:
    """One changed file."""
    content, manifest, members = saved
    if dice.random() < 0.2:
        return other_bytes(content, dice)
    manifest, members = copy.deepcopy(manifest), dict(members)
    for _ in range(dice.randrange(1, 4)):
        if dice.random() < 0.6:
            name = dice.choice(list(members))
            members[name] = other_bytes(members[name], dice)
        else:
            other_words(manifest, dice)
    return sealed(manifest, members)


def sealed(manifest: dict, members: dict) -> bytes:
    """The file that says this, with all sizes and checksums right."""
    if isinstance(manifest.get("members"), dict):
        for name, content in members.items():
            digest = hashlib.sha256(content).hexdigest()
            manifest["members"][name] = {"bytes": len(content), "sha256": digest}
    text = json.dumps(manifest).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.comment = hashlib.sha256(text).hexdigest().encode()
        for name, content in ((MANIFEST, text), *members.items()):
            archive.writestr(name, content)
    return stream.getvalue()


def outcome(content: bytes, rows: np.ndarray) -> str:
    """What came of loading a file and asking the model."""
    try:
        model = load(io.BytesIO(content))
    except ValueError:
        return "refused"
    try:
        answer = model.transform(rows) if hasattr(model, "transform") else model.predict(rows)
    except ValueError:  # a model of other columns says so
        return "refused when asked"
    numbers = answer.dtype.kind in "fiub"
    assert not numbers or np.isfinite(answer).all(), "a loaded model gives no finite answer"
    return "answers"


def fuzz(cases: int, seed: int = 0) -> Counter:
    """Count what came of so many changed files."""
    dice, counts, saved = random.Random(seed), Counter(), []
    rows = np.random.default_rng(1).normal(size=(4, 3))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.jarf"
        for model in models():
            save(model, path)
            saved.append((path.read_bytes(), *read_members(path, Budget())))
    for case in range(cases):
        content = hostile(dice.choice(saved), dice)
        try:
            counts[outcome(content, rows)] += 1
        except BaseException as error:
            kept = Path(tempfile.gettempdir()) / "jarf-hostile-model"
            kept.write_bytes(content)
            error.add_note(f"case {case} of seed {seed}, kept as {kept}")
            raise
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = fuzz(arguments.cases, arguments.seed)
    print(f"{arguments.cases} files: " + ", ".join(f"{n} {what}" for what, n in found.items()))
