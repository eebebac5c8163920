"""Sums of outer products: sparse rows by the native kernel, dense ones by BLAS."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from jarf._native import engine

# Above this share of non-zero entries BLAS is faster than skipping the zeros.
DENSE_SHARE = 0.15
_NO_WEIGHTS = np.empty(0)


def add_outer_products(lower: np.ndarray, rows: np.ndarray, weights=None) -> None:
    """Add ``sum_i w_i g_i g_i'`` to the lower triangle of ``lower``, in place.

    Parameters
    ----------
    lower : ndarray of shape (n_features, n_features)
        C-ordered; entries above the diagonal are not changed.
    rows : ndarray of shape (n_rows, n_features)
    weights : ndarray of shape (n_rows,), default=None
    """
    if np.count_nonzero(rows) < DENSE_SHARE * rows.size:
        rows = np.ascontiguousarray(rows)
        engine().add_outer_products(rows, _NO_WEIGHTS if weights is None else weights, lower)
        return
    if weights is not None:
        rows = rows * np.sqrt(weights)[:, None]
    # The lower triangle in C order is the upper one in Fortran order.
    blas.dsyrk(1.0, rows.T, beta=1.0, c=lower.T, lower=False, overwrite_c=True)
