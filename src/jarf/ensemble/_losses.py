"""Losses of boosting: gradients, hessians, starting values and leaves.

A loss does not depend on trees. ``y`` has shape (n_rows, n_raw) in regression and holds class
codes in classification; ``raw`` is the sum of the trees, (n_rows, n_raw), before the link.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from scipy.special import expit, xlogy

from jarf.ensemble._calibration import PRIOR, WARMEST

# Lower bound for hessians of classes, to avoid division by zero.
LEAST_HESSIAN = 1e-12
# Lower bound for class shares and mean counts before the logarithm.
LEAST_SHARE = 1e-9
# Residuals beyond this quantile of their absolute values count linearly in Huber's loss.
HUBER_QUANTILE = 0.9
# Steps of log(power) in the search for the power that calibrates probabilities: for differences,
# and at most. The least curvature prevents long steps where the loss hardly changes.
POWER_STEP, MOST_POWER_STEP, LEAST_CURVATURE = 0.05, 0.5, 1e-3


class Loss(ABC):
    """A loss with its link.

    Parameters
    ----------
    n_raw : int, default=1
        Number of sums of trees.
    """

    title = "loss"  # the common name, shown to users
    link = "identity"

    def __init__(self, n_raw: int = 1):
        self.n_raw = n_raw

    def check(self, y: np.ndarray) -> None:  # noqa: B027
        """Reject responses for which the loss is not defined."""

    @abstractmethod
    def base(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the best constant: (n_raw,)."""

    @abstractmethod
    def gradients(
        self, y: np.ndarray, raw: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients and hessians at the current sums, both (n_rows, n_raw)."""

    @abstractmethod
    def losses(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """Return the loss of every row: (n_rows,)."""


class RefittedLoss(Loss):
    """A loss that is not smooth: leaves are refitted to the rows they hold."""

    @abstractmethod
    def leaf_steps(
        self, residuals: np.ndarray, weights: np.ndarray, leaves: np.ndarray, n_leaves: int
    ) -> np.ndarray:
        """Return the best step of each leaf: (n_leaves,).

        Parameters
        ----------
        residuals, weights, leaves : ndarray of shape (n_rows,)
            ``y - raw``, the rows' weights and the leaves they are in, 0 to n_leaves - 1.
        n_leaves : int
        """


class SquaredError(Loss):
    """Half of the squared error, summed over outputs."""

    title = "squared error"

    def base(self, y, weights):
        return np.average(y, axis=0, weights=weights)

    def gradients(self, y, raw, weights):
        return raw - y, np.ones_like(raw)

    def losses(self, y, raw):
        return ((raw - y) ** 2).sum(axis=1)


class Quantile(RefittedLoss):
    """The pinball loss; its minimum is a quantile.

    Parameters
    ----------
    quantile : float, default=0.5
    """

    title = "pinball loss"

    def __init__(self, quantile: float = 0.5):
        super().__init__()
        self.quantile = quantile

    def base(self, y, weights):
        none = np.zeros(len(y), np.int64)
        return group_quantiles(y[:, 0], weights, none, 1, self.quantile)

    def gradients(self, y, raw, weights):
        return np.where(y >= raw, -self.quantile, 1.0 - self.quantile), np.ones_like(raw)

    def losses(self, y, raw):
        rest = (y - raw)[:, 0]
        return np.where(rest >= 0, self.quantile * rest, (self.quantile - 1.0) * rest)

    def leaf_steps(self, residuals, weights, leaves, n_leaves):
        return group_quantiles(residuals, weights, leaves, n_leaves, self.quantile)


class AbsoluteError(Quantile):
    """The absolute error; its minimum is the median."""

    title = "absolute error"

    def gradients(self, y, raw, weights):
        return -np.sign(y - raw), np.ones_like(raw)

    def losses(self, y, raw):
        return np.abs(y - raw)[:, 0]


class Huber(RefittedLoss):
    """Huber loss: squared error for small residuals, absolute error for large ones.

    The threshold is a quantile of the absolute residuals, computed in each round.
    """

    title = "Huber loss"
    _limit = np.inf

    def base(self, y, weights):
        none = np.zeros(len(y), np.int64)
        return group_quantiles(y[:, 0], weights, none, 1, 0.5)

    def gradients(self, y, raw, weights):
        rest = y - raw
        none = np.zeros(len(y), np.int64)
        self._limit = group_quantiles(np.abs(rest)[:, 0], weights, none, 1, HUBER_QUANTILE)[0]
        return -np.clip(rest, -self._limit, self._limit), np.ones_like(raw)

    def losses(self, y, raw):
        rest, limit = np.abs(y - raw)[:, 0], self._limit
        with np.errstate(invalid="ignore"):
            linear = limit * (2.0 * rest - limit)
        return np.where(rest <= limit, rest**2, linear)

    def leaf_steps(self, residuals, weights, leaves, n_leaves):
        """Return one step towards the minimum: median plus mean clipped deviation from it."""
        median = group_quantiles(residuals, weights, leaves, n_leaves, 0.5)
        rest = np.clip(residuals - median[leaves], -self._limit, self._limit)
        total = np.bincount(leaves, weights, n_leaves)
        mean = np.bincount(leaves, weights * rest, n_leaves) / np.where(total > 0, total, 1.0)
        return median + mean


class Poisson(Loss):
    """Half of the Poisson deviance with a log link; responses must not be negative."""

    title = "Poisson deviance"
    link = "log"

    def check(self, y):
        if (y < 0).any() or not (y > 0).any():
            raise ValueError(
                "loss='poisson' needs responses that are not negative, and one of them above "
                "zero. Use loss='squared_error' for other responses."
            )

    def base(self, y, weights):
        return np.log(np.maximum(np.average(y, axis=0, weights=weights), LEAST_SHARE))

    def gradients(self, y, raw, weights):
        mean = np.exp(raw)
        return mean - y, mean

    def losses(self, y, raw):
        return (np.exp(raw) - y * raw + xlogy(y, y) - y)[:, 0]


class Gamma(Loss):
    """Half of the gamma deviance with a log link; responses must be positive."""

    title = "gamma deviance"
    link = "log"

    def check(self, y):
        if (y <= 0).any():
            raise ValueError(
                "loss='gamma' needs positive responses. Use loss='poisson' where some are zero, "
                "loss='squared_error' where some are negative."
            )

    def base(self, y, weights):
        return np.log(np.average(y, axis=0, weights=weights))

    def gradients(self, y, raw, weights):
        ratio = y * np.exp(-raw)
        return 1.0 - ratio, ratio

    def losses(self, y, raw):
        return (y * np.exp(-raw) + raw - np.log(y) - 1.0)[:, 0]


class Logistic(Loss):
    """Log loss of two classes: a single sum, the log-odds of the second class."""

    title = "log loss"
    link = "logit"

    def base(self, y, weights):
        share = np.clip(np.average(y, weights=weights), LEAST_SHARE, 1.0 - LEAST_SHARE)
        return np.array([np.log(share / (1.0 - share))])

    def gradients(self, y, raw, weights):
        share = expit(raw)
        return share - y[:, None], np.maximum(share * (1.0 - share), LEAST_HESSIAN)

    def losses(self, y, raw):
        return np.logaddexp(0.0, raw[:, 0]) - y * raw[:, 0]


class Softmax(Loss):
    """Log loss of several classes: one sum per class; every leaf holds all of them."""

    title = "log loss"
    link = "softmax"

    def base(self, y, weights):
        shares = np.bincount(y, weights, self.n_raw) / weights.sum()
        return np.log(np.maximum(shares, LEAST_SHARE))

    def gradients(self, y, raw, weights):
        shares = raw - raw.max(axis=1, keepdims=True)
        np.exp(shares, out=shares)
        shares /= shares.sum(axis=1, keepdims=True)
        hessians = 1.0 - shares
        hessians *= shares
        np.maximum(hessians, LEAST_HESSIAN, out=hessians)
        shares[np.arange(len(y)), y] -= 1.0
        return shares, hessians

    def losses(self, y, raw):
        above = raw - raw.max(axis=1, keepdims=True)
        observed = above[np.arange(len(y)), y]
        return np.log(np.exp(above, out=above).sum(axis=1)) - observed


def group_quantiles(
    values: np.ndarray, weights: np.ndarray, groups: np.ndarray, n_groups: int, quantile: float
) -> np.ndarray:
    """Return the weighted quantile of each group: (n_groups,); 0 for a group without rows.

    The quantile is the smallest value at which the cumulative weight reaches the share; if it
    equals the share, the mean of that value and the next. A row of weight two counts as two rows.
    """
    order = np.lexsort((values, groups))
    values, weights, groups = values[order], weights[order], groups[order]
    total = np.bincount(groups, weights, n_groups)
    reached = np.cumsum(weights)
    before = np.concatenate([[0.0], np.cumsum(total)[:-1]])
    wanted = quantile * total
    # Sums of the same weights in different orders may differ in the last bits.
    close = 1e-12 * max(reached[-1], 1e-300)
    share = reached - before[groups]
    sizes = np.bincount(groups, minlength=n_groups)
    last = np.cumsum(sizes) - 1
    n_below = np.bincount(groups, share < wanted[groups] - close, n_groups).astype(np.int64)
    n_upto = np.bincount(groups, share <= wanted[groups] + close, n_groups).astype(np.int64)
    first = np.cumsum(sizes) - sizes
    low = np.clip(first + n_below, 0, np.maximum(last, 0))
    high = np.clip(first + n_upto, 0, np.maximum(last, 0))
    found = 0.5 * values[low] + 0.5 * values[np.where(n_upto > n_below, high, low)]
    return np.where(sizes > 0, found, 0.0)


REGRESSION_LOSSES = ("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma")


def regression_loss(name: str, quantile: float | None, n_outputs: int) -> Loss:
    """Return the regression loss of a given name."""
    if name == "quantile":
        if quantile is None:
            raise ValueError(
                "loss='quantile' needs a quantile between 0 and 1: pass quantile=0.9, for example."
            )
        return Quantile(quantile)
    kinds: dict[str, Callable[[], Loss]] = {
        "squared_error": lambda: SquaredError(n_outputs),
        "absolute_error": AbsoluteError,
        "huber": Huber,
        "poisson": Poisson,
        "gamma": Gamma,
    }
    return kinds[name]()


def classification_loss(n_classes: int) -> Loss:
    """Return the log loss for two or more classes."""
    return Logistic() if n_classes == 2 else Softmax(n_classes)


def best_power(loss: Loss, y, raw: np.ndarray, weights: np.ndarray, start: float) -> float:
    """Return a factor of the sums, at most one, that lowers their loss: one Newton step.

    It is the inverse of the temperature that calibrates the probabilities, found step by step.

    Parameters
    ----------
    loss : Logistic or Softmax
    y, raw, weights : ndarray
        Held-out rows.
    start : float
        The factor before.

    Returns
    -------
    float
    """
    middle = np.log(start)
    tried = middle + POWER_STEP * np.array([-1.0, 0.0, 1.0])
    below, at, above = (
        np.average(loss.losses(y, np.exp(log) * raw), weights=weights)
        + 0.5 * (log / PRIOR) ** 2 / len(y)
        for log in tried
    )
    slope = (above - below) / (2 * POWER_STEP)
    curvature = max((above - 2 * at + below) / POWER_STEP**2, LEAST_CURVATURE)
    step = np.clip(slope / curvature, -MOST_POWER_STEP, MOST_POWER_STEP)
    return float(np.exp(np.clip(middle - step, np.log(1.0 / WARMEST), 0.0)))
