"""The figures, each drawn once from stored rows, for files and page."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from jarf.bench import PMLB, SRBENCH, THEORY, Results, ResultTable, get_dataset
from jarf.bench.experiments import ABLATIONS, OBLIQUE, alignment_curves, metric_of
from jarf.pages import (
    GRID,
    INK,
    Painter,
    drawing,
    full_mark,
    method_colour,
    method_legend,
    method_marker,
    number,
    subplots,
)
from jarf.report._paper import paper_cell
from jarf.report._public_figures import PUBLIC_FIGURES
from jarf.report._size_figures import SIZE_FIGURES
from jarf.report._theory_figures import THEORY_FIGURES

__all__ = ["draw_figures", "figure_names"]


def draw_figures(results: Results, tables: dict[str, ResultTable]) -> list[Painter]:
    """Draw every figure that the results have rows for."""
    with drawing():
        drawn = [make(results, tables) for make in _FIGURES]
    return [painter for painter in drawn if painter is not None]


def _hollow(ax: Any, x: float, y: float, colour: str) -> Any:
    """Draw the paper's value as an open circle."""
    return ax.plot(x, y, "o", ms=6, mfc="none", mec=colour, mew=1.3, alpha=0.85)[0]


def _key(figure: Any, paper: bool = True, ours: str = "o") -> None:
    """Add a legend for filled and open marks, if both are drawn."""
    from matplotlib.lines import Line2D

    if paper:
        own = Line2D([], [], marker=ours, ls="", color=INK, ms=6, label="ours")
        printed = Line2D([], [], marker="o", ls="", mfc="none", mec=INK, ms=6, label="paper")
        figure.legend(handles=[own, printed], loc="outside upper right", ncols=2)


def _simulation(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    datasets = results.datasets(simulated=True)
    if not datasets:
        return None
    methods = results.methods(datasets)
    facts = {name: get_dataset(name).facts for name in datasets}
    sizes = sorted({f["d"] for f in facts.values()})
    figure, axes = subplots(1, len(sizes), figsize=(10.5, 4.2), sharey=True, squeeze=False)
    painter = Painter(
        "simulation",
        "Cohen's kappa against the angle of the boundary",
        "Mean over draws; the dashed line is the Bayes limit. The paper's figure has no numbers.",
        figure,
    )
    for ax, d in zip(axes[0], sizes, strict=True):
        here = sorted((facts[n]["angle"], n) for n in datasets if facts[n]["d"] == d)
        ax.axhline(facts[here[0][1]]["bayes"], color=INK, ls=(0, (4, 3)), lw=1)
        for method in methods:
            _curve(painter, ax, results, here, method, methods)
        ax.set(title=f"d = {d:.0f}", xlabel="angle, degrees", xticks=[a for a, _ in here])
    axes[0][0].set_ylabel("Cohen's kappa")
    method_legend(figure, methods)
    return painter


def _curve(
    painter: Painter, ax: Any, results: Results, here: list[Any], method: str, methods: list[str]
) -> None:
    found = [(angle, results.cell(name, method, "kappa")) for angle, name in here]
    points = [(angle, cell) for angle, cell in found if cell is not None]
    colour = method_colour(method, methods)
    line = ax.plot([a for a, _ in points], [c.value for _, c in points], color=colour, lw=1.5)[0]
    painter.tag(line, method=method)
    for angle, cell in points:
        mark = full_mark(ax, angle, cell.value, colour, method_marker(method))
        tip = f"{method}, {angle:.0f}°: kappa {number(cell.value)}"
        painter.tag(mark, f"{tip} ± {number(cell.se)}", method=method)


def _gains(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    """Draw JARF minus RF by dataset, ours and the paper's."""
    found = []
    for task in ("regression", "classification"):
        for dataset in reversed(results.datasets(task)):
            gap = results.paired(dataset, ("JARF", ""), ("RF", ""), metric_of(task))
            if len(gap):
                found.append((dataset, task, float(gap.mean()), _paper_gain(task, dataset)))
    if not found:
        return None
    figure, ax = subplots(figsize=(7.5, 1.3 + 0.3 * len(found)))
    painter = Painter(
        "gains",
        "Gain of JARF over RF by dataset",
        "Kappa in classification, R² in regression; to the right of zero JARF is better.",
        figure,
    )
    ax.axvline(0, color=INK, lw=1)
    for place, (dataset, task, ours, printed) in enumerate(found):
        colour = method_colour("JARF")
        if printed is not None:
            line = ax.plot([ours, printed], [place, place], color=GRID, lw=1.2, alpha=0.6)[0]
            painter.tag(line, dataset=dataset)
            tip = f"{dataset}, paper: {number(printed, 3, signed=True)} {metric_of(task)}"
            painter.tag(_hollow(ax, printed, place, colour), tip, dataset=dataset)
        tip = f"{dataset}, ours: {number(ours, 3, signed=True)} {metric_of(task)}"
        painter.tag(full_mark(ax, ours, place, colour), tip, dataset=dataset)
    labels = [f"{d} (R²)" if task == "regression" else d for d, task, *_ in found]
    ax.set_yticks(range(len(found)), labels)
    ax.set_xlabel("JARF minus RF")
    ax.grid(axis="y", visible=False)
    _key(figure, any(printed is not None for *_, printed in found))
    return painter


def _paper_gain(task: str, dataset: str) -> float | None:
    own, rf = (paper_cell(task, dataset, method) for method in ("JARF", "RF"))
    return own["value"] - rf["value"] if own and rf else None


def _beeswarm(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    if "beeswarm" not in tables:
        return None
    table = tables["beeswarm"]
    methods = [c.key for c in table.columns]
    datasets = [row.key for row in table.rows if row.kind == "dataset"]
    figure, ax = subplots(figsize=(9, 4.4))
    painter = Painter(
        "beeswarm",
        "Effect size against RF, one mark per dataset",
        "Delta(A) = kappa(RF) - kappa(A): below the line the method is better than RF.",
        figure,
    )
    ax.axhline(0, color=INK, ls=(0, (4, 3)), lw=1)
    for place, method in enumerate(methods):
        colour = method_colour(method, methods)
        ours = {d: table.cells[d, method].value for d in datasets if (d, method) in table.cells}
        cells = {d: paper_cell("beeswarm", d, method) for d in datasets}
        printed = {d: c["value"] for d, c in cells.items() if c}
        for values, side, draw, who in (
            (ours, -0.17 if printed else 0.0, full_mark, "ours"),
            (printed, 0.19, _hollow, "paper"),
        ):
            shifts = _swarm(np.array(list(values.values())), width=0.035, gap=0.008)
            for (dataset, value), shift in zip(values.items(), shifts, strict=True):
                tip = f"{dataset}, {method}, {who}: {number(value, 3, signed=True)}"
                mark = draw(ax, place + side + shift, value, colour)
                painter.tag(mark, tip, method, dataset)
    ax.set_xticks(range(len(methods)), methods)
    ax.set_ylabel("kappa(RF) - kappa(method)")
    ax.grid(axis="x", visible=False)
    _key(figure, any(paper_cell("beeswarm", d, m) for d in datasets for m in methods))
    return painter


def _swarm(values: np.ndarray, width: float, gap: float) -> np.ndarray:
    """Return sideways shifts that separate points of similar height."""
    shifts = np.zeros(len(values))
    steps = [0.0, *(sign * k * width for k in range(1, 9) for sign in (1, -1))]
    order = np.argsort(values)
    for count, i in enumerate(order):
        near = [shifts[j] for j in order[:count] if abs(values[j] - values[i]) < gap]
        shifts[i] = next((s for s in steps if all(abs(s - t) > width / 2 for t in near)), 0.0)
    return shifts


def _times(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    if "times" not in tables:
        return None
    table = tables["times"]
    methods = [row.key for row in table.rows if (row.key, "time") in table.cells]
    methods.sort(key=lambda m: -table.cells[m, "time"].value)
    figure, ax = subplots(figsize=(8, 1.3 + 0.38 * len(methods)))
    painter = Painter(
        "times",
        "Median training time, in units of RF's",
        ("JARF's time is divided into surrogate, EJOP and final fit. " if "JARF" in methods else "")
        + "The paper's times are from its own machine and sizes, relative to its RF.",
        figure,
    )
    unit = table.cells["RF", "time"].value if ("RF", "time") in table.cells else 1.0
    rf = paper_cell("times", "RF", "time")
    for place, method in enumerate(methods):
        _bar(painter, ax, table, method, place, unit, methods)
        printed = paper_cell("times", method, "time")
        if printed and rf:
            ratio = printed["value"] / rf["value"]
            tip = f"{method}, paper: {ratio:.2f} of RF ({printed['value']:.0f} s)"
            painter.tag(_hollow(ax, ratio, place, INK), tip, method)
    ax.axvline(1, color=INK, ls=(0, (4, 3)), lw=1)
    ax.set_yticks(range(len(methods)), methods)
    ax.set_xlabel("times RF")
    ax.grid(axis="y", visible=False)
    _key(figure, ours="s")
    return painter


def _bar(
    painter: Painter, ax: Any, table: Any, method: str, place: int, unit: float, names: list[str]
) -> None:
    total = table.cells[method, "time"].value
    stages = ("surrogate", "gradients", "fit")
    parts = {s: table.cells[method, s].value for s in stages if (method, s) in table.cells}
    if "surrogate" not in parts:
        parts = {"fit": total}
    scale = total / sum(parts.values()) / unit
    left = 0.0
    shades = {"surrogate": 0.45, "gradients": 0.7, "fit": 1.0}
    words = {"surrogate": "surrogate", "gradients": "EJOP", "fit": "final fit"}
    for stage, seconds in parts.items():
        width = seconds * scale
        colour = method_colour(method, names)
        bar = ax.barh(place, width, left=left, height=0.62, color=colour, alpha=shades[stage])[0]
        painter.tag(bar, f"{method}, {words[stage]}: {width:.2f} of RF, {seconds:.2f} s", method)
        left += width


def _mechanism(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    found = {}
    for dataset in results.datasets():
        curves = {m: alignment_curves(results, dataset, m) for m in OBLIQUE}
        if any(curve is not None for curve in curves.values()):
            found[dataset] = curves
    if not found:
        return None
    columns = min(5, len(found))
    lines = -(-len(found) // columns)
    size = (2.3 * columns + 0.4, 2.0 * lines + 0.7)
    figure, axes = subplots(lines, columns, figsize=size, sharey=True, squeeze=False)
    painter = Painter(
        "mechanism",
        "Share of split normals in the span of the k leading EJOP eigenvectors",
        "Median s_k over inner nodes; dashed: a direction drawn at random.",
        figure,
    )
    for ax in axes.flat[len(found) :]:
        ax.set_visible(False)
    for ax, (dataset, curves) in zip(axes.flat, found.items(), strict=False):
        _alignment_panel(painter, ax, dataset, curves)
    for ax in axes[:, 0]:
        ax.set_ylabel("s_k")
    method_legend(figure, list(OBLIQUE))
    return painter


def _alignment_panel(painter: Painter, ax: Any, dataset: str, curves: dict[str, Any]) -> None:
    for method, curve in curves.items():
        if curve is None:
            continue
        k = np.arange(1, len(curve["median"]) + 1)
        colour = method_colour(method)
        line = ax.plot(k, curve["median"], color=colour, lw=1.6)[0]
        painter.tag(line, f"{dataset}, {method}", method, dataset)
        for place in range(len(k)):
            tip = f"{dataset}, {method}, k = {k[place]}: {number(curve['median'][place])}"
            dot = ax.plot(k[place], curve["median"][place], "o", ms=3, color=colour)[0]
            painter.tag(dot, tip, method, dataset)
        chance = ax.plot(k, curve["random"], color=INK, ls=(0, (4, 3)), lw=1)[0]
        painter.tag(chance, dataset=dataset)
    ax.set_title(dataset, fontsize=9)
    ax.set_ylim(-0.03, 1.03)
    ax.xaxis.get_major_locator().set_params(integer=True)


def _ablations(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    if "ablations" not in tables:
        return None
    table = tables["ablations"]
    names = [name for name in ABLATIONS if (name, "kappa") in table.cells][::-1]
    figure, ax = subplots(figsize=(7.5, 1.2 + 0.33 * len(names)))
    painter = Painter(
        "ablations",
        "Ablations: change in kappa against default JARF",
        "Mean over datasets; to the left of zero the change hurts. † p < 0.05 after Holm's "
        "correction.",
        figure,
    )
    ax.axvline(0, color=INK, lw=1)
    for place, name in enumerate(names):
        cell, printed = table.cells[name, "kappa"], paper_cell("ablations", name, "kappa")
        if printed:
            ends = [cell.value, printed["value"]]
            ax.plot(ends, [place, place], color=GRID, lw=1.2, alpha=0.6)
            tip = f"{name}, paper: {number(printed['value'], 3, signed=True)}"
            painter.tag(_hollow(ax, printed["value"], place, method_colour("JARF")), tip)
        tip = f"{name}, ours: {number(cell.value, 4, signed=True)}{cell.mark}"
        painter.tag(full_mark(ax, cell.value, place, method_colour("JARF")), tip)
    ax.set_yticks(range(len(names)), [n + table.cells[n, "kappa"].mark for n in names])
    ax.set_xlabel("kappa, variant minus default")
    ax.grid(axis="y", visible=False)
    _key(figure)
    return painter


def _subsample(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    if "subsample" not in tables:
        return None
    table = tables["subsample"]
    names = [row.key for row in table.rows if (row.key, "gain") in table.cells]
    figure, ax = subplots(figsize=(6.5, 3.2))
    painter = Painter(
        "subsample",
        "Gain of JARF over RF in mean kappa, by number of probes",
        "Mean over the classification datasets.",
        figure,
    )
    ax.axhline(0, color=INK, lw=1)
    ours = [table.cells[n, "gain"].value for n in names]
    cells = [paper_cell("subsample", n, "gain") for n in names]
    printed = [c["value"] for c in cells if c]
    colour = method_colour("JARF")
    ax.plot(ours, color=colour, lw=1.5)
    ax.plot(printed, color=colour, lw=1.2, ls=":")
    for place, name in enumerate(names):
        tip = f"m = {name}, paper: {number(printed[place], 3, signed=True)}"
        painter.tag(_hollow(ax, place, printed[place], colour), tip)
        tip = f"m = {name}, ours: {number(ours[place], 4, signed=True)}"
        painter.tag(full_mark(ax, place, ours[place], colour), tip)
    ax.set_xticks(range(len(names)), [f"m = {name}" for name in names])
    ax.set_ylabel("gain in kappa")
    _key(figure)
    return painter


_FIGURES = (
    *(_simulation, _gains, _beeswarm, _times, _mechanism, _ablations, _subsample),
    *(*PUBLIC_FIGURES, *SIZE_FIGURES, *THEORY_FIGURES),
)
_FIGURES_OF = {
    "simulation": ("simulation",),
    "classification": ("gains",),
    "beeswarm": ("beeswarm",),
    "times": ("times",),
    "mechanism": ("mechanism",),
    "ablations": ("ablations",),
    "subsample": ("subsample",),
    SRBENCH: ("srbench-ranks", "srbench-r2"),
    PMLB: ("pmlb-ranks",),
    "sizes": ("sizes", "sizes-times"),
    THEORY: ("theory-gain", "theory-risk", "theory-recovery"),
}


def figure_names(experiment: str, drawn: Container[str]) -> list[str]:
    """Return the figures of an experiment, as far as they were drawn."""
    return [name for name in _FIGURES_OF.get(experiment, ()) if name in drawn]
