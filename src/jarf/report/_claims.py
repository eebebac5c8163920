"""The claims of the paper, each with a verdict and evidence from stored rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from jarf.bench import Results, worse_by_se
from jarf.bench.experiments import ABLATIONS, OBLIQUE, alignment_curves, metric_of
from jarf.pages import number
from jarf.report._theory_claims import THEORY_CLAIMS
from jarf.report._verdicts import (
    HOLDS,
    NOT_HERE,
    PART,
    UNTESTED,
    Claim,
    Tables,
    Verdict,
    graded,
)

__all__ = ["HOLDS", "NOT_HERE", "PART", "UNTESTED", "Claim", "below", "judge"]


def judge(
    results: Results, tables: Tables, claims: Sequence[Claim] | None = None
) -> list[dict[str, str]]:
    """Return every claim (by default the paper's) with its verdict and evidence."""
    judged = []
    for claim in CLAIMS if claims is None else claims:
        try:
            verdict, evidence = claim.judge(results, tables)
        except (KeyError, ZeroDivisionError, ValueError):  # a number it needs was not run
            verdict, evidence = UNTESTED, "The required fits are not among the results."
        judged.append(
            {
                "claim": claim.text,
                "where": claim.where,
                "experiment": claim.experiment,
                "verdict": verdict,
                "evidence": evidence,
            }
        )
    return judged


def _value(tables: Tables, table: str, row: str, column: str) -> float:
    return tables[table].cells[row, column].value


def _wins(results: Results, task: str) -> tuple[int, int, int]:
    """Count the datasets that JARF is best on, all datasets, and the methods compared."""
    rivals = ("RF", "RotF", "CCF", "SPORF", "XGB", "PCA+RF", "LDA+RF", "JARF")
    datasets = results.datasets(task)
    methods = [m for m in rivals if m in results.methods(datasets)]
    if len(methods) < 2:
        raise KeyError("there is nothing to compare JARF with")
    scores = results.matrix(datasets, methods, metric_of(task))
    scores = scores[~np.isnan(scores).any(axis=1)]
    own = scores[:, methods.index("JARF")]
    return int((own >= scores.max(axis=1)).sum()), len(scores), len(methods)


def _best_classification(results: Results, tables: Tables) -> Verdict:
    wins, total, methods = _wins(results, "classification")
    if not total:
        raise KeyError("no dataset has all methods")
    verdict = HOLDS if wins >= 0.8 * total else PART if wins > total / 3 else NOT_HERE
    return verdict, f"JARF is best of {methods} methods on {wins} of {total} datasets."


def _best_regression(results: Results, tables: Tables) -> Verdict:
    wins, total, methods = _wins(results, "regression")
    return graded(wins, total), f"JARF is best of {methods} methods on {wins} of {total} datasets."


def below(
    results: Results, ours: str, base: str, tasks: Sequence[str], digits: int
) -> tuple[list[str], list[float]]:
    """Find where a method is below another by more than one s.e., and its mean differences."""
    named, means = [], []
    for task in tasks:
        for dataset in results.datasets(task):
            gaps = results.paired(dataset, (ours, ""), (base, ""), metric_of(task))
            if not len(gaps):
                continue
            means.append(float(gaps.mean()))
            if worse_by_se(gaps):
                named.append(f"{dataset} ({number(means[-1], digits, signed=True)})")
    return named, means


def _never_worse(results: Results, tables: Tables) -> Verdict:
    worse, means = below(results, "JARF", "RF", ["classification"], 3)
    total = len(means)
    return graded(total - len(worse), total, 0.75), (
        f"Worse by more than one s.e. on {len(worse)} of {total}"
        + (f": {', '.join(worse)}." if worse else ".")
    )


def _gain(task: str, printed: float) -> Callable[[Results, Tables], Verdict]:
    def verdict(results: Results, tables: Tables) -> Verdict:
        name = metric_of(task)
        gain = _value(tables, task, "Mean", "JARF") - _value(tables, task, "Mean", "RF")
        grade = HOLDS if gain >= 0.8 * printed else PART if gain >= 0.2 * printed else NOT_HERE
        return grade, (
            f"Mean gain in {name} over RF: {number(gain, 3, signed=True)}; the paper prints "
            f"{number(printed, 3, signed=True)}."
        )

    return verdict


def _boosted(results: Results, tables: Tables) -> Verdict:
    texts, grades = [], []
    for column, printed in (("kappa", 0.106), ("r2", 0.032)):
        if ("JARF-XGB", column) in tables["variants"].cells:
            gain = _value(tables, "variants", "JARF-XGB", column)
            gain -= _value(tables, "variants", "XGB", column)
            grades.append(gain > 0)
            texts.append(
                f"{column} {number(gain, 3, signed=True)} (paper {number(printed, 3, signed=True)})"
            )
    return graded(sum(grades), len(grades), 0), "JARF-XGB minus XGB: " + ", ".join(texts) + "."


def _cost(results: Results, tables: Tables) -> Verdict:
    ratio = _value(tables, "times", "JARF", "ratio")
    grade = HOLDS if ratio <= 1.75 else PART if ratio <= 2.5 else NOT_HERE
    return grade, f"Median ratio of JARF's fit time to RF's on the same splits: {ratio:.2f}."


def _faster(results: Results, tables: Tables) -> Verdict:
    own = _value(tables, "times", "JARF", "ratio")
    cells = tables["times"].cells
    found = {m: cells[m, "ratio"].value for m in OBLIQUE if (m, "ratio") in cells}
    text = ", ".join(f"{m} {ratio:.2f}" for m, ratio in found.items())
    grade = graded(sum(ratio > own for ratio in found.values()), len(found), 0)
    return grade, f"Fit time relative to RF: JARF {own:.2f}, {text}. One thread, our engine."


def _angles(results: Results, tables: Tables) -> Verdict:
    """Evaluate: JARF is best at 30 degrees and more."""
    datasets = [d for d in results.datasets(simulated=True) if not d.endswith("-a15")]
    methods = results.methods(datasets)
    rivals = [m for m in methods if m in ("RF", "XGB", "PCA+RF", "LDA+RF", *OBLIQUE, "JARF")]
    scores = results.matrix(datasets, rivals, "kappa")
    own = scores[:, rivals.index("JARF")]
    wins = int((own >= np.nanmax(scores, axis=1)).sum())
    gap = float(np.nanmean(own - scores[:, rivals.index("RF")]))
    return graded(wins, len(datasets)), (
        f"JARF is best in {wins} of {len(datasets)} settings of 30° and more; its mean gain over "
        f"RF there is {number(gap, 3, signed=True)}."
    )


def _degrade(results: Results, tables: Tables) -> Verdict:
    """Evaluate: RF and XGB degrade as the angle grows."""
    falls, texts = [], []
    for method in ("RF", "XGB"):
        for d in (10, 50, 100):
            low = _value(tables, "simulation", f"halfspace-d{d}-a15", method)
            high = _value(tables, "simulation", f"halfspace-d{d}-a45", method)
            falls.append(high < low)
            texts.append(f"{method} d={d} {number(high - low, 3, signed=True)}")
    return graded(sum(falls), len(falls)), "Kappa at 45° minus 15°: " + ", ".join(texts) + "."


def _aligned(results: Results, tables: Tables) -> Verdict:
    """Evaluate: split normals lie closer to the EJOP eigenspace than random directions."""
    above = total = 0
    gaps = []
    for dataset in results.datasets():
        for method in OBLIQUE:
            curves = alignment_curves(results, dataset, method)
            if curves is not None and len(curves["median"]) > 2:
                k = min(5, len(curves["median"]) // 2) - 1
                gaps.append(float(curves["median"][k] - curves["random"][k]))
                above += gaps[-1] > 0.1
                total += 1
    return graded(above, total), (
        f"At k = 5 (or d/2 if smaller) the median alignment of split normals with the EJOP "
        f"eigenspace exceeds chance by more than 0.1 in {above} of {total} pairs of dataset and "
        "forest; median excess "
        f"{number(float(np.median(gaps)), 3, signed=True)}."
    )


def _identity(results: Results, tables: Tables) -> Verdict:
    delta = _value(tables, "ablations", "identity", "kappa")
    p = _value(tables, "ablations", "identity", "p")
    lowest = min((_value(tables, "ablations", row, "kappa"), row) for row in ABLATIONS)
    grade = HOLDS if lowest[1] == "identity" and p < 0.05 else PART if delta < -0.005 else NOT_HERE
    return grade, (
        f"Identity minus JARF: {number(delta, 4, signed=True)} (Holm p = {p:.2g}; paper "
        f"{number(-0.036)}). "
        f"The costliest change is '{lowest[1]}' with {number(lowest[0], 4, signed=True)}."
    )


def _tenth(results: Results, tables: Tables) -> Verdict:
    tenth, half = (_value(tables, "ablations", row, "kappa") for row in ("m = 0.1 n", "m = 0.5 n"))
    p = _value(tables, "ablations", "m = 0.1 n", "p")
    grade = HOLDS if tenth < half <= 0 and p < 0.05 else PART if tenth < -0.005 else NOT_HERE
    return grade, (
        f"m = 0.1 n: {number(tenth, 4, signed=True)} (p = {p:.2g}; paper {number(-0.016)}), "
        f"m = 0.5 n: {number(half, 4, signed=True)} (paper {number(-0.004)})."
    )


def _family(results: Results, tables: Tables) -> Verdict:
    spread = _value(tables, "surrogate-family", "Max diff", "JARF kappa")
    grade = HOLDS if spread <= 0.004 else PART if spread <= 0.02 else NOT_HERE
    return grade, f"Largest difference in mean kappa from the RF surrogate: {number(spread, 4)}."


def _eigenspaces(results: Results, tables: Tables) -> Verdict:
    values = [
        _value(tables, "surrogate-family", row, "align") for row in ("XGBoost", "2-layer MLP")
    ]
    spans = [
        _value(tables, "surrogate-family", row, "subspace") for row in ("XGBoost", "2-layer MLP")
    ]
    grade = HOLDS if min(values) >= 0.95 else PART if min(spans) >= 0.8 else NOT_HERE
    return grade, (
        f"Mean cosine of paired eigenvectors: XGBoost {values[0]:.2f}, MLP {values[1]:.2f}; of "
        f"the spans: {spans[0]:.2f}, {spans[1]:.2f}."
    )


def _quality(results: Results, tables: Tables) -> Verdict:
    spread = _value(tables, "surrogate-quality-classification", "Max diff", "JARF kappa")
    r2 = tables["surrogate-quality-regression"].cells.get(("Max diff", "JARF R2"))
    text = f"Largest difference from the default: {number(spread, 4)} in kappa"
    if r2 is not None:
        text += f", {number(r2.value, 4)} in R²"
    worst = max(spread, r2.value if r2 is not None else 0.0)
    return (HOLDS if worst <= 0.004 else PART if worst <= 0.02 else NOT_HERE), text + "."


def _sharing(results: Results, tables: Tables) -> Verdict:
    single, each = (_value(tables, "per-tree", row, "kappa") for row in ("single H", "per-tree H"))
    times = [_value(tables, "per-tree", row, "time") for row in ("single H", "per-tree H")]
    grade = HOLDS if single >= each and times[1] > times[0] else PART
    grade = NOT_HERE if single < each - 0.002 else grade
    return grade, (
        f"Mean kappa {number(single, 4)} with one H, {number(each, 4)} with one per tree; fit "
        f"times {times[0]:.2f} and {times[1]:.2f} of RF's."
    )


def _probes(results: Results, tables: Tables) -> Verdict:
    small, large = (_value(tables, "subsample", row, "gain") for row in ("1k", "10k"))
    if large <= 0:
        return NOT_HERE, (
            f"There is no gain to recover: {number(large, 4, signed=True)} at the largest m, "
            f"{number(small, 4, signed=True)} at m = 1,000."
        )
    share = small / large
    return (HOLDS if share >= 0.85 else PART if share >= 0.5 else NOT_HERE), (
        f"Gain over RF {number(small, 4, signed=True)} at m = 1,000 and "
        f"{number(large, 4, signed=True)} at the largest m: {100 * share:.0f} %."
    )


CLAIMS = (
    Claim(
        "JARF is best on 12 of 15 classification datasets.",
        *("Section 5.2, Table 1", "classification", _best_classification),
    ),
    Claim(
        "JARF is never worse than RF by more than one standard error.",
        *("Section 5.2, Table 1", "classification", _never_worse),
    ),
    Claim(
        "JARF raises the mean kappa over RF by 0.106.",
        *("Table 1", "classification", _gain("classification", 0.106)),
    ),
    Claim(
        "JARF has the best R² on all 5 regression datasets.",
        *("Section 5.2, Table 2", "regression", _best_regression),
    ),
    Claim(
        "JARF raises the mean R² over RF by 0.060.",
        *("Table 2", "regression", _gain("regression", 0.060)),
    ),
    Claim(
        "XGBoost on X H is better than XGBoost on X.",
        *("Section 5.2, Table 3", "variants", _boosted),
    ),
    Claim("JARF costs about 1.67 times RF.", "Section 5.3, Figure 3", "times", _cost),
    Claim(
        "JARF trains faster than RotF, CCF and SPORF.",
        *("Section 5.3, Figure 3", "times", _faster),
    ),
    Claim(
        "On the rotated halfspace JARF has the highest kappa at moderate and large angles.",
        *("Section 5.1, Figure 1", "simulation", _angles),
    ),
    Claim(
        "RF and XGBoost degrade as the angle grows.",
        *("Section 5.1, Figure 1", "simulation", _degrade),
    ),
    Claim(
        "Split normals of oblique forests concentrate in the leading EJOP eigenspace.",
        *("Section 5.4, Figure 4", "mechanism", _aligned),
    ),
    Claim(
        "Leaving the EJOP transform out costs most of all ablations, and significantly.",
        *("Section 5.5, Table 4", "ablations", _identity),
    ),
    Claim(
        "A tenth of the probes costs kappa significantly, half of them hardly.",
        *("Section 5.5, Table 4", "ablations", _tenth),
    ),
    Claim(
        "The family of the surrogate changes kappa by at most 0.004.",
        *("Section 5.5, Table 5", "surrogate-family", _family),
    ),
    Claim(
        "EJOP eigenvectors of different surrogates agree (cosine 0.97 and more).",
        *("Section 5.5, Table 5", "surrogate-family", _eigenspaces),
    ),
    Claim(
        "Depth and calibration of the surrogate change kappa by at most 0.004.",
        *("Appendix, Tables 6 and 7", "surrogate-quality", _quality),
    ),
    Claim(
        "One H for all trees is as good as one per tree, and cheaper.",
        *("Appendix, Table 8", "per-tree", _sharing),
    ),
    Claim(
        "1,000 probes recover about 85 % of the gain over RF.",
        *("Appendix, Table 9", "subsample", _probes),
    ),
    *THEORY_CLAIMS,
)
