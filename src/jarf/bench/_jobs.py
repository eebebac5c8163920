"""One fit of the study: its key, and the row that it produces."""

from __future__ import annotations

import contextlib
import platform
import time
import traceback
import warnings
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from jarf.bench._budgets import Budget
from jarf.bench._datasets import Dataset, get_dataset
from jarf.bench._jarf_methods import preconditioner_of
from jarf.bench._methods import Fit, Method, Setting, get_method
from jarf.bench._metrics import (
    classification_metrics,
    interval_metrics,
    metrics_before_calibration,
    regression_metrics,
)
from jarf.bench._protocol import Split, cap_rows, make_split
from jarf.bench._rows import WHEN, ResultRow

__all__ = ["TUNING", "Job", "run_job", "versions"]

TUNING = "tuning"
_PACKAGES = (
    *("jarf", "numpy", "scipy", "scikit-learn", "xgboost", "pandas"),
    *("lightgbm", "catboost", "ydf", "xrfm", "torch"),
)


@dataclass(frozen=True, order=True)
class Job:
    """A fit to run. Experiments that need the same fit share the same job.

    Examples
    --------
    >>> from jarf.bench import Job
    >>> Job("iris", "RF", repeat=1).key
    ('iris', 'RF', '', 1, 0, 0, 0)
    """

    dataset: str
    method: str
    variant: str = ""
    repeat: int = 0
    fold: int = 0
    cap: int = 0
    seed: int = 0

    @property
    def key(self) -> tuple[Any, ...]:
        """Identity of the row."""
        return tuple(asdict(self).values())

    def tuning(self, each_split: bool) -> Job | None:
        """Return the grid search that this fit depends on, if any."""
        method = get_method(self.method)
        name = method.tuned_as or (self.method if method.grid else None)
        if name is None or self.variant == TUNING:
            return None
        place = (self.repeat, self.fold) if each_split else (0, 0)
        return Job(self.dataset, name, TUNING, *place, self.cap, self.seed)

    def row(self, **found: Any) -> ResultRow:
        """Return the result of this job as a row to store."""
        now = time.strftime(WHEN, time.gmtime())
        return ResultRow(**asdict(self), versions=versions(), when=now, **found)

    def __str__(self) -> str:
        name = f"{self.method} ({self.variant})" if self.variant else self.method
        return f"{self.dataset} {name} {self.repeat}.{self.fold}"


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of the packages that affect a result."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def run_job(
    job: Job,
    budget: Budget,
    folder: str | None = None,
    params: dict[str, Any] | None = None,
) -> ResultRow:
    """Run one fit and return its row; an exception becomes a row with its message."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            found = _measure(job, budget, folder, params or {})
    except Exception as error:
        message = f"{type(error).__name__}: {error}"[:500]
        found = {"status": "error", "error": message, "where": _where(error)}
    return job.row(**found, seconds=round(time.perf_counter() - start, 4))


def _where(error: Exception) -> list[str]:
    """Return the innermost calls of an error, without local folder names."""
    calls = traceback.extract_tb(error.__traceback__)[-6:]
    return [f"{Path(call.filename).name}:{call.lineno} {call.name}" for call in calls]


def _measure(
    job: Job, budget: Budget, folder: str | None, params: dict[str, Any]
) -> dict[str, Any]:
    budget = replace(budget, train_cap=job.cap or None)
    dataset = get_dataset(job.dataset)
    method = get_method(job.method)
    if method.measure is not None:
        return _measured(job, method, dataset)
    split = make_split(dataset, job.repeat, job.fold, budget, job.seed, folder)
    setting = Setting(
        task=split.task,
        n_trees=budget.n_trees,
        random_state=dataset.split_seed(job.seed, job.repeat, job.fold),
        numeric=split.numeric,
        n_train=len(split.X_train),
        slow_probes=budget.slow_probes,
    )
    facts = {
        "task": split.task,
        "n_train": len(split.X_train),
        "n_test": len(split.X_test),
        "d": split.X_train.shape[1],
        "d_numeric": int(split.numeric.sum()),
        "n_classes": split.n_classes,
        "n_rows": split.n_rows,
        "partial": split.partial,
        "source": split.source,
        "n_trees": budget.n_trees,
    }
    if job.variant == TUNING:
        return {**facts, **_tune(method, split, setting, budget)}
    model = method.build(setting, job.variant, **params)
    return {**facts, "params": params, **_fit_and_score(method, model, split, setting)}


def _measured(job: Job, method: Method, dataset: Dataset) -> dict[str, Any]:
    """The row of a method that measures without a split."""
    assert method.measure is not None
    seed = dataset.split_seed(job.seed, job.repeat, job.fold)
    setting = Setting(task=dataset.task, random_state=seed)
    options = method.variants[job.variant] if job.variant else {}
    start = time.perf_counter()
    found = method.measure(dataset, setting, **options)
    times = {"total": round(time.perf_counter() - start, 5)}
    return {"task": dataset.task, "times": times, **found}


def _fit_and_score(method: Method, model: Any, split: Split, setting: Setting) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(split.X_train, split.y_train)
    times = {"total": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    wall = time.perf_counter()
    predicted = model.predict(split.X_test)
    times["predict"] = time.perf_counter() - wall
    if setting.classification:
        proba = model.predict_proba(split.X_test) if hasattr(model, "predict_proba") else None
        metrics = classification_metrics(split.y_test, predicted, proba)
        metrics |= metrics_before_calibration(model, split.X_test, split.y_test)
    else:
        metrics = regression_metrics(split.y_test, predicted)
        metrics |= interval_metrics(model, split.X_test, split.y_test)
    times.update(_stages(model, times["total"]))
    extra = method.inspect(Fit(model, split, setting)) if method.inspect else {}
    if getattr(model, "race_", None) is not None:
        extra = {**extra, "geometry": model.race_.winner, **_chosen_numbers(model)}
    if split.bayes is not None:
        extra = {**extra, "bayes": round(split.bayes, 6)}
    return {
        "metrics": {name: round(value, 6) for name, value in metrics.items()},
        "times": {name: round(value, 5) for name, value in times.items()},
        "extra": extra,
    }


def _chosen_numbers(model: Any) -> dict[str, int]:
    """Return the numbers that a forest or booster of ours chose on held-out rows."""
    names = {"min_samples_split": "min_samples_split_", "rounds": "n_iter_"}
    found = {name: getattr(model, attribute, None) for name, attribute in names.items()}
    return {name: int(value) for name, value in found.items() if value is not None}


def _stages(model: Any, total: float) -> dict[str, float]:
    """Return the seconds of surrogate, gradients and the rest, if the model has such stages."""
    inner = preconditioner_of(model)
    if inner is None:
        return {"fit": total}
    stages = {name: inner.stage_times_[name] for name in ("surrogate", "gradients")}
    return {**stages, "fit": total - sum(stages.values())}


def _tune(method: Method, split: Split, setting: Setting, budget: Budget) -> dict[str, Any]:
    """Grid search inside the training half."""
    rows = np.arange(len(split.y_train))
    rows = cap_rows(rows, split.y_train, budget.tune_rows, split.task, setting.random_state)
    X, y = split.X_train, split.y_train[rows]
    X = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    if setting.classification:
        y = np.unique(y, return_inverse=True)[1]
        folds: Any = StratifiedKFold(budget.tune_folds, shuffle=True, random_state=0)
        scoring = make_scorer(cohen_kappa_score)
    else:
        folds = KFold(budget.tune_folds, shuffle=True, random_state=0)
        scoring = "r2"
    grid = {name: list(values) for name, values in (method.grid or {}).items()}
    search = GridSearchCV(method.build(setting), grid, scoring=scoring, cv=folds, refit=False)
    start = time.perf_counter()
    search.fit(X, y)
    return {
        "params": search.best_params_,
        "metrics": {},
        "times": {"total": round(time.perf_counter() - start, 5)},
        "extra": {"cv_score": round(float(search.best_score_), 6), "tuning_rows": len(rows)},
    }
