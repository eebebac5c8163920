"""The transcription of the paper agrees with itself and with its text."""

import numpy as np
import pytest

from jarf.bench import CLASSIFICATION, REGRESSION, get_dataset
from jarf.bench.experiments import ABLATIONS
from jarf.report import paper_cell, paper_reference

METHODS = ["RF", "RotF", "CCF", "SPORF", "XGB", "PCA+RF", "LDA+RF", "JARF"]


@pytest.mark.parametrize(
    ("table", "names"), [("classification", CLASSIFICATION), ("regression", REGRESSION)]
)
@pytest.mark.parametrize("method", METHODS)
def test_printed_means_are_the_means_of_the_printed_columns(table, names, method):
    values = [paper_cell(table, name, method)["value"] for name in names]
    # the paper's own rounding and slips: CCF, SPORF, RotF and JARF are up to 0.004 off
    assert np.mean(values) == pytest.approx(paper_cell(table, "Mean", method)["value"], abs=0.0045)


def test_numbers_of_the_text():
    assert paper_cell("classification", "Mean", "JARF")["value"] == 0.810
    assert paper_cell("variants", "JARF-XGB", "kappa")["value"] == 0.815
    assert paper_cell("times", "RotF", "time")["value"] == 60
    assert paper_cell("ablations", "identity", "kappa") == {"value": -0.036, "mark": "†"}
    assert paper_cell("subsample", "1k", "relative")["value"] == 12.93


def test_every_ablation_has_its_line():
    assert all(paper_cell("ablations", name, "kappa") for name in ABLATIONS)


def test_the_papers_shapes_are_not_always_the_registered_ones():
    names = CLASSIFICATION + REGRESSION
    printed = {name: paper_cell("datasets", name, "rows")["value"] for name in names}
    others = [name for name in names if printed[name] != get_dataset(name).n_rows]
    assert others == [
        *("higgs", "madelon", "bioresponse", "jannis", "bike-sharing", "california-housing"),
    ]


def test_numbers_missing_from_the_paper():
    assert paper_cell("classification", "iris", "RF") is None
    assert paper_cell("simulation", "halfspace-d10-a15", "RF") is None
    assert paper_reference("simulation") == ""
    assert paper_reference("classification") == "Table 1"
