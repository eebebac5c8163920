"""Validation and encoding of tables: the only entry point, used by every estimator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_X_y, validate_data

from jarf.table._columns import holds_odd_objects, holds_text, is_frame
from jarf.table._encoder import TableEncoder
from jarf.table._reading import read_columns
from jarf.table._refusals import check_sparse, check_table, check_target, refuse_date_columns

# Sparse matrices of at most this many entries, zeros counted, become dense: 0.5 GB of float32.
MOST_DENSE = 2**27


def fit_table(
    estimator,
    X,
    y,
    *,
    classifies: bool,
    dtype,
    order: str,
    sample_weight=None,
    reset: bool = True,
    ensure_min_samples: int = 1,
    several_outputs: bool = False,
):
    """Validate a training table and convert it to a float matrix.

    Sets ``table_``, ``n_features_in_`` and, where there are names, ``feature_names_in_``. An
    array of numbers without missing values comes back as it is.

    Parameters
    ----------
    estimator : estimator
        Its ``categorical_features`` and ``random_state`` are used.
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    classifies : bool
        Whether ``y`` holds classes.
    dtype : dtype or list of dtypes
        Of the result; with a list, float32 stays float32 if that is in it.
    order : {"C", "F"}
    sample_weight : array-like of shape (n_samples,), default=None
        Rows of weight zero are not learned from.
    reset : bool, default=True
        False keeps a fitted ``table_`` (warm start).
    ensure_min_samples : int, default=1
    several_outputs : bool, default=False
        Whether ``y`` may have several columns.

    Returns
    -------
    X : ndarray of shape (n_samples, n_encoded)
    y : ndarray of shape (n_samples,) or (n_samples, n_responses)
    """
    several_outputs = several_outputs and _has_several_outputs(y)
    if not several_outputs:
        _refuse_several_outputs(y)
    check_target(y, classifies, estimator)
    X = _as_table(X, dtype, order)
    chosen = getattr(estimator, "categorical_features", "from_dtype")
    checks = {
        "y_numeric": not classifies,
        "multi_output": several_outputs,
        "ensure_min_samples": ensure_min_samples,
        "estimator": estimator,
    }
    if _is_plain(X, chosen):
        X, y = _validated(
            estimator,
            X,
            y,
            dtype=dtype,
            order=order,
            reset=reset,
            ensure_all_finite="allow-nan",
            **checks,
        )
        _refuse_overflow(y, classifies)
        kind = X.dtype
        if reset and not has_missing(X):
            estimator.table_ = TableEncoder().fit_identity(X, _used(sample_weight, len(X)))
            return X, y
        if not reset and estimator.table_.is_identity_:
            return (estimator.table_.fill(X) if has_missing(X) else X), y
        columns = read_columns(X, narrow=True)
    else:
        _validated(estimator, X, y, skip_check_array=True, reset=reset)
        columns = read_columns(X, narrow=True)
        placeholder = np.zeros((len(columns[0]) if columns else 0, 1))
        with np.errstate(invalid="ignore"):
            _, y = check_X_y(placeholder, y, **checks)
        _refuse_overflow(y, classifies)
        kind = _result_type(columns, dtype)
    used = _used(sample_weight, len(y))
    if reset:
        names = getattr(estimator, "feature_names_in_", None)
        seed = getattr(estimator, "random_state", None)
        estimator.table_ = TableEncoder(chosen, seed).fit(
            columns if used is None else [column.only(used) for column in columns],
            y if used is None else y[used],
            None if names is None else list(names),
            classifies,
            kind,
        )
    return estimator.table_.encode(columns, kind, order, y, used), y


def read_table(estimator, X, *, dtype, order: str) -> np.ndarray:
    """Convert a table to the matrix of a fitted estimator.

    Parameters
    ----------
    estimator : estimator
        Fitted through :func:`fit_table`.
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
        The same columns in the same order, checked by name.
    dtype, order : as in :func:`fit_table`

    Returns
    -------
    ndarray of shape (n_samples, n_encoded)
    """
    table: TableEncoder = estimator.table_
    if table.is_identity_ and (numbers := _finite_numbers(estimator, X, dtype, order)) is not None:
        return numbers
    X = _as_table(X, dtype, order)
    if _is_plain(X, None) and not table.levels_:
        X = _validated(
            estimator, X, dtype=dtype, order=order, reset=False, ensure_all_finite="allow-nan"
        )
        if table.is_identity_:
            return table.fill(X) if has_missing(X) else X
        columns, kind = read_columns(X, narrow=True), X.dtype
    else:
        if not _has_known_names(estimator, X):
            _validated(estimator, X, skip_check_array=True, reset=False)
        columns = read_columns(X, narrow=True)
        if len(columns[0]) == 0:
            check_array(np.zeros((0, 1)), estimator=estimator)
        kind = _result_type(columns, dtype)
    return table.encode(columns, kind, order)


def _finite_numbers(estimator, X, dtype, order: Any) -> np.ndarray | None:
    """Return the matrix of an array that scikit-learn's checks would let pass; None: let them see.

    They take longer than a forest takes for a row.
    """
    kinds = dtype if isinstance(dtype, list) else [dtype]
    if (
        type(X) is not np.ndarray
        or X.dtype not in (np.float32, np.float64)
        or X.ndim != 2
        or len(X) == 0
        or X.shape[1] != estimator.n_features_in_
        or hasattr(estimator, "feature_names_in_")
    ):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.asarray(X, X.dtype if X.dtype in kinds else kinds[0], order)
        return numbers if math.isfinite(numbers.sum()) else None


def _has_known_names(estimator, X) -> bool:
    """Whether a pandas DataFrame has the columns of training; other tables are looked at slowly."""
    names = getattr(estimator, "feature_names_in_", None)
    return names is not None and hasattr(X, "iloc") and X.columns.tolist() == names.tolist()


def share_table(fitted, other) -> None:
    """Let another estimator read tables like a fitted one.

    Parameters
    ----------
    fitted : estimator
        Fitted through :func:`fit_table`, or sharing the table of one that was.
    other : estimator
        Gets ``table_``, ``n_features_in_`` and, where there are names, ``feature_names_in_``.
    """
    for name in ("table_", "n_features_in_", "feature_names_in_"):
        if hasattr(fitted, name):
            setattr(other, name, getattr(fitted, name))


def _validated(*arrays, **checks):
    """Run scikit-learn's checks; overflows inside them end in their own errors."""
    with np.errstate(over="ignore", invalid="ignore"):
        return validate_data(*arrays, **checks)


def has_missing(X: np.ndarray) -> bool:
    """Whether a float matrix without infinities holds NaN; one pass in the usual case."""
    with np.errstate(all="ignore"):
        return bool(np.isnan(X.sum()) and np.isnan(X).any())


def take_tables(tags):
    """Set the input tags of an estimator to what :func:`fit_table` accepts; return them."""
    tags.input_tags.allow_nan = True
    tags.input_tags.sparse = True
    return tags


def _as_table(X, dtype, order: str):
    """Give a list of rows with text the shape of a table; make a sparse matrix dense."""
    check_table(X)
    if sparse.issparse(X):
        return _dense(X, dtype, order)
    if isinstance(X, list | tuple) and (holds_text(X) or holds_odd_objects(X)):
        return np.array(X, dtype=object)
    return X


def _dense(X, dtype, order: str) -> np.ndarray:
    if math.prod(X.shape) > MOST_DENSE:
        raise ValueError(
            f"X is a sparse matrix of shape {X.shape}. Directions mix columns, so it is converted "
            f"to a dense one, up to {MOST_DENSE:,} entries, zeros counted. Keep fewer "
            "columns (scikit-learn's SelectKBest or TruncatedSVD), predict fewer rows at a time, "
            "or call toarray() if there is enough memory."
        )
    check_sparse(X)
    kinds = dtype if isinstance(dtype, list) else [dtype]
    if X.dtype.kind in "fiub" and X.dtype not in kinds:
        X = X.astype(kinds[0])
    return X.toarray(order=order)


def _is_plain(X, chosen) -> bool:
    """Whether scikit-learn's own validation is all that ``X`` needs before it is encoded."""
    if is_frame(X):
        if not _without_narwhals():
            return False
        refuse_date_columns(X)
        return True
    if not isinstance(X, np.ndarray):  # lists of numbers
        return True
    return (chosen is None or isinstance(chosen, str)) and not (
        holds_text(X) or holds_odd_objects(X)
    )


def _without_narwhals() -> bool:
    try:
        import narwhals  # noqa: F401
    except ImportError:  # frames of numbers still work
        return True
    return False


def _has_several_outputs(y) -> bool:
    shape: tuple[int, ...] = np.asarray(y).shape if y is not None else ()
    return len(shape) == 2 and shape[1] > 1


def _refuse_several_outputs(y) -> None:
    shape = tuple(getattr(y, "shape", ()))
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {shape} instead: several "
            "outputs are not supported. Fit one model per output, for example with scikit-learn's "
            "MultiOutputRegressor or MultiOutputClassifier."
        )


def _refuse_overflow(y: np.ndarray, classifies: bool) -> None:
    """Squared errors are squared once more where methods are compared."""
    with np.errstate(over="ignore"):
        too_large = not classifies and np.abs(y).sum(dtype=np.float64) > 1e75
    if too_large:
        raise ValueError(
            "y is too large: squares of its sum, above 1e75, would overflow. Divide it by its "
            "standard deviation."
        )


def _used(sample_weight, n_rows: int):
    """The rows whose weight is not zero; None: all, or weights that are to be refused later."""
    if sample_weight is None:
        return None
    used = np.asarray(sample_weight) != 0
    return None if used.shape != (n_rows,) or used.all() or not used.any() else used


def _result_type(columns, dtype):
    if not isinstance(dtype, list):
        return np.dtype(dtype)
    numbers = [column.values.dtype for column in columns if column.kind == "number"]
    narrow = numbers and all(kind == np.float32 for kind in numbers)
    return np.dtype(np.float32 if narrow and np.float32 in dtype else np.float64)
