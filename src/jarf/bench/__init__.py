"""The benchmark: datasets, methods, protocol, experiments and stored results."""

from jarf.bench._budgets import BUDGETS, Budget, get_budget
from jarf.bench._catalog import CLASSIFICATION, REGRESSION
from jarf.bench._compare import compare
from jarf.bench._comparison import Comparison
from jarf.bench._datasets import (
    Dataset,
    Protocol,
    Table,
    dataset_names,
    get_dataset,
    register_dataset,
)
from jarf.bench._errors import TableError
from jarf.bench._findings import METRICS
from jarf.bench._jobs import Job, run_job
from jarf.bench._loading import DatasetError, load_table
from jarf.bench._mechanism import alignment_curve, eigenvector_alignment, random_alignment
from jarf.bench._methods import (
    Fit,
    Method,
    Setting,
    get_method,
    load_plugin,
    method_names,
    register_method,
)
from jarf.bench._metrics import calibration_error, classification_metrics, regression_metrics
from jarf.bench._own_target import guess_task
from jarf.bench._peers import EarlyStopped
from jarf.bench._pmlb import PMLB, SRBENCH, Published, published
from jarf.bench._progress import Progress, show_seconds
from jarf.bench._protocol import Split, make_split
from jarf.bench._rows import ResultRow
from jarf.bench._runner import run_jobs
from jarf.bench._statistics import (
    PairedTest,
    best_or_close,
    corrected_t_test,
    critical_difference,
    holm,
    mean_ranks,
    wilcoxon_p,
    worse_by_se,
)
from jarf.bench._store import ResultStore, StoreError, load_rows, read_rows, read_run
from jarf.bench._study import Study, plan_study, reproduce
from jarf.bench._theory import THEORY
from jarf.bench.experiments import EXPERIMENTS, Experiment, Results, ResultTable

__all__ = [
    "BUDGETS",
    "CLASSIFICATION",
    "EXPERIMENTS",
    "METRICS",
    "PMLB",
    "REGRESSION",
    "SRBENCH",
    "THEORY",
    "Budget",
    "Comparison",
    "Dataset",
    "DatasetError",
    "EarlyStopped",
    "Experiment",
    "Fit",
    "Job",
    "Method",
    "PairedTest",
    "Progress",
    "Protocol",
    "Published",
    "ResultRow",
    "ResultStore",
    "ResultTable",
    "Results",
    "Setting",
    "Split",
    "StoreError",
    "Study",
    "Table",
    "TableError",
    "alignment_curve",
    "best_or_close",
    "calibration_error",
    "classification_metrics",
    "compare",
    "corrected_t_test",
    "critical_difference",
    "dataset_names",
    "eigenvector_alignment",
    "get_budget",
    "get_dataset",
    "get_method",
    "guess_task",
    "holm",
    "load_plugin",
    "load_rows",
    "load_table",
    "make_split",
    "mean_ranks",
    "method_names",
    "plan_study",
    "published",
    "random_alignment",
    "read_rows",
    "read_run",
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
