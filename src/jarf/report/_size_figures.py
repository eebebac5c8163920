"""Curves of accuracy and time against the number of training rows."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from jarf.bench import Results, ResultTable
from jarf.bench.experiments import metric_of, size_methods, size_points
from jarf.pages import (
    Painter,
    full_mark,
    log_axis,
    method_colour,
    method_legend,
    method_marker,
    number,
    subplots,
)

__all__ = ["SIZE_FIGURES"]


def _accuracy(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    points = size_points(results)
    datasets = list(dict.fromkeys(point.dataset for point in points))
    if not datasets:
        return None
    methods = size_methods(points)
    columns = min(4, len(datasets))
    lines = -(-len(datasets) // columns)
    size = (2.6 * columns + 0.4, 2.1 * lines + 0.8)
    figure, axes = subplots(lines, columns, figsize=size, squeeze=False)
    painter = Painter(
        "sizes",
        "Accuracy against the number of training rows",
        "Cohen's kappa in classification, R² in regression; mean over splits.",
        figure,
    )
    for ax in axes.flat[len(datasets) :]:
        ax.set_visible(False)
    for ax, dataset in zip(axes.flat, datasets, strict=False):
        here = [point for point in points if point.dataset == dataset]
        for method in methods:
            own = sorted((p for p in here if p.method == method), key=lambda p: p.n_train)
            colour = method_colour(method, methods)
            line = ax.plot([p.n_train for p in own], [p.score.value for p in own], color=colour)[0]
            painter.tag(line, method=method, dataset=dataset)
            for p in own:
                mark = full_mark(ax, p.n_train, p.score.value, colour, method_marker(method))
                tip = f"{dataset}, {method}, {p.n_train:,} rows: {number(p.score.value)}"
                painter.tag(mark, f"{tip} {metric_of(p.task)}", method, dataset)
        log_axis(ax, "x", small=True)
        ax.set_title(dataset, fontsize=9)
    method_legend(figure, methods)
    figure.supxlabel("training rows", fontsize=10)
    return painter


def _times(results: Results, tables: dict[str, ResultTable]) -> Painter | None:
    points = size_points(results)
    if not points:
        return None
    methods = size_methods(points)
    figure, ax = subplots(figsize=(7, 4.2))
    painter = Painter(
        "sizes-times",
        "Fit time against the number of training rows",
        "CPU seconds of a fit on one thread: geometric mean over the datasets that have as many "
        "rows.",
        figure,
    )
    for method in methods:
        own = sorted((p for p in points if p.method == method), key=lambda p: p.cap)
        middle = []
        for _, group in groupby(own, key=lambda p: p.cap):
            here = list(group)
            rows = float(np.exp(np.mean([np.log(p.n_train) for p in here])))
            seconds = float(np.exp(np.mean([np.log(max(p.seconds, 1e-4)) for p in here])))
            middle.append((rows, seconds, len(here)))
        colour = method_colour(method, methods)
        line = ax.plot([m[0] for m in middle], [m[1] for m in middle], color=colour, lw=1.5)[0]
        painter.tag(line, method=method)
        for rows, seconds, count in middle:
            mark = full_mark(ax, rows, seconds, colour, method_marker(method))
            tip = f"{method}: {seconds:.3g} s at about {rows:,.0f} rows ({count} datasets)"
            painter.tag(mark, tip, method)
    ax.set(xlabel="training rows", ylabel="seconds")
    log_axis(ax, "x")
    log_axis(ax, "y")
    method_legend(figure, methods)
    return painter


SIZE_FIGURES = (_accuracy, _times)
