"""Verdicts on the paper's theory, from the experiment that simulates it."""

from __future__ import annotations

from jarf.bench import THEORY, Results
from jarf.bench.experiments import rate, recovery_curves, risk_curves
from jarf.pages import number
from jarf.report._verdicts import HOLDS, NOT_HERE, PART, Claim, Tables, Verdict

__all__ = ["THEORY_CLAIMS"]

_HIGH = 0.95  # a correlation that counts as proportional
_RANK = 2


def _gain(results: Results, tables: Tables) -> Verdict:
    cells = tables["theory-gain"].cells
    by_place = {
        place: {row: c.value for (row, key), c in cells.items() if key == f"correlation_{place}"}
        for place in ("node", "root")
    }
    lowest = {place: min(values, key=values.__getitem__) for place, values in by_place.items()}
    node, root = (by_place[place][lowest[place]] for place in ("node", "root"))
    grade = HOLDS if min(node, root) >= _HIGH else PART if node >= _HIGH else NOT_HERE
    return grade, (
        f"Correlation of gain and w' H0 w over directions of {len(by_place['node'])} known "
        f"functions: at least {number(node, 2)} in small nodes ({lowest['node']}), at least "
        f"{number(root, 2)} at the root ({lowest['root']}), where a first-order expansion does "
        "not describe the function."
    )


def _rate(results: Results, tables: Tables) -> Verdict:
    curves = risk_curves(results)
    by_label: dict[str, dict[int, float]] = {}
    for curve in curves:
        by_label.setdefault(curve.label, {})[curve.d] = curve.slope
    own = by_label[f"JARF, top {_RANK}"]
    reached = [slope <= 0.8 * rate(_RANK) for slope in own.values()]
    grade = HOLDS if all(reached) else PART if any(reached) else NOT_HERE
    texts = [
        f"{label} " + ", ".join(f"{number(slope, 2)} (d = {d})" for d, slope in slopes.items())
        for label, slopes in by_label.items()
    ]
    return grade, (
        f"Log-log slopes of the risk; a regressor in {_RANK} dimensions has "
        f"{number(rate(_RANK), 2)}: {'; '.join(texts)}."
    )


def _recovery(results: Results, tables: Tables) -> Verdict:
    curves = recovery_curves(results)
    ends = {d: (points[0], points[-1]) for d, points in curves.items() if len(points) > 1}
    if not ends:
        raise KeyError("no angles")
    falls = [last[1] < first[1] for first, last in ends.values()]
    close = [last[1] <= 30 for _, last in ends.values()]
    grade = HOLDS if all(falls) and all(close) else PART if all(falls) else NOT_HERE
    texts = [
        f"d = {d}: {first[1]:.0f}° at {first[0]:,} rows, {last[1]:.0f}° at {last[0]:,}"
        for d, (first, last) in ends.items()
    ]
    text = f"Largest principal angle to the true directions: {'; '.join(texts)}."
    least = {d: points[-1] for d, points in recovery_curves(results, "least_angle").items()}
    if least:
        found = ", ".join(f"{angle:.0f}° (d = {d})" for d, (_, angle) in least.items())
        text += f" The smallest one, at the most rows: {found}."
    return grade, text


THEORY_CLAIMS = (
    Claim(
        "The gain of a split along w is proportional to w' H0 w.",
        *("Appendix A, Proposition A.2", THEORY, _gain),
    ),
    Claim(
        "Projected on its leading eigenvectors, JARF has the risk of a regressor in as many "
        "dimensions, whatever the number of columns.",
        *("Appendix A, Theorem 1", THEORY, _rate),
    ),
    Claim(
        "The leading eigenvectors of the EJOP converge to the directions that matter.",
        *("Appendix A, assumption A4", THEORY, _recovery),
    ),
)
