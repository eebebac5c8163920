"""From the EJOP to the linear map of the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg

# Rows are mapped in blocks of at most this many values (8 MB of float64).
BLOCK_VALUES = 1_000_000
# Importances are credited this many mapped columns at a time.
CREDIT_COLUMNS = 256
# Values are clipped here: sums of such values still fit into float32.
FARTHEST = 1e30


def preconditioner_matrix(ejop: np.ndarray, gamma: float = 1e-3, normalize: bool = True):
    """``H = EJOP + gamma I`` (equation 2), divided by its mean eigenvalue (equation 3).

    Parameters
    ----------
    ejop : ndarray of shape (n_features, n_features)
    gamma : float, default=1e-3
    normalize : bool, default=True
        Divide by ``trace(H) / d``. A matrix of zeros stays as it is.

    Returns
    -------
    ndarray of shape (n_features, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.geometry import preconditioner_matrix
    >>> preconditioner_matrix(np.diag([3.0, 1.0]), gamma=0.0)
    array([[1.5, 0. ],
           [0. , 0.5]])
    """
    H = ejop + gamma * np.eye(len(ejop))
    mean_eigenvalue = np.trace(H) / len(H)
    return H / mean_eigenvalue if normalize and mean_eigenvalue > 0 else H


def embedded(block: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return a matrix that maps the features in ``moves`` by ``block`` and passes others through.

    Parameters
    ----------
    block : ndarray of shape (n_moving, n_components)
    moves : ndarray of shape (n_features,) of bool

    Returns
    -------
    ndarray
        A square block keeps the positions of its features; otherwise components come first,
        followed by the features that pass through.
    """
    if moves.all():
        return block
    n_features, (n_moving, n_components) = len(moves), block.shape
    if n_components == n_moving:
        matrix = np.eye(n_features)
        matrix[np.ix_(moves, moves)] = block
        return matrix
    matrix = np.zeros((n_features, n_components + n_features - n_moving))
    matrix[moves, :n_components] = block
    matrix[~moves, n_components:] = np.eye(n_features - n_moving)
    return matrix


def spectrum(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return non-negative eigenvalues in descending order, and their eigenvectors as columns.

    The sign of an eigenvector is fixed by making its largest entry positive.
    """
    values, vectors = linalg.eigh(matrix)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))]
    return values, vectors * np.where(largest < 0, -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class LinearMap:
    """``x -> ((x - mean) / scale) @ matrix`` (equation 4), in blocks of rows.

    Parameters
    ----------
    mean, scale : ndarray of shape (n_features,)
    matrix : ndarray or LowRankPreconditioner, (n_features, n_components), default=None
        None only standardises.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.geometry import LinearMap
    >>> linear = LinearMap(np.array([1.0, 1.0]), np.array([2.0, 1.0]), np.eye(2))
    >>> linear.transform(np.array([[3.0, 4.0]]))
    array([[1., 3.]])
    """

    mean: np.ndarray
    scale: np.ndarray
    matrix: Any = None

    def transform(self, X: np.ndarray, order: Literal["C", "F"] = "C") -> np.ndarray:
        """Map the rows of ``X``, keeping its float type, in the given memory order."""
        width = X.shape[1] if self.matrix is None else self.matrix.shape[1]
        mapped = np.empty((len(X), width), dtype=X.dtype, order=order)
        size = max(1, BLOCK_VALUES // X.shape[1])
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            block = self.standardised(X[rows])
            mapped[rows] = block if self.matrix is None else block @ self.matrix
        return mapped

    def standardised(self, X: np.ndarray) -> np.ndarray:
        """Centre and scale rows; values are clipped to ``FARTHEST``."""
        with np.errstate(over="ignore"):
            block = X - self.mean
            block /= self.scale
        if block.size and max(block.max(), -block.min()) > FARTHEST:
            np.clip(block, -FARTHEST, FARTHEST, out=block)
        return block

    def inverse_transform(self, Z: np.ndarray) -> np.ndarray:
        """Invert :meth:`transform`; a singular matrix is an error."""
        assert self.matrix is not None
        d, r = self.matrix.shape
        if not isinstance(self.matrix, np.ndarray):
            raise ValueError(f"The map of {d} features is kept in factors and cannot be inverted.")
        if r < d:
            raise ValueError(
                f"The map keeps {r} of {d} directions and cannot be inverted. Fit with "
                "n_components=None to invert it."
            )
        with np.errstate(all="ignore"):
            condition = np.linalg.cond(self.matrix)
        if not condition < 1 / np.finfo(np.float64).eps:
            raise ValueError(
                "The preconditioner H is singular and cannot be inverted. Fit with gamma > 0."
            )
        x = linalg.solve(self.matrix.T, Z.T.astype(np.float64)).T
        return (x * self.scale + self.mean).astype(Z.dtype, copy=False)

    def credit(self, importances: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Share importances of mapped columns among the original features.

        The importance of a column ``z = sum_j w_j x_j`` is divided in proportion to ``(w_j *
        spread_j)**2``: the features' shares of its variance if they were uncorrelated.

        Parameters
        ----------
        importances : ndarray of shape (n_components,)
        spread : ndarray of shape (n_features,)
            Standard deviation of each original feature.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        assert self.matrix is not None
        credit = np.zeros(len(spread))
        used = np.flatnonzero(importances)
        for start in range(0, len(used), CREDIT_COLUMNS):
            places = used[start : start + CREDIT_COLUMNS]
            columns = self.columns(places)
            part = np.abs(columns * (spread / self.scale)[:, None])
            largest = part.max(axis=0, initial=0.0)
            # In units of the largest value, because squares of extreme values overflow.
            share = (part / np.where(largest > 0, largest, 1.0)) ** 2
            total = share.sum(axis=0)
            credit += (share / np.where(total > 0, total, 1.0)) @ importances[places]
        return credit

    def columns(self, places: np.ndarray) -> np.ndarray:
        """Form some columns of the matrix: (n_features, len(places))."""
        if isinstance(self.matrix, np.ndarray):
            return self.matrix[:, places]
        return self.matrix.columns(places)
