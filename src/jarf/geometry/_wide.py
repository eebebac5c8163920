"""H of very wide tables: applied through the EJOP's sparse factor, never formed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from jarf.gradients import WideEJOP

# So many leading eigenvectors of a wide EJOP are computed where all would be asked for.
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
    """

    factor: csr_array
    diagonal: np.ndarray

    __array_ufunc__ = None  # so that ``array @ H`` asks this class

    @classmethod
    def of(cls, ejop: WideEJOP, gamma: float, normalize: bool, moves) -> LowRankPreconditioner:
        """Equations 2 and 3 on the factor."""
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

    By a truncated singular value decomposition of G. Fewer come back where G has fewer rows.
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
