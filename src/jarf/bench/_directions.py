"""Which directions of a table matter: the EJOP of one training part, looked at in the test part."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from jarf.bench._datasets import Table
from jarf.bench._mechanism import numeric_eigenvectors
from jarf.table import read_table

__all__ = ["describe_cut", "directions_of"]

N_DIRECTIONS = 6
_N_POINTS = 800
_MAX_CATEGORIES = 80  # category columns the surrogate sees, of at most 50 levels


def directions_of(
    train: Table, test: Table, numbers: list[str], task: str, *, seed: int = 0, n_jobs: int = 1
) -> dict[str, Any]:
    """Spectrum, loadings, sensitivities and the plane of the two strongest directions.

    Everything is learned from ``train``; points and the worth of cuts are of ``test``.

    Returns
    -------
    dict
        Plain lists and numbers. Without two numeric columns there are no directions: then it
        holds ``sensitivities`` only.
    """
    y_train, y_test = _targets(train, test, task)
    fitted = _fit(train.X, y_train, numbers, seed, n_jobs)
    found = {"n_rows": len(y_train), "task": task, **_sensitivities(fitted, list(train.X.columns))}
    number = np.flatnonzero(fitted.table_.is_number)
    if len(number) < 2:
        return found
    vectors = _pointed(numeric_eigenvectors(fitted, number))
    values = np.linalg.eigvalsh(fitted.ejop_.matrix[np.ix_(number, number)])[::-1].clip(min=0)
    names = train.X.columns[fitted.table_.output_columns_[number]].tolist()
    k = min(N_DIRECTIONS, len(names))
    Z_train, Z_test = (_standardised(fitted, part.X)[:, number] for part in (train, test))
    return {
        **found,
        "columns": names,
        "shares": _rounded(values / (values.sum() or 1.0)),
        "loadings": _rounded(vectors[:, :k].T),
        "agreement": _agreement(train.X, y_train, numbers, vectors, seed, n_jobs),
        "plane": _plane(Z_test @ vectors[:, :2], test, task, seed),
        "cuts": _cuts((Z_train, y_train), (Z_test, y_test), vectors, names, task),
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
        random_state=seed,
        n_jobs=n_jobs,
    ).fit(X[known], y)


def _standardised(fitted: Any, X: Any) -> np.ndarray:
    values = read_table(fitted, X[list(fitted.feature_names_in_)], dtype=np.float64, order="C")
    return (values - fitted.mean_) / fitted.scale_


def _sensitivities(fitted: Any, columns: list[str]) -> dict[str, Any]:
    """By column, strongest first; what was not differentiated is named apart."""
    table, names = fitted.table_, fitted.feature_names_in_.tolist()
    moved = set(table.output_columns_[table.is_number | table.is_level].tolist())
    values = fitted.feature_sensitivities_
    order = [j for j in np.argsort(-values, kind="stable").tolist() if j in moved]
    kept = {names[j] for j in order}
    return {
        "sensitivities": [[names[j], round(float(values[j]), 6)] for j in order],
        "not_differentiated": [name for name in columns if name not in kept],
    }


def _pointed(vectors: np.ndarray) -> np.ndarray:
    """Each direction with its largest loading above zero."""
    strongest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[strongest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1.0, signs)


def _agreement(
    X: Any, y: np.ndarray, numbers: list[str], vectors: np.ndarray, seed: int, n_jobs: int
) -> list[float]:
    """|cosine| between the two strongest directions of two halves that share no row."""
    order = np.random.default_rng(seed).permutation(len(y))
    found = []
    for rows in np.array_split(order, 2):
        if len(np.unique(y[rows])) < 2:
            return []
        fitted = _fit(X.iloc[rows], y[rows], numbers, seed, n_jobs)
        number = np.flatnonzero(fitted.table_.is_number)
        found.append(numeric_eigenvectors(fitted, number)[:, :2])
    first, second = found
    if len(first) != len(vectors) or first.shape != second.shape:
        return []
    return _rounded(np.abs((first * second).sum(axis=0)))


def _plane(points: np.ndarray, test: Table, task: str, seed: int) -> dict[str, Any]:
    """Some test rows in the two strongest directions, with what they are."""
    some = np.random.default_rng(seed).permutation(len(points))[:_N_POINTS]
    y = test.y[some]
    labels = [str(label) for label in y] if task == "classification" else _rounded(y, 6)
    return {
        "first": _rounded(points[some, 0], 4),
        "second": _rounded(points[some, 1], 4),
        "target": labels,
    }


def _cuts(
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    vectors: np.ndarray,
    names: list[str],
    task: str,
) -> dict[str, Any]:
    """The best single cut across one of the two strongest directions, and of one column.

    Both are chosen on the training rows; ``worth`` is the share of the test rows' squared error
    (Brier score in classification) that the cut removes.
    """
    two = vectors[:, :2]
    rotated = _stump(train[0] @ two, train[1], test[0] @ two, test[1], task)
    axis = _stump(*train, *test, task)
    normal = vectors[:, rotated["place"]]
    return {
        "rotated": {
            "direction": rotated["place"] + 1,
            "words": describe_cut(normal, names, rotated["threshold"]),
            **rotated,
        },
        "axis": {
            "words": describe_cut(np.ones(1), [names[axis["place"]]], axis["threshold"]),
            "normal": _rounded(two[axis["place"]]),
            **axis,
        },
    }


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


def describe_cut(normal: np.ndarray, names: list[str], threshold: float, most: int = 4) -> str:
    """A cut in words, the largest loadings first, columns in standard deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.bench._directions import describe_cut
    >>> describe_cut(np.array([0.1, -0.7, 0.7]), ["age", "debt", "income"], 1.34, most=2)
    '0.70 income - 0.70 debt + ... <= 1.34'
    """
    order = sorted(range(len(names)), key=lambda j: (-abs(normal[j]), -normal[j]))
    shown = [j for j in order[:most] if abs(normal[j]) >= 0.1] or order[:1]
    parts = []
    for j in shown:
        size = "" if len(names) == 1 else f"{abs(normal[j]):.2f} "
        sign = "-" if normal[j] < 0 else "+"
        parts.append(f"{sign} {size}{names[j]}")
    more = " + ..." if len(names) > len(shown) else ""
    return f"{' '.join(parts).removeprefix('+ ')}{more} <= {threshold:.2f}"
