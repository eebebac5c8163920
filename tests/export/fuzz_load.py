"""Hostile model files, many of them: each is refused by ``ValueError`` or answers finitely.

    python tests/export/fuzz_load.py --cases 100000

Saved models are changed at random, in three ways: their bytes (flipped, cut, doubled), which the
checksums should notice; what they say (JSON values, whole parts); and their arrays, every member in
every type (other values, another dtype, another shape, another array's place). The last two have
checksums that are right again, as an attacker would make them. Whatever is loaded is then asked for
everything that walks its trees and for intervals and sets. Its probabilities must be probabilities.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import io
import json
import random
import sys
import tempfile
import zipfile
from collections import Counter
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import jarf
from jarf.export import load, save
from jarf.export._members import MANIFEST, Budget, read_members

EDGES = [0, 1, -1, 2, 2**31 - 1, -(2**31), 2**63, 1e308, float("inf"), True, None, "", "x" * 99]
EDGES += [[], {}, [[]], {"float": "nan"}, {"tuple": []}, {"object": "os.system", "state": {}}]


TYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "float64")
# Files are loaded with the first limit. The second is that of the whole process, so that a file
# that needs much more fails and does not fill the memory of the machine.
MAX_BYTES, ROOM = 2**26, 2**31
NUMBERS = (0, 1, -1, 2, -2, 127, 2**31 - 1, -(2**31), 2**62, 0.5, 1e38, -1e300, np.nan, np.inf)


def finals(task):
    """Final ensembles of other libraries, and a map for every tree."""
    forest = RandomForestRegressor if task == "Regressor" else RandomForestClassifier
    trees = ExtraTreesRegressor if task == "Regressor" else ExtraTreesClassifier
    yield {"estimator": forest(2, random_state=0)}
    yield {"estimator": trees(2, random_state=0), "share": "global"}
    yield {"n_estimators": 2, "share": "per-tree"}
    yield {"estimator": forest(2, random_state=0), "share": "per-tree"}
    try:
        import xgboost
    except ImportError:
        return
    yield {"estimator": getattr(xgboost, f"XGB{task}")(n_estimators=2, max_depth=2, n_jobs=1)}


@cache
def models():
    """Return one small model of every estimator, each with rows to ask it for.

    Tables have missing values. JARF has every final ensemble, boosting every link and several
    outputs, the ensembles all three members, and one model of each task has a text column.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    X[::5, 1] = np.nan
    rows = rng.normal(size=(4, 3))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "text": np.tile(["u", "v", "w"], 10)})
    few = {"max_iter": 2, "n_estimators": 2, "random_state": 0}
    found = [(model, rows) for model in on_numbers(X)]
    for kind in (jarf.JacobianBoostingClassifier, jarf.SPORFRegressor):
        known = kind().get_params()
        model = kind(**{key: few[key] for key in few if key in known})
        found.append((model.fit(frame, np.where(X[:, 0] > 0, 1, 0)), frame[:4]))
    return found


def on_numbers(X):
    """Models of a matrix of three columns with missing values."""
    for task in ("Classifier", "Regressor"):
        y = X[:, 0] if task == "Regressor" else np.digitize(X[:, 0], [-0.5, 0.5])
        for parameters in finals(task):
            yield getattr(jarf, f"JARF{task}")(**parameters, random_state=0).fit(X, y)
    for name in sorted(jarf.__all__):
        kind = getattr(jarf, name)
        if hasattr(kind, "fit") and "Ensemble" not in name:  # these follow
            wanted = {"n_estimators": 2, "max_iter": 2, "random_state": 0}
            known = kind().get_params()
            model = kind(**{key: wanted[key] for key in wanted if key in known})
            yield model.fit(X, X[:, 0] if name.endswith("Regressor") else (X[:, 0] > 0) * 1)
    few = {"max_iter": 2, "random_state": 0}
    yield jarf.JacobianBoostingRegressor(loss="poisson", **few).fit(X, np.exp(X[:, 0]))
    yield jarf.JacobianBoostingRegressor(monotonic_cst=[1, 0, -1], **few).fit(X, X[:, 0])
    yield jarf.JacobianBoostingRegressor(**few).fit(X, X[:, ::2])
    yield jarf.JacobianBoostingClassifier(**few).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    yield all_members(jarf.JacobianEnsembleClassifier, X, np.digitize(X[:, 0], [-0.5, 0.5]))
    yield all_members(jarf.JacobianEnsembleRegressor, X, X[:, 0])


def all_members(kind, X, y):
    """An ensemble whose members all have a weight, even where selection kept fewer."""
    members = {}
    task = kind.__name__.removeprefix("JacobianEnsemble")
    for name, size in (("Forest", "n_estimators"), ("Boosting", "max_iter"), ("Kernel", None)):
        known = {size: 2} if size else {}
        member = getattr(jarf, f"Jacobian{name}{task}")(**known, random_state=0)
        members[name.lower()] = member
    ensemble = kind(list(members.items()), random_state=0).fit(X, y)
    ensemble.members = list(members)
    ensemble.members_ = {name: member.fit(X, y) for name, member in members.items()}
    ensemble.weights_ = {"forest": 0.25, "boosting": 0.5, "kernel": 0.25}
    return ensemble


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
    """Replace or remove one value of the file's content."""
    found = list(places(manifest))
    (parent, key), (spare, name) = dice.choices(found, k=2)
    if dice.random() < 0.2:
        del parent[key]
        return
    parent[key] = copy.deepcopy(spare[name] if dice.random() < 0.5 else dice.choice(EDGES))


def arrays(value):
    """Every entry of a manifest that names an array."""
    if isinstance(value, dict):
        if "array" in value and "dtype" in value:
            yield value
        for part in value.values():
            yield from arrays(part)
    elif isinstance(value, list):
        for part in value:
            yield from arrays(part)


def other_array(manifest: dict, members: dict, dice: random.Random) -> None:
    """Change one array: its values, its type, its shape or which member it is."""
    entries = list(arrays(manifest))
    if not entries:  # an earlier change took them all away
        return
    entry, other = dice.choice(entries), dice.choice(entries)
    stroke = dice.randrange(4)
    if stroke == 3:
        keys = dice.choice((("array",), ("array", "dtype", "shape"), ("dtype",), ("shape",)))
        entry |= {key: copy.deepcopy(other[key]) for key in keys if key in other}
        return
    try:
        values = np.frombuffer(members[entry["array"]], entry["dtype"]).reshape(entry["shape"])
    except (KeyError, TypeError, ValueError):  # changed before
        return
    with np.errstate(all="ignore"):
        if stroke == 0 and values.size:
            number = np.array(dice.choice(NUMBERS)).astype(values.dtype)
            values = values.copy()
            places = slice(None) if dice.random() < 0.3 else dice.randrange(values.size)
            values.reshape(-1)[places] = number
        elif stroke == 1:
            entry["dtype"] = dice.choice(TYPES)
            values = values.astype(entry["dtype"])
        else:
            n = dice.choice((0, 1, len(values) // 2, len(values) + 1, 2 * len(values)))
            values = np.resize(values, (n, *values.shape[1:]))
            entry["shape"] = list(values.shape)
    name = f"data/other{len(members)}" if dice.random() < 0.5 else entry["array"]
    entry["array"], members[name] = name, values.tobytes()


def hostile(saved: tuple, dice: random.Random) -> bytes:
    """One changed file."""
    content, text, members = saved
    if dice.random() < 0.2:
        return other_bytes(content, dice)
    manifest, members = json.loads(text), dict(members)
    for _ in range(dice.randrange(1, 4)):
        what = dice.random()
        if what < 0.5:
            other_array(manifest, members, dice)
        elif what < 0.7:
            name = dice.choice(list(members))
            members[name] = other_bytes(members[name], dice)
        else:
            other_words(manifest, dice)
    return sealed(manifest, members)


def sealed(manifest: dict, members: dict) -> bytes:
    """Return a file with this content and with correct sizes and checksums."""
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
    """Return the outcome of loading a file and predicting with the model."""
    try:
        model = load(io.BytesIO(content), max_bytes=MAX_BYTES)
    except ValueError as error:
        if isinstance(error.__cause__, MemoryError):
            raise AssertionError("a small file filled the memory") from error
        return "refused"
    try:
        answer = model.transform(rows) if hasattr(model, "transform") else model.predict(rows)
        shares = model.predict_proba(rows) if hasattr(model, "predict_proba") else np.ones((1, 1))
    except ValueError:  # a model fitted on other columns raises it
        return "refused when asked"
    numbers = answer.dtype.kind in "fiub"
    assert not numbers or np.isfinite(answer).all(), "a loaded model gives no finite answer"
    whole = (np.abs(shares.sum(axis=1) - 1) < 1e-5) & (shares >= 0).all(axis=1)
    assert whole.all(), "probabilities are none"
    try:
        walk_everywhere(model, rows)
        ask_everything(model, rows)
    except ValueError:  # a parameter that only this needs
        return "refused when asked"
    return "answers"


def ask_everything(model, rows) -> None:
    """Ask for intervals, quantiles and sets, and print what a model knows of itself."""
    if hasattr(model, "predict_set"):
        assert model.predict_set(rows).any(axis=1).all(), "an empty set of classes"
    if hasattr(model, "predict_interval"):
        ends = model.predict_interval(rows, 0.5)
        assert (ends[..., 0] <= ends[..., 1]).all(), "an interval that is none"
        assert not np.isnan(model.predict_quantiles(rows, [0.3, 0.5])).any(), "a quantile is NaN"
    for name in ("race_", "report_", "calibration_", "table_"):
        str(getattr(model, name, ""))


def walk_everywhere(model, rows: np.ndarray) -> None:
    """Call everything that walks trees; reads out of bounds show here or under a sanitizer."""
    if hasattr(model, "apply"):
        model.apply(rows)
        model.split_normals()
    _ = getattr(model, "feature_importances_", None)  # of huge impurities they may overflow
    final = getattr(model, "estimator_", None)
    for forest in (final, *getattr(final, "trees_", ())):
        if hasattr(forest, "decision_path"):
            forest.decision_path(np.zeros((4, forest.n_features_in_), np.float32))
    filling = model.table_.filling_
    for forest in getattr(filling, "forests", {}).values():
        forest.decision_path(np.zeros((4, forest.n_features_in_), np.float32))


def fuzz(cases: int, seed: int = 0) -> Counter:
    """Count the outcomes of this many changed files."""
    dice, counts, saved = random.Random(seed), Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.jarf"
        for model, rows in models():
            save(model, path)
            manifest, members = read_members(path, Budget())
            saved.append(((path.read_bytes(), json.dumps(manifest), members), rows))
    with little_memory():
        for case in range(cases):
            file, rows = dice.choice(saved)
            content = hostile(file, dice)
            try:
                counts[outcome(content, rows)] += 1
            except BaseException as error:
                kept = Path(tempfile.gettempdir()) / "jarf-hostile-model"
                kept.write_bytes(content)
                error.add_note(f"case {case} of seed {seed}, kept as {kept}")
                raise
    return counts


@contextmanager
def little_memory():
    """Limit the address space of this process, where the system can (Linux)."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = fuzz(arguments.cases, arguments.seed)
    print(f"{arguments.cases} files: " + ", ".join(f"{n} {what}" for what, n in found.items()))
