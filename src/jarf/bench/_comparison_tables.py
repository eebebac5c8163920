"""The tables of a comparison: scores, pairs, times, learning curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jarf.bench._findings import LEVEL, METRICS, METRICS_OF, Pair
from jarf.bench._methods import get_method
from jarf.bench._rows import ResultRow
from jarf.bench.experiments import Cell, Column, Results, ResultTable, Row

__all__ = ["curve_table", "pair_table", "score_table", "time_table"]


_BRIEFLY = {
    "more than noise": "more than noise",
    "perhaps more than noise": "perhaps",
    "within noise": "noise",
}


def score_table(
    results: Results, name: str, order: list[str], task: str, metric: str
) -> ResultTable:
    """Every metric by method, the deciding one first."""
    metrics = [metric, *(m for m in METRICS_OF[task] if m != metric)]
    cells = {}
    for method in order:
        for column in metrics:
            found = results.cell(name, method, column)
            if found is not None:
                cells[method, column] = Cell(found.value, n=found.n)
    columns = [Column(m, label=METRICS[m][0], better=METRICS[m][1]) for m in metrics]
    rows = [Row(method, "method") for method in order]
    notes = [
        "Means over the splits. Kappa measures agreement with the true classes beyond chance: 0 is "
        "chance level, 1 is perfect."
        if task == "classification"
        else "Means over the splits. R² is 1 for perfect predictions and 0 for always predicting "
        "the mean. RMSE is in standard deviations of the target.",
    ]
    return ResultTable(
        *("compare-scores", "Scores", rows, columns, cells, notes, "method"), best_by_column=True
    )


def pair_table(pairs: list[Pair], results: Results, metric: str) -> ResultTable:
    """Gain, interval and p-values of every pair."""
    cells, rows = {}, []
    for pair in pairs:
        key = f"{pair.first} over {pair.second}"
        rows.append(Row(key, "pair"))
        test = pair.test
        values = {"gain": test.mean, "low": test.low, "high": test.high, "p": test.p}
        cells.update({(key, k): Cell(v) for k, v in values.items() if not np.isnan(v)})
        cells[key, "holm"] = Cell(pair.p, mark=f" {_BRIEFLY[pair.verdict]}")
    columns = [
        Column("gain", label="gain", digits=4, better="high"),
        Column("holm", label="p after Holm", better="low"),
        Column("low", label="95 % from", digits=4),
        Column("high", label="to", digits=4),
        Column("p", label="p alone", better="low"),
    ]
    n = results.frame.groupby("method").size().max()
    counted = "one pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    notes = [
        f"{METRICS[metric][0]}: a positive gain means that the first method is better. Paired over "
        f"{n} splits by the corrected resampled t-test (Nadeau and Bengio 2003), which accounts "
        "for training rows shared between splits; intervals are not corrected for the number of "
        f"pairs. 'More than noise': p < {LEVEL} after Holm's correction for {counted}; "
        f"'perhaps': p < {LEVEL} before it."
    ]
    return ResultTable("compare-pairs", "Pair by pair", rows, columns, cells, notes, "pair")


def time_table(results: Results, name: str, order: list[str]) -> ResultTable:
    """Seconds of a fit, of the search before it and of predicting."""
    cells = {}
    for method in order:
        for column in ("cpu", "predict"):
            found = results.cell(name, method, f"time_{column}")
            if found is not None:
                cells[method, column] = Cell(found.value)
        tuned = get_method(method).tuned_as or method
        searches = [
            row.times["total"]
            for row in results.rows
            if (row.method, row.variant, row.ok) == (tuned, "tuning", True)
        ]
        if searches:
            cells[method, "tuning"] = Cell(float(np.mean(searches)))
    if ("RF", "cpu") in cells:
        for method in order:
            ratio = cells[method, "cpu"].value / cells["RF", "cpu"].value
            cells[method, "ratio"] = Cell(ratio)
    columns = [
        Column("cpu", label="fit, CPU s", digits=2, better="low"),
        Column("ratio", label="times RF", digits=2, better="low"),
        Column("tuning", label="parameter search, s", digits=2, better="low"),
        Column("predict", label="predict, s", digits=3, better="low"),
    ]
    rows = [Row(method, "method") for method in order]
    notes = [
        "Means over the splits; every fit uses one thread. Other work on the machine affects "
        "the times."
    ]
    return ResultTable("compare-times", "Seconds by method", rows, columns, cells, notes, "method")


def curve_table(
    rows: Sequence[ResultRow], name: str, order: list[str], metric: str
) -> ResultTable | None:
    """Mean of the metric by training rows, over the folds of the first repeat."""
    first = [row for row in rows if row.repeat == 0]
    caps = sorted({row.cap for row in first} - {0})
    if not caps:
        return None
    cells, lines = {}, []
    for cap in (*caps, 0):
        results = Results([row for row in first if row.cap == cap])
        if not len(results.frame):
            continue
        size = str(int(results.frame["n_train"].max()))
        lines.append(Row(size, "size"))
        for method in order:
            found = results.cell(name, method, metric)
            if found is not None:
                cells[size, method] = found
    columns = [Column(m, "method", better=METRICS[metric][1]) for m in order]
    notes = [f"{METRICS[metric][0]}, mean ± standard error over the folds of the first repeat."]
    return ResultTable(
        *("compare-curve", "Learning curve", lines, columns, cells, notes, "training rows")
    )
