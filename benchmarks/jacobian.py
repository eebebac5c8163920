"""Cost of the Jacobian forest: against other forests, and its growth with rows and columns.

    JARF_DATA=folder python benchmarks/jacobian.py [--only forests rows columns] [--markdown out.md]

``forests``: whole fits, race included, and predictions on real tables, over those of scikit-learn's
random forest with the same number of threads, one model after the other. ``rows`` and ``columns``:
made data, scikit-learn's forest beside it, in time and in the exponent between neighbours (1 is
linear). Processor time unless it says clock; a busy machine blurs it less.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scale import as_markdown
from sklearn.ensemble import RandomForestClassifier

from jarf import JacobianForestClassifier

N_TREES, N_JOBS = 100, 2
TABLES = ("phoneme", "spambase", "satimage", "magic", "letter", "electricity", "jannis")
ROWS, COLUMNS = (1000, 3000, 10_000, 30_000, 100_000), (10, 50, 200, 700, 2000)


def timed(call, *arguments) -> tuple[float, float]:
    """Clock and processor seconds of a call."""
    clock, cpu = time.perf_counter(), time.process_time()
    call(*arguments)
    return time.perf_counter() - clock, time.process_time() - cpu


def make_rows(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns in float32; two classes, oblique in ten columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    normal = np.random.default_rng(12345).normal(size=(2, 10)).astype(np.float32)
    score = X[:, :10] @ normal.T
    return X, ((score[:, 0] > 0) ^ (score[:, 1] > 1.5)).astype(int)


def random_forest():
    return RandomForestClassifier(N_TREES, n_jobs=N_JOBS, random_state=0)


def jacobian_forest(geometry: str = "auto"):
    return JacobianForestClassifier(N_TREES, geometry=geometry, n_jobs=N_JOBS, random_state=0)


def forests() -> list[dict]:
    """Fit and prediction over those of scikit-learn's random forest."""
    from forests import models, table

    made = models(regression=False)
    results = []
    for name in TABLES:
        X, Z, y, _ = table(name)
        ours = {"Jacobian": jacobian_forest, "Jacobian, fast": lambda: jacobian_forest("fast")}
        others = {
            key: (lambda key=key: made[key](0).set_params(n_estimators=N_TREES))
            for key in ("RF", "CCF", "SPORF", "RotF")
        }
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


def rows() -> list[dict]:
    """Growth with the number of rows, 20 columns."""
    return growth(ROWS, lambda n: make_rows(n, 20))


def columns() -> list[dict]:
    """Growth with the number of columns, 2,000 rows."""
    return growth(COLUMNS, lambda d: make_rows(2000, d))


SECTIONS = {"forests": forests, "rows": rows, "columns": columns}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--markdown", type=Path, help="write the tables to this file too")
    options = parser.parse_args()
    texts = []
    for name in options.only:
        texts.append(f"## {SECTIONS[name].__doc__}\n\n{as_markdown(SECTIONS[name]())}\n")
        print(texts[-1], flush=True)
    if options.markdown:
        options.markdown.write_text("\n".join(texts))


if __name__ == "__main__":
    main()
