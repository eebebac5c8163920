"""Tables and targets that are rejected, with errors that name the cause and the fix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from jarf.table._columns import is_frame, is_missing, refuse_dates, refuse_same_names
from jarf.table._reading import read_columns


def check_table(X: Any) -> None:
    """Reject frames without columns or with duplicate names, arrays of dates, and LazyFrames."""
    if type(X).__name__ == "LazyFrame":
        raise ValueError("X is a LazyFrame. Call its collect() first.")
    if type(X).__module__.startswith("pyarrow"):
        raise ValueError("X is a pyarrow object. Convert it by to_pandas() or polars.from_arrow().")
    if is_frame(X):
        refuse_same_names(X)
        if X.shape[1] == 0:
            raise ValueError(
                f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
                "required: the frame X has no columns."
            )
    elif isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        refuse_dates("array X", X.dtype)


def checked_table(X: Any) -> Any:
    """Return a table that passed the checks; a sparse matrix is made dense."""
    check_table(X)
    if not sparse.issparse(X):
        return X
    check_sparse(X)
    return X.toarray()


def refuse_dask(estimator: Any, **parts: Any) -> None:
    """Refuse Dask collections, which would be computed in full on this machine.

    Parameters
    ----------
    estimator : estimator
        Named in messages.
    **parts
        What ``fit`` was given, by the names of its arguments.
    """
    for argument, part in parts.items():
        if type(part).__module__.split(".")[0] not in ("dask", "dask_expr"):
            continue
        name = type(estimator).__name__
        task = "Regressor" if name.endswith("Regressor") else "Classifier"
        raise TypeError(
            f"{argument} is a Dask collection, but {name} needs the whole table in memory. To "
            f"train on Dask, use jarf.dask.JARF{task}(xgboost.XGB{task}()), which boosts on all "
            f"partitions, or jarf.dask.JacobianForest{task}. If the table fits into memory, pass "
            f"{argument}.compute()."
        )


def refuse_date_columns(X: Any) -> None:
    """Reject dates in a pandas DataFrame, which scikit-learn would read as numbers."""
    for name, dtype in X.dtypes.items() if hasattr(X, "iloc") else ():
        if getattr(dtype, "kind", "") in "mM":
            refuse_dates(f"column {name!r}", dtype)


def check_numbers(X: Any) -> None:
    """Reject dates, text and categories in a DataFrame or array that must hold numbers."""
    check_table(X)
    if not is_frame(X):
        return
    if hasattr(X, "iloc"):
        X = X.loc[:, [getattr(dtype, "kind", "O") not in "fiub" for dtype in X.dtypes]]
    for column in read_columns(X):
        if column.kind == "category":
            raise ValueError(
                f"The {column.label} holds text or categories, but only numbers can be "
                "differentiated here. Encode it, drop it, or use JacobianPreconditioner, which "
                "reads tables with categories."
            )


def check_sparse(X: Any) -> None:
    """Reject a sparse matrix with indices out of range, which SciPy does not check."""
    try:
        fine = _is_sound(X)
    except (AttributeError, IndexError, TypeError, ValueError):
        fine = False
    if not fine:
        raise ValueError(
            f"X is a sparse matrix of shape {X.shape} whose indices are out of range or "
            "inconsistent. Build it again, for example by scipy.sparse.coo_array."
        )


def _is_sound(X: Any) -> bool:
    if X.format == "coo":
        if len(X.row) != len(X.data) or len(X.col) != len(X.data):
            return False
        return all(_inside(at, n) for at, n in zip((X.row, X.col), X.shape, strict=True))
    if X.format not in ("csr", "csc", "bsr"):
        return True  # converted entry by entry, by Python or NumPy
    shape = X.shape
    if X.format == "bsr":
        shape = tuple(n // size for n, size in zip(shape, X.blocksize, strict=True))
    outer, inner = shape[::-1] if X.format == "csc" else shape
    pointers = X.indptr
    rising = pointers[0] == 0 and (pointers[1:] >= pointers[:-1]).all()
    held = min(len(X.indices), len(X.data))
    fits = len(pointers) == outer + 1 and pointers[-1] <= held
    return bool(rising and fits) and _inside(X.indices[: pointers[-1]], inner)


def _inside(indices: np.ndarray, n: int) -> bool:
    return len(indices) == 0 or bool(indices.min() >= 0 and indices.max() < n)


def check_target(y: Any, classifies: bool, estimator: Any) -> None:
    """Reject missing values, and targets that a regressor cannot predict.

    Parameters
    ----------
    y : array-like
    classifies : bool
    estimator : estimator
        Named in messages.
    """
    if y is None or sparse.issparse(y):
        return
    values = np.asarray(y)
    missing = _missing(values)
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: {int(missing.sum())} of its {missing.size} values are missing. "
            "Drop these rows of X and y before fitting."
        )
    if classifies:
        return
    name = type(estimator).__name__
    if values.dtype.kind in "mM":
        raise ValueError(
            f"y holds dates or times ({values.dtype}), but {name} predicts numbers. Convert it, "
            "for example to days since a date."
        )
    text = _first_text(values)
    if text is not None:
        raise ValueError(
            f"y holds text (for example {text!r}), but {name} predicts numbers. Convert it by "
            f"astype(float), or use {name.replace('Regressor', 'Classifier')} if these are classes."
        )


def _missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind == "O":
        return np.array([is_missing(value) for value in values.ravel()], dtype=bool)
    return np.zeros(1, dtype=bool)


def _first_text(values: np.ndarray) -> str | bytes | None:
    if values.dtype.kind not in "OUST":
        return None
    found = (value for value in values.ravel().tolist() if isinstance(value, str | bytes))
    return next(found, None)
