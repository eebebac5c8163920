"""Cost of the Jacobian forest: against other forests, and its growth with rows and columns.

    JARF_DATA=folder python benchmarks/jacobian.py [--only study forests rows columns]
        [--markdown out.md]

``study``: CPU time of whole fits on the 20 tables of the study and of their stages, divided by that
of a random forest: first split, at most 5,000 training rows, 200 trees, one thread.
``forests``: times of whole fits, race included, and of predictions on real tables, relative to
scikit-learn's random forest with the same number of threads, one model after the other; with ydf's
sparse oblique forest if it is installed. ``rows`` and ``columns``: times on synthetic data next to
scikit-learn's forest, and the exponent of growth between neighbouring sizes (1 is linear). CPU time
unless marked as clock; it is less affected by a busy machine.
"""

from __future__ import annotations

import time

import numpy as np
from _sections import run_sections
from scale import make_table
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from jarf import JacobianForestClassifier
from jarf.bench import Setting, get_budget, get_dataset, get_method, make_split

N_TREES, N_JOBS = 100, 2
TABLES = ("phoneme", "spambase", "satimage", "magic", "letter", "electricity", "jannis")
ROWS, COLUMNS = (1000, 3000, 10_000, 30_000, 100_000), (10, 50, 200, 700, 2000)


def timed(call, *arguments) -> tuple[float, float]:
    """Return wall and CPU seconds of a call."""
    clock, cpu = time.perf_counter(), time.process_time()
    call(*arguments)
    return time.perf_counter() - clock, time.process_time() - cpu


def random_forest():
    return RandomForestClassifier(N_TREES, n_jobs=N_JOBS, random_state=0)


def jacobian_forest(geometry: str = "auto"):
    return JacobianForestClassifier(N_TREES, geometry=geometry, n_jobs=N_JOBS, random_state=0)


def forests() -> list[dict]:
    """Time fit and prediction relative to scikit-learn's random forest."""
    from forests import YdfSparseOblique, models, table

    made = models(regression=False)
    results = []
    for name in TABLES:
        X, Z, y, _ = table(name)
        ours = {"Jacobian": jacobian_forest, "Jacobian, fast": lambda: jacobian_forest("fast")}
        others = {
            key: (lambda key=key: made[key](0).set_params(n_estimators=N_TREES))
            for key in ("RF", "CCF", "SPORF", "RotF")
        }
        if "ydf SPORF" in made:
            others["ydf SPORF"] = lambda: YdfSparseOblique(N_TREES, 0)
        row: dict = {"table": f"{name}, {len(X):,} x {X.shape[1]}"}
        base: dict[str, tuple[float, float]] = {}
        for key, make in (others | ours).items():
            model = make()
            fit, predict = timed(model.fit, X, y), timed(model.predict, Z)
            base.setdefault("fit", fit)
            base.setdefault("predict", predict)
            if key != "RF":
                row[key] = fit[1] / base["fit"][1]
            if key == "Jacobian":
                row["by the clock"] = fit[0] / base["fit"][0]
                row["prediction"] = predict[0] / base["predict"][0]
        results.append(row)
    return results


def growth(sizes, make) -> list[dict]:
    results: list[dict] = []
    for size in sizes:
        X, y = make(size)
        _, forest = timed(random_forest().fit, X, y)
        model = jacobian_forest()
        clock, ours = timed(model.fit, X, y)
        row = {
            "size": size,
            "RF s": forest,
            "Jacobian s": ours,
            "ratio": ours / forest,
            "clock s": clock,
            "winner": " + ".join(geometry.name for geometry in model.geometries_),
            "exponent": "",
        }
        if results:
            step = np.log(size / results[-1]["size"])
            row["exponent"] = f"{np.log(ours / results[-1]['Jacobian s']) / step:.2f}"
        results.append(row)
    return results


STAGES = ("race", "calibration", "surrogates", "gradients", "fit")


def study() -> list[dict]:
    """Divide fits of the Jacobian forest and their stages by fits of a random forest."""
    budget = get_budget("standard")
    results: list[dict] = []
    with threadpool_limits(1):
        for name in budget.datasets:
            dataset = get_dataset(name)
            split = make_split(dataset, 0, 0, budget, seed=0)
            setting = Setting(
                task=split.task,
                n_trees=budget.n_trees,
                random_state=dataset.split_seed(0, 0, 0),
                numeric=split.numeric,
                n_train=len(split.X_train),
            )
            forest, ours, fast = (get_method(key).build(setting) for key in ("RF", "JF", "JF"))
            fast.set_params(geometry="fast", calibrate=False)
            rows = split.X_train, split.y_train
            base, whole, short = (timed(model.fit, *rows)[1] for model in (forest, ours, fast))
            stages = {stage: ours.stage_times_.get(stage, 0.0) / base for stage in STAGES}
            results.append({"table": name, **stages, "whole": whole / base, "fast": short / base})
    names = list(results[0])[1:]
    medians = {name: float(np.median([row[name] for row in results])) for name in names}
    return [*results, {"table": "median", **medians}]


def rows() -> list[dict]:
    """Measure growth with the number of rows, at 20 columns."""
    return growth(ROWS, lambda n: make_table(n, 20))


def columns() -> list[dict]:
    """Measure growth with the number of columns, at 2,000 rows."""
    return growth(COLUMNS, lambda d: make_table(2000, d))


SECTIONS = {"study": study, "forests": forests, "rows": rows, "columns": columns}


if __name__ == "__main__":
    run_sections(__doc__, SECTIONS)
