"""The expected Jacobian outer product, as a sum with a count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from jarf._sklearn import check_sample_weight, is_classifier
from jarf.gradients._input_gradients import Differences, gradient_blocks
from jarf.gradients._outer_products import add_outer_products
from jarf.gradients._probes import difference_steps
from jarf.gradients._wide import WIDE_FROM, WideEJOP
from jarf.surrogate import check_surrogate, thaw
from jarf.table import check_numbers


@dataclass(frozen=True, eq=False)
class EJOP:
    """An estimate of the expected Jacobian outer product.

    It is kept as a sum and the weight behind it, so that ``a + b`` of two estimates is
    exactly the estimate from the probes of both.

    Parameters
    ----------
    total : ndarray of shape (n_features, n_features)
        Weighted sum of the gradients' outer products.
    weight : float
        Sum of the weights; the number of probes if all weights are one.
    n_probes : int
        Number of rows at which the model was differentiated.
    gradients : ndarray of shape (n_probes, n_outputs, n_features), default=None
        The gradients themselves, if they were asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import EJOP
    >>> a = EJOP(total=np.diag([4.0, 0.0]), weight=4.0, n_probes=4)
    >>> b = EJOP(total=np.diag([0.0, 1.0]), weight=1.0, n_probes=1)
    >>> (a + b).matrix
    array([[0.8, 0. ],
           [0. , 0.2]])
    """

    total: np.ndarray
    weight: float
    n_probes: int
    gradients: np.ndarray | None = None

    @property
    def matrix(self) -> np.ndarray:
        """The mean outer product, shape (n_features, n_features)."""
        return self.total / self.weight

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.asarray(self.matrix, dtype=dtype)

    def diagonal(self) -> np.ndarray:
        """Mean squared derivative along each feature."""
        return np.diag(self.total) / self.weight

    def rescaled(self, scale: np.ndarray) -> EJOP:
        """The estimate in coordinates ``z = x / scale``, by the chain rule.

        Parameters
        ----------
        scale : ndarray of shape (n_features,)

        Returns
        -------
        EJOP
        """
        gradients = None if self.gradients is None else self.gradients * scale
        return EJOP(self.total * np.outer(scale, scale), self.weight, self.n_probes, gradients)

    def __add__(self, other: EJOP) -> EJOP:
        if not isinstance(other, EJOP):
            return NotImplemented
        if self.total.shape != other.total.shape:
            raise ValueError(
                f"Cannot add estimates over {len(self.total)} and {len(other.total)} features."
            )
        both = self.gradients is not None and other.gradients is not None
        return EJOP(
            self.total + other.total,
            self.weight + other.weight,
            self.n_probes + other.n_probes,
            np.concatenate([self.gradients, other.gradients]) if both else None,
        )


def expected_jacobian_outer_product(
    model,
    X,
    y=None,
    *,
    step=0.1,
    step_rule="auto",
    scheme="centered",
    boundary="one-sided",
    outputs="observed",
    feature_range=None,
    sample_weight=None,
    return_gradients=False,
    n_jobs=None,
) -> EJOP | WideEJOP:
    """Estimate the expected Jacobian outer product of a fitted model (equation 1).

    Parameters
    ----------
    model : estimator
        Fitted. Tree ensembles are differentiated exactly by the native kernel: the forests of this
        library, trees, forests and gradient boosting of scikit-learn, XGBoost and LightGBM (splits
        on categories excepted), boosted margins passed through their link. A model with a method
        ``input_gradients(X)`` provides its own gradients, of shape (n, d) or (n, d, n_outputs); any
        other model with ``predict_proba`` (a classifier) or ``predict`` is probed, in batches of at
        most 64 MB. A ``FrozenEstimator`` is unwrapped.
    X : array-like of shape (n_probes, n_features)
        The rows to differentiate at.
    y : array-like of shape (n_probes,), default=None
        Observed labels: needed for a classifier with ``outputs="observed"``.
    step : float, default=0.1
        Step alpha of the rule.
    step_rule : {"auto", "mad", "global"} or array-like of shape (n_features,), default="auto"
        Distance between the two probes of feature j. "mad": ``alpha * MAD_j / 0.6745`` (the
        standard deviation where the MAD is zero), the paper's rule. "auto": the same, but never
        too short to reach the next value of the column; a shorter step of a column of integers
        would cross no cut of a tree. "global": one step for all features. An array holds the
        steps themselves.
    scheme : {"centered", "forward"}, default="centered"
        Probes at ``x -+ step / 2``, or at ``x`` and ``x + step``. The paper's experiments
        write ``x -+ step``: that is twice the step.
    boundary : {"one-sided", "clip", "none"}, default="one-sided"
        What to do with a probe beyond the range of its feature: use ``x`` in its place, use the end
        of the range, or leave it there.
    outputs : {"observed", "all"}, default="observed"
        In classification, the gradient of the observed class's probability (the paper's
        estimator) or the sum over all classes (its equation 1).
    feature_range : tuple of two array-like of shape (n_features,), default=None
        Lowest and highest value of each feature; by default those of ``X``. To compute in batches,
        pass the same range and the same array of steps for all.
    sample_weight : array-like of shape (n_probes,), default=None
    return_gradients : bool, default=False
        Keep the gradients on the result.
    n_jobs : int, default=None
        Threads for the exact kernel; the result does not depend on it.

    Returns
    -------
    EJOP
        ``.matrix``, ``.n_probes``, ``.gradients``; add two to merge them. Above 5,000 features a
        :class:`jarf.gradients.WideEJOP`, which holds a sparse factor instead of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from jarf import expected_jacobian_outer_product
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = LinearRegression().fit(X, 3 * X[:, 0] - X[:, 1])
    >>> expected_jacobian_outer_product(model, X).matrix.round(6)
    array([[ 9., -3.],
           [-3.,  1.]])
    """
    _check_choices(scheme, boundary, outputs)
    check_is_fitted(thaw(model))
    classification = is_classifier(thaw(model))
    check_surrogate(model, classification)
    check_numbers(X)
    X = check_array(X, dtype=[np.float64, np.float32], input_name="X")
    if classification and outputs == "observed":
        if y is None:
            raise ValueError(
                "outputs='observed' differentiates the probability of each row's own class and "
                "needs y; pass it, or use outputs='all'."
            )
        y = np.asarray(y).ravel()
        check_consistent_length(X, y)
    steps = difference_steps(X, step, step_rule, scheme=scheme)
    low, high = (X.min(axis=0), X.max(axis=0)) if feature_range is None else feature_range
    differences = Differences(steps, np.asarray(low), np.asarray(high), scheme, boundary)
    weights = None if sample_weight is None else check_sample_weight(sample_weight, X)
    blocks = gradient_blocks(model, X, y, differences, outputs=outputs, n_jobs=n_jobs)
    return sum_blocks(blocks, X.shape[1], weights, return_gradients)


def sum_blocks(blocks, n_features, weights=None, keep=False) -> EJOP | WideEJOP:
    """Add up the outer products of blocks of gradients, in their order.

    Above ``WIDE_FROM`` features the gradients are kept as a sparse factor instead.

    Parameters
    ----------
    blocks : iterable of ndarray of shape (block, n_outputs, n_features)
    n_features : int
    weights : ndarray of shape (n_probes,), default=None
    keep : bool, default=False
        Keep the gradients on the result.

    Returns
    -------
    EJOP or WideEJOP
    """
    if n_features > WIDE_FROM:
        return _sum_wide(blocks, n_features, weights, keep)
    lower = np.zeros((n_features, n_features))
    kept = []
    done = 0
    for block in blocks:
        rows = slice(done, done + len(block))
        done += len(block)
        add_outer_products(
            lower,
            block.reshape(-1, n_features),
            None if weights is None else np.repeat(weights[rows], block.shape[1]),
        )
        if keep:
            kept.append(block)
    total = np.tril(lower) + np.tril(lower, -1).T
    weight = float(done if weights is None else weights.sum())
    _check_sums(total, weight)
    return EJOP(total, weight, done, np.concatenate(kept) if keep else None)


def _sum_wide(blocks, n_features, weights, keep) -> WideEJOP:
    if keep:
        raise ValueError(
            f"Gradients of {n_features} features are not kept individually above {WIDE_FROM}: an H "
            "for each tree (share='per-tree') and return_gradients=True are for narrower tables."
        )
    ejop = WideEJOP.of_blocks(blocks, n_features, weights)
    _check_sums(ejop.factor.data, ejop.weight)
    return ejop


def _check_sums(values, weight):
    if not np.isfinite(values).all():
        raise ValueError(
            "The surrogate's gradients are not finite. Look for overflow in its outputs, or for "
            "features in extreme units."
        )
    if not weight > 0:
        raise ValueError("The weights of all probes are zero: there is nothing to average.")


def _check_choices(scheme, boundary, outputs):
    for name, value, allowed in (
        ("scheme", scheme, ("centered", "forward")),
        ("boundary", boundary, ("one-sided", "clip", "none")),
        ("outputs", outputs, ("observed", "all")),
    ):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {value!r}.")
