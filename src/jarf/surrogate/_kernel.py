"""A smooth surrogate: kernel regression whose metric is refined by its own EJOP.

The idea is that of recursive feature machines (Radhakrishnan et al., Science 2024): fit a kernel
machine, replace its metric by the mean outer product of its gradients, and fit again. Gradients
have a closed form. The machine uses a bounded number of rows, so its cost does not grow with the
table, except for one pass at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from jarf._sklearn import (
    BaseEstimator,
    ClassifierMixin,
    Interval,
    RegressorMixin,
    check_classification_targets,
    fit_context,
)
from jarf._threads import one_blas_thread

# Rows are compared with the machine's own in blocks of this many.
BLOCK_ROWS = 1024
# Several operations in turn work on blocks of at most this many values (256 KB of float64).
CACHED_VALUES = 2**15
# No square matrix of more columns is formed, nor one of more columns than there are rows.
MAX_SQUARE = 2000


class _KernelSurrogate(BaseEstimator):
    """Laplace kernel ridge regression of every output, with a learned metric."""

    _root: np.ndarray | None

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "n_rows": [Interval(Integral, 2, None, closed="left")],
        "n_refinements": [Interval(Integral, 0, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_rows: int = 1000,
        *,
        n_refinements: int = 3,
        ridge: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_rows = n_rows
        self.n_refinements = n_refinements
        self.ridge = ridge
        self.random_state = random_state

    def _fit_outputs(self, X: np.ndarray, outputs: np.ndarray, observed: np.ndarray) -> Self:
        """Fit to ``outputs`` (n, k); ``observed`` is the output that refines the metric."""
        rows = self._choose_rows(len(X))
        self._mean = X.mean(axis=0)
        scale = X.std(axis=0)
        self._scale = np.where(scale > 0, scale, 1.0)
        self._centre = outputs[rows].mean(axis=0)
        anchors = (X[rows] - self._mean) / self._scale
        target, observed = outputs[rows] - self._centre, observed[rows]
        self._root = None  # of the metric: M = root root'; None: the identity
        # One BLAS thread: the matrices are small, and bits must not depend on the number of cores.
        with one_blas_thread():
            for round_ in range(self.n_refinements + 1):
                self._solve(anchors, target)
                if round_ < self.n_refinements:
                    self._root = metric_root(self._slopes(anchors, observed))
        return self

    def _choose_rows(self, n):
        if n <= self.n_rows:
            return np.arange(n)
        return np.sort(check_random_state(self.random_state).choice(n, self.n_rows, replace=False))

    def _solve(self, anchors, target):
        self._anchors = self._seen(anchors)
        distance = distances(self._anchors, self._anchors)
        sample = distance[:: max(1, len(distance) // 200)]  # the median of some rows is enough
        typical = np.median(sample[sample > 0]) if (sample > 0).any() else 1.0
        self._bandwidth = float(typical)
        kernel = np.exp(distance / -self._bandwidth)
        kernel[np.diag_indices(len(kernel))] += self.ridge
        self._weights = solve_positive(kernel, target)

    def _seen(self, Z):
        """Return standardised rows in coordinates in which the metric is the identity."""
        return Z if self._root is None else Z @ self._root

    def _slopes(self, Z, output):
        """Return gradients at standardised rows, of one output per row."""
        slopes = np.empty((len(Z), Z.shape[1]))
        for start in range(0, len(Z), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            at = self._seen(Z[block])
            distance = distances(at, self._anchors)
            pull = np.exp(distance / -self._bandwidth)
            # d/dz exp(-r/h) = -(z - a) exp(-r/h) / (h r); at an anchor itself it is set to zero.
            pull[distance < 1e-6 * self._bandwidth] = 0.0
            np.maximum(distance, 1e-6 * self._bandwidth, out=distance)
            pull /= distance * self._bandwidth
            pull *= self._weights.T[output[block]]
            slope = pull @ self._anchors - pull.sum(axis=1)[:, None] * at
            slopes[block] = slope if self._root is None else slope @ self._root.T
        return slopes

    def _answer(self, X):
        Z = (X - self._mean) / self._scale
        answer = np.empty((len(Z), self._weights.shape[1]))
        for start in range(0, len(Z), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            distance = distances(self._seen(Z[block]), self._anchors)
            answer[block] = np.exp(distance / -self._bandwidth) @ self._weights
        return answer + self._centre

    def gradients(self, X: np.ndarray, output: np.ndarray) -> np.ndarray:
        """Return gradients of one output per row, in closed form.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        output : ndarray of shape (n_samples,)
            Number of the output (the class, 0 in regression).

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return self._slopes((X - self._mean) / self._scale, output) / self._scale

    def input_gradients(self, X: Any) -> np.ndarray:
        """Return gradients of all outputs, in closed form.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features, n_outputs)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        each = [self.gradients(X, np.full(len(X), c)) for c in range(self._weights.shape[1])]
        return np.stack(each, axis=2)


class KernelSurrogateClassifier(ClassifierMixin, _KernelSurrogate):
    """Kernel machine with a refined metric, for class probabilities.

    Laplace kernel ridge regression of the class indicators on a bounded number of rows, whose
    metric is replaced ``n_refinements`` times by its own EJOP. A surrogate with gradients in
    closed form (``input_gradients``).

    Parameters
    ----------
    n_rows : int, default=1000
        Number of random rows that carry the machine; at most all.
    n_refinements : int, default=3
    ridge : float, default=1e-3
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from jarf.surrogate import KernelSurrogateClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelSurrogateClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.input_gradients(X[:5]).shape
    (5, 4, 3)
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return self._fit_outputs(X, np.eye(len(self.classes_))[codes], codes)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities: the machine's outputs, clipped to [0, 1] and normalised.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        answer = np.clip(self._answer(X), 1e-9, None)
        return answer / answer.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]


class KernelSurrogateRegressor(RegressorMixin, _KernelSurrogate):
    """Kernel machine with a refined metric, for regression.

    See :class:`KernelSurrogateClassifier`.

    Parameters
    ----------
    n_rows : int, default=1000
        Number of random rows that carry the machine; at most all.
    n_refinements : int, default=3
    ridge : float, default=1e-3
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.surrogate import KernelSurrogateRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> y = np.sin(X[:, 0] + X[:, 1])
    >>> model = KernelSurrogateRegressor(random_state=0).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.9
    True
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        self
        """
        shape = np.asarray(y).shape
        several = len(shape) == 2 and shape[1] > 1
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, multi_output=several)
        outputs = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        # The metric is refined by the gradients of all outputs in turn.
        return self._fit_outputs(X, outputs, np.arange(len(X)) % outputs.shape[1])

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        answer = self._answer(X)
        return answer[:, 0] if answer.shape[1] == 1 else answer


def solve_positive(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve a positive definite system; by least squares if rounding made it indefinite."""
    try:
        factor = linalg.cho_factor(matrix, lower=True, check_finite=False)
        return linalg.cho_solve(factor, right, check_finite=False)
    except linalg.LinAlgError:
        return linalg.lstsq(matrix, right, check_finite=False)[0]


def distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the Euclidean distances between the rows of two matrices."""
    apart = A @ B.T
    of_A, of_B = (A * A).sum(axis=1)[:, None], (B * B).sum(axis=1)
    for rows in cached_blocks(apart):
        part = apart[rows]
        part *= 2.0
        np.subtract(of_A[rows] + of_B, part, out=part)
        np.maximum(part, 0.0, out=part)
        np.sqrt(part, out=part)
    return apart


def cached_blocks(matrix: np.ndarray) -> Iterator[slice]:
    """Yield blocks of rows so small that several operations on one find it in the cache."""
    size = max(1, CACHED_VALUES // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), size):
        yield slice(start, start + size)


def metric_root(G: np.ndarray) -> np.ndarray | None:
    """A matrix S with ``S S' = G'G``, scaled to trace d; None: the identity."""
    n, d = G.shape
    trace = np.einsum("ij,ij->", G, G)
    if not trace > 0:
        return None
    if d > min(n, MAX_SQUARE):
        return G.T * np.sqrt(d / trace)
    values, vectors = linalg.eigh((G.T @ G) * (d / trace))
    kept = values > 1e-9 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])
