"""Cost of Jacobian boosting: against LightGBM and CatBoost, and its growth with the table.

    JARF_DATA=folder python benchmarks/boosting.py [--only lightgbm tables] [--markdown out.md]

All figures but ``threads`` are processor seconds of one thread, measured in one run, one model
after the other.

``lightgbm``: fits of equal size (rounds, leaves, depth, rows per round), with plain axes and with
directions, surrogates included. ``rows``, ``columns`` and ``classes``: growth at a fixed number of
rounds; the exponent compares neighbouring sizes (1 means linear). ``many``: a whole fit with race
and early stopping on 100 classes and 200 columns, against a random forest of 200 trees. ``tables``:
whole fits against CatBoost's default, encoded as in the study; the study's tables if JARF_DATA is
set, otherwise those that ship with scikit-learn. ``features``: the whole fit of JacobianFeatures
against that of XGBoost with 300 trees on the same rows, on the same tables. ``threads``: wall clock
of one thread over two, for trees whose large nodes are shared by threads. ``prediction``: medians
of repeated calls.

``--cap`` limits the training rows of ``many``, ``tables`` and ``features``, ``--first`` the number
of tables.
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import replace

import numpy as np
from _sections import run_sections
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import cohen_kappa_score, r2_score
from xgboost import XGBClassifier, XGBRegressor

from jarf import JacobianBoostingClassifier, JacobianFeatures
from jarf.bench import (
    CLASSIFICATION,
    REGRESSION,
    Setting,
    get_budget,
    get_dataset,
    get_method,
    make_split,
)

LEAVES, DEPTH, RATE, SHARE = 16, 6, 0.05, 0.8
SHRUNK, COLUMNS, CLASSES = (27, 9, 3, 1), (10, 30, 100, 300), (2, 5, 20, 100)


def seconds(call, *arguments) -> float:
    """Return the processor seconds of a call."""
    start = time.process_time()
    call(*arguments)
    return time.process_time() - start


def make(n: int, d: int, n_classes: int = 2):
    """Classes cut from a noisy sum of ten columns, in equal shares."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    score = X[:, :10].sum(axis=1) + np.abs(X[:, 0]) + rng.normal(size=n)
    edges = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.searchsorted(edges, score)


def ours(geometry: str, rounds: int):
    return JacobianBoostingClassifier(
        max_iter=rounds, early_stopping=False, geometry=geometry, n_jobs=1, random_state=0
    )


def light(rounds: int):
    return LGBMClassifier(
        n_estimators=rounds,
        num_leaves=LEAVES,
        max_depth=DEPTH,
        learning_rate=RATE,
        subsample=SHARE,
        subsample_freq=1,
        min_child_samples=5,
        reg_lambda=1.0,
        n_jobs=1,
        random_state=0,
        verbosity=-1,
    )


def lightgbm(rows: int, rounds: int, cap: int, first: int) -> list[dict]:
    """Fits of equal size on 20 columns and two classes, over LightGBM's."""
    X, y = make(rows, 20)
    base = seconds(light(rounds).fit, X, y)
    found = [{"model": "LightGBM", "rows": rows, "rounds": rounds, "s": base, "ratio": 1.0}]
    for geometry in ("axes", "linear", "mixed"):
        cost = seconds(ours(geometry, rounds).fit, X, y)
        found.append(
            {"model": geometry, "rows": rows, "rounds": rounds, "s": cost, "ratio": cost / base}
        )
    return found


def growth(sizes, table, rounds: int) -> list[dict]:
    found: list[dict] = []
    for size in sizes:
        X, y = table(size)
        row: dict = {"size": size, "LightGBM s": seconds(light(rounds).fit, X, y)}
        for geometry in ("axes", "mixed"):
            cost = row[f"{geometry} s"] = seconds(ours(geometry, rounds).fit, X, y)
            row[f"{geometry} ratio"] = cost / row["LightGBM s"]
            row[f"{geometry} exponent"] = ""
            if found:
                step = np.log(size / found[-1]["size"])
                grown = np.log(cost / found[-1][f"{geometry} s"])
                row[f"{geometry} exponent"] = f"{grown / step:.2f}"
        found.append(row)
    return found


def by_rows(rows: int, rounds: int, cap: int, first: int) -> list[dict]:
    """Growth with the number of rows, 20 columns, two classes."""
    return growth([rows // part for part in SHRUNK], lambda n: make(n, 20), rounds)


def by_columns(rows: int, rounds: int, cap: int, first: int) -> list[dict]:
    """Growth with the number of columns, 3,000 rows, two classes."""
    return growth(COLUMNS, lambda d: make(min(rows, 3000), d), rounds)


def by_classes(rows: int, rounds: int, cap: int, first: int) -> list[dict]:
    """Growth with the number of classes, 5,000 rows, 20 columns."""
    return growth(CLASSES, lambda c: make(min(rows, 5000), 20, c), rounds)


def many(rows: int, rounds: int, cap: int, first: int) -> list[dict]:
    """A whole fit with race on 100 classes and 200 columns, over a random forest's."""
    X, y = make(min(rows, cap), 200, 100)
    forest = seconds(RandomForestClassifier(200, n_jobs=1, random_state=0).fit, X, y)
    model = JacobianBoostingClassifier(n_jobs=1, random_state=0)
    whole = seconds(model.fit, X, y)
    facts = {"rows": len(X), "forest s": forest, "Jacobian boosting s": whole}
    return [{**facts, "ratio": whole / forest, "rounds": model.n_iter_}]


def study_splits(cap: int, first: int):
    """Yield the name and the first split of the study's tables, or of those that need no files."""
    budget = replace(get_budget("standard"), train_cap=cap)
    names = CLASSIFICATION + REGRESSION
    if not os.environ.get("JARF_DATA"):
        names = get_budget("quick").datasets
    for name in names[:first]:
        yield name, make_split(get_dataset(name), 0, 0, budget, 0)


def with_median(found: list[dict]) -> list[dict]:
    middle = statistics.median(row["ratio"] for row in found)
    return [*found, dict.fromkeys(found[0], "") | {"table": "median", "ratio": middle}]


def tables(rows: int, rounds: int, cap: int, first: int) -> list[dict]:
    """Whole fits with race on the tables of the study, over CatBoost's default."""
    found: list[dict] = []
    for name, split in study_splits(cap, first):
        score = cohen_kappa_score if split.task == "classification" else r2_score
        setting = Setting(split.task, numeric=split.numeric, n_train=len(split.X_train))
        row: dict = {"table": name, "rows": len(split.X_train), "columns": split.X_train.shape[1]}
        for method in ("CatBoost", "JB"):
            model = get_method(method).build(setting)
            row[f"{method} s"] = seconds(model.fit, split.X_train, split.y_train)
            row[f"{method} score"] = float(score(split.y_test, model.predict(split.X_test)))
        row["ratio"] = row["JB s"] / row["CatBoost s"]
        row["rounds"] = model.n_iter_
        row["winner"] = model.race_.winner
        found.append(row)
    return with_median(found)


def features(rows: int, rounds: int, cap: int, first: int) -> list[dict]:
    """The whole fit of JacobianFeatures on the tables of the study, over that of XGBoost."""
    found: list[dict] = []
    for name, split in study_splits(cap, first):
        X, y = np.asarray(split.X_train, np.float64), np.asarray(split.y_train)
        booster = XGBRegressor
        if split.task == "classification":
            booster, y = XGBClassifier, np.unique(y, return_inverse=True)[1]
        model = JacobianFeatures(n_jobs=1, random_state=0)
        row: dict = {"table": name, "rows": X.shape[0], "columns": X.shape[1]}
        row["XGBoost s"] = seconds(booster(n_estimators=300, n_jobs=1).fit, X, y)
        row["features s"] = seconds(model.fit, X, y)
        row["ratio"] = row["features s"] / row["XGBoost s"]
        row["appended"] = model.directions_.shape[1]
        found.append(row)
    return with_median(found)


def threads(rows: int, rounds: int, cap: int, first: int) -> list[dict]:
    """Seconds by the clock with one thread and with two, 20 columns and two classes."""
    X, y = make(rows, 20)
    found = []
    for geometry in ("axes", "linear", "mixed"):
        row: dict = {"geometry": geometry, "rows": rows, "rounds": rounds}
        for n_jobs in (1, 2):
            model = ours(geometry, rounds).set_params(n_jobs=n_jobs)
            start = time.perf_counter()
            model.fit(X, y)
            row[f"n_jobs={n_jobs}, s"] = time.perf_counter() - start
        row["speed-up"] = row["n_jobs=1, s"] / row["n_jobs=2, s"]
        found.append(row)
    return found


def prediction(rows: int, rounds: int, cap: int, first: int) -> list[dict]:
    """Milliseconds of a call with 1,000 rows and with one, 20 columns."""
    X, y = make(min(rows, 10_000), 20)
    models = {"LightGBM": light(rounds)} | {name: ours(name, rounds) for name in ("axes", "mixed")}
    found: list[dict] = []
    for name, model in models.items():
        model.fit(X, y)
        row: dict = {"model": name, "rounds": rounds}
        for size, repeats in ((1000, 20), (1, 200)):
            part = X[:size]
            model.predict_proba(part)
            times = [seconds(model.predict_proba, part) for _ in range(repeats)]
            row[f"{size} rows, ms"] = 1000 * statistics.median(times)
        base = found[0]["1000 rows, ms"] if found else row["1000 rows, ms"]
        row["ratio at 1,000"] = row["1000 rows, ms"] / base
        found.append(row)
    return found


SECTIONS = {
    "lightgbm": lightgbm,
    "rows": by_rows,
    "columns": by_columns,
    "classes": by_classes,
    "many": many,
    "tables": tables,
    "features": features,
    "threads": threads,
    "prediction": prediction,
}


if __name__ == "__main__":
    run_sections(__doc__, SECTIONS, rows=100_000, rounds=100, cap=5000, first=20)
