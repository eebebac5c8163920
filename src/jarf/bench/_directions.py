"""The directions that matter in a table, estimated on training rows, evaluated on test rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from jarf.bench._datasets import Table
from jarf.bench._mechanism import numeric_eigenvectors
from jarf.gradients import robust_scale
from jarf.inspection import Wording, facts_of_ejop
from jarf.table import read_table

__all__ = ["directions_of"]

N_DIRECTIONS = 6
# Steps of one robust standard deviation that reach the next value of a column, in everything the
# page shows. With the paper's tenth of it, the jumps of a forest's steps make columns of noise look
# more important than columns of few values that matter.
STEP, STEP_RULE = 1.0, "auto"
_N_POINTS = 800
_MAX_CATEGORIES = 80  # category columns the surrogate sees


def directions_of(
    train: Table, test: Table, numbers: list[str], task: str, *, seed: int = 0, n_jobs: int = 1
) -> dict[str, Any]:
    """Spectrum, loadings, sensitivities and the plane of the two strongest directions.

    Everything is learned from ``train``; points and the value of cuts are computed on ``test``.

    Returns
    -------
    dict
        Plain lists and numbers. With fewer than two numeric columns there are no directions, only
        ``sensitivities``.
    """
    y_train, y_test = _targets(train, test, task)
    fitted = _fit(train.X, y_train, numbers, seed, n_jobs)
    Z_train, Z_test = (_standardised(fitted, part.X) for part in (train, test))
    shown = _sensitivities(fitted, Z_train, list(train.X.columns))
    found = {"n_rows": len(y_train), "task": task, **shown}
    number = np.flatnonzero(fitted.table_.is_number)
    if len(number) < 2:
        return found
    names = fitted.feature_names_in_[fitted.table_.encoded_columns_[number]]
    facts = facts_of_ejop(fitted.ejop_.matrix[np.ix_(number, number)], names)
    return {
        **found,
        "columns": names.tolist(),
        "shares": _rounded(facts.eigenvalues / (facts.trace or 1.0)),
        "loadings": _rounded(facts.eigenvectors[:, :N_DIRECTIONS].T),
        "agreement": _agreement(train.X, y_train, numbers, len(number), seed, n_jobs),
        "plane": _plane(Z_test[:, number] @ facts.eigenvectors[:, :2], test, task, seed),
        "cuts": _cuts(fitted, facts, (Z_train, y_train), (Z_test, y_test), task),
    }


def _rounded(values: Any, digits: int = 5) -> Any:
    return np.round(values, digits).tolist()


def _targets(train: Table, test: Table, task: str) -> tuple[np.ndarray, np.ndarray]:
    if task == "classification":
        classes = np.unique(np.concatenate([train.y, test.y]))
        return np.searchsorted(classes, train.y), np.searchsorted(classes, test.y)
    mean, sd = float(np.mean(train.y)), float(np.std(train.y)) or 1.0
    return (train.y - mean) / sd, (test.y - mean) / sd


def _fit(X: Any, y: np.ndarray, numbers: list[str], seed: int, n_jobs: int) -> Any:
    from jarf import JacobianPreconditioner

    others = [name for name in X.columns if name not in set(numbers)][:_MAX_CATEGORIES]
    known = [name for name in X.columns if name in {*numbers, *others}]
    return JacobianPreconditioner(
        categorical_features=others or None,
        categorical="toggle",
        step=STEP,
        step_rule=STEP_RULE,
        random_state=seed,
        n_jobs=n_jobs,
    ).fit(X[known], y)


def _standardised(fitted: Any, X: Any) -> np.ndarray:
    values = read_table(fitted, X[list(fitted.feature_names_in_)], dtype=np.float64, order="C")
    return (values - fitted.mean_) / fitted.scale_


def _sensitivities(fitted: Any, Z: np.ndarray, columns: list[str]) -> dict[str, Any]:
    """By column, strongest first; columns that were not differentiated are listed separately.

    A slope times one standard deviation of the column: the robust one if that is smaller, so that
    outliers do not multiply a slope by a distance that few rows are apart.
    """
    table, names = fitted.table_, fitted.feature_names_in_.tolist()
    moved = set(table.encoded_columns_[table.is_number | table.is_level].tolist())
    typical = np.where(table.is_number, np.minimum(robust_scale(Z), 1.0), 1.0)
    squares = np.maximum(fitted.ejop_.diagonal(), 0.0) * typical**2
    values = np.sqrt(table.per_column(squares))
    order = [j for j in np.argsort(-values, kind="stable").tolist() if j in moved]
    kept = {names[j] for j in order}
    return {
        "sensitivities": [[names[j], round(float(values[j]), 6)] for j in order],
        "not_differentiated": [name for name in columns if name not in kept],
    }


def _agreement(
    X: Any, y: np.ndarray, numbers: list[str], n_numbers: int, seed: int, n_jobs: int
) -> list[float]:
    """Return |cosine| between the two strongest directions of two disjoint halves of the rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    found = []
    for rows in np.array_split(order, 2):
        if len(np.unique(y[rows])) < 2:
            return []
        fitted = _fit(X.iloc[rows], y[rows], numbers, seed, n_jobs)
        number = np.flatnonzero(fitted.table_.is_number)
        found.append(numeric_eigenvectors(fitted, number)[:, :2])
    first, second = found
    if not len(first) == len(second) == n_numbers:  # a column may be empty in one half
        return []
    return _rounded(np.abs((first * second).sum(axis=0)))


def _plane(points: np.ndarray, test: Table, task: str, seed: int) -> dict[str, Any]:
    """Return some test rows in the plane of the two strongest directions, with their targets."""
    some = np.random.default_rng(seed).permutation(len(points))[:_N_POINTS]
    y = test.y[some]
    labels = [str(label) for label in y] if task == "classification" else _rounded(y, 6)
    return {
        "first": _rounded(points[some, 0], 4),
        "second": _rounded(points[some, 1], 4),
        "target": labels,
    }


def _cuts(
    fitted: Any,
    facts: Any,
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    task: str,
) -> dict[str, Any]:
    """Return the best single cut across one of the two strongest directions, and of one column.

    A cut of a column is a threshold of a number or one level of a category against the others.
    Both are chosen on the training rows; ``worth`` is the share of the test rows' squared error
    (Brier score in classification) that the cut removes. ``words`` are in the table's units.
    """
    table = fitted.table_
    number = np.flatnonzero(table.is_number)
    single = np.flatnonzero(table.encoded_kinds_ != "target")  # target means would overfit
    two = np.zeros((table.n_encoded, 2))
    two[number] = facts.eigenvectors[:, :2]
    rotated = _stump(train[0] @ two, train[1], test[0] @ two, test[1], task)
    axis = _stump(train[0][:, single], train[1], test[0][:, single], test[1], task)
    place = int(single[axis["place"]])
    alone = np.eye(table.n_encoded)[place]
    return {
        "rotated": {
            **rotated,
            "direction": rotated["place"] + 1,
            "loadings": facts.direction_text(rotated["place"], n_terms=4),
            "words": _in_units(fitted, two[:, rotated["place"]], rotated["threshold"]),
        },
        "axis": {
            **axis,
            "normal": _rounded(two[place]),
            "words": _in_units(fitted, alone, axis["threshold"]),
        },
    }


def _in_units(fitted: Any, normal: np.ndarray, threshold: float) -> str:
    """Describe a cut of standardised columns in words, in the table's own units."""
    direction = np.where(np.abs(normal) > 0.01, normal, 0.0) / fitted.scale_
    offset = threshold + float(direction @ fitted.mean_)
    return Wording(fitted, fitted.scale_, digits=2, max_terms=4).cut(direction, offset)


def _stump(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, task: str
) -> dict[str, Any]:
    kind = DecisionTreeClassifier if task == "classification" else DecisionTreeRegressor
    stump = kind(max_depth=1, random_state=0).fit(X, y)
    if task == "classification":
        onehot = (y_test[:, None] == stump.classes_).astype(float)
        guess, plain = stump.predict_proba(X_test), stump.tree_.value[0]
    else:
        onehot, guess, plain = y_test, stump.predict(X_test), stump.tree_.value[0, 0]
    worth = 1 - ((onehot - guess) ** 2).sum() / max(((onehot - plain) ** 2).sum(), 1e-300)
    place = max(int(stump.tree_.feature[0]), 0)
    threshold = float(stump.tree_.threshold[0])
    return {"place": place, "threshold": round(threshold, 5), "worth": round(float(worth), 5)}
