"""The twelve experiments of the paper's study, and those that go beyond it."""

from jarf.bench.experiments import (
    _ablations,
    _accuracy,
    _public,
    _sizes,
    _surrogates,
    _theory,
    _uncertainty,
)
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
from jarf.bench.experiments._public import OURS, PUBLIC_METHODS, YardstickScores, srbench_scores
from jarf.bench.experiments._sizes import SizePoint, size_methods, size_points
from jarf.bench.experiments._theory import (
    RiskCurve,
    gain_points,
    probe_curves,
    rate,
    recovery_curves,
    risk_curves,
)

EXPERIMENTS = {
    experiment.name: experiment
    for module in (_accuracy, _ablations, _surrogates, _public, _uncertainty, _sizes, _theory)
    for experiment in module.EXPERIMENTS
}

__all__ = [
    "ABLATIONS",
    "EXPERIMENTS",
    "OBLIQUE",
    "OURS",
    "PUBLIC_METHODS",
    "Cell",
    "Column",
    "Experiment",
    "Facts",
    "Plan",
    "ResultTable",
    "Results",
    "RiskCurve",
    "Row",
    "SizePoint",
    "YardstickScores",
    "alignment_curves",
    "gain_points",
    "metric_of",
    "probe_curves",
    "rate",
    "recovery_curves",
    "risk_curves",
    "size_methods",
    "size_points",
    "srbench_scores",
]
