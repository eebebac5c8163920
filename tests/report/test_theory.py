"""Verdicts and figures of the paper's theory and of sizes, from synthetic rows."""

import pytest

from jarf.bench import EXPERIMENTS, THEORY, ResultRow, Results
from jarf.bench._theory import EJOP, FUNCTIONS, GAIN, ORACLE
from jarf.report import draw_figures, judge
from jarf.report._theory_claims import THEORY_CLAIMS
from jarf.report._verdicts import HOLDS, NOT_HERE, PART, UNTESTED

SIZES = (250, 1000, 4000)


def row(dataset, method, variant="", task="regression", extra=None, **metrics):
    return ResultRow(
        *(dataset, method, variant, 0, 0, 0, 0), task=task, metrics=metrics, extra=extra or {}
    )


def theory_rows(exponent=-0.5, angle=5.0, root=0.99):
    for function in FUNCTIONS:
        points = {"slopes": [0.2, 0.1, 0.05], "root": [0.1, 0.02, 0.01], "node": [0.1, 0.06, 0.03]}
        scores = {"correlation_root": root, "correlation_node": 0.99, "leading_ahead": 1.0}
        yield row(f"gain-{function}", GAIN, "", "classification", points, **scores)
    for d in (10, 50, 200):
        for n in SIZES:
            name = f"ridge-d{d}-n{n}"
            for method, variant in (("RF", ""), ("JARF", "top 2 eigenvectors"), (ORACLE, "")):
                slope = exponent if variant else -0.1
                yield row(name, method, variant, rmse=n ** (slope / 2))
            largest = angle * 4000 / n if angle < 30 else angle
            yield row(name, EJOP, angle=largest, least_angle=largest / 2)
        yield row(f"ridge-d{d}-n4000", EJOP, "m = 100", angle=60.0)


def verdicts(**facts):
    results = Results(theory_rows(**facts))
    tables = {table.id: table for table in EXPERIMENTS[THEORY].tables(results)}
    return results, tables, judge(results, tables, THEORY_CLAIMS)


def test_theory_that_comes_true_holds():
    _, tables, judged = verdicts()
    assert [claim["verdict"] for claim in judged] == [HOLDS] * 3
    assert tables["theory-risk"].cells["JARF, top 2", "slope 200"].value == pytest.approx(-0.5)
    assert tables["theory-risk"].cells["rate, d", "slope 10"].value == pytest.approx(-1 / 6)
    assert tables["theory-recovery"].cells["100 probes", "d 50"].value == 60
    assert tables["theory-recovery"].cells["4,000 rows", "least 50"].value == 2.5


def test_theory_that_does_not_come_true_says_where():
    _, _, judged = verdicts(exponent=-0.1, angle=80.0, root=0.5)
    assert [claim["verdict"] for claim in judged] == [PART, NOT_HERE, NOT_HERE]
    assert "0.50 at the root" in judged[0]["evidence"]
    assert "d = 200: 80° at 250 rows, 80° at 4,000" in judged[2]["evidence"]
    assert "smallest one, at the most rows: 40° (d = 10)" in judged[2]["evidence"]


def test_without_rows_it_is_not_tested():
    assert {claim["verdict"] for claim in judge(Results([]), {}, THEORY_CLAIMS)} == {UNTESTED}


def test_each_part_has_a_figure():
    results, tables, _ = verdicts()
    names = [painter.name for painter in draw_figures(results, tables)]
    assert names == ["theory-gain", "theory-risk", "theory-recovery"]


def test_sizes_have_curves():
    rows = [
        ResultRow(
            *("iris", method, "", 0, 0, cap, 0),
            task="classification",
            n_train=cap,
            metrics={"kappa": cap / 100},
            times={"cpu": cap / 10},
        )
        for method in ("RF", "JF")
        for cap in (20, 75)
    ]
    results = Results(rows, {"train_cap": 75})
    names = {painter.name for painter in draw_figures(results, {})}
    assert {"sizes", "sizes-times"} <= names
