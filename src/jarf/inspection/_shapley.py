"""Shapley values of the original columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import factorial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from jarf.ensemble import JacobianEnsembleClassifier, JacobianEnsembleRegressor
from jarf.inspection._models import (
    MODELS,
    MixedRows,
    answers,
    check_model,
    column_names,
    raw_answers,
)

# Tables of at most this many columns are explained exactly.
EXACT_UP_TO = 10
MOST_EXACT = 16
# Number of mixed rows that are predicted at a time.
BLOCK_ROWS = 20_000


@dataclass(frozen=True)
class ShapleyValues:
    """Contribution of each original column to the prediction of each row.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_classes)
        For a classifier, one per class probability; for several responses, one per response. With
        ``output="raw"``, one per sum of trees: the log-odds of the second of two classes.
    base_values : float or ndarray of shape (n_classes,)
        Mean prediction over the background; ``base_values + values.sum(axis=1)`` is the
        prediction, or the raw sum.
    standard_errors : ndarray, like ``values``
        Sampling error of random orders; zero if values are exact.
    exact : bool
    feature_names : ndarray of str

    Examples
    --------
    >>> from jarf import AxisForestRegressor
    >>> from jarf.inspection import shapley_values
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AxisForestRegressor(5, random_state=0).fit(X[:, :3], y)
    >>> found = shapley_values(model, X[:4, :3], X[::40, :3])
    >>> found.values.shape, found.exact
    ((4, 3), True)
    """

    values: np.ndarray
    base_values: Any
    standard_errors: np.ndarray
    exact: bool
    feature_names: np.ndarray

    @property
    def importances(self) -> np.ndarray:
        """Mean absolute value of each column, added up over the classes."""
        sizes = np.abs(self.values).mean(axis=0)
        return sizes if sizes.ndim == 1 else sizes.sum(axis=1)


def shapley_values(
    model,
    X,
    background,
    *,
    n_permutations=2,
    exact="auto",
    random_state=None,
    output="prediction",
) -> ShapleyValues:
    """Explain predictions by Shapley values of the original columns.

    The value of a set of columns is the mean prediction of rows that take these columns from the
    row to be explained and all others from a background row (*interventional* Shapley values). A
    column of the user's table is one player, however many encoded columns it has.

    Parameters
    ----------
    model : estimator
        Fitted: JARF on any final ensemble, an oblique forest, a Jacobian forest, Jacobian boosting,
        a kernel machine, or an ensemble of these. Calibrated probabilities are explained as
        ``predict_proba`` returns them; of an ensemble, the weighted mean of its members before its
        own temperature.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Rows to explain.
    background : array-like or DataFrame of shape (n_background, n_features)
        Rows to compare with; 20 to 100 training rows are usual. The cost grows with their number.
    n_permutations : int, default=2
        If values are sampled: number of random orders of the columns per background row, at least
        two; every order is used together with its reverse.
    exact : bool or "auto", default="auto"
        True sums over all subsets of columns (16 columns at most): 2^d predictions for each pair of
        a row and a background row. False samples orders. "auto" is exact up to 10 columns.
    random_state : int, RandomState instance or None, default=None
        Draws the orders.
    output : {"prediction", "raw"}, default="prediction"
        "prediction" explains class probabilities or responses, for every model. "raw" explains
        the sums of a booster's trees before the link, as ``shap`` does: log-odds for two classes
        (``decision_function``), the logarithm of the response for Poisson and gamma losses.

    Returns
    -------
    ShapleyValues
        Exact or sampled, the values of a row sum to its prediction minus the mean prediction of
        the background, up to rounding.

    Notes
    -----
    An order walks from a background row to the explained row, one column after the other, and
    credits every change to its column; over all orders the mean credit is the Shapley value. All
    background rows are walked from equally often, which makes the sums exact. Standard errors say
    how far other draws of orders would lie; the choice of the background is not part of them.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import SPORFRegressor
    >>> from jarf.inspection import shapley_values
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> model = SPORFRegressor(20, random_state=0).fit(X, X[:, 0] - X[:, 1])
    >>> found = shapley_values(model, X[:5], X[100:120])
    >>> np.allclose(found.base_values + found.values.sum(axis=1), model.predict(X[:5]))
    True
    >>> int(found.importances.argmin())
    2
    """
    if isinstance(model, JacobianEnsembleClassifier | JacobianEnsembleRegressor):
        options = {"n_permutations": n_permutations, "exact": exact}
        return _of_ensemble(model, X, background, random_state, options)
    check_model(model)
    ask = _asked(model, output)
    rows = MixedRows(model, X, background)
    d = model.n_features_in_
    if exact == "auto":
        exact = d <= EXACT_UP_TO
    ends = [ask(matrix) for matrix in rows.matrices]
    if exact:
        values, errors = _all_subsets(ask, rows, d), None
    else:
        rng = check_random_state(random_state)
        values, errors = _sampled_orders(ask, rows, ends, d, n_permutations, rng)
    return _result(model, values, errors, ends[1].mean(axis=0))


def _of_ensemble(model, X, background, random_state, options) -> ShapleyValues:
    """Average the values of the members: Shapley values are linear in the model."""
    check_is_fitted(model)
    seed = check_random_state(random_state).randint(2**31 - 1)  # all members walk the same orders
    total: Any = None
    for name, member in model.members_.items():
        if not isinstance(member, MODELS):
            raise TypeError(
                f"The member {name!r} of the ensemble, {type(member).__name__}, is not a model of "
                "this library and cannot be explained. Explain the other members by themselves."
            )
        found = shapley_values(member, X, background, random_state=seed, **options)
        weight = model.weights_[name]
        parts = [weight * found.values, weight * found.base_values]
        parts.append(weight * found.standard_errors)  # errors of the same orders add up, at most
        total = parts if total is None else [a + b for a, b in zip(total, parts, strict=True)]
    values, base, errors = total
    return ShapleyValues(values, base, errors, found.exact, column_names(model))


def _asked(model, output: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return what is explained, at rows of the encoded matrix: (n_rows, n_outputs)."""
    if output not in ("prediction", "raw"):
        raise ValueError(f"output must be 'prediction' or 'raw', got {output!r}.")
    return partial(raw_answers if output == "raw" else answers, model)


def _result(model, values, errors, base) -> ShapleyValues:
    exact = errors is None
    errors = np.zeros_like(values) if exact else errors
    if values.shape[2] == 1 and len(getattr(model, "classes_", ())) != 1:
        values, errors, base = values[..., 0], errors[..., 0], float(base[0])
    return ShapleyValues(values, base, errors, exact, column_names(model))


def _all_subsets(ask, rows: MixedRows, d: int) -> np.ndarray:
    """Sum over every subset of the columns."""
    if d > MOST_EXACT:
        raise ValueError(
            f"exact=True needs 2**{d} predictions for every pair of rows; at most {MOST_EXACT} "
            "columns are explained exactly. Use exact=False."
        )
    n, m = (len(matrix) for matrix in rows.matrices)
    subsets = (np.arange(2**d)[:, None] >> np.arange(d)) & 1 == 1
    step = max(1, BLOCK_ROWS // m)
    weights = _subset_weights(subsets)
    values: Any = 0.0
    for start in range(0, len(subsets), step):
        part = slice(start, start + step)
        mask = np.repeat(subsets[part], m, axis=0)
        others = np.tile(np.arange(m), len(subsets[part]))
        worth = np.stack(
            [_mean_of_each(ask(rows.mix(np.full(len(mask), i), others, mask)), m) for i in range(n)]
        )
        values = values + np.einsum("nsc,sd->ndc", worth, weights[part])
    return values


def _mean_of_each(outputs: np.ndarray, m: int) -> np.ndarray:
    """Average blocks of ``m`` rows."""
    return outputs.reshape(-1, m, outputs.shape[1]).mean(axis=1)


def _subset_weights(subsets: np.ndarray) -> np.ndarray:
    """Return the signed weight of each subset's value for each column."""
    d = subsets.shape[1]
    sizes = subsets.sum(axis=1)
    chance = np.array([factorial(s) * factorial(d - s - 1) / factorial(d) for s in range(d)])
    with_column = chance[np.maximum(sizes - 1, 0)][:, None]
    without = -chance[np.minimum(sizes, d - 1)][:, None]
    return np.where(subsets, with_column, without)


def _sampled_orders(ask, rows: MixedRows, ends, d: int, n_permutations, rng):
    """Walk random orders and their reverses from every background row."""
    if not isinstance(n_permutations, Integral) or n_permutations < 2:
        raise ValueError(f"n_permutations must be an integer of at least 2, got {n_permutations}.")
    (f_rows, f_others), r = ends, int(n_permutations)
    n, m = len(f_rows), len(f_others)
    orders = np.array([[rng.permutation(d) for _ in range(r)] for _ in range(m)])
    ranks = np.stack([np.argsort(orders, axis=2), d - 1 - np.argsort(orders, axis=2)], axis=2)
    values = np.zeros((n, d, f_rows.shape[1]))
    variances = np.zeros_like(values)
    cost = max(1, 2 * r * (d - 1))
    n_rows = int(np.clip(BLOCK_ROWS // cost, 1, n))
    n_others = int(np.clip(BLOCK_ROWS // (cost * n_rows), 1, m))
    for start in range(0, n, n_rows):
        i = np.arange(start, min(start + n_rows, n))
        for first in range(0, m, n_others):
            j = np.arange(first, min(first + n_others, m))
            credit = _walk(ask, rows, i, j, ranks[j], f_rows[i], f_others[j])
            pairs = credit.mean(axis=2)  # an order and its reverse: (j, r, i, d, outputs)
            values[i] += pairs.mean(axis=1).sum(axis=0) / m
            variances[i] += pairs.var(axis=1, ddof=1).sum(axis=0) / (r * m**2)
    return values, np.sqrt(variances)


def _walk(ask, rows: MixedRows, i, j, ranks, f_rows, f_others) -> np.ndarray:
    """Credit of every column on every walk: (n_others, r, 2, n_rows, d, n_outputs)."""
    m, r, _, d = ranks.shape
    n, n_outputs = f_rows.shape
    shape = (m, r, 2, n, d - 1)
    taken = ranks[:, :, :, None, :] < np.arange(1, d)[:, None]  # (m, r, 2, d - 1, d)
    mask = np.broadcast_to(taken[:, :, :, None], (*shape, d)).reshape(-1, d)
    row = np.broadcast_to(i[:, None], shape).ravel()
    other = np.broadcast_to(j[:, None, None, None, None], shape).ravel()
    inner = ask(rows.mix(row, other, mask)).reshape(*shape, n_outputs)
    whole = np.empty((m, r, 2, n, d + 1, n_outputs))
    whole[..., 1:-1, :] = inner
    whole[..., 0, :] = f_others[:, None, None, None, :]
    whole[..., -1, :] = f_rows
    steps = np.diff(whole, axis=4)
    place = np.broadcast_to(ranks[:, :, :, None, :, None], steps.shape)
    return np.take_along_axis(steps, place, axis=4)
