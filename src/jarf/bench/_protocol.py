"""The protocol: same folds for every method, caps, and encoders fitted on the training half."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from jarf.bench._budgets import Budget
from jarf.bench._datasets import Dataset, Table, get_dataset
from jarf.bench._loading import load_table

__all__ = ["Split", "cap_rows", "encode", "fold_rows", "make_split"]


@dataclass(frozen=True)
class Split:
    """The arrays of one split, encoded by encoders fitted on the training half.

    ``numeric`` marks the columns that a rotation may mix; one-hot and two-valued columns are left
    out of it. A table with such columns is a DataFrame in which they are booleans, so that every
    estimator can tell them apart; a table of numbers alone is an array. Labels are 0..C-1 in the
    order of the training half's classes; a test label that does not occur in the training half is
    -1 and always counts as wrong. A numeric target is standardised by the training half. ``n_rows``
    is the number of rows of the dataset, 0 for a simulation; ``bayes`` is then Cohen's kappa of the
    best possible classifier on these test rows, if known.

    Examples
    --------
    >>> from jarf.bench import get_budget, get_dataset, make_split
    >>> split = make_split(get_dataset("iris"), 0, 0, get_budget("quick"), seed=0)
    >>> split.X_train.shape, split.n_classes
    ((75, 4), 3)
    """

    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray
    numeric: np.ndarray
    task: str
    partial: bool
    source: str
    n_rows: int = 0
    bayes: float | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes in the training half, 0 in regression."""
        return int(self.y_train.max()) + 1 if self.task == "classification" else 0


def fold_rows(
    y: np.ndarray, task: str, seed: int, fold: int = 0, n_folds: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows of one of ``n_folds`` folds, stratified in classification.

    If a class has fewer rows than folds, the folds are not stratified.
    """
    kind = KFold
    if task == "classification" and np.unique(y, return_counts=True)[1].min() >= n_folds:
        kind = StratifiedKFold
    folds = kind(n_folds, shuffle=True, random_state=seed).split(np.zeros((len(y), 1)), y)
    return next(islice(folds, fold, None))


def cap_rows(rows: np.ndarray, y: np.ndarray, cap: int | None, task: str, seed: int) -> np.ndarray:
    """Return a random subset of at most ``cap`` of ``rows``, stratified by class.

    Every class keeps at least one row, as far as ``cap`` allows.
    """
    if cap is None or len(rows) <= cap:
        return rows
    rng = np.random.default_rng(seed)
    rows = rng.permutation(rows)
    if task != "classification":
        return np.sort(rows[:cap])
    # place of each row within its class, as a share: taking the smallest keeps the shares
    codes = np.unique(y[rows], return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    rank = np.empty(len(rows))
    rank[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    share = np.where(rank == 0, -1.0, (rank + 0.5) / counts[codes])
    return np.sort(rows[np.argsort(share, kind="stable")[:cap]])


def numeric_columns(X: Any) -> list[str]:
    """Return columns with more than two distinct numbers; the others are categories."""
    return [name for name in X.columns if X[name].dtype.kind in "iuf" and X[name].nunique() != 2]


def encode(
    train: Any, test: Any, numbers: list[str], max_levels: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Encode a DataFrame as numbers; everything is fitted on ``train``.

    The columns ``numbers``: median for missing values, then standardised. The others: one-hot,
    a missing value is a level of its own, an unseen level is all zeros; beyond ``max_levels``
    the rarest levels share a column. Returns both matrices and the mask of numeric columns.
    """
    others = [name for name in train.columns if name not in set(numbers)]
    number_steps = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    onehot = OneHotEncoder(
        drop="if_binary",
        handle_unknown="ignore",
        max_categories=max_levels,
        sparse_output=False,
        dtype=np.float64,
    )
    columns = ColumnTransformer([("numeric", number_steps, numbers), ("levels", onehot, others)])
    train, test = _levels_as_text(train, others), _levels_as_text(test, others)
    encoded = np.ascontiguousarray(columns.fit_transform(train), dtype=np.float64)
    with _quiet_unknown_levels():
        rest = np.ascontiguousarray(columns.transform(test), dtype=np.float64)
    return encoded, rest, np.arange(encoded.shape[1]) < len(numbers)


def _levels_as_text(frame: Any, names: list[str]) -> Any:
    """Convert categories to text, so that train and test agree whatever their dtypes."""
    frame = frame.copy()
    for name in names:
        missing = frame[name].isna().to_numpy()
        text = frame[name].astype(str).to_numpy(dtype=object)
        text[missing] = "missing"
        frame[name] = text
    return frame


def as_table(X: np.ndarray, numeric: np.ndarray) -> Any:
    """Return the matrix if all columns are numeric, else a DataFrame with bool columns."""
    if numeric.all():
        return X
    import pandas as pd

    columns = {
        f"x{j}": X[:, j] if is_number else X[:, j].astype(bool)
        for j, is_number in enumerate(numeric.tolist())
    }
    return pd.DataFrame(columns, copy=False)


@contextmanager
def _quiet_unknown_levels() -> Iterator[None]:
    """Unknown levels in a test half are expected; scikit-learn warns about them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found unknown categories", UserWarning)
        yield


@lru_cache(maxsize=2)
def cached_table(name: str, folder: str | None) -> tuple[Table, list[str]]:
    """Return a loaded dataset and its numeric columns; the last two datasets are cached."""
    dataset = get_dataset(name)
    table = load_table(dataset, folder)
    every = dataset.protocol is not None
    return table, list(table.X.columns) if every else numeric_columns(table.X)


def make_split(
    dataset: Dataset,
    repeat: int,
    fold: int,
    budget: Budget,
    seed: int,
    folder: str | os.PathLike[str] | None = None,
) -> Split:
    """Return the training and test rows of a fold, capped and encoded."""
    if dataset.draw is not None:
        here = dataset.split_seed(seed, repeat, fold)
        train, test = dataset.draw(here, budget.simulated_rows, budget.simulated_test_rows)
        split = _encoded(dataset, train, test, list(train.X.columns), budget)
        if dataset.truth is None:
            return split
        return replace(split, bayes=float(cohen_kappa_score(test.y, dataset.truth(test.X))))
    place = None if folder is None else os.fspath(folder)
    table, numbers = cached_table(dataset.name, place)
    train, test = split_table(dataset, table, repeat, fold, budget, seed)
    return replace(_encoded(dataset, train, test, numbers, budget), n_rows=len(table.y))


def split_table(
    dataset: Dataset, table: Table, repeat: int, fold: int, budget: Budget, seed: int
) -> tuple[Table, Table]:
    """Return the training and test rows of a fold, capped but not encoded."""
    here = dataset.split_seed(seed, repeat, fold)
    if dataset.protocol is not None:
        train, test = dataset.protocol.rows(len(table.y), repeat)
        test_cap = budget.public_cap
    else:
        shuffle = dataset.split_seed(seed, repeat, 0)
        train, test = fold_rows(table.y, dataset.task, shuffle, fold, budget.folds)
        test_cap = budget.test_cap
    train = cap_rows(train, table.y, budget.train_cap, dataset.task, here)
    test = cap_rows(test, table.y, test_cap, dataset.task, here + 1)
    return _take(table, train), _take(table, test)


def _take(table: Table, rows: np.ndarray) -> Table:
    X = table.X.iloc[rows].reset_index(drop=True)
    return Table(X, table.y[rows], table.source, table.partial)


def _encoded(
    dataset: Dataset, train: Table, test: Table, numbers: list[str], budget: Budget
) -> Split:
    X_train, X_test, numeric = encode(train.X, test.X, numbers, budget.max_levels)
    y_train: np.ndarray
    if dataset.task == "classification":
        classes, y_train = np.unique(train.y, return_inverse=True)
        places = np.searchsorted(classes, test.y).clip(max=len(classes) - 1)
        y_test = np.where(classes[places] == test.y, places, -1)
    else:
        mean, sd = float(np.mean(train.y)), float(np.std(train.y)) or 1.0
        y_train, y_test = (train.y - mean) / sd, (test.y - mean) / sd
    X_train, X_test = as_table(X_train, numeric), as_table(X_test, numeric)
    return Split(
        *(X_train, y_train, X_test, y_test, numeric, dataset.task),
        partial=train.partial,
        source=train.source,
    )
