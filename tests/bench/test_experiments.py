import numpy as np
import pytest

from jarf.bench import EXPERIMENTS, DatasetError, Results, plan_study
from jarf.bench.experiments import ABLATIONS
from jarf.report import load_results


@pytest.fixture(scope="module")
def results(results_folder):
    return load_results(results_folder)


@pytest.fixture(scope="module")
def tables(results):
    return {t.id: t for e in EXPERIMENTS.values() for t in e.tables(results)}


USUAL = [name for name, experiment in EXPERIMENTS.items() if experiment.usual]


def test_the_paper_has_twelve():
    assert len(USUAL) == 12
    beyond = {"srbench", "pmlb-classification", "calibration", "intervals", "sizes", "theory"}
    assert set(EXPERIMENTS) - set(USUAL) == beyond
    assert len(ABLATIONS) + 1 == 12


@pytest.mark.parametrize("name", USUAL)
def test_each_can_be_planned_and_tabulated_alone(name, results):
    plan = plan_study("quick", only=[name], datasets=["iris", "diabetes", "halfspace-d10-a45"])
    assert plan.jobs
    assert plan.experiments == [name]
    for table in EXPERIMENTS[name].tables(results):
        assert table.cells
        known = {(row.key, column.key) for row in table.rows for column in table.columns}
        assert set(table.cells) <= known


def test_others_run_only_when_named():
    assert plan_study("quick", datasets=["iris"], methods=["RF"]).experiments == USUAL


def test_datasets_of_another_collection_are_named_as_the_reason():
    with pytest.raises(DatasetError, match="none of the datasets iris belongs to the experiments"):
        plan_study("quick", only=["srbench"], datasets=["iris"])


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_no_rows_make_no_numbers(name):
    assert all(not table.cells for table in EXPERIMENTS[name].tables(Results([])))


def test_means_and_errors_are_those_of_the_splits(results, tables):
    values = results.splits("adult", "CCF", "kappa")
    cell = tables["classification"].cells["adult", "CCF"]
    assert len(values) == cell.n == 4
    assert cell.value == pytest.approx(values.mean())
    assert cell.se == pytest.approx(values.std(ddof=1) / 2)


def test_a_run_under_way_says_so(results):
    assert results.unfinished() == ""
    fewer = Results([r for r in results.rows if (r.repeat, r.fold) == (0, 0)])
    fewer.settings = results.settings
    assert fewer.unfinished() == " Not finished: 1 of 4 splits so far."
    assert (results.repeats(), Results(results.every, {"repeats": 1}).repeats()) == (2, 2)


def test_methods_with_fewer_splits_are_named(results):
    def without(left_out):
        return Results([r for r in results.rows if not left_out(r)], results.settings).unfinished()

    one = without(lambda r: (r.method, r.dataset, r.repeat) == ("CCF", "adult", 1))
    assert one == " Splits run so far: CCF 2 of 4 on adult; all others 4."
    two = without(lambda r: r.method in ("CCF", "RF") and r.repeat == 1)
    assert two == " Splits run so far: CCF 2 of 4 and RF 2 of 4; all others 4."


def test_summary_lines(tables):
    cells = tables["classification"].cells
    assert cells["Mean rank", "PCA+RF"].value > cells["Mean rank", "CCF"].value
    assert cells["Worse than RF", "PCA+RF"].value == 4
    assert cells["Worse than RF", "CCF"].value == 0


def test_delta_is_rf_minus_method(tables):
    assert tables["beeswarm"].cells["adult", "PCA+RF"].value == pytest.approx(0.03, abs=0.01)
    assert tables["beeswarm"].cells["Better than RF", "PCA+RF"].value == 0


def test_identity_is_rf(results, tables):
    gaps = [
        results.paired(d, ("RF", ""), ("JARF", ""), "kappa").mean()
        for d in results.datasets("classification")
    ]
    assert tables["ablations"].cells["identity", "kappa"].value == pytest.approx(np.mean(gaps))
    assert tables["ablations"].cells["default", "kappa"].value == 0


def test_times_are_ratios_to_rf(tables):
    assert tables["times"].cells["RF", "ratio"].value == 1
    assert tables["times"].cells["JARF", "ratio"].value == pytest.approx(1.4 / 1.2)


def test_variants_are_compared_on_their_own_repeats(results):
    assert results.settings["ablation_repeats"] == 1
    assert set(results.first().frame["repeat"]) == {0}


def test_probes_beyond_the_rows_stand_for_the_default(results, tables):
    # synthetic rows have 4,000 training rows: 5k, 10k and n are the default fit
    values = [tables["subsample"].cells[m, "jarf"].value for m in ("5k", "10k", "n")]
    assert len(set(values)) == 1
    assert tables["subsample"].cells["1k", "jarf"].value != values[0]


def test_methods_unknown_to_the_registry_are_kept(results):
    assert "<script>alert(1)</script>" in results.methods(results.datasets())
