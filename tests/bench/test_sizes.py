"""The experiment on numbers of training rows, and rows of several caps in one folder."""

import pytest

from jarf.bench import EXPERIMENTS, ResultRow, Results, plan_study
from jarf.bench.experiments import size_points


def row(method, cap, score, dataset="iris", seconds=1.0):
    return ResultRow(
        *(dataset, method, "", 0, 0, cap, 0),
        task="classification",
        n_train=min(cap, 75),
        partial=False,
        source="made up",
        metrics={"kappa": score},
        times={"cpu": seconds, "fit": seconds, "predict": 0.1},
    )


def test_caps_stop_where_a_half_has_no_more_rows():
    jobs = plan_study("quick", only=["sizes"], datasets=["iris", "digits"], methods=["RF"]).jobs
    caps = {name: {job.cap for job in jobs if job.dataset == name} for name in ("iris", "digits")}
    assert caps == {"iris": {100}, "digits": {100, 500}}


def test_the_large_budget_runs_sizes_alone():
    study = plan_study("large", datasets=["digits"], methods=["RF", "JF"])
    assert study.experiments == ["sizes"]
    assert {job.cap for job in study.jobs} == {1000}
    assert {job.fold for job in study.jobs} == {0}  # one half of a split
    usual = plan_study("large", datasets=["digits"])
    assert {job.method for job in usual.jobs} <= {"RF", "XGB", "LGBM", "CatBoost", "JF", "JB", "JE"}


def test_tables_keep_caps_apart():
    rows = [row("RF", 50, 0.5), row("RF", 75, 0.7), row("JF", 50, 0.6, seconds=3.0)]
    results = Results(rows, {"train_cap": 75})
    assert results.splits("iris", "RF", "kappa").tolist() == [0.7]
    assert len(results.splits("iris", "JF", "kappa")) == 0
    assert results.at(50).splits("iris", "RF", "kappa").tolist() == [0.5]
    points = {(p.method, p.n_train): p.score.value for p in size_points(results)}
    assert points == {("RF", 50): 0.5, ("RF", 75): 0.7, ("JF", 50): 0.6}
    tables = {table.id: table for table in EXPERIMENTS["sizes"].tables(results)}
    assert tables["sizes-classification"].cells["iris, 50", "JF"].value == 0.6
    assert tables["sizes-times"].cells["at most 50 rows", "JF"].value == pytest.approx(3.0)


def test_one_cap_is_not_a_curve():
    assert size_points(Results([row("RF", 75, 0.7)], {"train_cap": 75})) == []
