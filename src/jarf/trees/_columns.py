"""The training matrix in the grower's form: column by column, with bins of its values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jarf._native import engine
from jarf._threads import thread_map, threads_of

MAX_BINS = 256


class Columns(NamedTuple):
    """The columns a tree is grown on. ``rotation``, if any, defines them as projections.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.trees import make_columns
    >>> make_columns(np.zeros((5, 2), np.float32)).rotation is None
    True
    """

    crossing: Any
    rotation: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


def make_columns(X: np.ndarray, n_jobs: int | None = None, *, bins: bool = True) -> Columns:
    """Prepare a matrix that all trees share.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        float32 in column order is not copied.
    n_jobs : int, default=None
    bins : bool, default=True
        Whether large nodes are searched in bins of the columns' values.

    Returns
    -------
    Columns
    """
    values = np.ascontiguousarray(X.T, dtype=np.float32)
    n_columns, n_rows = values.shape
    codes = np.empty((n_columns, n_rows) if bins else (0, 0), np.uint8)
    size = (n_columns, MAX_BINS) if bins else (0, 0)
    lowest, highest = np.zeros(size, np.float32), np.zeros(size, np.float32)
    n_bins = np.zeros(size[0], np.int32)
    if bins:
        step = -(-n_columns // (4 * threads_of(n_jobs)))
        parts = [slice(at, at + step) for at in range(0, n_columns, step)]

        def cut(part: slice) -> None:
            engine().bin_columns(
                values[part], codes[part], lowest[part], highest[part], n_bins[part]
            )

        list(thread_map(cut, parts, n_jobs))
    return Columns(engine().TrainingColumns(values, codes, lowest, highest, n_bins))


def rotate_columns(X: np.ndarray, rotation: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Columns:
    """Give one tree columns that are sparse projections (starts, features, loadings) of these.

    They are computed where they are needed, not all at once; ``X`` in column order is not copied.
    """
    values = np.ascontiguousarray(X.T, dtype=np.float32)
    return Columns(engine().RotatedColumns(values, *rotation), rotation)


def narrow(values: np.ndarray) -> np.ndarray:
    """Return loadings as float32, clipped to its range."""
    largest = np.finfo(np.float32).max
    return np.clip(values, -largest, largest).astype(np.float32)
