"""Write the golden outputs again after an intended change of predictions:

    python tests/golden/regenerate.py

``tests/test_golden.py`` compares every estimator with them, so that no answer changes unnoticed
between versions. Say in CHANGELOG.md what changed them.
"""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_wine
from threadpoolctl import threadpool_info

import jarf

PATH = Path(__file__).with_name("outputs.json")
# Grown by our own arithmetic alone: the same bits on every machine. Eigenvectors and matrix
# products of the others come from the BLAS and LAPACK at hand, whose last digits differ.
EXACT = ("AxisForest", "SPORF")


def data(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows with their target, and rows to answer."""
    regression = name.endswith("Regressor")
    X, y = load_diabetes(return_X_y=True) if regression else load_wine(return_X_y=True)
    X = X[:, :6].copy()
    X[::11, 2] = np.nan
    return X[::2], y[::2], X[1:40:2]


def output(name: str) -> np.ndarray:
    """Return the predictions of a small model of that name."""
    X, y, rows = data(name)
    kind = getattr(jarf, name)
    wanted = {"n_estimators": 8, "max_iter": 8, "random_state": 0}
    model = kind(**{key: wanted[key] for key in wanted if key in kind().get_params()}).fit(X, y)
    if hasattr(model, "transform"):
        return model.transform(rows)
    return model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)


def environment() -> dict[str, str]:
    """What the digits of the inexact ones depend on."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    # OpenBLAS has kernels of its own for each kind of processor.
    libraries = [part for part in threadpool_info() if part["user_api"] == "blas"]
    kernels = {str(part.get("architecture")) for part in libraries}
    machine = f"{platform.system()} {platform.machine()}"
    return {**packages, "machine": machine, "blas": " ".join(sorted(kernels))}


def names() -> list[str]:
    """Every public estimator."""
    return sorted(name for name in jarf.__all__ if hasattr(getattr(jarf, name), "fit"))


if __name__ == "__main__":
    outputs = {name: output(name).tolist() for name in names()}
    lines = [f"{json.dumps(name)}: {json.dumps(values)}" for name, values in outputs.items()]
    head = f'"environment": {json.dumps(environment())}'
    PATH.write_text("{\n" + ",\n".join([head, *lines]) + "\n}\n")
    print(f"{len(outputs)} outputs in {PATH.name}")
