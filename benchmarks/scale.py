"""Scaling: memory, time against rows, threads, and the accuracy of trees on parts of the rows.

    python benchmarks/scale.py [--rows 1000000] [--only peers memory curve threads accuracy dask]
                               [--markdown out.md]

The data are synthetic: d = 50 normal columns in float32 and two classes, whose boundary is oblique
in ten of the columns. Memory is the increase of the peak of a new process after loading the table,
in units of the table. If JARF_DATA is set, accuracy is also measured on covertype. ``peers`` fits
100 trees with one thread and reports CPU time; scikit-learn's random forest, whose time is
proportional to the number of trees, grows 4 and its time is multiplied by 25.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from _sections import run_sections

N_COLUMNS = 50
# Few trees, so that copies of the input dominate over the forest's own arrays.
MEMORY_TREES = 10
PEER_TREES = 100
CURVE = (100_000, 200_000, 400_000, 1_000_000)
ACCURACY_ROWS, TEST_ROWS = 50_000, 20_000
GROUPS = (1, 4, 16)


def make_table(n: int, d: int = N_COLUMNS) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 rows, generated block by block, and classes oblique in ten columns."""
    rng = np.random.default_rng(0)
    X = np.empty((n, d), np.float32)
    y = np.empty(n, np.int64)
    normal = np.random.default_rng(12345).normal(size=(2, 10)).astype(np.float32)
    for start in range(0, n, 10_000):
        block = X[start : start + 10_000]
        rng.standard_normal(out=block, dtype=np.float32)
        score = block[:, :10] @ normal.T
        y[start : start + 10_000] = (score[:, 0] > 0) ^ (score[:, 1] > 1.5)
    return X, y


def jarf_model(n_trees: int, n_jobs: int = 2):
    from jarf import JARFClassifier

    return JARFClassifier(n_estimators=n_trees, n_jobs=n_jobs, random_state=0)


def peak(field: str = "VmHWM") -> int:
    """Return the memory of the process in bytes: the peak so far, or now (VmRSS)."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field))
    return int(line.split()[1]) * 1024


def fresh(call: str, *arguments) -> dict:
    """Run a function of this file in a new process; return the JSON that it prints."""
    code = f"import json, scale; print(json.dumps(scale.{call}(*{arguments!r})))"
    folder = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def peer_model(name: str, n_trees: int, n_jobs: int):
    """Return an unfitted model of this library or another one."""
    import lightgbm
    from sklearn.ensemble import RandomForestClassifier

    import jarf

    common = {"n_jobs": n_jobs, "random_state": 0}
    if name == "JacobianBoosting":  # rounds as given: LightGBM has no early stopping here either
        return jarf.JacobianBoostingClassifier(max_iter=n_trees, early_stopping=False, **common)
    if name == "RF":
        return RandomForestClassifier(n_trees, **common)
    if name == "LightGBM":
        return lightgbm.LGBMClassifier(n_estimators=n_trees, verbosity=-1, **common)
    return getattr(jarf, f"{name}Classifier")(n_estimators=n_trees, **common)


def array_bytes(model) -> int:
    """Return the bytes of the arrays of a fitted forest of this library; otherwise zero."""
    forest = getattr(getattr(model, "estimator_", model), "forest_", None)
    values = vars(forest).values() if forest is not None else ()
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


def fit_peer(name: str, n: int, n_trees: int, n_jobs: int) -> dict:
    """Return CPU time, memory and accuracy of one fit."""
    X, y = make_table(n + TEST_ROWS)
    test, z = X[n:].copy(), y[n:].copy()
    X, y = X[:n], y[:n]
    peer_model(name, 2, n_jobs).fit(X[:500], y[:500])  # load everything first
    before = peak("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    clock, cpu = time.perf_counter(), time.process_time()
    model = peer_model(name, n_trees, n_jobs).fit(X, y)
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    return {
        "cpu": cpu,
        "clock": clock,
        "peak_over_input": (peak() - before) / X.nbytes,
        "model_over_input": array_bytes(model) / X.nbytes,
        "accuracy": float(np.mean(model.predict(test) == z)),
    }


def peers(rows: int, _: int) -> list[dict]:
    """CPU seconds, and ratio to RF; peak memory and the model alone in units of the table."""
    results: list[dict] = []
    methods = (
        "RF",
        "LightGBM",
        "JacobianForest",
        "JacobianBoosting",
        "AxisForest",
        "JARF",
        "SPORF",
    )
    for name in methods:
        share = 25 if name == "RF" else 1
        found = fresh("fit_peer", name, rows, PEER_TREES // share, 1)
        seconds = share * found["cpu"]
        row = {"model": name, "CPU s": seconds, "ratio": 1.0}
        if results:
            row["ratio"] = seconds / results[0]["CPU s"]
        kept = ("peak_over_input", "model_over_input", "accuracy")
        row |= {key: found[key] for key in kept}
        if share > 1:  # memory and accuracy of a few trees are not those of all
            row |= {"peak_over_input": "", "accuracy": ""}
        results.append(row)
        print(results[-1], flush=True)
    return results


def fit_once(n: int, n_jobs: int = 2) -> dict:
    """Return time and memory of one fit of JARF."""
    X, y = make_table(n)
    jarf_model(2).fit(X[:500], y[:500])  # load everything first
    before = peak("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    start = time.perf_counter()
    model = jarf_model(MEMORY_TREES, n_jobs).fit(X, y)
    seconds = time.perf_counter() - start
    rise = (peak() - before) / X.nbytes
    return {
        "rows": n,
        "seconds": seconds,
        **model.stage_times_,
        "peak_over_input": rise,
        "with_input": rise + 1,
        "forest_over_input": array_bytes(model) / X.nbytes,
    }


def memory(rows: int, _: int) -> list[dict]:
    """Measure peak memory of JARF's fit. Each thread has buffers of about 50 bytes per row."""
    return [{"n_jobs": n_jobs, **fresh("fit_once", rows, n_jobs)} for n_jobs in (1, 2)]


def curve(rows: int, _: int) -> list[dict]:
    """Measure the time of JARF's fit against the number of rows."""
    results = [fresh("fit_once", n) for n in CURVE if n <= rows]
    for result in results:
        result["seconds_per_million"] = result["seconds"] / result["rows"] * 1e6
        result["engine_per_million"] = result["fit"] / result["rows"] * 1e6
    return results


def seconds(call, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def threads(rows: int, repeats: int) -> list[dict]:
    """Compare one thread with two: the EJOP alone, and the engine alone."""
    from sklearn.ensemble import RandomForestClassifier

    from jarf import expected_jacobian_outer_product
    from jarf.ensemble import AxisForestClassifier, SPORFClassifier

    X, y = make_table(min(rows, 200_000))
    surrogate = RandomForestClassifier(50, n_jobs=2, random_state=0).fit(X[:20_000], y[:20_000])
    few = slice(0, 100_000)
    tasks = {
        "EJOP, 100,000 probes": lambda n_jobs: expected_jacobian_outer_product(
            surrogate, X[few], y[few], n_jobs=n_jobs
        ),
        f"engine, plain axes, {len(X):,} rows": lambda n_jobs: AxisForestClassifier(
            10, n_jobs=n_jobs, random_state=0
        ).fit(X, y),
        f"engine, SPORF, {len(X):,} rows": lambda n_jobs: SPORFClassifier(
            6, n_jobs=n_jobs, random_state=0
        ).fit(X, y),
    }
    results = []
    for name, call in tasks.items():
        pairs = [
            (seconds(lambda c=call: c(1), 1), seconds(lambda c=call: c(2), 1))
            for _ in range(repeats)
        ]
        ratio = statistics.median(one / two for one, two in pairs)
        results.append(
            {"what": name, "n_jobs=1": pairs[-1][0], "n_jobs=2": pairs[-1][1], "ratio": ratio}
        )
    return results


def accuracy_tables() -> dict:
    """Return train and test parts of synthetic data and, with a data folder, of covertype."""
    X, y = make_table(ACCURACY_ROWS + TEST_ROWS)
    tables = {"made": (X, y)}
    if os.environ.get("JARF_DATA"):
        from _data import load

        tables["covertype"] = load("covertype", ACCURACY_ROWS + TEST_ROWS)
    return {
        name: (X[:-TEST_ROWS], X[-TEST_ROWS:], y[:-TEST_ROWS], y[-TEST_ROWS:])
        for name, (X, y) in tables.items()
    }


def accuracy(_: int, repeats: int) -> list[dict]:
    """Compare the accuracy of trees on parts of the rows with the local forest."""
    import dask.array as da

    from jarf import dask as on_dask

    results = []
    for name, (X, Z, y, z) in accuracy_tables().items():
        dX = da.from_array(np.ascontiguousarray(X), chunks=(-(-len(X) // 16), X.shape[1]))
        few = {"surrogate_rows": 5000}
        kinds = {
            "JARFClassifier": {"preconditioner": on_dask.JacobianPreconditioner(**few)},
            "JacobianForestClassifier": few,
        }
        for kind, settings in kinds.items():
            scores = {}
            for groups in GROUPS:
                rows = -(-len(X) // groups)
                made = [
                    getattr(on_dask, kind)(
                        n_estimators=48, **settings, rows_per_tree=rows, random_state=seed
                    )
                    for seed in range(repeats)
                ]
                scores[groups] = statistics.mean(
                    model.fit(dX, y).to_local().score(Z, z) for model in made
                )
            results.append(
                {
                    "table": f"{name}, {len(X):,} x {X.shape[1]}",
                    "forest": kind,
                    "all rows": scores[1],
                    **{f"1/{groups}": scores[groups] - scores[1] for groups in GROUPS[1:]},
                }
            )
    return results


def dask(rows: int, _: int) -> list[dict]:
    """Compare a fit on a LocalCluster of two workers with one thread each with a local fit."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from jarf import dask as on_dask

    n = min(rows, 200_000)
    X, y = make_table(n)
    local = seconds(lambda: jarf_model(50).fit(X, y), 1)
    with LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        dX = da.from_array(X, chunks=(n // 10, N_COLUMNS)).persist()
        model = on_dask.JARFClassifier(n_estimators=50, n_jobs=2, random_state=0)
        there = seconds(lambda: model.fit(dX, y), 1)
        mapping = seconds(lambda: model.predict(dX).compute(), 1)
    return [
        {
            "rows": n,
            "local fit": local,
            "Dask fit": there,
            "ratio": there / local,
            **model.stage_times_,
            "Dask predict": mapping,
        }
    ]


SECTIONS = {
    "peers": peers,
    "memory": memory,
    "curve": curve,
    "threads": threads,
    "accuracy": accuracy,
    "dask": dask,
}


if __name__ == "__main__":
    run_sections(__doc__, SECTIONS, rows=1_000_000, repeats=3)
