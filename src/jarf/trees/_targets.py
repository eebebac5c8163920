"""Targets of trees: classes, responses, or the Newton steps of boosting.

Each target makes an object of the engine that crosses the border as it is (``crossing``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jarf._native import engine

CRITERIA = ("gini", "entropy")


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """Class numbers.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), int32
        0 to n_classes - 1.
    n_classes : int
    criterion : {"gini", "entropy"}, default="gini"

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.trees import ClassTarget
    >>> target = ClassTarget(np.array([0, 2, 1]), 3)
    >>> target.n_outputs, target.indicators(slice(1)).tolist()
    (3, [[1.0, 0.0, 0.0]])
    """

    labels: np.ndarray
    n_classes: int
    criterion: str = "gini"

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion must be one of {CRITERIA}, got {self.criterion!r}.")
        object.__setattr__(self, "labels", np.ascontiguousarray(self.labels, np.int32))

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    @property
    def n_outputs(self) -> int:
        return self.n_classes

    def first_rows(self) -> list[int]:
        """Find one row of every class, without sorting all rows."""
        return [int(np.argmax(self.labels == label)) for label in np.unique(self.labels)]

    def only(self, rows: Any) -> ClassTarget:
        """Keep some rows."""
        return replace(self, labels=self.labels[rows])

    def indicators(self, rows: Any = slice(None)) -> np.ndarray:
        """Return what a perfect forest would predict at some rows: (n_rows, n_classes)."""
        return np.eye(self.n_classes)[self.labels[rows]]

    def answers(self) -> np.ndarray:
        """Return the target as scikit-learn's estimators take it."""
        return self.labels

    def observed_outputs(self) -> np.ndarray:
        """Return the output that belongs to each row: its class."""
        return self.labels

    def crossing(self) -> Any:
        """Return the engine's object."""
        kind = engine().Gini if self.criterion == "gini" else engine().Entropy
        return kind(self.labels, self.n_classes)


@dataclass(frozen=True, eq=False)
class ResponseTarget:
    """Responses, one or several per row, judged by squared error.

    Parameters
    ----------
    responses : ndarray of shape (n_rows,) or (n_rows, n_outputs)

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.trees import ResponseTarget
    >>> ResponseTarget(np.zeros((5, 2))).n_outputs
    2
    """

    responses: np.ndarray
    n_classes = 0

    def __post_init__(self) -> None:
        responses = np.ascontiguousarray(self.responses, np.float64)
        object.__setattr__(self, "responses", responses.reshape(len(responses), -1))

    @property
    def n_rows(self) -> int:
        return len(self.responses)

    @property
    def n_outputs(self) -> int:
        return self.responses.shape[1]

    def first_rows(self) -> list[int]:
        """Return no rows: there are no classes."""
        return []

    def only(self, rows: Any) -> ResponseTarget:
        """Keep some rows."""
        return replace(self, responses=self.responses[rows])

    def indicators(self, rows: Any = slice(None)) -> np.ndarray:
        """Return what a perfect forest would predict at some rows: (n_rows, n_outputs)."""
        return self.responses[rows]

    def answers(self) -> np.ndarray:
        """Return the target as scikit-learn's estimators take it."""
        return self.responses[:, 0] if self.n_outputs == 1 else self.responses

    def observed_outputs(self) -> np.ndarray:
        """Return one output for each row; of several, all in turn."""
        return (np.arange(self.n_rows) % self.n_outputs).astype(np.int32)

    def standardised(self) -> ResponseTarget:
        """Divide several responses by their standard deviations, so that units do not matter."""
        if self.n_outputs == 1:
            return self
        std = self.responses.std(axis=0)
        return ResponseTarget(self.responses / np.where(std > 0, std, 1.0))

    def crossing(self) -> Any:
        """Return the engine's object."""
        return engine().SquaredError(self.responses)


@dataclass(frozen=True, eq=False)
class NewtonTarget:
    """Gradients and hessians of a loss: one Newton step of boosting.

    A node of sums G and H scores ``G**2 / (H + l2_regularization)``, added over outputs; a leaf
    holds ``-G / (H + l2_regularization)``.

    Parameters
    ----------
    gradients, hessians : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    l2_regularization : float, default=0.0
    min_hessian : float, default=0.0
        A split must leave hessians of this sum, averaged over outputs, on either side.
    monotonic : array-like of shape (n_columns,), default=None
        Monotone constraints of one output: 1 where predictions must not decrease along a column,
        -1 where they must not increase, 0 elsewhere. None: no constraints. Constrained columns
        are split as axes only. Directions with a nonzero loading on one of them are not tried and
        do not count as candidates: set gradients of constrained columns to zero in
        ``GradientDraws``, their chances in ``CanonicalCorrelation`` and their scales in
        ``SparseRandom``, so that the directions drawn are free of them.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.trees import NewtonTarget
    >>> NewtonTarget(np.zeros(5), np.ones(5)).n_outputs
    1
    """

    gradients: np.ndarray
    hessians: np.ndarray
    l2_regularization: float = 0.0
    min_hessian: float = 0.0
    monotonic: np.ndarray | None = None
    n_classes = 0

    def __post_init__(self) -> None:
        for name in ("gradients", "hessians"):
            array = np.ascontiguousarray(getattr(self, name), np.float64)
            object.__setattr__(self, name, array.reshape(len(array), -1))
        if self.monotonic is not None:
            object.__setattr__(self, "monotonic", self._signs(np.asarray(self.monotonic)))

    def _signs(self, monotonic: np.ndarray) -> np.ndarray | None:
        """Check the constraints; None if no column has one."""
        if monotonic.ndim != 1 or not np.isin(monotonic, (-1, 0, 1)).all():
            raise ValueError(
                "monotonic must hold -1, 0 or 1 for each column, in one dimension; got "
                f"{monotonic.tolist()!r}."
            )
        if not monotonic.any():
            return None
        if self.n_outputs > 1:
            raise ValueError(
                f"monotonic is supported for one output, got gradients of {self.n_outputs}: grow "
                "one tree per output, or remove the constraints."
            )
        return np.ascontiguousarray(monotonic, np.int8)

    @property
    def n_rows(self) -> int:
        return len(self.gradients)

    @property
    def n_outputs(self) -> int:
        return self.gradients.shape[1]

    def only(self, rows: Any) -> NewtonTarget:
        """Keep some rows."""
        return replace(self, gradients=self.gradients[rows], hessians=self.hessians[rows])

    def leaf_values(self, weights: np.ndarray, leaves: np.ndarray, n_leaves: int) -> np.ndarray:
        """Return what leaves hold: (n_leaves, n_outputs).

        Parameters
        ----------
        weights : ndarray of shape (n_rows,)
        leaves : ndarray of shape (n_rows,) of int32
            The leaf of every row; -1: none.
        n_leaves : int
        """
        sums = np.zeros((2, n_leaves, self.n_outputs))
        for total, each in zip(sums, (self.gradients, self.hessians), strict=True):
            engine().add_by_group(each, weights, leaves, total)
        steps, hessians = -sums[0], sums[1] + self.l2_regularization
        return np.where(hessians > 1e-16, steps / np.where(hessians > 1e-16, hessians, 1.0), 0.0)

    def crossing(self) -> Any:
        """Return the engine's object."""
        steps = self.gradients, self.hessians, self.l2_regularization, self.min_hessian
        if self.monotonic is None:
            return engine().Newton(*steps)
        return engine().MonotoneNewton(*steps, self.monotonic)


Target = ClassTarget | ResponseTarget
