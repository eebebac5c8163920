"""Goals for our own forest, fixed before the run and evaluated from stored rows like the claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from jarf.bench import Results, mean_ranks
from jarf.bench.experiments import OBLIQUE, metric_of
from jarf.pages import number
from jarf.report._claims import below
from jarf.report._verdicts import HOLDS, NOT_HERE, PART, UNTESTED, Claim, Tables, Verdict

__all__ = ["GOALS", "IN_SIGHT"]

IN_SIGHT = (
    "The goals were set before the run. The forest was developed on these datasets; see the "
    "research log."
)

NEAR = 0.006  # of the Bayes kappa
FORESTS = ("RF", "ET", *OBLIQUE, "YDF-oblique", "PCA+RF", "LDA+RF", "JARF", "JF")


def _scores(results: Results, task: str) -> tuple[list[str], list[str], np.ndarray]:
    """Return datasets with all forests, the forests (ours last), and their scores."""
    datasets = results.datasets(task)
    methods = [m for m in FORESTS if m in results.methods(datasets)]
    if methods[-1:] != ["JF"] or len(methods) < 2:
        raise KeyError("JF or the other forests were not run")
    scores = results.matrix(datasets, methods, metric_of(task))
    whole = ~np.isnan(scores).any(axis=1)
    if not whole.any():
        raise KeyError("no dataset has all forests")
    return [d for d, kept in zip(datasets, whole, strict=True) if kept], methods, scores[whole]


def _best(task: str, least: int, of: int) -> Callable[[Results, Tables], Verdict]:
    def verdict(results: Results, tables: Tables) -> Verdict:
        datasets, methods, scores = _scores(results, task)
        wins = scores[:, -1] >= scores.max(axis=1)
        best, behind = scores.argmax(axis=1), scores[:, -1] - scores.max(axis=1)
        lost = [
            f"{datasets[i]} ({methods[best[i]]} {number(behind[i], 3, signed=True)})"
            for i in np.flatnonzero(~wins)
        ]
        share = wins.mean()
        grade = HOLDS if share >= least / of else PART if share > 1 / 3 else NOT_HERE
        return grade, (
            f"Best of {len(methods)} forests on {wins.sum()} of {len(datasets)}"
            + (f"; not on {', '.join(lost)}." if lost else ".")
        )

    return verdict


def _rank(results: Results, tables: Tables) -> Verdict:
    texts, first = [], []
    for task in ("classification", "regression"):
        _, methods, scores = _scores(results, task)
        ranks = mean_ranks(scores)
        first.append(ranks[-1] <= ranks.min())
        second = int(np.argmin(ranks[:-1]))
        texts.append(f"{task} {ranks[-1]:.2f}, next {methods[second]} {ranks[second]:.2f}")
    grade = HOLDS if all(first) else PART if any(first) else NOT_HERE
    return grade, "Mean rank among the forests: " + "; ".join(texts) + "."


def _never_below(ours: str, base: str) -> Callable[[Results, Tables], Verdict]:
    def verdict(results: Results, tables: Tables) -> Verdict:
        lost, means = below(results, ours, base, ["classification", "regression"], 4)
        if not means:
            raise KeyError(f"{ours} was not run")
        grade = HOLDS if not lost else PART if len(lost) <= 0.1 * len(means) else NOT_HERE
        return grade, (
            f"Below {base} by more than one s.e. on {len(lost)} of {len(means)}"
            + (f": {', '.join(lost)}" if lost else "")
            + f"; mean difference {number(float(np.mean(means)), 4, signed=True)}."
        )

    return verdict


def _gain(task: str, least: float) -> Callable[[Results, Tables], Verdict]:
    def verdict(results: Results, tables: Tables) -> Verdict:
        datasets, methods, scores = _scores(results, task)
        gain = float((scores[:, -1] - scores[:, methods.index("RF")]).mean())
        grade = HOLDS if gain >= least else PART if gain > 0 else NOT_HERE
        return grade, (
            f"Mean gain over RF on {len(datasets)} datasets: {number(gain, 3, signed=True)}."
        )

    return verdict


def _bayes(results: Results, tables: Tables) -> Verdict:
    cells = tables["simulation"].cells
    rows = sorted({row for row, column in cells if column == "JF"})
    gaps = {row: cells[row, "JF"].value - cells[row, "Bayes"].value for row in rows}
    worst = min(gaps, key=lambda row: gaps[row])
    within = _count_near(gaps.values())
    grade = HOLDS if within == len(gaps) else PART if within > len(gaps) / 2 else NOT_HERE
    text = (
        f"Within {NEAR} in {within} of {len(gaps)} settings; largest gap in {worst} "
        f"({number(gaps[worst], 4, signed=True)})."
    )
    drawn = _drawn_gaps(results)
    if drawn:
        text += (
            " Against the true boundary on the same test rows: in "
            f"{_count_near(drawn)} of {len(drawn)}, farthest {number(min(drawn), 4, signed=True)}, "
            f"on average {number(float(np.mean(drawn)), 4, signed=True)}."
        )
    return grade, text


def _count_near(gaps: Iterable[float]) -> int:
    return sum(gap >= -NEAR for gap in gaps)


def _drawn_gaps(results: Results) -> list[float]:
    """Return kappa minus that of the true boundary on the same rows, a mean for every setting."""
    gaps = []
    for dataset in results.datasets(simulated=True):
        limits = results.extras(dataset, "JF", "bayes")
        score = results.cell(dataset, "JF", "kappa")
        if score is not None and len(limits) == score.n:
            gaps.append(float(score.value - np.mean(limits)))
    return gaps


def _cost(results: Results, tables: Tables) -> Verdict:
    cells = tables["times"].cells
    own = cells["JF", "ratio"].value
    rivals = {m: cells[m, "ratio"].value for m in OBLIQUE if (m, "ratio") in cells}
    cost = f"Median fit time relative to RF: {own:.2f}, race included"
    if not rivals:
        grade = UNTESTED if own <= 1.5 else NOT_HERE
        return grade, f"{cost}; the other oblique forests were not run."
    below = all(own < ratio for ratio in rivals.values())
    grade = HOLDS if own <= 1.5 and below else PART if own <= 1.5 else NOT_HERE
    text = ", ".join(f"{m} {ratio:.2f}" for m, ratio in rivals.items())
    return grade, (f"{cost}; the oblique forests on the same engine, which have no race: {text}.")


def _prediction(results: Results, tables: Tables) -> Verdict:
    datasets = results.datasets()
    own, base = results.matrix(datasets, ["JF", "RF"], "time_predict").T
    ratios = own / base
    if np.isnan(ratios).all():
        raise KeyError("JF was not run")
    median, most = np.nanmedian(ratios), np.nanmax(ratios)
    grade = HOLDS if most <= 2 else PART if median <= 2 else NOT_HERE
    return grade, (
        f"Prediction time relative to RF on {np.isfinite(ratios).sum()} datasets: median "
        f"{median:.2f}, at "
        f"most {most:.2f} ({datasets[np.nanargmax(ratios)]})."
    )


GOALS = (
    Claim(
        "Best forest on at least 10 of 15 classification datasets.",
        *("Table 1", "classification", _best("classification", 10, 15)),
    ),
    Claim(
        "Best forest on at least 4 of 5 regression datasets.",
        *("Table 2", "regression", _best("regression", 4, 5)),
    ),
    Claim("Best mean rank among the forests.", "Tables 1 and 2", "classification", _rank),
    Claim(
        "Never below RF by more than one standard error.",
        *("Tables 1 and 2", "classification", _never_below("JF", "RF")),
    ),
    Claim(
        "Mean kappa at least 0.04 above RF.",
        *("Table 1", "classification", _gain("classification", 0.04)),
    ),
    Claim("Mean R² at least 0.06 above RF.", "Table 2", "regression", _gain("regression", 0.06)),
    Claim(
        "Directions as extra columns (XGB+J) never lower XGBoost's score by more than one standard "
        "error.",
        *("Tables 1 and 2", "classification", _never_below("XGB+J", "XGB")),
    ),
    Claim(
        "On the rotated halfspace within 0.006 of the Bayes kappa at every angle.",
        *("Figure 1", "simulation", _bayes),
    ),
    Claim(
        "Median fit time at most 1.5 times RF's, and below the other oblique forests'.",
        *("Figure 3", "times", _cost),
    ),
    Claim("Prediction takes at most twice RF's time.", "Figure 3", "times", _prediction),
)
