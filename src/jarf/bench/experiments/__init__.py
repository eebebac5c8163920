"""The twelve experiments of the study."""

from jarf.bench.experiments import _ablations, _accuracy, _surrogates
from jarf.bench.experiments._ablations import ABLATIONS, OBLIQUE, alignment_curves
from jarf.bench.experiments._accuracy import metric_of
from jarf.bench.experiments._base import (
    Cell,
    Column,
    Experiment,
    Facts,
    Plan,
    Results,
    ResultTable,
    Row,
)

EXPERIMENTS = {
    e.name: e for e in (*_accuracy.EXPERIMENTS, *_ablations.EXPERIMENTS, *_surrogates.EXPERIMENTS)
}

__all__ = [
    "ABLATIONS",
    "EXPERIMENTS",
    "OBLIQUE",
    "Cell",
    "Column",
    "Experiment",
    "Facts",
    "Plan",
    "ResultTable",
    "Results",
    "Row",
    "alignment_curves",
    "metric_of",
]
