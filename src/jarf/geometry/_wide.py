"""H and the spectrum of an EJOP; for very wide tables, through its sparse factor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from jarf.geometry._map import embedded, preconditioner_matrix, spectrum
from jarf.gradients import EJOP, WIDE_FROM, WideEJOP

# Number of leading eigenvectors of a wide EJOP that are computed instead of all.
N_LEADING = 50


@dataclass(frozen=True, eq=False)
class LowRankPreconditioner:
    """``H = (G' G / weight + gamma I) / unit`` for the features that move, the identity for others.

    ``rows @ H`` is ``(rows G') G`` and never needs H itself.

    Parameters
    ----------
    factor : csr_array of shape (n_gradients, n_features)
        G, already divided by the root of weight times unit; zero where a feature does not move.
    diagonal : ndarray of shape (n_features,)
        ``gamma / unit`` for the features that move, 1 for the others.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from jarf.geometry import LowRankPreconditioner
    >>> H = LowRankPreconditioner(csr_array([[1.0, 2.0]]), np.array([0.5, 0.5]))
    >>> np.eye(2) @ H
    array([[1.5, 2. ],
           [2. , 4.5]])
    """

    factor: csr_array
    diagonal: np.ndarray

    __array_ufunc__ = None  # so that ``array @ H`` uses this class

    @classmethod
    def of(cls, ejop: WideEJOP, gamma: float, normalize: bool, moves) -> LowRankPreconditioner:
        """Apply equations 2 and 3 to the factor."""
        n_moving = max(1, int(moves.sum()))
        unit = ejop.diagonal().sum() / n_moving + gamma
        unit = unit if normalize and unit > 0 else 1.0
        factor = ejop.factor / np.sqrt(ejop.weight * unit)
        return cls(csr_array(factor), np.where(moves, gamma / unit, 1.0))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.diagonal), len(self.diagonal)

    def __rmatmul__(self, rows: np.ndarray) -> np.ndarray:
        return (rows @ self.factor.T) @ self.factor + rows * self.diagonal

    def columns(self, places: np.ndarray) -> np.ndarray:
        """Form some columns of H: (n_features, len(places))."""
        block = np.asarray(self.factor.T @ self.factor[:, places].toarray())
        block[places, np.arange(len(places))] += self.diagonal[places]
        return block


def leading_spectrum(ejop: WideEJOP, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the leading eigenvalues of ``G' G / weight``, falling, and their eigenvectors.

    Computed by a truncated singular value decomposition of G. There are fewer if G has fewer rows.
    """
    factor = ejop.factor[np.diff(ejop.factor.indptr) > 0]
    k = min(n_components, *factor.shape)
    if k == 0:
        return np.empty(0), np.empty((factor.shape[1], 0))
    if k < min(factor.shape) - 1:
        start = np.random.default_rng(0).normal(size=min(factor.shape))
        _, values, vectors = svds(factor, k=k, v0=start)
    else:
        _, values, vectors = np.linalg.svd(factor.toarray(), full_matrices=False)
    order = np.argsort(values)[::-1][:k]
    values, vectors = values[order], vectors[order].T
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(k)]
    return values**2 / ejop.weight, vectors * np.where(largest < 0, -1.0, 1.0)


def ejop_spectrum(ejop: EJOP | WideEJOP) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues, falling, and eigenvectors: all, or the leading ones of a wide EJOP."""
    if isinstance(ejop, WideEJOP):
        return leading_spectrum(ejop, N_LEADING)
    return spectrum(ejop.matrix)


def mapping_matrix(
    ejop: EJOP | WideEJOP, moves: np.ndarray, gamma: float, normalize: bool, n_components=None
) -> np.ndarray | LowRankPreconditioner:
    """Return H of an estimate, or its leading eigenvectors; the identity for other features."""
    if isinstance(ejop, WideEJOP):
        return _wide_matrix(ejop, moves, gamma, normalize, n_components)
    matrix = ejop.matrix
    if not moves.all():
        matrix = matrix[np.ix_(moves, moves)]
    if not moves.any():
        block = matrix
    elif n_components is None:
        block = preconditioner_matrix(matrix, gamma, normalize)
    else:
        block = np.ascontiguousarray(spectrum(matrix)[1][:, :n_components])
    return embedded(block, moves)


def _wide_matrix(ejop: WideEJOP, moves, gamma, normalize, n_components):
    if n_components is None:
        return LowRankPreconditioner.of(ejop, gamma, normalize, moves)
    if not moves.all():
        raise ValueError(
            f"n_components works only for numeric tables above {WIDE_FROM} features: X has "
            "categories or "
            "missing values. Use n_components=None."
        )
    return np.ascontiguousarray(leading_spectrum(ejop, n_components)[1])
