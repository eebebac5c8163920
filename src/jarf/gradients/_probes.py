"""Probes of a model: the step of each feature, and the two positions around a row."""

from __future__ import annotations

import numpy as np
from sklearn.utils.random import sample_without_replacement

# A MAD of a normal variable is 0.6745 standard deviations.
MAD_OF_NORMAL = 0.6745
# Up to this many rows, drawing permutes all rows; beyond, memory is proportional to the draw.
MAX_PERMUTED = 2**24
# Gaps between the values of a column are found in about this many rows.
MAX_GAP_ROWS = 2000


def choose_rows(n: int, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw ``size`` of ``n`` row numbers without replacement, in ascending order.

    If ``size`` is not smaller than ``n``, return all without drawing.
    """
    if size >= n:
        return np.arange(n)
    if n <= MAX_PERMUTED:
        return np.sort(rng.choice(n, size=size, replace=False))
    drawn = sample_without_replacement(n, size, method="tracking_selection", random_state=rng)
    return np.sort(drawn)


def first_rows(labels: np.ndarray) -> list[int]:
    """Find one row of every class, without sorting all rows."""
    return [int(np.argmax(labels == label)) for label in np.unique(labels)]


def learning_rows(n: int, size: int | None, rng, always=tuple) -> np.ndarray | None:
    """Draw the rows that surrogates learn from; None means all.

    Parameters
    ----------
    n : int
        Number of rows.
    size : int or None
        Maximum number of rows.
    rng : RandomState
    always : callable
        Returns rows that are always included (one of every class).
    """
    if size is None or size >= n:
        return None
    return np.union1d(choose_rows(n, size, rng), np.asarray(always(), dtype=np.intp))


def robust_scale(X: np.ndarray) -> np.ndarray:
    """MAD / 0.6745 of each column; its standard deviation where the MAD is zero.

    The MAD of a binary or zero-inflated column is zero though the column varies. A constant
    column keeps the scale zero: it is never probed and its gradient is zero.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_features,)
    """
    scale = np.empty(X.shape[1])
    for columns in column_blocks(*X.shape):
        block = np.array(X[:, columns].T, dtype=np.float64, order="C")
        block -= np.median(block, axis=1, keepdims=True)
        np.abs(block, out=block)
        scale[columns] = np.median(block, axis=1, overwrite_input=True) / MAD_OF_NORMAL
    flat = np.flatnonzero(scale == 0)
    scale[flat] = column_std(X[:, flat])
    return scale


def column_mean(X: np.ndarray) -> np.ndarray:
    """Return column means, even if the sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.mean(axis=0, dtype=np.float64)
    over = np.flatnonzero(~np.isfinite(mean))
    mean[over] = (X[:, over] / len(X)).sum(axis=0, dtype=np.float64)
    return mean


def column_std(X: np.ndarray) -> np.ndarray:
    """Standard deviations; exactly zero for a constant column, safe in extreme units."""
    std = np.zeros(X.shape[1])
    for columns in column_blocks(*X.shape):
        block = X[:, columns]
        low, high = block.min(axis=0, initial=np.inf), block.max(axis=0, initial=-np.inf)
        largest = np.maximum(np.abs(low), np.abs(high)).astype(np.float64)
        # Squares of such values overflow or underflow: rescale them first.
        extreme = (high > low) & ((largest > 1e100) | (largest < 1e-100))
        if extreme.any():
            block = block / np.where(extreme, largest, 1.0)
        spread = block.std(axis=0, dtype=np.float64) * np.where(extreme, largest, 1.0)
        std[columns] = np.where(high > low, spread, 0.0)
    return std


def column_blocks(n_samples: int, n_features: int, max_values: int = 1_000_000):
    """Return slices of columns with at most ``max_values`` values (or one column) each."""
    width = max(1, max_values // max(1, n_samples))
    return [slice(start, start + width) for start in range(0, n_features, width)]


def value_gaps(X: np.ndarray) -> np.ndarray:
    """Return the median distance between neighbouring distinct values of each column.

    A tree cuts a column halfway between two neighbouring values. A shorter step of a column of few
    values, or of integers, stays on one side of every cut.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        If there are more than 2,000 rows, a regular sample is used.

    Returns
    -------
    ndarray of shape (n_features,)
        Zero for a constant column.
    """
    every = max(1, -(-len(X) // MAX_GAP_ROWS))  # rows from all over: tables are often sorted
    gaps, n_gaps = _median_gaps(X[::every])
    few = np.flatnonzero(n_gaps < 2)
    if every > 1 and len(few):
        gaps[few] = _median_gaps(X[:, few])[0]
    return gaps


def _median_gaps(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The median gap between distinct values of each column, and the number of gaps."""
    gaps = np.zeros(X.shape[1], np.result_type(X, np.float32))
    n_gaps = np.zeros(X.shape[1], np.int64)
    for columns in column_blocks(*X.shape):
        between = np.diff(np.sort(X[:, columns].T, axis=1), axis=1)
        between.sort(axis=1)  # repeated values come first, as zeros
        n_zeros = (between == 0).sum(axis=1)
        n_gaps[columns] = count = between.shape[1] - n_zeros
        some = np.flatnonzero(count)
        low = between[some, n_zeros[some] + (count[some] - 1) // 2]
        high = between[some, n_zeros[some] + count[some] // 2]
        gaps[columns][some] = np.where(low == high, low, (low + high) / 2)
    return gaps, n_gaps


def difference_steps(X, step=0.1, rule="auto", unit=None, *, scheme="centered") -> np.ndarray:
    """Return the distance between the two probes of each feature, in the units of ``X``.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The training rows, whose spread sets the scale.
    step : float, default=0.1
        The paper's alpha.
    rule : {"auto", "mad", "global"} or array-like of shape (n_features,), default="auto"
        ``"mad"``: the paper's rule, alpha * MAD / 0.6745 per feature. ``"auto"``: the same, but
        long enough to reach the next value of the column (:func:`value_gaps`) from ``x``: twice
        the gap in the centered scheme, one gap in the forward scheme. ``"global"``: one step for
        all features, alpha times the root mean square of their standard deviations, measured in
        ``unit``. An array holds the steps themselves.
    unit : ndarray of shape (n_features,), default=None
        Length of one unit of each feature in which a global step is the same for all, for
        example the standard deviations. None: the units of ``X``.
    scheme : {"centered", "forward"}, default="centered"
        Where the two probes are; see :func:`probe_positions`.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.gradients import difference_steps
    >>> X = np.repeat([0.0, 5.0, 10.0, 15.0], 10)[:, None]
    >>> difference_steps(X, rule="mad").round(2), difference_steps(X)
    (array([0.74]), array([10.]))
    """
    n_features = X.shape[1]
    if not isinstance(rule, str):
        steps = np.asarray(rule, dtype=np.float64)
        if steps.shape != (n_features,) or not np.all(np.isfinite(steps)) or np.any(steps < 0):
            raise ValueError(
                f"step_rule as an array must hold {n_features} finite, non-negative steps; got "
                f"shape {steps.shape}."
            )
        return steps
    if rule not in ("auto", "mad", "global"):
        raise ValueError(
            f"step_rule must be 'auto', 'mad', 'global' or an array of steps, got {rule!r}."
        )
    if not step > 0:
        raise ValueError(f"step must be positive, got {step!r}.")
    if rule == "global":
        return _global_steps(X, step, np.ones(n_features) if unit is None else unit)
    steps = step * robust_scale(X)
    if rule == "mad":
        return steps
    return np.maximum(steps, value_gaps(X) * (2.0 if scheme == "centered" else 1.0))


def _global_steps(X, step: float, unit: np.ndarray) -> np.ndarray:
    std = column_std(X)
    varies = std > 0
    if not varies.any():
        return np.zeros(len(std))
    common = step * np.sqrt(np.mean((std[varies] / unit[varies]) ** 2))
    return np.where(varies, common * unit, 0.0)


def probe_positions(X, steps, low, high, scheme="centered", boundary="one-sided"):
    """Return the upper and lower position of every entry of ``X``.

    The quotient of a feature is ``(f(upper) - f(lower)) / (upper - lower)``; where the two
    positions coincide (a constant column) it is zero.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    steps : ndarray of shape (n_features,)
        Distance between the two probes.
    low, high : ndarray of shape (n_features,)
        Range of each feature in the training rows.
    scheme : {"centered", "forward"}
        ``x -+ step / 2``, or ``x`` and ``x + step``.
    boundary : {"one-sided", "clip", "none"}
        For a probe beyond the range: replace it by ``x`` itself ("one-sided"; a forward
        probe is replaced by a backward one), by the end of the range ("clip"), or leave it.

    Returns
    -------
    upper, lower : ndarray of shape (n_rows, n_features), float64
    """
    X = np.asarray(X, dtype=np.float64)
    reach = steps / 2 if scheme == "centered" else steps
    upper = X + reach
    lower = X - reach if scheme == "centered" else X.copy()
    if boundary == "clip":
        np.clip(upper, low, high, out=upper)
        np.clip(lower, low, high, out=lower)
    elif boundary == "one-sided":
        above = upper > high
        if scheme == "forward":
            np.copyto(lower, X - reach, where=above)
        below = lower < low
        np.copyto(upper, X, where=above)
        np.copyto(lower, X, where=below)
        _span_range(upper, lower, above & below, low, high)
    return upper, lower


def _span_range(upper, lower, outside, low, high):
    """If a step is wider than the range, probe both ends of the range."""
    np.copyto(upper, np.broadcast_to(high, upper.shape), where=outside)
    np.copyto(lower, np.broadcast_to(low, lower.shape), where=outside)
