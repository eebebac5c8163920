"""Speed, memory and score of the forests on the engine, as ratios measured in one run.

    JARF_DATA=folder python benchmarks/forests.py [--datasets satimage magic] [--repeats 3]

Every forest is fitted in turn on the same rows as scikit-learn's random forest, with 200 trees and
two threads. Figures are medians over the repeats of wall time and of CPU time, which is less
affected by a busy machine. If aeon or ydf are installed, their rotation forest and sparse oblique
forest run too, with equal groups and an equal number of candidates.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from _data import load
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import cohen_kappa_score, r2_score
from sklearn.model_selection import train_test_split

from jarf import ensemble

N_JOBS, N_TREES, MAX_ROWS = 2, 200, 50_000
CLASSIFICATION = ("satimage", "letter", "magic", "spambase", "electricity")
REGRESSION = ("kin8nm", "california-housing")


class YdfSparseOblique:
    """ydf's sparse oblique forest with SPORF's default number and sparsity of candidates."""

    def __init__(self, n_trees: int, seed: int) -> None:
        self.n_trees, self.seed = n_trees, seed

    def fit(self, X, y):
        import ydf

        d = X.shape[1]
        n_candidates = int(np.ceil(2 * np.sqrt(d)))
        learner = ydf.RandomForestLearner(
            label="label",
            num_trees=self.n_trees,
            num_threads=N_JOBS,
            random_seed=self.seed,
            min_examples=1,
            max_depth=-1,
            winner_take_all=False,
            compute_oob_performances=False,
            split_axis="SPARSE_OBLIQUE",
            sparse_oblique_num_projections_exponent=float(np.log(n_candidates) / np.log(d)),
            sparse_oblique_max_num_projections=n_candidates,
            sparse_oblique_projection_density_factor=2.0,
        )
        self.classes = np.unique(y)
        table = {"x": X.astype(np.float32), "label": y.astype(str)}
        self.model = learner.train(table, verbose=0)
        self.names = self.model.label_classes()
        return self

    def predict(self, X):
        shares = self.model.predict({"x": X.astype(np.float32)})
        best = (shares > 0.5).astype(int) if shares.ndim == 1 else shares.argmax(axis=1)
        return np.array(self.names)[best]


def models(regression: bool) -> dict[str, Callable[[int], object]]:
    """Return a factory per model, scikit-learn's forest first."""
    kind = "Regressor" if regression else "Classifier"
    forest = RandomForestRegressor if regression else RandomForestClassifier

    def ours(name: str, **params):
        cls = getattr(ensemble, name + kind)
        return lambda seed: cls(N_TREES, n_jobs=N_JOBS, random_state=seed, **params)

    made: dict[str, Callable[[int], object]] = {
        "RF": lambda seed: forest(N_TREES, n_jobs=N_JOBS, random_state=seed),
        "axes": ours("AxisForest"),
        "SPORF": ours("SPORF"),
        "CCF": ours("CanonicalCorrelationForest"),
        "RotF": ours("RotationForest"),
        "RotF3": ours("RotationForest", group_size=3),
    }
    if not regression and find_spec("aeon"):
        made["aeon RotF3"] = _aeon
    if not regression and find_spec("ydf"):
        made["ydf SPORF"] = lambda seed: YdfSparseOblique(N_TREES, seed)
    return made


def _aeon(seed: int):
    from aeon.classification.sklearn import RotationForestClassifier

    return RotationForestClassifier(N_TREES, n_jobs=N_JOBS, random_state=seed)


def table(name: str):
    """Return train and test rows; class labels as strings."""
    X, y = load(name, MAX_ROWS)
    y = y if name in REGRESSION else y.astype(str)
    return train_test_split(X.astype(np.float32), y, test_size=0.3, random_state=0)


def run(name: str, model: str, seed: int) -> dict[str, float]:
    """Fit and predict once."""
    X, Z, y, z = table(name)
    made = models(name in REGRESSION)[model](seed)
    start, cpu = time.perf_counter(), time.process_time()
    made.fit(X, y)  # type: ignore[attr-defined]
    fitted, cpu = time.perf_counter(), time.process_time() - cpu
    predicted = made.predict(Z)  # type: ignore[attr-defined]
    done = time.perf_counter()
    score = r2_score if name in REGRESSION else cohen_kappa_score
    return {
        "fit": fitted - start,
        "cpu": cpu,
        "predict": done - fitted,
        "score": float(score(z, predicted)),
    }


def peak_memory(name: str, model: str) -> float:
    """Return the increase of the peak memory of a new process by a fit, in MB."""
    code = (
        "import resource, sys; import forests\n"
        f"X, Z, y, z = forests.table({name!r})\n"
        f"made = forests.models({name in REGRESSION})[{model!r}](0)\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "before = peak(); made.fit(X, y); print(peak() - before)"
    )
    folder = __file__.rsplit("/", 1)[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def measure(name: str, repeats: int, memory: bool) -> dict[str, dict[str, float]]:
    """Run all models in turn, repeatedly; return medians and ratios to the random forest."""
    names = list(models(name in REGRESSION))
    runs: dict[str, list[dict[str, float]]] = {model: [] for model in names}
    for seed in range(repeats):
        for model in names:
            runs[model].append(run(name, model, seed))
    rows = {
        model: {key: statistics.median(r[key] for r in runs[model]) for key in runs[model][0]}
        for model in names
    }
    for model, row in rows.items():
        row["score"] = statistics.mean(r["score"] for r in runs[model])
        row["fit ratio"] = row["fit"] / rows["RF"]["fit"]
        row["cpu ratio"] = row["cpu"] / rows["RF"]["cpu"]
        row["predict ratio"] = row["predict"] / rows["RF"]["predict"]
        row["gain"] = row["score"] - rows["RF"]["score"]
        if memory:
            row["MB"] = peak_memory(name, model)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=[*CLASSIFICATION, *REGRESSION])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="also measure peak memory")
    parser.add_argument("--json", help="write all figures to this file")
    options = parser.parse_args()
    everything = {}
    for name in options.datasets:
        everything[name] = measure(name, options.repeats, options.memory)
        print(f"\n{name}")
        for model, row in everything[name].items():
            figures = "  ".join(f"{key} {value:8.3f}" for key, value in row.items())
            print(f"  {model:11s} {figures}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(everything, file, indent=1)


if __name__ == "__main__":
    main()
