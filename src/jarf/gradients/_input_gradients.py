"""Gradients of any surrogate with respect to its inputs, a block of rows at a time.

There are three ways: a model's own gradients, the exact kernel for tree ensembles that can be read,
and finite differences in bounded batches for everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jarf._sklearn import is_classifier
from jarf._threads import thread_map
from jarf.gradients._probes import probe_positions
from jarf.surrogate import output_index, outputs_of, thaw
from jarf.trees import Forest, find_trees, forest_differences

# A batch of probes passed to a generic model holds at most this many values (64 MB of float64).
BATCH_VALUES = 8_000_000
# A block of gradients holds at most this many values (16 MB), and at most this many rows.
BLOCK_VALUES = 2_000_000
BLOCK_ROWS = 256


@dataclass(frozen=True)
class Differences:
    """How gradients are computed: the steps, the range of the data and the rules.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.gradients import Differences
    >>> rule = Differences(np.array([0.5]), np.array([0.0]), np.array([1.0]))
    >>> [side.tolist() for side in rule.positions(np.array([[0.5]]))]
    [[[0.75]], [[0.25]]]
    """

    steps: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scheme: str = "centered"
    boundary: str = "one-sided"
    toggled: np.ndarray | None = None  # features that are probed at the two ends of their range

    def positions(self, X):
        upper, lower = probe_positions(
            X, self.steps, self.low, self.high, self.scheme, self.boundary
        )
        if self.toggled is not None:
            upper[:, self.toggled] = self.high[self.toggled]
            lower[:, self.toggled] = self.low[self.toggled]
        return upper, lower


def gradient_blocks(
    model, X, y, differences: Differences, *, outputs="observed", n_jobs=None
) -> Iterator[np.ndarray]:
    """Yield the gradients of consecutive blocks of rows.

    The blocks do not depend on ``n_jobs``; memory is bounded by a few blocks per job.

    Parameters
    ----------
    model : estimator or Forest
        Fitted surrogate. A forest has no labels: ``y`` then holds numbers of outputs.
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,) or None
        Observed labels, where ``outputs="observed"`` and the model is a classifier.
    differences : Differences
    outputs : {"observed", "all"}
    n_jobs : int, default=None
        Threads for the exact kernel. A generic model parallelises its own predictions.

    Yields
    ------
    ndarray of shape (block, 1 or n_outputs, n_features)
    """
    inner = thaw(model)
    if isinstance(inner, Forest):
        chosen = None if inner.n_outputs == 1 or outputs == "all" else np.asarray(y, np.int32)
        yield from forest_gradients(inner, X, chosen, differences, n_jobs)
        return
    observed = is_classifier(inner) and outputs == "observed"
    output = output_index(inner, y) if observed else None
    if hasattr(inner, "input_gradients"):
        yield from _own(inner, X, output)
        return
    forest = find_trees(inner)
    if forest is None:
        yield from _probed(inner, X, output, differences)
        return
    if forest.link == "logit" and not is_classifier(inner):
        output = np.ones(len(X), np.int32)  # a regressor predicts the second probability only
    yield from forest_gradients(forest, X, output, differences, n_jobs)


def _row_blocks(n_rows: int, values_per_row: int) -> list[slice]:
    size = int(np.clip(BLOCK_VALUES // max(1, values_per_row), 1, BLOCK_ROWS))
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def _own(model, X, output):
    for rows in _row_blocks(len(X), X.shape[1]):
        gradients = np.asarray(model.input_gradients(X[rows]), dtype=np.float64)
        expected = X[rows].shape
        if gradients.shape[:2] != expected or gradients.ndim not in (2, 3):
            raise ValueError(
                f"{type(model).__name__}.input_gradients returned shape {gradients.shape}; "
                f"expected {expected} or {expected} followed by the number of outputs."
            )
        if gradients.ndim == 2:
            yield gradients[:, None, :]
        elif output is None:
            yield gradients.transpose(0, 2, 1)
        else:
            yield gradients[np.arange(len(gradients)), :, output[rows]][:, None, :]


def forest_gradients(
    forest: Forest, X, output, differences: Differences, n_jobs=None
) -> Iterator[np.ndarray]:
    """Yield exact finite differences of a forest, as :func:`gradient_blocks` does.

    Parameters
    ----------
    forest : Forest
    X : ndarray of shape (n_rows, n_features)
    output : ndarray of shape (n_rows,), dtype int32, or None
        The output to differentiate in each row; None means all outputs.
    differences : Differences
    n_jobs : int, default=None

    Yields
    ------
    ndarray of shape (block, 1 or n_outputs, n_features)
    """
    forest.checked()  # once, before threads share it

    def block(rows):
        upper, lower = differences.positions(X[rows])
        chosen = None if output is None else output[rows]
        change = forest_differences(forest, X[rows], upper, lower, chosen)
        return _quotient(change, upper, lower)

    n_kept = forest.n_outputs if output is None else 1
    if forest.link != "identity":  # both sides of every output are held
        n_kept = 2 * forest.n_outputs
    yield from thread_map(block, _row_blocks(len(X), n_kept * X.shape[1]), n_jobs)


def _probed(model, X, output, differences):
    n_features = X.shape[1]
    n_outputs = outputs_of(model, X[:1]).shape[1]
    n_kept = n_outputs if output is None else 1
    for rows in _row_blocks(len(X), n_kept * n_features):
        upper, lower = differences.positions(X[rows])
        chosen = None if output is None else output[rows]
        yield _quotient(_probe_block(model, X[rows], upper, lower, chosen, n_kept), upper, lower)


def _probe_block(model, X, upper, lower, output, n_kept):
    """``f(upper_j) - f(lower_j)`` of a block, as many features at once as a batch holds."""
    n_rows, n_features = X.shape
    change = np.zeros((n_rows, n_kept, n_features))
    moving = np.flatnonzero((upper != lower).any(axis=0))
    at_once = max(1, BATCH_VALUES // (2 * n_rows * n_features))
    for start in range(0, len(moving), at_once):
        features = moving[start : start + at_once]
        k = len(features)
        batch = np.repeat(X[None], 2 * k, axis=0)
        for place, j in enumerate(features):
            batch[place, :, j] = upper[:, j]
            batch[k + place, :, j] = lower[:, j]
        answers = outputs_of(model, batch.reshape(-1, n_features)).reshape(2 * k, n_rows, -1)
        if output is not None:
            answers = answers[:, np.arange(n_rows), output][..., None]
        change[:, :, features] = (answers[:k] - answers[k:]).transpose(1, 2, 0)
    return change


def _quotient(change, upper, lower):
    width = upper - lower
    np.divide(1.0, width, out=width, where=width != 0)
    change *= width[:, None, :]
    return change
