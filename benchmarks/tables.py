"""Real tables: raw categories, missing values, and very wide data.

    JARF_DATA=folder python benchmarks/tables.py categories [--rows 6667] [--seeds 3] [--trees 50]
    JARF_DATA=folder python benchmarks/tables.py missing
    JARF_DATA=folder python benchmarks/tables.py wide [--rows 5000] [--columns 20000] [--trees 50]
    python benchmarks/tables.py few-rows
    python benchmarks/tables.py memory [--rows 200000] [--columns 50] [--trees 10]

``categories`` compares the raw frame with a one-hot encoded table, forest by forest. ``missing``
removes 20 % of the values at random and shows the loss of each forest, next to scikit-learn's
random forest, which splits on NaN. ``wide`` fits JARF on bioresponse and on a synthetic table, and
prints time and peak memory of a new process next to the random forest's. It then fits the Jacobian
forest with its default 200 trees on 200 rows of 5,000 and 20,000 columns, and prints the ratio of
its time to that of a random forest of 200 trees (target: at most 10 at 20,000 columns).
``few-rows`` runs this last part only. ``memory`` shows the memory that a fit needs in addition to a
float32 table, measured in new processes.
"""

from __future__ import annotations

import argparse
import json
import os
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
        raise SystemExit("Set JARF_DATA to the folder with the datasets as parquet files.")
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
    """Return the mean score over seeds; each seed has its own table."""
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
        mapping = jarf.JacobianPreconditioner(categorical="toggle")
        toggled = maker("JARF", "Classifier", options.trees, preconditioner=mapping)
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
    """Return noise, and ten groups of 1 % of the columns (at least one), each driven by a factor.

    A signed sum of the factors decides the class.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    factors = rng.standard_normal((rows, 10), dtype=np.float32)
    size = max(1, columns // 100)
    X[:, : size * 10] += np.repeat(factors, size, axis=1)
    return X, (factors @ np.where(np.arange(10) < 5, 1.0, -1.0) > 0).astype(int)


def peak_mb() -> float:
    """Peak memory of this process (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1e3


def method(options):
    """Return the estimator to fit in a new process."""
    params = {"random_state": 0, "n_jobs": options.jobs}
    if options.method == "RF":
        return RandomForestClassifier(options.trees, **params)
    if options.method == "JARF":
        params["surrogate"] = RandomForestClassifier(options.trees, max_features="sqrt")
    cls = getattr(jarf, f"{options.method}Classifier")
    return cls(n_estimators=options.trees, **params)


def one(options) -> None:
    if options.table == "made":
        X, y = made_table(options.rows, options.columns)
    else:
        frame, y = load(options.table, 10**6)
        X = frame.to_numpy(np.float32)
    n_train = len(X) * 4 // 5
    train, test = X[:n_train].copy(), X[n_train:].copy()
    del X
    model = method(options)
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before = peak_mb()
    start, cpu = time.perf_counter(), time.process_time()
    model.fit(train, y[:n_train])
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = peak_mb()
    row = {
        "table": f"{options.table} {train.shape[0]} x {train.shape[1]} float32",
        "method": options.method,
        "fit_s": round(seconds, 1),
        "cpu_s": round(cpu, 1),
        "kappa": round(cohen_kappa_score(y[n_train:], model.predict(test)), 3),
        "table_mb": round(train.nbytes / 1e6),
        "fit_needs_mb": round(peak - before),
        "peak_mb": round(peak),
        "stages": {k: round(v, 1) for k, v in getattr(model, "stage_times_", {}).items()},
    }
    ejop = getattr(getattr(model, "preconditioner_", None), "ejop_", None)
    if hasattr(ejop, "factor"):
        row["gradients_mb"] = round((ejop.factor.data.nbytes + ejop.factor.indices.nbytes) / 1e6, 1)
        row["entries_per_gradient"] = round(ejop.factor.nnz / ejop.factor.shape[0], 1)
        top = np.argsort(model.preconditioner_.feature_sensitivities_)[-100:]
        row["true_columns_in_top_100"] = int((top < options.columns // 100 * 10).sum())
    print(json.dumps(row))


def in_own_process(options, **changes) -> dict:
    """Fit in a new process, and print and return the measurements."""
    chosen = {**vars(options), **changes, "part": "one"}
    arguments = [chosen.pop("part")]
    for name, value in chosen.items():
        arguments += [f"--{name}", str(value)]
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    print(done.stdout.strip(), flush=True)
    return json.loads(done.stdout)


def wide(options) -> None:
    for table in ("bioresponse", "made"):
        for name in ("RF", "JARF"):
            in_own_process(options, table=table, method=name)
    few_rows(options)


def few_rows(options) -> None:
    """250 rows, of which 200 are fitted."""
    for columns in (5_000, 20_000):
        size = {"table": "made", "rows": 250, "columns": columns, "trees": 200}
        rows = [in_own_process(options, method=name, **size) for name in ("RF", "JacobianForest")]
        ratio = rows[1]["fit_s"] / rows[0]["fit_s"]
        print(
            f"JacobianForest takes {ratio:.1f} times as long as RF at 200 x {columns}", flush=True
        )


def memory(options) -> None:
    for name in ("RF", *KINDS[:-1]):
        in_own_process(options, method=name)


def main() -> None:
    every = (categories, missing, wide, few_rows, memory, one)
    parts = {f.__name__.replace("_", "-"): f for f in every}
    sizes = {"wide": (5_000, 20_000, 50), "memory": (200_000, 50, 10)}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=list(parts))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--columns", type=int)
    parser.add_argument("--trees", type=int)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--method", default="JARF")
    parser.add_argument("--table", default="made")
    options = parser.parse_args()
    rows, columns, trees = sizes.get(options.part, (6_667, 0, 50))
    options.rows = options.rows or rows
    options.columns = options.columns or columns
    options.trees = options.trees or trees
    parts[options.part](options)


if __name__ == "__main__":
    main()
