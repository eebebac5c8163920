"""The EJOP of a table that is read in batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jarf.gradients._ejop import EJOP, expected_jacobian_outer_product
from jarf.gradients._wide import WideEJOP


def ejop_of_batches(
    model, batches: Iterable[Any], *, steps, feature_range, **options
) -> EJOP | WideEJOP:
    """Estimate the EJOP from batches of rows, one in memory at a time.

    The sum is that of :func:`expected_jacobian_outer_product` on all rows at once, up to rounding.
    Steps and range must be those of the whole table, or of a sample of it, and the same for all
    batches: they are not taken from the batches.

    Parameters
    ----------
    model : estimator
        Fitted.
    batches : iterable of X or (X, y) or (X, y, sample_weight)
        Slices of an ``np.memmap``, batches of a parquet file, ...; empty ones are skipped.
    steps : array-like of shape (n_features,)
        Distance between the two probes of each feature; :func:`difference_steps` of a sample.
    feature_range : tuple of two array-like of shape (n_features,)
        Lowest and highest value of each feature.
    **options
        ``scheme``, ``boundary``, ``outputs`` and ``n_jobs`` of
        :func:`expected_jacobian_outer_product`.

    Returns
    -------
    EJOP or WideEJOP

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from jarf.gradients import difference_steps, ejop_of_batches
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = LinearRegression().fit(X, 3 * X[:, 0] - X[:, 1])
    >>> steps, ends = difference_steps(X), (X.min(axis=0), X.max(axis=0))
    >>> batches = (X[start : start + 30] for start in range(0, 100, 30))
    >>> ejop_of_batches(model, batches, steps=steps, feature_range=ends).matrix.round(6)
    array([[ 9., -3.],
           [-3.,  1.]])
    """
    total: Any = None
    for batch in batches:
        X, y, weights = (
            (*batch, None, None)[:3] if isinstance(batch, tuple) else (batch, None, None)
        )
        if len(X) == 0:
            continue
        part = expected_jacobian_outer_product(
            model,
            X,
            y,
            step_rule=steps,
            feature_range=feature_range,
            sample_weight=weights,
            **options,
        )
        total = part if total is None else total + part
    if total is None:
        raise ValueError("The batches hold no rows.")
    return total
