"""The EJOP of very wide tables: its sparse factor, never the matrix itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

# Above this many features no matrix of features by features is formed.
WIDE_FROM = 5_000


@dataclass(frozen=True, eq=False)
class WideEJOP:
    """An estimate of the EJOP as ``G' G / weight``, G the probes' weighted gradients.

    Gradients of trees are sparse: a probe changes a prediction only where it crosses a threshold.
    So the memory of G is proportional to the number of changes, not to the square of the number of
    features. As with :class:`EJOP`, ``a + b`` is the estimate from the probes of both.

    Parameters
    ----------
    factor : csr_array of shape (n_gradients, n_features)
        Gradients, each times the root of its weight.
    weight : float
        Sum of the weights.
    n_probes : int

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from jarf.gradients import WideEJOP
    >>> a = WideEJOP(csr_array(np.array([[2.0, 0.0]])), weight=1.0, n_probes=1)
    >>> b = WideEJOP(csr_array(np.array([[0.0, 1.0]])), weight=1.0, n_probes=1)
    >>> (a + b).matrix
    array([[2. , 0. ],
           [0. , 0.5]])
    """

    factor: csr_array
    weight: float
    n_probes: int
    gradients = None

    @classmethod
    def of_blocks(cls, blocks, n_features: int, weights=None) -> WideEJOP:
        """Stack blocks of gradients of shape (block, n_outputs, n_features)."""
        parts = []
        done = 0
        for block in blocks:
            rows = slice(done, done + len(block))
            done += len(block)
            part = csr_array(block.reshape(-1, n_features))
            if weights is not None:
                roots = np.sqrt(np.repeat(weights[rows], block.shape[1]))
                part.data *= np.repeat(roots, np.diff(part.indptr))
            parts.append(part)
        weight = float(done if weights is None else weights.sum())
        return cls(csr_array(vstack(parts)), weight, done)

    @property
    def matrix(self) -> np.ndarray:
        """The mean outer product, where it is small enough to be formed."""
        n_features = self.factor.shape[1]
        if n_features > WIDE_FROM:
            raise ValueError(
                f"The EJOP of {n_features} features is not formed as a matrix above {WIDE_FROM}. "
                "Use its factor or diagonal()."
            )
        return (self.factor.T @ self.factor).toarray() / self.weight

    def diagonal(self) -> np.ndarray:
        """Mean squared derivative along each feature."""
        squares = np.square(self.factor.data)
        return np.bincount(self.factor.indices, squares, self.factor.shape[1]) / self.weight

    def rescaled(self, scale: np.ndarray) -> WideEJOP:
        """The estimate in coordinates ``z = x / scale``, by the chain rule."""
        factor = self.factor.copy()
        factor.data *= scale[factor.indices]
        return WideEJOP(factor, self.weight, self.n_probes)

    def __add__(self, other: WideEJOP) -> WideEJOP:
        if not isinstance(other, WideEJOP):
            return NotImplemented
        if self.factor.shape[1] != other.factor.shape[1]:
            raise ValueError(
                f"Cannot add estimates over {self.factor.shape[1]} and {other.factor.shape[1]} "
                "features."
            )
        return WideEJOP(
            csr_array(vstack([self.factor, other.factor])),
            self.weight + other.weight,
            self.n_probes + other.n_probes,
        )
