"""Weights of an ensemble's members, chosen by their predictions of held-out rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Number of greedy additions; more additions give finer weights.
N_ADDED = 40
# Members with a smaller weight are dropped.
LEAST_WEIGHT = 0.05
# Lower bound for probabilities in the log loss.
LEAST_PROBABILITY = 1e-4

Losses = Callable[[np.ndarray], np.ndarray]


def squared_errors(observed: np.ndarray) -> Losses:
    """Return a function from predictions to the squared error of each row."""
    return lambda means: ((means - observed) ** 2).sum(axis=1)


def log_losses(observed: np.ndarray) -> Losses:
    """Return a function from probabilities to the log loss of each row."""
    labels = observed.argmax(axis=1)

    def losses(means: np.ndarray) -> np.ndarray:
        named = means[np.arange(len(labels)), labels]
        return -np.log(np.maximum(named, LEAST_PROBABILITY))

    return losses


def greedy_weights(predictions: np.ndarray, losses: Losses, weights: np.ndarray) -> np.ndarray:
    """Return weights by greedy ensemble selection (Caruana et al., ICML 2004).

    Each step adds the member that reduces the loss most; a member may be added repeatedly.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_rows, n_outputs)
        Predictions of rows that the members did not see.
    losses : callable
        Maps predictions to the loss of each row.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members,)
        Non-negative, with sum one; zero for members that do not reduce the loss.
    """

    def loss(total: np.ndarray) -> float:
        return float(np.average(losses(total), weights=weights))

    counts = np.zeros(len(predictions))
    total, history = np.zeros(predictions.shape[1:]), []
    for size in range(1, N_ADDED + 1):
        found = [loss((total + each) / size) for each in predictions]
        member = int(np.argmin(found))
        counts[member] += 1
        total = total + predictions[member]
        history.append((found[member], counts / size))
    best = min(value for value, _ in history)
    # Among equally good steps the last one: its weights are the finest.
    shares = next(s for value, s in reversed(history) if value <= best + 1e-9 * abs(best))
    shares[shares < LEAST_WEIGHT] = 0.0
    return shares / shares.sum()
