"""The ensemble beside its members and CatBoost, on the tables of pmlb.

    JARF_DATA=folder python benchmarks/ensemble.py classification [--tables 12] [--rows 1000]
    JARF_DATA=folder python benchmarks/ensemble.py regression

``folder/pmlb`` holds tables as parquet files. Each is split in halves. Classification prints
Cohen's kappa, log loss and expected calibration error, with those of the forest before calibration;
regression prints R2. Means, mean ranks and the sum of fit times, one thread each, come last.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.metrics import cohen_kappa_score, r2_score
from sklearn.model_selection import train_test_split

import jarf
from jarf.ensemble import expected_calibration_error


def catboost(task: str):
    import catboost

    kind = catboost.CatBoostClassifier if task == "classification" else catboost.CatBoostRegressor
    return kind(random_seed=0, thread_count=1, verbose=0, allow_writing_files=False)


def ours(stem: str, task: str, **params):
    kind = getattr(jarf, stem + ("Classifier" if task == "classification" else "Regressor"))
    wanted = {"random_state": 0, "n_jobs": 1, **params}
    return kind(**{name: wanted[name] for name in wanted if name in kind().get_params()})


METHODS = {
    "uncalibrated forest": lambda task: ours("JacobianForest", task, calibrate=False),
    "forest": lambda task: ours("JacobianForest", task),
    "boosting": lambda task: ours("JacobianBoosting", task),
    "kernel": lambda task: ours("JacobianKernel", task),
    "ensemble": lambda task: ours("JacobianEnsemble", task),
    "CatBoost": catboost,
}


def tables(task: str, n_tables: int) -> list[Path]:
    folder = os.environ.get("JARF_DATA")
    if not folder:
        raise SystemExit("Set JARF_DATA to the folder that holds pmlb/*/*.parquet.")
    found = sorted((Path(folder) / "pmlb" / task).glob("*.parquet"))
    return found[:: max(1, len(found) // n_tables)][:n_tables]


def scores(task: str, model, X, y) -> dict[str, float]:
    if task == "regression":
        return {"R2": r2_score(y, model.predict(X))}
    probabilities = np.asarray(model.predict_proba(X))
    codes = np.searchsorted(model.classes_, y)
    named = probabilities[np.arange(len(y)), codes]
    return {
        "kappa": cohen_kappa_score(y, np.ravel(model.predict(X))),
        "log loss": float(-np.log(np.clip(named, 1e-15, 1)).mean()),
        "calibration error": expected_calibration_error(probabilities, codes),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("task", choices=("classification", "regression"))
    parser.add_argument("--tables", type=int, default=12)
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    rows = []
    for path in tables(options.task, options.tables):
        frame = pd.read_parquet(path)
        frame = frame.sample(min(options.rows, len(frame)), random_state=0)
        y, X = frame.pop("target").to_numpy(), frame.to_numpy(float)
        learn, test, y_learn, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
        known = np.isin(y_test, y_learn) | (options.task == "regression")
        for name, make in METHODS.items():
            if options.task == "regression" and name == "uncalibrated forest":
                continue
            start = time.process_time()
            model = make(options.task).fit(learn, y_learn)
            seconds = time.process_time() - start
            found = scores(options.task, model, test[known], y_test[known])
            rows.append({"table": path.stem, "method": name, "seconds": seconds, **found})
            print(path.stem, name, {key: round(value, 3) for key, value in found.items()})
    summarise(pd.DataFrame(rows))


def summarise(frame: pd.DataFrame) -> None:
    """Print means, and mean ranks over tables."""
    measures = [name for name in frame.columns if name not in ("table", "method", "seconds")]
    summary = frame.groupby("method", sort=False)[[*measures, "seconds"]].mean()
    for name in measures:
        wide = frame.pivot(index="table", columns="method", values=name)
        signed = -wide if name in ("kappa", "R2") else wide
        ranks = np.apply_along_axis(rankdata, 1, signed.to_numpy())
        summary[f"rank by {name}"] = pd.Series(ranks.mean(axis=0), index=wide.columns)
    print(summary.round(3).to_string())


if __name__ == "__main__":
    main()
