"""Real tables: categories as they come, missing values, and very wide data.

    JARF_DATA=folder python benchmarks/tables.py categories [--rows 6000] [--seeds 3] [--trees 50]
    JARF_DATA=folder python benchmarks/tables.py missing
    python benchmarks/tables.py wide [--rows 5000] [--columns 20000] [--trees 10]

``categories`` compares the raw frame with a one-hot table made by hand, forest by forest.
``missing`` removes 20 % of the values at random and shows what each forest loses, beside
scikit-learn's random forest, which splits on NaN. ``wide`` fits JARF on a made table, time and
peak memory of a fresh process beside the random forest's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import cohen_kappa_score, r2_score
from sklearn.model_selection import train_test_split

import jarf

KINDS = (
    *("AxisForest", "SPORF", "CanonicalCorrelationForest", "RotationForest", "JARF"),
    "JacobianForest",
)


def load(name: str, rows: int):
    folder = os.environ.get("JARF_DATA")
    if not folder:
        raise SystemExit("Set JARF_DATA to the folder that holds the datasets as parquet files.")
    frame = pd.read_parquet(Path(folder) / f"{name}.parquet")
    frame = frame.sample(min(rows, len(frame)), random_state=0).reset_index(drop=True)
    target = frame.pop("target")
    is_number = pd.api.types.is_float_dtype(target)
    return frame, target.to_numpy() if is_number else target.astype(str).to_numpy()


def score(model, train, test, y, parts) -> float:
    a, b = parts
    answer = model.fit(train, y[a]).predict(test)
    return (cohen_kappa_score if is_classifier(model) else r2_score)(y[b], answer)


def mean_score(make, tables, y) -> float:
    """The mean over seeds, which have a table each."""
    scores = []
    for seed, X in enumerate(tables):
        parts = train_test_split(np.arange(len(y)), random_state=seed)
        scores.append(score(make(seed), X.iloc[parts[0]], X.iloc[parts[1]], y, parts))
    return float(np.mean(scores))


def maker(kind: str, suffix: str, trees: int, **params):
    cls = getattr(jarf, kind + suffix)
    return lambda seed: cls(n_estimators=trees, random_state=seed, n_jobs=1, **params)


def categories(options) -> None:
    print(f"{'dataset':16s}{'forest':28s}{'raw frame':>10s}{'one-hot':>10s}{'difference':>12s}")
    for name in ("adult", "bank-marketing"):
        frame, y = load(name, options.rows)
        one_hot = pd.get_dummies(frame, dummy_na=False).astype(np.float64)
        rows = [(kind, maker(kind, "Classifier", options.trees)) for kind in KINDS]
        toggled = maker("JARF", "Classifier", options.trees, categorical="toggle")
        for kind, make in [*rows, ("JARF, toggle", toggled)]:
            raw, by_hand = (mean_score(make, [X] * options.seeds, y) for X in (frame, one_hot))
            print(
                f"{name:16s}{kind:28s}{raw:10.3f}{by_hand:10.3f}{raw - by_hand:+12.3f}", flush=True
            )


def missing(options) -> None:
    print(
        f"{'dataset':20s}{'forest':28s}{'whole':>8s}{'20 % gone':>11s}{'loss':>8s}{'less RF':>9s}"
    )
    for name, suffix in (("magic", "Classifier"), ("california-housing", "Regressor")):
        X, y = load(name, options.rows)
        sklearn = RandomForestClassifier if suffix == "Classifier" else RandomForestRegressor

        def plain(seed, cls=sklearn):
            return cls(options.trees, random_state=seed)

        rows = [("scikit-learn's RF", plain)]
        rows += [(kind, maker(kind, suffix, options.trees)) for kind in KINDS]
        tables = [
            X.mask(np.random.default_rng(s).random(X.shape) < 0.2) for s in range(options.seeds)
        ]
        of_rf = 0.0
        for kind, make in rows:
            whole = mean_score(make, [X] * options.seeds, y)
            rest = mean_score(make, tables, y)
            of_rf = of_rf or whole - rest
            print(
                f"{name:20s}{kind:28s}{whole:8.3f}{rest:11.3f}{whole - rest:8.3f}"
                f"{whole - rest - of_rf:+9.3f}",
                flush=True,
            )


def made_table(rows: int, columns: int):
    """Noise, and ten groups of 1 % of the columns, each with a factor behind it.

    A signed sum of the factors decides the class.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    factors = rng.standard_normal((rows, 10), dtype=np.float32)
    X[:, : columns // 100 * 10] += np.repeat(factors, columns // 100, axis=1)
    return X, (factors @ np.where(np.arange(10) < 5, 1.0, -1.0) > 0).astype(int)


def wide_one(options) -> None:
    X, y = made_table(options.rows, options.columns)
    half = len(X) * 4 // 5
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if options.method == "RF":
        model = RandomForestClassifier(options.trees, random_state=0)
    else:
        surrogate = RandomForestClassifier(options.trees)
        model = jarf.JARFClassifier(
            n_estimators=options.trees, surrogate=surrogate, random_state=0, n_jobs=1
        )
    start = time.perf_counter()
    model.fit(X[:half], y[:half])
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row = {
        "method": options.method,
        "fit_s": round(seconds, 1),
        "kappa": round(cohen_kappa_score(y[half:], model.predict(X[half:])), 3),
        "table_mb": round(X.nbytes / 1e6),
        "peak_mb": round(peak / 1e3),
        "peak_before_fit_mb": round(before / 1e3),
        "stages": {k: round(v, 1) for k, v in getattr(model, "stage_times_", {}).items()},
    }
    if options.method != "RF":
        factor = model.preconditioner_.ejop_.factor
        row["gradients_mb"] = round((factor.data.nbytes + factor.indices.nbytes) / 1e6, 1)
        row["entries_per_gradient"] = round(factor.nnz / factor.shape[0], 1)
        top = np.argsort(model.preconditioner_.feature_sensitivities_)[-100:]
        row["true_columns_in_top_100"] = int((top < options.columns // 100 * 10).sum())
    print(json.dumps(row))


def wide(options) -> None:
    for method in ("RF", "JARF"):
        arguments = [__file__, "wide-one", "--method", method]
        for name in ("rows", "columns", "trees"):
            arguments += [f"--{name}", str(getattr(options, name))]
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
        print(done.stdout.strip() or done.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=["categories", "missing", "wide", "wide-one"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--columns", type=int, default=20_000)
    parser.add_argument("--trees", type=int)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--method", default="JARF")
    options = parser.parse_args()
    is_wide = options.part.startswith("wide")
    options.rows = options.rows or (5_000 if is_wide else 6_000)
    options.trees = options.trees or (10 if is_wide else 50)
    {"categories": categories, "missing": missing, "wide": wide, "wide-one": wide_one}[
        options.part
    ](options)


if __name__ == "__main__":
    main()
