"""The benchmark: datasets, methods, protocol, experiments, stored rows."""

from ._budgets import BUDGETS, Budget, get_budget
from ._catalog import CLASSIFICATION, REGRESSION
from ._datasets import Dataset, Table, dataset_names, get_dataset, register_dataset
from ._jobs import Job, run_job
from ._loading import DatasetError, load_table
from ._mechanism import alignment_curve, eigenvector_alignment, random_alignment
from ._methods import (
    Fit,
    Method,
    Setting,
    get_method,
    load_plugin,
    method_names,
    register_method,
)
from ._metrics import calibration_error, classification_metrics, regression_metrics
from ._progress import Progress, show_seconds
from ._protocol import Split, make_split
from ._runner import run_jobs
from ._statistics import best_or_close, holm, mean_ranks, wilcoxon_p, worse_by_se
from ._store import ResultStore, StoreError, read_rows
from ._study import Study, plan_study, reproduce
from .experiments import EXPERIMENTS, Experiment, Results, ResultTable

__all__ = [
    "BUDGETS",
    "CLASSIFICATION",
    "EXPERIMENTS",
    "REGRESSION",
    "Budget",
    "Dataset",
    "DatasetError",
    "Experiment",
    "Fit",
    "Job",
    "Method",
    "Progress",
    "ResultStore",
    "ResultTable",
    "Results",
    "Setting",
    "Split",
    "StoreError",
    "Study",
    "Table",
    "alignment_curve",
    "best_or_close",
    "calibration_error",
    "classification_metrics",
    "dataset_names",
    "eigenvector_alignment",
    "get_budget",
    "get_dataset",
    "get_method",
    "holm",
    "load_plugin",
    "load_table",
    "make_split",
    "mean_ranks",
    "method_names",
    "plan_study",
    "random_alignment",
    "read_rows",
    "register_dataset",
    "register_method",
    "regression_metrics",
    "reproduce",
    "run_job",
    "run_jobs",
    "show_seconds",
    "wilcoxon_p",
    "worse_by_se",
]
