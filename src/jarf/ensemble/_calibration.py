"""Calibration of probabilities by one temperature, fitted on held-out rows.

The mean over trees is underconfident: it rarely predicts 0.99, even for rows where 99 of 100
predictions are correct. Raising probabilities to a power corrects this. It keeps the order of the
classes, so that no predicted class changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

# One of these is added to every probability, so that none is zero.
FLOORS = (1 / 400, 1e-4, 1e-6)
# Temperatures are searched between these.
COLDEST, WARMEST = 0.1, 4.0
# Standard deviation of the normal prior of log(temperature). The prior prevents extreme confidence
# if there are few rows and all are predicted correctly.
PRIOR = 0.5
# With fewer held-out rows, probabilities are not calibrated.
MIN_ROWS = 20
# Bins of the expected calibration error.
N_BINS = 15


@dataclass(frozen=True)
class Calibration:
    """The temperature that calibrates probabilities, with its effect on held-out rows.

    A probability p becomes ``(p + floor) ** (1 / temperature)``, scaled so that a row sums to one.
    A temperature below 1 makes predictions more confident. Print it for a summary.

    Parameters
    ----------
    temperature : float, default=1.0
    floor : float, default=1/400
        1/400, 1e-4 or 1e-6, whichever gives the smaller log loss.
    n_rows : int, default=0
        Number of held-out rows that it was fitted on.
    log_loss : tuple of two float, default=(nan, nan)
        Log loss on these rows, before and after calibration.
    calibration_error : tuple of two float, default=(nan, nan)
        Expected calibration error on these rows, before and after: the mean distance between the
        confidence in the predicted class and its accuracy, over 15 bins of equal row counts.
    reason : str, default=""
        Why no temperature was fitted, if so; probabilities are then left unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.ensemble import Calibration
    >>> soft = np.repeat([[0.7, 0.3], [0.3, 0.7]], 50, axis=0)
    >>> labels = np.repeat([0, 1], 50)
    >>> labels[[0, 99]] = 1, 0
    >>> found = Calibration.fit(soft, labels)
    >>> found.apply(soft[:1]).round(2)
    array([[0.96, 0.04]])
    """

    temperature: float = 1.0
    floor: float = FLOORS[0]
    n_rows: int = 0
    log_loss: tuple[float, float] = (np.nan, np.nan)
    calibration_error: tuple[float, float] = (np.nan, np.nan)
    reason: str = ""

    @classmethod
    def fit(
        cls, probabilities: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None
    ) -> Calibration:
        """Fit the temperature by weighted log loss.

        Parameters
        ----------
        probabilities : ndarray of shape (n_rows, n_classes)
            Predictions for rows that the model did not see.
        labels : ndarray of shape (n_rows,)
            Class numbers.
        weights : ndarray of shape (n_rows,), default=None

        Returns
        -------
        Calibration
        """
        n, n_classes = probabilities.shape
        if n < MIN_ROWS:
            return cls(reason=f"{n} held-out rows are fewer than the {MIN_ROWS} that it needs")
        if n_classes < 2:
            return cls(n_rows=n, reason="there is only one class")
        weights = np.ones(n) if weights is None else weights
        tried = [(*_best_power(probabilities + f, labels, weights), f) for f in FLOORS]
        _, power, floor = min(tried)
        found = cls(1.0 / power, floor, n)
        both = probabilities, found.apply(probabilities)
        return cls(
            found.temperature,
            floor,
            n,
            _pair([_log_loss(each, labels, weights) for each in both]),
            _pair([expected_calibration_error(each, labels, weights) for each in both]),
        )

    def apply(self, probabilities: np.ndarray) -> np.ndarray:
        """Return calibrated probabilities; the most probable class of a row stays the same.

        Parameters
        ----------
        probabilities : ndarray of shape (n_rows, n_classes)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        if self.reason:
            return probabilities
        logs = np.log(probabilities + self.floor)
        logs -= logs.max(axis=1, keepdims=True)
        shares = np.exp(logs / self.temperature)
        shares /= shares.sum(axis=1, keepdims=True)
        # Nearly equal classes may have become equal by rounding, and argmax would pick the first.
        best = probabilities.argmax(axis=1)
        moved = np.flatnonzero(shares.argmax(axis=1) != best)
        shares[moved, best[moved]] = np.nextafter(shares[moved].max(axis=1), 2.0)
        return shares

    def __str__(self) -> str:
        if self.reason:
            return f"Probabilities are not calibrated: {self.reason}."
        confident = "more" if self.temperature < 1 else "less"
        (loss, after), (error, error_after) = self.log_loss, self.calibration_error
        return (
            f"Temperature {self.temperature:.3f}: predictions become {confident} confident.\n"
            f"On {self.n_rows} held-out rows the log loss goes from {loss:.4f} to {after:.4f},\n"
            f"the expected calibration error from {error:.4f} to {error_after:.4f}."
        )


def expected_calibration_error(
    probabilities: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None = None,
    n_bins: int = N_BINS,
) -> float:
    """Return the mean distance between confidence and accuracy of the predicted class.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
    labels : ndarray of shape (n_rows,)
        Class numbers.
    weights : ndarray of shape (n_rows,), default=None
    n_bins : int, default=15
        Bins hold about the same number of rows; rows of equal confidence share a bin.

    Returns
    -------
    float
    """
    weights = np.ones(len(labels)) if weights is None else weights
    confidence = probabilities.max(axis=1)
    gaps = (probabilities.argmax(axis=1) == labels) - confidence
    edges = np.quantile(confidence, np.linspace(0, 1, n_bins + 1)[1:-1])
    bins = np.searchsorted(edges, confidence, side="right")
    return float(np.abs(np.bincount(bins, weights * gaps)).sum() / weights.sum())


def _best_power(
    probabilities: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """Return the smallest penalised log loss and the power that attains it."""
    n, logs = len(labels), np.log(probabilities)
    observed = logs[np.arange(n), labels]

    def loss(log_power: float) -> float:
        power = np.exp(log_power)
        rows = _log_sums(power * logs) - power * observed
        return float(np.average(rows, weights=weights) + (log_power / PRIOR) ** 2 / (2 * n))

    bounds = (-np.log(WARMEST), -np.log(COLDEST))
    found = minimize_scalar(loss, bounds=bounds, method="bounded")
    return float(found.fun), float(np.exp(found.x))


def _log_sums(scaled: np.ndarray) -> np.ndarray:
    most = scaled.max(axis=1)
    return most + np.log(np.exp(scaled - most[:, None]).sum(axis=1))


def _log_loss(probabilities: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """Return the weighted log loss, with probabilities clipped as in scikit-learn."""
    least = np.finfo(np.float64).eps
    observed = np.clip(probabilities[np.arange(len(labels)), labels], least, 1.0)
    return float(np.average(-np.log(observed), weights=weights))


def _pair(values: list[float]) -> tuple[float, float]:
    return values[0], values[1]
