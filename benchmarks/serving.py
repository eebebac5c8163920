"""Latency of predictions: one row to 10,000, beside other libraries and ONNX, in one run.

    JARF_DATA=folder python benchmarks/serving.py [--only array frame onnx] [--repeats 20]

Every model has 200 trees, is trained on 5,000 rows and predicts probabilities with one thread.
``array`` predicts rows of a float array (magic, 10 columns). ``frame`` predicts rows of a raw
DataFrame with categories (adult, 14 columns): scikit-learn's random forest behind a one-hot
encoder, XGBoost and LightGBM with their own categories. A cell is milliseconds of processor time
per call, the least of the repeats, and in brackets the ratio to the random forest. Models take
turns; small batches are predicted several times in a row, as by a server. ``onnx`` divides the time
of onnxruntime by that of the exported model itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import onnxruntime
from _data import load
from _sections import run_sections
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tables import load as load_frame
from xgboost import XGBClassifier

from jarf import (
    AxisForestClassifier,
    CanonicalCorrelationForestClassifier,
    JacobianForestClassifier,
    SPORFClassifier,
)
from jarf.export import export_onnx, onnx_inputs

BATCHES = (1, 100, 1_000, 10_000)
TRAIN_ROWS, MOST_ROWS = 5_000, 19_000  # fewer than magic has: rows are drawn in random order
Predict = Callable[[object], object]


def others(trees: int) -> dict[str, object]:
    """Models of other libraries, unfitted."""
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (levels, make_column_selector(dtype_include="category")), remainder="passthrough"
    )
    forest = RandomForestClassifier(trees, random_state=0, n_jobs=1)
    return {
        "RF": forest,
        "one-hot + RF": make_pipeline(columns, forest),
        "XGBoost": XGBClassifier(n_estimators=trees, n_jobs=1, enable_categorical=True),
        "LightGBM": LGBMClassifier(n_estimators=trees, n_jobs=1, verbose=-1),
    }


def ours(trees: int) -> dict[str, object]:
    """Models of this library, unfitted."""
    common = {"n_estimators": trees, "random_state": 0, "n_jobs": 1}
    return {
        "axes": AxisForestClassifier(**common),
        "SPORF": SPORFClassifier(**common),
        "CCF": CanonicalCorrelationForestClassifier(**common),
        "Jacobian forest": JacobianForestClassifier(**common),
    }


def in_onnx(model) -> Predict:
    """Return the prediction of the exported model; its inputs are made from the rows each time."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        export_onnx(model).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda rows: session.run(None, onnx_inputs(model, rows))


def least(calls: dict[str, Predict], rows, repeats: int) -> dict[str, float]:
    """Return milliseconds of each call, the least of the repeats; models take turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            for _ in range(max(1, min(10, 1_000 // len(rows)))):
                start = time.process_time()
                call(rows)
                best[name] = min(best[name], 1e3 * (time.process_time() - start))
    return best


def measured(calls: dict[str, Predict], table, repeats: int) -> dict[int, dict[str, float]]:
    """Return the milliseconds at each size of a batch."""
    return {n: least(calls, table[:n], repeats if n < 10_000 else 3) for n in BATCHES}


def beside_forest(calls: dict[str, Predict], table, repeats: int) -> list[dict]:
    """Return one line per model, the random forest first."""
    times = measured(calls, table, repeats)
    reference = next(iter(calls))
    lines = []
    for name in calls:
        ratios = {n: times[n][name] / times[n][reference] for n in BATCHES}
        cells = {f"{n:,} rows": f"{times[n][name]:.2f} ({ratios[n]:.2g})" for n in BATCHES}
        lines.append({"": name, **cells})
    return lines


def array(trees: int, repeats: int) -> list[dict]:
    """rows of a float array (magic), milliseconds and ratio to RF"""
    X, y = load("magic", MOST_ROWS)
    y = (y == y[0]).astype(int)
    models = {**others(trees), **ours(trees)}
    del models["one-hot + RF"], models["CCF"]
    return beside_forest(_calls(models, X[:TRAIN_ROWS], y[:TRAIN_ROWS]), X[TRAIN_ROWS:], repeats)


def frame(trees: int, repeats: int) -> list[dict]:
    """rows of a raw DataFrame (adult), milliseconds and ratio to the one-hot encoder and RF"""
    table, y = load_frame("adult", MOST_ROWS)
    text = table.select_dtypes(exclude="number").columns
    table = table.astype(dict.fromkeys(text, "category"))
    y = (y == y[0]).astype(int)
    models = {**others(trees), **ours(trees)}
    del models["RF"], models["CCF"]
    calls = _calls(models, table[:TRAIN_ROWS], y[:TRAIN_ROWS])
    return beside_forest(calls, table[TRAIN_ROWS:], repeats)


def _calls(models: dict[str, object], X, y) -> dict[str, Predict]:
    """Fit the models; return their predictions, and those of two of ours in ONNX."""
    calls: dict[str, Predict] = {}
    for name, model in models.items():
        calls[name] = model.fit(X, y).predict_proba  # type: ignore[attr-defined]
    for name in ("axes", "Jacobian forest"):
        calls[f"{name}, ONNX"] = in_onnx(models[name])
    return calls


def onnx(trees: int, repeats: int) -> list[dict]:
    """time in ONNX divided by that of the exported model itself"""
    lines = []
    for name in ("magic", "satimage"):
        X, y = load(name, MOST_ROWS if name == "magic" else 6_000)
        y = y.astype(str)
        rows = np.resize(X, (10_000, X.shape[1]))
        for kind, model in ours(trees).items():
            model.fit(X[:TRAIN_ROWS], y[:TRAIN_ROWS])  # type: ignore[attr-defined]
            calls = {"own": model.predict_proba, "ONNX": in_onnx(model)}  # type: ignore[attr-defined]
            times = measured(calls, rows, repeats)
            cells = {f"{n:,} rows": f"{t['ONNX'] / t['own']:.1f}" for n, t in times.items()}
            lines.append({"": f"{name}, {kind}", "columns": X.shape[1], **cells})
    return lines


if __name__ == "__main__":
    sections = {"array": array, "frame": frame, "onnx": onnx}
    run_sections(__doc__ or "", sections, trees=200, repeats=20)
