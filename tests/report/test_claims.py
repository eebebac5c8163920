"""Verdicts on synthetic results with known answers."""

import pytest

from jarf.bench import CLASSIFICATION, EXPERIMENTS, REGRESSION, ResultRow, Results, get_method
from jarf.report._claims import CLAIMS, HOLDS, NOT_HERE, PART, UNTESTED, judge
from jarf.report._goals import FORESTS, GOALS

RIVALS = ("RF", "RotF", "CCF", "SPORF", "XGB", "PCA+RF", "LDA+RF", "JARF-XGB")
SETTINGS = {"name": "standard", "repeats": 1, "ablation_repeats": 1, "train_cap": 5000}


def results_of(rows):
    return Results(map(ResultRow.from_dict, rows), SETTINGS)


def a_row(dataset, method, variant, fold, score, seconds=1.0, **extra):
    task = "regression" if dataset in REGRESSION else "classification"
    metrics = {"kappa": score, "accuracy": score, "macro_f1": score}
    return {
        "dataset": dataset,
        "method": method,
        "variant": variant,
        "repeat": 0,
        "fold": fold,
        "cap": 5000,
        "seed": 0,
        "status": "ok",
        "error": "",
        "task": task,
        "n_train": 5000,
        "n_test": 5000,
        "d": 8,
        "d_numeric": 8,
        "partial": False,
        "metrics": metrics if task == "classification" else {"r2": score, "rmse": 1 - score},
        "times": {"cpu": seconds, "total": seconds, "fit": seconds, "predict": 0.1},
        "extra": {"surrogate": {"accuracy": score, "ece": 0.1, "r2": score, "rmse": 0.5}, **extra},
    }


def study(gain, variant_cost, ratio, cosine=1.0, aligned=0.9):
    """Results in which JARF gains this over RF and every variant costs that."""
    simulated = [f"halfspace-d{d}-a{a}" for d in (10, 50, 100) for a in (15, 30, 45, 60)]
    rows = []
    for dataset in (*CLASSIFICATION, *REGRESSION, *simulated):
        # plain methods fall with the angle, as the paper says
        level = 0.7 - (0.001 * int(dataset.split("-a")[1]) if dataset in simulated else 0)
        for fold in (0, 1):
            for method in RIVALS:
                more = {}
                if method in ("RotF", "CCF", "SPORF"):
                    more["alignment"] = {
                        "median": [aligned] * 8,
                        "q25": [0.1] * 8,
                        "q75": [1.0] * 8,
                        "random": [0.2] * 8,
                    }
                shift = gain if method == "JARF-XGB" else 0.0
                seconds = 3.0 if method in ("RotF", "CCF", "SPORF") else 1.0
                score = level + shift + 0.001 * fold
                rows.append(a_row(dataset, method, "", fold, score, seconds, **more))
            own = level + gain + 0.001 * fold
            rows.append(a_row(dataset, "JARF", "", fold, own, ratio))
            for variant in get_method("JARF").variants:
                score = own - variant_cost.get(variant, 0.0)
                cosines = {"eigenvectors": cosine, "subspace": cosine}
                more = {"alignment_to_forest": cosines}
                seconds = 2 * ratio if variant == "per-tree H" else ratio
                rows.append(a_row(dataset, "JARF", variant, fold, score, seconds, **more))
    return results_of(rows)


# the claims of the theory have rows of their own, in test_theory.py
MEASURED = [claim.text for claim in CLAIMS if EXPERIMENTS[claim.experiment].usual]


def verdicts(results):
    tables = {t.id: t for e in EXPERIMENTS.values() for t in e.tables(results)}
    return {claim["claim"]: claim["verdict"] for claim in judge(results, tables)}


@pytest.fixture(scope="module")
def as_printed():
    costs = {"m = 0.1 n": 0.016, "m = 0.5 n": 0.004, "m = 1000": 0.015, "per-tree H": 0.002}
    return verdicts(study(0.106, costs, 1.67))


@pytest.fixture(scope="module")
def nothing_gained():
    costs = dict.fromkeys(get_method("JARF").variants, -0.03)
    return verdicts(study(-0.02, costs, 4.0, cosine=0.2, aligned=0.2))


@pytest.mark.parametrize("claim", MEASURED)
def test_a_study_like_the_papers_confirms_the_paper(as_printed, claim):
    assert as_printed[claim] == HOLDS


@pytest.mark.parametrize("claim", MEASURED)
def test_a_study_without_gain_does_not(nothing_gained, claim):
    if claim != "RF and XGBoost degrade as the angle grows.":
        assert nothing_gained[claim] == NOT_HERE


def test_there_is_something_between():
    found = verdicts(study(0.03, {"surrogate: MLP": 0.01}, 2.2))
    assert found["JARF raises the mean kappa over RF by 0.106."] == PART
    assert found["JARF costs about 1.67 times RF."] == PART
    assert found["The family of the surrogate changes kappa by at most 0.004."] == PART


def test_every_claim_points_to_an_experiment():
    assert {claim.experiment for claim in CLAIMS} <= set(EXPERIMENTS)


# --- our own goals -----------------------------------------------------------------------------


def own_study(gains, *, seconds=1.2, simulated=0.873, booster=0.0, slow=(), drawn=None):
    """Results in which JF gains this over all other forests, dataset by dataset."""
    rows = []
    for dataset, gain in zip((*CLASSIFICATION, *REGRESSION), gains, strict=True):
        for fold in (0, 1):
            for method in (*FORESTS, "XGB", "XGB+J"):
                score = 0.7 + {"JF": gain, "XGB+J": booster}.get(method, 0.0) + 0.001 * fold
                cost = seconds if method == "JF" else 1.0 if method == "RF" else 1.3
                rows.append(a_row(dataset, method, "", fold, score, cost))
                if method == "JF" and dataset in slow:
                    rows[-1]["times"]["predict"] = 0.25
    for d in (10, 50, 100):
        for angle in (15, 30, 45, 60):
            for method, score in (("RF", 0.82), ("JF", simulated)):
                row = a_row(f"halfspace-d{d}-a{angle}", method, "", 0, score)
                rows.append(row | {"source": "jarf.datasets"})
                if drawn is not None:
                    rows[-1]["extra"] = {"bayes": drawn}
    return results_of(rows)


def own_verdicts(results):
    tables = {t.id: t for e in EXPERIMENTS.values() for t in e.tables(results)}
    return [(goal["verdict"], goal["evidence"]) for goal in judge(results, tables, GOALS)]


def test_all_is_well():
    assert {verdict for verdict, _ in own_verdicts(own_study([0.07] * 20, booster=0.01))} == {HOLDS}


def test_missed_goals_are_named():
    gains = [0.07] * 9 + [-0.01] * 6 + [0.07] * 3 + [-0.01] * 2
    found = own_verdicts(own_study(gains, seconds=1.4, simulated=0.86, booster=-0.01))
    expected = [PART, PART, HOLDS, NOT_HERE, PART, PART, NOT_HERE, NOT_HERE, PART, HOLDS]
    assert [verdict for verdict, _ in found] == expected
    assert "9 of 15" in found[0][1]
    assert CLASSIFICATION[9] in found[0][1]
    assert "8 of 20" in found[3][1]
    assert "20 of 20" in found[6][1]
    assert "0 of 12" in found[7][1]


def test_the_limit_on_the_same_test_rows_is_reported():
    verdict, evidence = own_verdicts(own_study([0.07] * 20, simulated=0.866, drawn=0.87))[7]
    assert verdict == NOT_HERE  # the goal is the limit itself
    assert "0 of 12" in evidence
    assert "same test rows: in 12 of 12, farthest \N{MINUS SIGN}0.0040" in evidence
    assert "same test rows" not in own_verdicts(own_study([0.07] * 20))[7][1]


def test_without_our_forest_nothing_is_judged():
    rows = [a_row("magic", "RF", "", 0, 0.7)]
    assert {verdict for verdict, _ in own_verdicts(results_of(rows))} == {UNTESTED}


@pytest.mark.parametrize(("seconds", "expected"), [(1.2, HOLDS), (1.4, PART), (1.6, NOT_HERE)])
def test_cost(seconds, expected):
    assert own_verdicts(own_study([0.07] * 20, seconds=seconds))[-2][0] == expected


@pytest.mark.parametrize(
    ("slow", "expected"),
    [((), HOLDS), (("magic",), PART), ((*CLASSIFICATION, *REGRESSION), NOT_HERE)],
)
def test_prediction(slow, expected):
    verdict, evidence = own_verdicts(own_study([0.07] * 20, slow=slow))[-1]
    assert verdict == expected
    assert ("at most 2.50" in evidence) == bool(slow)


# --- verdicts mention only methods that were run ------------------------------------------------


def test_claims_about_a_method_that_was_not_run_are_not_tested():
    rows = [
        a_row(d, m, "", f, 0.7) for d in ("magic", "letter") for m in ("RF", "XGB") for f in (0, 1)
    ]
    assert set(verdicts(results_of(rows)).values()) == {UNTESTED}


def test_a_method_alone_is_best_of_nothing():
    rows = [a_row("magic", "JARF", "", fold, 0.7) for fold in (0, 1)]
    found = verdicts(results_of(rows))
    assert found["JARF is best on 12 of 15 classification datasets."] == UNTESTED


def test_a_count_is_of_the_datasets_that_both_were_run_on():
    rows = [a_row("magic", m, "", f, 0.7) for m in ("RF", "JARF") for f in (0, 1)]
    rows += [a_row("letter", "RF", "", f, 0.7) for f in (0, 1)]
    results = results_of(rows)
    tables = {t.id: t for e in EXPERIMENTS.values() for t in e.tables(results)}
    judged = {c["claim"]: c for c in judge(results, tables)}
    never = judged["JARF is never worse than RF by more than one standard error."]
    assert (never["verdict"], never["evidence"]) == (
        *(HOLDS, "Worse by more than one s.e. on 0 of 1."),
    )


@pytest.mark.parametrize(("seconds", "expected"), [(1.2, UNTESTED), (1.6, NOT_HERE)])
def test_the_cost_without_rivals(seconds, expected):
    rows = [
        a_row("magic", m, "", f, 0.7, s) for m, s in (("RF", 1.0), ("JF", seconds)) for f in (0, 1)
    ]
    verdict, evidence = own_verdicts(results_of(rows))[-2]
    assert verdict == expected
    assert evidence.endswith("the other oblique forests were not run.")
