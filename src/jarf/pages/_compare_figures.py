"""The figures of a comparison, drawn from its summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jarf.pages._style import (
    GRID,
    INK,
    Painter,
    drawing,
    full_mark,
    method_colour,
    method_legend,
    method_marker,
    subplots,
)
from jarf.pages._tables import number

__all__ = ["draw_comparison", "short"]

_WIDE = 5.4  # inches: such a figure needs no scrolling on a phone
_FIRST = "#d1491c"
_SECOND = "#3b82c4"
_CLASSES = ("#3b82c4", "#d1491c", "#15803d", "#9a7fd1", "#bf8700", "#c0569b", "#0b7285", "#8f5b34")


def draw_comparison(summary: dict[str, Any]) -> dict[str, Painter]:
    """Draw every figure that the summary has numbers for."""
    with drawing():
        drawn = [make(summary) for make in _FIGURES]
    return {painter.name: painter for painter in drawn if painter is not None}


def short(name: str, most: int = 26) -> str:
    """Shorten a column's name for an axis and make it printable."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _lines(ax: Any, names: Sequence[str]) -> None:
    """Write names on the left, the first on top."""
    ax.set_yticks(range(len(names)), [short(name) for name in names])
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)


def _bars(
    painter: Painter, ax: Any, names: Sequence[str], values: Sequence[float], colour: Any
) -> None:
    for place, (name, value) in enumerate(zip(names, values, strict=True)):
        shade = colour(value) if callable(colour) else colour
        bar = ax.barh(place, value, height=0.62, color=shade)[0]
        painter.tag(bar, f"{short(name, 60)}: {number(value)}")
    _lines(ax, names)


def _splits(summary: dict[str, Any]) -> Painter | None:
    methods = list(summary["splits"])
    label = summary["metric_label"]
    figure, ax = subplots(figsize=(_WIDE, 0.9 + 0.42 * len(methods)))
    painter = Painter(
        "compare-splits", f"{label} on every split", "Small marks: splits; bars: means.", figure
    )
    for place, method in enumerate(methods):
        colour, values = method_colour(method, methods), summary["splits"][method]
        spread = np.linspace(-0.16, 0.16, len(values)) if len(values) > 1 else [0.0]
        for split, (value, shift) in enumerate(zip(values, spread, strict=True), start=1):
            dot = ax.plot(value, place + shift, "o", ms=4, color=colour, alpha=0.65)[0]
            painter.tag(dot, f"{method}, split {split}: {number(value)}", method)
        mean = float(np.mean(values))
        line = ax.plot([mean, mean], [place - 0.3, place + 0.3], color=colour, lw=2.6)[0]
        painter.tag(line, f"{method}, mean: {number(mean)}", method)
    _lines(ax, methods)
    ax.set_xlabel(label)
    return painter


def _gains(summary: dict[str, Any]) -> Painter | None:
    methods = list(summary["splits"])
    base = "RF" if "RF" in methods else methods[0]
    found = {m: _against(summary["pairs"], m, base) for m in methods if m != base}
    gaps = {m: gap for m, gap in found.items() if gap is not None}
    if not gaps:
        return None
    figure, ax = subplots(figsize=(_WIDE, 0.9 + 0.42 * len(gaps)))
    painter = Painter(
        "compare-gains",
        f"Gain over {base}, with 95 % intervals",
        f"{summary['metric_label']}; to the right of zero is better than {base}. Intervals account "
        "for training rows shared between splits, not for the number of pairs.",
        figure,
    )
    ax.axvline(0, color=INK, lw=1)
    for place, (method, (gain, low, high)) in enumerate(gaps.items()):
        colour = method_colour(method, methods)
        tip = f"{method} over {base}: {number(gain, 4, signed=True)}"
        if low is not None:
            tip += f" [{number(low, 4, signed=True)}, {number(high, 4, signed=True)}]"
            line = ax.plot([low, high], [place, place], color=colour, lw=2)[0]
            painter.tag(line, tip, method)
        painter.tag(full_mark(ax, gain, place, colour, method_marker(method)), tip, method)
    _lines(ax, list(gaps))
    ax.set_ylim(len(gaps) - 0.5, -0.5)
    ax.set_xlabel(f"gain over {base}")
    return painter


def _against(
    pairs: Sequence[dict[str, Any]], method: str, base: str
) -> tuple[float, float | None, float | None] | None:
    for pair in pairs:
        ends = (pair["low"], pair["high"])
        if (pair["first"], pair["second"]) == (method, base):
            return (pair["gain"], *ends)
        if (pair["first"], pair["second"]) == (base, method):
            low, high = (None if end is None else -end for end in reversed(ends))
            return -pair["gain"], low, high
    return None


def _curve(summary: dict[str, Any]) -> Painter | None:
    table = next((t for t in summary["tables"] if t["id"] == "compare-curve"), None)
    if table is None:
        return None
    methods = [column["key"] for column in table["columns"]]
    figure, ax = subplots(figsize=(_WIDE, 3.4))
    painter = Painter(
        "compare-curve",
        f"Learning curve: {summary['metric_label']} by training rows",
        "Mean over the folds of the first repeat.",
        figure,
    )
    for method in methods:
        colour = method_colour(method, methods)
        points = [
            (int(row["key"]), row["cells"][method]["ours"])
            for row in table["rows"]
            if method in row["cells"]
        ]
        line = ax.plot(*zip(*points, strict=True), color=colour, lw=1.5)[0]
        painter.tag(line, method=method)
        for size, value in points:
            mark = full_mark(ax, size, value, colour, method_marker(method))
            painter.tag(mark, f"{method}, {size:,} rows: {number(value)}", method)
    sizes = [int(row["key"]) for row in table["rows"]]
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.set(xlabel="training rows", ylabel=summary["metric_label"])
    method_legend(figure, methods)
    return painter


def _times(summary: dict[str, Any]) -> Painter | None:
    table = next(t for t in summary["tables"] if t["id"] == "compare-times")
    methods = [row["key"] for row in table["rows"]]
    figure, ax = subplots(figsize=(_WIDE, 0.9 + 0.36 * len(methods)))
    painter = Painter(
        "compare-times",
        "Seconds of one fit",
        "One thread. Pale: parameter search.",
        figure,
    )
    for place, row in enumerate(table["rows"]):
        colour, left = method_colour(row["key"], methods), 0.0
        for part, alpha, words in (("cpu", 1.0, "fit"), ("tuning", 0.4, "search")):
            if part in row["cells"]:
                width = row["cells"][part]["ours"]
                bar = ax.barh(place, width, left=left, height=0.6, color=colour, alpha=alpha)[0]
                painter.tag(bar, f"{row['key']}, {words}: {width:.2f} s", row["key"])
                left += width
    _lines(ax, methods)
    ax.set_xlabel("seconds")
    return painter


# ---- directions


def _spectrum(summary: dict[str, Any]) -> Painter | None:
    shares = summary["directions"].get("shares", [])[:10]
    if not shares:
        return None
    figure, ax = subplots(figsize=(_WIDE, 2.7))
    painter = Painter(
        "compare-spectrum",
        "How much each direction matters",
        "Eigenvalues of the EJOP (expected Jacobian outer product) of the numeric columns, as "
        "shares of their sum.",
        figure,
    )
    for place, share in enumerate(shares, start=1):
        bar = ax.bar(place, 100 * share, width=0.65, color=_FIRST if place < 3 else GRID)[0]
        painter.tag(bar, f"direction {place}: {100 * share:.1f} %")
    ax.set_xticks(range(1, len(shares) + 1))
    ax.grid(axis="x", visible=False)
    ax.set(xlabel="direction", ylabel="share, %")
    return painter


def _sign_colour(value: float) -> str:
    return _FIRST if value >= 0 else _SECOND


def _loadings(summary: dict[str, Any]) -> Painter | None:
    found = summary["directions"]
    if "loadings" not in found:
        return None
    names = found["columns"]
    most = min(8, len(names))
    figure, axes = subplots(2, 1, figsize=(_WIDE, 1.3 + 0.56 * most))
    painter = Painter(
        "compare-loadings",
        "The two strongest directions",
        f"Loadings, the {most} largest of each; columns in standard deviations. A direction and "
        "its opposite are the same.",
        figure,
    )
    for which, ax in enumerate(axes):
        vector = np.array(found["loadings"][which])
        order = np.argsort(-np.abs(vector), kind="stable")[:most]
        _bars(painter, ax, [names[j] for j in order], vector[order].tolist(), _sign_colour)
        ax.axvline(0, color=INK, lw=1)
        ax.set_xlim(-1.05, 1.05)
        ax.set_title(f"direction {which + 1} ({100 * found['shares'][which]:.0f} %)", loc="left")
    return painter


def _heat_map(summary: dict[str, Any]) -> Painter | None:
    found = summary["directions"]
    if "loadings" not in found:
        return None
    loadings = np.array(found["loadings"])
    shares = np.array(found["shares"][: len(loadings)])
    weight = (shares[:, None] * loadings**2).sum(axis=0)
    order = np.argsort(-weight, kind="stable")[:14]
    names = [found["columns"][j] for j in order]
    figure, ax = subplots(figsize=(_WIDE, 0.9 + 0.3 * len(names)))
    painter = Painter(
        "compare-heat",
        "Loadings of the leading directions",
        "Orange: positive, blue: negative; darker is larger.",
        figure,
    )
    for row, j in enumerate(order):
        for k, value in enumerate(loadings[:, j].tolist()):
            cell = ax.barh(
                row, 0.94, left=k + 0.53, height=0.9, color=_sign_colour(value), alpha=abs(value)
            )[0]
            painter.tag(cell, f"{short(names[row], 60)}, direction {k + 1}: {number(value, 2)}")
            if abs(value) >= 0.15:
                text = number(value, 2)
                ax.text(k + 1, row, text, ha="center", va="center", fontsize=8)
    _lines(ax, names)
    ax.grid(visible=False)
    ax.set_xticks(range(1, len(loadings) + 1))
    ax.set_xlabel("direction")
    return painter


def _sensitivities(summary: dict[str, Any]) -> Painter | None:
    found = summary["directions"].get("sensitivities", [])[:15]
    if not found:
        return None
    unit = "the predicted probability of a row's own class"
    if summary["table"]["task"] == "regression":
        unit = "the prediction, in standard deviations of the target"
    figure, ax = subplots(figsize=(_WIDE, 0.9 + 0.28 * len(found)))
    painter = Painter(
        "compare-sensitivities",
        "Sensitivity to each column",
        f"How much {unit} changes if the column moves by one standard deviation: the root mean "
        "square over the training rows, by the surrogate forest. The step is one standard "
        "deviation, or longer if the neighbouring values lie further apart; then the change is "
        "scaled to one standard deviation. For columns with outliers it is the robust standard "
        "deviation (1.48 times the median absolute deviation). A level of a category is switched "
        "on and off.",
        figure,
    )
    _bars(painter, ax, [name for name, _ in found], [value for _, value in found], _SECOND)
    ax.set_xlabel("change per standard deviation of the column")
    return painter


def _plane(summary: dict[str, Any]) -> Painter | None:
    found = summary["directions"]
    if "plane" not in found:
        return None
    plane = found["plane"]
    u, v = np.array(plane["first"]), np.array(plane["second"])
    figure, ax = subplots(figsize=(_WIDE, 4.6))
    painter = Painter(
        "compare-plane",
        "Test rows in the plane of the two strongest directions",
        "The solid line is the best single cut across a direction; the dashed line, if it crosses "
        "this part of the plane, is the best cut of a single column. Both were chosen on training "
        "rows. The outermost points are not shown.",
        figure,
    )
    if found["task"] == "classification":
        _classes(painter, ax, figure, u, v, plane["target"])
    else:
        _heights(painter, ax, figure, u, v, plane["target"])
    for setter, values in ((ax.set_xlim, u), (ax.set_ylim, v)):
        low, high = np.quantile(values, [0.005, 0.995])
        pad = 0.06 * (high - low) or 1.0
        setter(low - pad, high + pad)
    _cut_lines(painter, ax, found["cuts"])
    ax.set(xlabel="direction 1", ylabel="direction 2")
    return painter


def _classes(
    painter: Painter, ax: Any, figure: Any, u: np.ndarray, v: np.ndarray, labels: list[str]
) -> None:
    common = [label for label, _ in Counter(labels).most_common()]
    groups = {label: [label] for label in common[: len(_CLASSES)]}
    if len(common) > len(_CLASSES):
        last = common[len(_CLASSES) - 1 :]
        groups.pop(last[0])
        groups["others"] = last
    for colour, (name, members) in zip(_CLASSES, groups.items(), strict=False):
        here = np.isin(labels, members)
        marks = ax.scatter(u[here], v[here], s=13, color=colour, alpha=0.6, lw=0, label=short(name))
        painter.tag(marks, short(name, 60))
    figure.legend(loc="outside upper center", ncols=min(len(groups), 3), markerscale=1.6)


def _heights(
    painter: Painter, ax: Any, figure: Any, u: np.ndarray, v: np.ndarray, target: list[float]
) -> None:
    low, high = np.quantile(target, [0.02, 0.98])
    marks = ax.scatter(u, v, c=target, s=13, cmap="viridis", vmin=low, vmax=high, alpha=0.8, lw=0)
    bar = figure.colorbar(marks, ax=ax, shrink=0.8)
    bar.outline.set_visible(False)
    bar.set_label("target")


def _cut_lines(painter: Painter, ax: Any, cuts: dict[str, Any]) -> None:
    rotated, axis = cuts["rotated"], cuts["axis"]
    draw = ax.axvline if rotated["direction"] == 1 else ax.axhline
    painter.tag(draw(rotated["threshold"], color=INK, lw=1.8), rotated["words"])
    a, b = axis["normal"]
    if abs(b) > 1e-3:
        line = ax.axline((0, axis["threshold"] / b), slope=-a / b)
    elif abs(a) > 1e-3:
        line = ax.axvline(axis["threshold"] / a)
    else:
        return
    line.set(color=INK, lw=1.3, ls=(0, (4, 3)))
    painter.tag(line, axis["words"])


_FIGURES: tuple[Callable[[dict[str, Any]], Painter | None], ...] = (
    *(_splits, _gains, _curve, _times),
    *(_spectrum, _sensitivities, _loadings, _heat_map, _plane),
)
