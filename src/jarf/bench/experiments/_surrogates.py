"""Experiments 9-12: surrogates, one map or one per tree, number of probes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jarf.bench._jobs import Job
from jarf.bench._statistics import best_or_close
from jarf.bench.experiments._accuracy import metric_of
from jarf.bench.experiments._base import Cell, Column, Experiment, Plan, Results, ResultTable, Row
from jarf.bench.experiments._variants import PER_TREE, plan_variants, rows_of

__all__ = ["EXPERIMENTS"]

FAMILIES = {"RF": "", "XGBoost": "surrogate: XGBoost", "2-layer MLP": "surrogate: MLP"}
QUALITIES = {
    "classification": {
        "shallow": "surrogate: shallow",
        "default": "",
        "deep": "surrogate: deep",
        "deep + Platt": "surrogate: deep + Platt",
        "deep + isotonic": "surrogate: deep + isotonic",
    },
    "regression": {
        "shallow": "surrogate: shallow",
        "default": "",
        "deep": "surrogate: deep",
        "deep + extra trees": "surrogate: deep + extra trees",
    },
}
PROBES = {"1k": 1000, "2.5k": 2500, "5k": 5000, "10k": 10_000, "n": 10**9}


# ---- 9, 10. surrogates


def _mean_over(
    results: Results, datasets: list[str], variant: str, column: str
) -> tuple[float, int] | None:
    cells = [results.cell(dataset, "JARF", column, variant) for dataset in datasets]
    values = [cell.value for cell in cells if cell is not None]
    return (float(np.mean(values)), len(values)) if values else None


def _surrogate_table(
    results: Results, task: str, variants: dict[str, str], columns: dict[str, Column], name: str
) -> ResultTable:
    """Means over the datasets on which every variant has rows, and their spread."""
    metric, results = metric_of(task), results.first()
    datasets = [
        d
        for d in results.datasets(task)
        if all(results.cell(d, "JARF", metric, v) is not None for v in variants.values())
    ]
    cells: dict[tuple[str, str], Cell] = {}
    for label, variant in variants.items():
        for source, column in columns.items():
            found = _mean_over(results, datasets, variant, source)
            if found is not None:
                cells[label, column.key] = Cell(found[0], n=found[1])
    default = next(label for label, variant in variants.items() if not variant)
    for column in columns.values():
        values = [cells[v, column.key].value for v in variants if (v, column.key) in cells]
        if len(values) == len(variants):
            gaps = [abs(v - cells[default, column.key].value) for v in values]
            cells["Std. dev.", column.key] = Cell(float(np.std(values, ddof=1)))
            cells["Max diff", column.key] = Cell(float(max(gaps)))
    rows = [Row(label, "variant") for label in variants]
    rows += [Row("Std. dev.", "summary"), Row("Max diff", "summary", "Max difference to default")]
    notes = [
        f"Mean over {len(datasets)} {task} datasets, {results.settings.get('ablation_repeats')} "
        "x 2 splits. Forests and XGBoost are differentiated exactly, at the default number of "
        "rows; other surrogates are probed at "
        f"{results.settings.get('slow_probes', '?')} rows at most."
    ]
    return ResultTable(name, "", rows, list(columns.values()), cells, notes, "surrogate")


def _plan_families(plan: Plan) -> Iterator[Job]:
    yield from plan_variants(plan, [v for v in FAMILIES.values() if v], "classification")


_CLASSIFIER_COLUMNS = {
    "surrogate_accuracy": Column("surrogate acc", better="high"),
    "surrogate_ece": Column("surrogate ECE", better="low"),
    "accuracy": Column("JARF acc", better="high", digits=4),
    "kappa": Column("JARF kappa", better="high", digits=4),
}
_REGRESSOR_COLUMNS = {
    "surrogate_r2": Column("surrogate R2", label="surrogate R²", better="high"),
    "surrogate_rmse": Column("surrogate RMSE", better="low"),
    "r2": Column("JARF R2", label="JARF R²", better="high", digits=4),
}


def _families(results: Results) -> list[ResultTable]:
    table = _surrogate_table(
        results, "classification", FAMILIES, _CLASSIFIER_COLUMNS, "surrogate-family"
    )
    table.title = "Surrogate family"
    for label, variant in FAMILIES.items():
        for key, source in (("align", "eigenvectors"), ("subspace", "subspace")):
            found = [
                entry[source]
                for dataset in results.datasets("classification")
                for entry in results.extras(dataset, "JARF", "alignment_to_forest", variant)
            ]
            if found:
                table.cells[label, key] = Cell(float(np.mean(found)))
            elif not variant and table.cells:
                table.cells[label, key] = Cell(1.0)
    table.columns += [
        Column("align", label="mean cos, top 10"),
        Column("subspace", label="mean cos of the spans"),
    ]
    table.notes.append(
        "'mean cos, top 10' pairs the i-th eigenvectors of both EJOPs, the paper's wording; the "
        "last column compares the two spans (of d / 2 vectors at most) and forgives a change of "
        "order."
    )
    return [table]


def _plan_qualities(plan: Plan) -> Iterator[Job]:
    for task, variants in QUALITIES.items():
        yield from plan_variants(plan, [v for v in variants.values() if v], task)


def _qualities(results: Results) -> list[ResultTable]:
    tables = [
        _surrogate_table(
            *(results, "classification", QUALITIES["classification"], _CLASSIFIER_COLUMNS),
            "surrogate-quality-classification",
        ),
        _surrogate_table(
            *(results, "regression", QUALITIES["regression"], _REGRESSOR_COLUMNS),
            "surrogate-quality-regression",
        ),
    ]
    for table, task in zip(tables, ("classification", "regression"), strict=True):
        table.title = f"Surrogate quality, {task}"
        table.notes.append(
            "The paper does not define its variants. Here: shallow has 50 trees of depth 5; "
            "default is the paper's 50 full trees; deep has 100 full trees; Platt and isotonic "
            "calibrate deep by 3-fold cross-fitting; extra trees means 200 full trees."
        )
    return tables


# ---- 11. one H or one per tree


def _plan_per_tree(plan: Plan) -> Iterator[Job]:
    yield from plan_variants(plan, [PER_TREE], "classification")


def _per_tree(results: Results) -> list[ResultTable]:
    variants, results = {"single H": "", "per-tree H": PER_TREE}, results.first()
    datasets = [
        d
        for d in results.datasets("classification")
        if results.cell(d, "JARF", "kappa", PER_TREE) and results.cell(d, "JARF", "kappa")
    ]
    rivals = [m for m in results.methods(datasets) if m != "JARF"]
    others = results.matrix(datasets, rivals, "kappa")
    cells = {}
    for label, variant in variants.items():
        own = [results.cell(d, "JARF", "kappa", variant) for d in datasets]
        scores = np.array([c.value for c in own if c is not None])
        if not len(scores):
            continue
        table = np.column_stack([scores, others])
        ratios = [_ratio(results, d, ("JARF", variant), ("RF", ""), "time_cpu") for d in datasets]
        errors = [c.se for c in own if c is not None and c.se is not None]
        cells[label, "kappa"] = Cell(float(scores.mean()), n=len(scores))
        cells[label, "sd"] = Cell(float(np.mean(errors)))
        cells[label, "time"] = Cell(float(np.nanmean(ratios)))
        cells[label, "close"] = Cell(float(best_or_close(table)[0]))
    columns = [
        Column("kappa", label="mean kappa", better="high", digits=4),
        Column("sd", label="s.e. of kappa"),
        Column("time", label="fit, times RF", digits=2, better="low"),
        Column("close", label="best or within 0.01", digits=0, better="high"),
    ]
    notes = [
        f"{len(datasets)} classification datasets without categorical columns. "
        f"{results.settings.get('ablation_repeats', '?')} x 2 splits. One surrogate is fitted; "
        "each tree averages its gradients over its own bootstrap sample."
    ]
    rows = [Row(label, "variant") for label in variants]
    title = "One H or one per tree"
    return [ResultTable("per-tree", title, rows, columns, cells, notes, "method")]


def _ratio(
    results: Results, dataset: str, first: tuple[str, str], second: tuple[str, str], column: str
) -> float:
    a = results.cell(dataset, first[0], column, first[1])
    b = results.cell(dataset, second[0], column, second[1])
    return a.value / b.value if a is not None and b is not None else float("nan")


# ---- 12. number of probes


def _probe_variant(count: int) -> str:
    return {10_000: "", 10**9: "m = n"}.get(count, f"m = {count}")


def _plan_probes(plan: Plan) -> Iterator[Job]:
    variants = [_probe_variant(count) for count in PROBES.values()]
    yield from plan_variants(plan, [v for v in variants if v], "classification")


def _probe_gains(results: Results, dataset: str) -> dict[str, float] | None:
    """Gain over RF by number of probes, or None if one of them was not run."""
    gains = {}
    for label, count in PROBES.items():
        row = rows_of(results, dataset, "JARF", _probe_variant(count))
        gain = results.paired(dataset, row, ("RF", ""), "kappa")
        if not len(gain):
            return None
        gains[label] = float(gain.mean())
    return gains


def _probes(results: Results) -> list[ResultTable]:
    results = results.first()
    found = {d: _probe_gains(results, d) for d in results.datasets("classification")}
    gains = {dataset: gain for dataset, gain in found.items() if gain is not None}
    cells = {}
    if gains:
        plain = float(results.matrix(list(gains), ["RF"], "kappa").mean())
        for label in PROBES:
            gain = float(np.mean([by_count[label] for by_count in gains.values()]))
            cells[label, "jarf"] = Cell(plain + gain, n=len(gains))
            cells[label, "rf"] = Cell(plain)
            cells[label, "gain"] = Cell(gain)
            cells[label, "relative"] = Cell(100 * gain / plain)
    columns = [
        Column("jarf", label="JARF kappa", better="high", digits=4),
        Column("rf", label="RF kappa", digits=4),
        Column("gain", label="gain over RF", better="high", digits=4),
        Column("relative", label="gain, %", digits=2),
    ]
    notes = [
        "Where a training half has fewer rows than m, all of them are probed: with the cap of "
        f"this run ({results.settings.get('train_cap') or 'none'}) larger m are the same fit.",
        f"{len(gains)} datasets, {results.settings.get('ablation_repeats', '?')} x 2 splits.",
    ]
    rows = [Row(label, "variant", f"m = {label}") for label in PROBES]
    return [ResultTable("subsample", "Number of probes m", rows, columns, cells, notes, "m")]


EXPERIMENTS = (
    Experiment(
        *("surrogate-family", "RF, XGBoost or MLP as surrogate", "Table 5"),
        _plan_families,
        _families,
    ),
    Experiment(
        *("surrogate-quality", "Depth and calibration of the surrogate", "Tables 6 and 7"),
        _plan_qualities,
        _qualities,
    ),
    Experiment("per-tree", "One H or one per tree", "Table 8", _plan_per_tree, _per_tree),
    Experiment("subsample", "Number of probes", "Table 9", _plan_probes, _probes),
)
