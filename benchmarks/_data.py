"""The real tables that benchmarks run on: parquet files in the folder JARF_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd


def load(name: str, rows: int | None = None, seed: int = 0):
    """Return numeric columns and target of a dataset; a random sample if ``rows`` is given."""
    folder = os.environ.get("JARF_DATA")
    if not folder:
        raise SystemExit("Set JARF_DATA to the folder with the datasets as parquet files.")
    frame = pd.read_parquet(Path(folder) / f"{name}.parquet")
    if rows is not None and rows < len(frame):
        frame = frame.sample(rows, random_state=seed)
    target = frame.pop("target")
    X = frame.select_dtypes("number").to_numpy(dtype=np.float64)
    y = target.to_numpy()
    return X, (y.astype(str) if y.dtype == object or target.dtype == "category" else y)
