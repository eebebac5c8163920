"""Experiments 7 and 8: the mechanism and the ablations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jarf.bench._jobs import Job
from jarf.bench._statistics import holm, wilcoxon_p
from jarf.bench.experiments._base import Cell, Column, Experiment, Plan, Results, ResultTable, Row
from jarf.bench.experiments._variants import plan_variants, variant_differences

__all__ = ["ABLATIONS", "EXPERIMENTS", "OBLIQUE", "alignment_curves"]

OBLIQUE = ("RotF", "CCF", "SPORF")
# row of the table -> (method, variant)
ABLATIONS = {
    "identity": ("RF", ""),
    "forward differences": ("JARF", "forward differences"),
    "no clipping": ("JARF", "no clipping"),
    "global step": ("JARF", "global step"),
    "alpha = 0.05": ("JARF", "alpha = 0.05"),
    "alpha = 0.2": ("JARF", "alpha = 0.2"),
    "m = 0.1 n": ("JARF", "m = 0.1 n"),
    "m = 0.5 n": ("JARF", "m = 0.5 n"),
    "categorical toggles": ("JARF", "categorical toggles"),
    "no gamma": ("JARF", "no gamma"),
    "no normalisation": ("JARF", "no normalisation"),
}


# ---- 7. mechanism


def _plan_mechanism(plan: Plan) -> Iterator[Job]:
    for dataset in plan.datasets():
        for method in OBLIQUE:
            yield from plan.jobs(dataset, method, repeats=plan.budget.ablation_repeats)


def alignment_curves(results: Results, dataset: str, method: str) -> dict[str, np.ndarray] | None:
    """Means over splits of the quartiles of s_k, and the median for random directions."""
    found = results.extras(dataset, method, "alignment")
    if not found:
        return None
    return {
        name: np.mean([entry[name] for entry in found], axis=0)
        for name in ("median", "q25", "q75", "random")
    }


def _mechanism(results: Results) -> list[ResultTable]:
    cells, rows = {}, []
    for dataset in results.datasets():
        for method in OBLIQUE:
            curves = alignment_curves(results, dataset, method)
            if curves is None:
                continue
            for k in (1, 2, 5, 10):
                if k <= len(curves["median"]):
                    cells[dataset, f"{method} {k}"] = Cell(float(curves["median"][k - 1]))
                    cells[dataset, f"random {k}"] = Cell(float(curves["random"][k - 1]))
        if (dataset, "random 1") in cells:
            rows.append(Row(dataset))
    columns = [
        Column(
            f"{method} {k}",
            "method" if method != "random" else "value",
            f"{method}, k={k}",
            name=method,
        )
        for k in (1, 2, 5, 10)
        for method in (*OBLIQUE, "random")
    ]
    notes = [
        "Median over inner nodes of s_k = ||U_k' n||², the share of a unit split normal that "
        "lies in the span of the k leading EJOP eigenvectors, both in standardised numeric "
        "columns. 'random' is the median for a direction drawn at random.",
        "The paper shows this as a picture without numbers.",
    ]
    title = "Split normals of oblique forests in the EJOP eigenspace"
    return [ResultTable("mechanism", title, rows, columns, cells, notes)]


# ---- 8. ablations


def _plan_ablations(plan: Plan) -> Iterator[Job]:
    yield from plan_variants(plan, [variant for _, variant in ABLATIONS.values() if variant])


def _ablations(results: Results) -> list[ResultTable]:
    datasets = results.datasets("classification")
    columns = {"kappa": "kappa", "macro_f1": "macro-F1", "accuracy": "accuracy"}
    cells: dict[tuple[str, str], Cell] = {}
    for metric in columns:
        p_values, names = [], []
        for name, row in ABLATIONS.items():
            means = [variant_differences(results, d, row, metric) for d in datasets]
            deltas = np.array([m.mean() for m in means if len(m)])
            if len(deltas):
                cells[name, metric] = Cell(float(deltas.mean()), n=len(deltas))
                p_values.append(wilcoxon_p(deltas))
                names.append(name)
        for name, p in zip(names, holm(p_values), strict=True):
            if metric == "kappa":
                cells[name, "p"] = Cell(float(p))
            if p < 0.05:
                old = cells[name, metric]
                cells[name, metric] = Cell(old.value, old.se, old.n, "†")
    for name, row in ABLATIONS.items():
        seconds = [variant_differences(results, d, row, "time_cpu") for d in datasets]
        changes = [float(m.mean()) for m in seconds if len(m)]
        if changes:
            cells[name, "time"] = Cell(float(np.mean(changes)))
    if cells:
        cells.update({("default", name): Cell(0.0) for name in (*columns, "time")})
    notes = [
        "Variant minus default JARF, mean over the classification datasets. † p < 0.05, Wilcoxon "
        "signed-rank over datasets, Holm-corrected over the variants; p is that of kappa.",
        "Identity is RF itself on the same splits. Toggles differ from the default only on "
        f"tables with categorical columns. {results.settings.get('ablation_repeats', '?')} x 2 "
        "splits.",
    ]
    table_columns = [Column(k, label=f"Δ {v}", digits=4) for k, v in columns.items()]
    table_columns += [Column("time", label="Δ time, s", digits=2), Column("p", label="Holm p")]
    rows = [Row("default", "variant", "JARF (default)")]
    rows += [Row(name, "variant") for name in ABLATIONS]
    return [
        ResultTable("ablations", "Ablations", rows, table_columns, cells, notes, "variant"),
    ]


EXPERIMENTS = (
    Experiment(
        *("mechanism", "Split normals against the EJOP eigenspace", "Figure 4"),
        _plan_mechanism,
        _mechanism,
    ),
    Experiment("ablations", "Ablations of JARF", "Table 4", _plan_ablations, _ablations),
)
