"""The paper's proofs, looked at: gains against the EJOP, rates of risk, recovery of subspaces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jarf.bench._datasets import get_dataset
from jarf.bench._jobs import Job
from jarf.bench._theory import (
    DIMENSIONS,
    EJOP,
    FUNCTIONS,
    GAIN,
    ORACLE,
    PROBES,
    RANK,
    THEORY,
    gain_name,
    ridge_name,
)
from jarf.bench.experiments._base import Cell, Column, Experiment, Plan, Results, ResultTable, Row

__all__ = [
    *("EXPERIMENTS", "TOP", "RiskCurve", "gain_points", "probe_curves", "rate"),
    *("recovery_curves", "risk_curves"),
]

TOP = "top 2 eigenvectors"
_RUNS = (
    ("RF", ""),
    ("JARF", TOP),
    ("JARF", ""),
    ("JF", ""),
    ("JB", ""),
    (ORACLE, ""),
)


def _label(method: str, variant: str) -> str:
    return {"": method, TOP: f"{method}, top {RANK}"}[variant]


def _plan(plan: Plan) -> Iterator[Job]:
    repeats = plan.budget.ablation_repeats
    datasets = plan.datasets(simulated=True, collection=THEORY)
    sizes = {d: get_dataset(d).facts.get("n", 0) for d in datasets}
    kept = [d for d in datasets if sizes[d] <= plan.budget.theory_rows]
    for dataset in sorted(kept, key=lambda d: sizes[d]):
        yield from plan.jobs(dataset, GAIN, repeats=repeats)
        yield from plan.jobs(dataset, EJOP, repeats=repeats)
        if sizes[dataset]:
            for method, variant in _RUNS:
                yield from plan.jobs(dataset, method, variant, repeats)
        if sizes[dataset] == max(sizes[d] for d in kept):
            for m in (m for m in PROBES if m < sizes[dataset]):
                yield from plan.jobs(dataset, EJOP, f"m = {m}", repeats)


def _tables(results: Results) -> list[ResultTable]:
    return [_gain_table(results), _risk_table(results), _recovery_table(results)]


# ---- Proposition A.2


def gain_points(results: Results, function: str) -> dict[str, np.ndarray] | None:
    """Directions of one draw: ``slopes`` (w' H0 w), gains at the ``root`` and in a ``node``."""
    rows = [r for r in results.rows if r.dataset == gain_name(function) and r.method == GAIN]
    if not rows:
        return None
    return {name: np.array(rows[0].extra[name]) for name in ("slopes", "root", "node")}


def _gain_table(results: Results) -> ResultTable:
    columns = [
        Column("correlation_node", label="correlation, small nodes"),
        Column("correlation_root", label="correlation, root"),
        Column("leading_ahead", label="directions beaten at the root", digits=2),
    ]
    rows, cells = [], {}
    for function in FUNCTIONS:
        for column in columns:
            cell = results.cell(gain_name(function), GAIN, column.key)
            if cell is not None:
                cells[function, column.key] = cell
        rows.append(Row(function, "variant"))
    notes = [
        "Correlation, over random directions, axes and leading eigenvectors w, of the gain of the "
        "best cut along w with w' H0 w, where H0 is the population EJOP of a known class "
        "probability of two directions in ten columns. Small nodes have a standard deviation of "
        "0.1; their gains are averaged over 40 places.",
        "Directions beaten: share of the other directions whose gain at the root is not larger "
        "than that of the better of the two leading eigenvectors.",
        "Logits, with a and b the two coordinates: linear 2 a, curved 2 sin(a) + b, even "
        "2 a² - 2, product 3 a b.",
    ]
    title = "Proposition A.2: gain of a split against the EJOP"
    return ResultTable("theory-gain", title, rows, columns, cells, notes, "function")


# ---- Theorem 1


@dataclass(frozen=True)
class RiskCurve:
    """Risk against training rows of one method in one dimension, and its log-log slope."""

    d: int
    method: str
    variant: str
    n: np.ndarray
    risk: np.ndarray

    @property
    def label(self) -> str:
        """Name of the method in tables and figures."""
        return _label(self.method, self.variant)

    @property
    def slope(self) -> float:
        """Slope of log risk against log n by least squares."""
        return float(np.polyfit(np.log(self.n), np.log(self.risk), 1)[0])


def _sizes(results: Results, d: int) -> list[int]:
    found = results.datasets(simulated=True, collection=THEORY)
    facts = [get_dataset(name).facts for name in found]
    return sorted(int(f["n"]) for f in facts if f.get("d") == d)


def risk_curves(results: Results) -> list[RiskCurve]:
    """Every curve with at least two sizes."""
    curves = []
    for d in DIMENSIONS:
        for method, variant in _RUNS:
            points = []
            for n in _sizes(results, d):
                errors = results.splits(ridge_name(d, n), method, "rmse", variant)
                if len(errors):
                    points.append((n, float((errors**2).mean())))
            if len(points) > 1:
                n_rows, risks = np.array(points, dtype=float).T
                curves.append(RiskCurve(d, method, variant, n_rows, risks))
    return curves


def rate(dimension: int) -> float:
    """Exponent of n in the risk of a regressor of a Lipschitz function."""
    return -2.0 / (2.0 + dimension)


def _risk_table(results: Results) -> ResultTable:
    curves = risk_curves(results)
    columns, cells = [], {}
    for d in DIMENSIONS:
        columns.append(Column(f"slope {d}", label=f"slope, d = {d}", digits=2))
    for d in DIMENSIONS:
        columns.append(Column(f"risk {d}", label=f"risk, d = {d}", better="low"))
    for curve in curves:
        cells[curve.label, f"slope {curve.d}"] = Cell(curve.slope, n=len(curve.n))
        cells[curve.label, f"risk {curve.d}"] = Cell(float(curve.risk[-1]))
    rows = [Row(name, "variant") for name in dict.fromkeys(curve.label for curve in curves)]
    if curves:
        for name, size in ((f"rate, {RANK} dimensions", lambda d: RANK), ("rate, d", int)):
            rows.append(Row(name, "summary"))
            for d in DIMENSIONS:
                cells[name, f"slope {d}"] = Cell(rate(size(d)))
    last = max((int(curve.n[-1]) for curve in curves), default=0)
    notes = [
        "Slope of the logarithm of the risk against that of the number of training rows, for a "
        f"function of {RANK} random directions in d columns. Theorem 1 promises JARF, projected "
        f"on its {RANK} leading eigenvectors, the slope of a {RANK}-dimensional regressor whatever "
        f"d is. Risk: mean squared error at {last:,} training rows, in variances of the target, "
        "against the function without its noise.",
        f"'{ORACLE}' knows the directions.",
    ]
    title = "Theorem 1: risk against training rows"
    return ResultTable("theory-risk", title, rows, columns, cells, notes, "method")


# ---- recovery of the subspace


def recovery_curves(results: Results, metric: str = "angle") -> dict[int, list[tuple[int, float]]]:
    """By dimension: training rows and mean principal angle in degrees, "angle" or "least_angle"."""
    curves = {}
    for d in DIMENSIONS:
        cells = [(n, results.cell(ridge_name(d, n), EJOP, metric)) for n in _sizes(results, d)]
        curves[d] = [(n, cell.value) for n, cell in cells if cell is not None]
    return {d: points for d, points in curves.items() if points}


def probe_curves(results: Results, metric: str = "angle") -> dict[int, list[tuple[int, float]]]:
    """By dimension: probes and mean principal angle, at the most training rows."""
    curves = {}
    for d in DIMENSIONS:
        sizes = _sizes(results, d)
        if not sizes:
            continue
        counts = {**{m: f"m = {m}" for m in PROBES if m < sizes[-1]}, sizes[-1]: ""}
        name = ridge_name(d, sizes[-1])
        cells = [(m, results.cell(name, EJOP, metric, v)) for m, v in counts.items()]
        curves[d] = [(m, cell.value) for m, cell in cells if cell is not None]
    return {d: points for d, points in curves.items() if len(points) > 1}


def _recovery_table(results: Results) -> ResultTable:
    cells, columns = {}, [Column(f"d {d}", label=f"d = {d}", digits=1) for d in DIMENSIONS]
    columns += [
        Column(f"least {d}", label=f"smallest angle, d = {d}", digits=1) for d in DIMENSIONS
    ]
    rows: dict[str, Row] = {}
    for metric, prefix in (("angle", "d"), ("least_angle", "least")):
        by_rows, by_probes = recovery_curves(results, metric), probe_curves(results, metric)
        for curves, kind in ((by_rows, "rows"), (by_probes, "probes")):
            for d, points in curves.items():
                for count, angle in points:
                    key = f"{count:,} {kind}"
                    rows.setdefault(key, Row(key, "variant"))
                    cells[key, f"{prefix} {d}"] = Cell(angle)
    notes = [
        f"Largest and smallest principal angle, in degrees, between the {RANK} leading "
        f"eigenvectors of the EJOP and the {RANK} true directions; 0 is perfect, at 90 a direction "
        "was not found. Rows are training rows, all of them probed; probes are counted at the most "
        "training rows.",
    ]
    title = "Recovery of the subspace"
    order = list(rows.values())
    return ResultTable("theory-recovery", title, order, columns, cells, notes, "size")


EXPERIMENTS = (
    Experiment(
        *(THEORY, "The paper's theory, looked at", "Appendix A"),
        _plan,
        _tables,
        collection=THEORY,
        methods=tuple(dict.fromkeys([GAIN, EJOP, *(method for method, _ in _RUNS)])),
        usual=False,
    ),
)
