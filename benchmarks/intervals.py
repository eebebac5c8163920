"""Coverage and width of prediction intervals, beside split-conformal forests and CatBoost.

    JARF_DATA=folder python benchmarks/intervals.py [--tables 40] [--rows 2000] [--coverage 0.9]

``folder/pmlb/regression`` holds tables as parquet files. Each is split in halves. Intervals are
those of the Jacobian forest (``predict_interval``), of a random forest with the residuals of a
quarter of the training rows (split-conformal), and of CatBoost's quantile loss. Widths are divided
by the standard deviation of the target. The promise: coverage within 0.01 of the asked one, on
average over tables.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

from jarf import JacobianForestRegressor
from jarf.ensemble import ConformalResiduals


def jacobian(X, y, rows, coverage) -> np.ndarray:
    model = JacobianForestRegressor(random_state=0, n_jobs=1).fit(X, y)
    return model.predict_interval(rows, coverage)


def split_conformal(X, y, rows, coverage) -> np.ndarray:
    learn, held, y_learn, y_held = train_test_split(X, y, test_size=0.25, random_state=0)
    model = RandomForestRegressor(200, random_state=0).fit(learn, y_learn)
    ones = np.ones((len(held), 1))
    residuals = (y_held - model.predict(held))[:, None]
    half = ConformalResiduals.fit(residuals, ones, ones[:, 0])
    middle = model.predict(rows)[:, None]
    return middle + half.half_widths(np.ones_like(middle), coverage) * [-1, 1]


def catboost(X, y, rows, coverage) -> np.ndarray:
    from catboost import CatBoostRegressor

    tails = (1 - coverage) / 2, (1 + coverage) / 2
    ends = [
        CatBoostRegressor(
            loss_function=f"Quantile:alpha={tail}",
            random_seed=0,
            thread_count=1,
            verbose=0,
            allow_writing_files=False,
        )
        .fit(X, y)
        .predict(rows)
        for tail in tails
    ]
    return np.sort(np.column_stack(ends), axis=1)


METHODS = {"Jacobian forest": jacobian, "split-conformal RF": split_conformal, "CatBoost": catboost}


def tables(n_tables: int) -> list[Path]:
    folder = os.environ.get("JARF_DATA")
    if not folder:
        raise SystemExit("Set JARF_DATA to the folder that holds pmlb/regression/*.parquet.")
    found = sorted((Path(folder) / "pmlb" / "regression").glob("*.parquet"))
    return found[:: max(1, len(found) // n_tables)][:n_tables]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options = parser.parse_args()
    rows = []
    for path in tables(options.tables):
        frame = pd.read_parquet(path)
        frame = frame.sample(min(options.rows, len(frame)), random_state=0)
        y, X = frame.pop("target").to_numpy(float), frame.to_numpy(float)
        if len(y) < 80:
            continue
        learn, test, y_learn, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
        line = {"table": path.stem, "rows": len(learn)}
        for name in options.methods:
            low, high = METHODS[name](learn, y_learn, test, options.coverage).T
            line[f"{name}: coverage"] = np.mean((low <= y_test) & (y_test <= high))
            line[f"{name}: width"] = np.mean(high - low) / y.std()
        rows.append(line)
        print("  ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in line.values()))
    print(pd.DataFrame(rows).drop(columns="table").mean().to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
