"""Alignment of directions with the leading eigenspace of the EJOP."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse, stats

MAX_K = 20
# If there are more normals than this, a random sample is used.
MAX_NORMALS = 100_000


def alignment_curve(normals: Any, eigenvectors: np.ndarray, max_k: int = MAX_K) -> np.ndarray:
    """s_k = ||U_k' n||^2 for each unit normal (rows) and k = 1..max_k (columns).

    Parameters
    ----------
    normals : ndarray or sparse array of shape (n_normals, n_features)
        Rows of length one.
    eigenvectors : ndarray of shape (n_features, n_vectors)
        Columns, the leading one first.
    max_k : int, default=20

    Returns
    -------
    ndarray of shape (n_normals, min(max_k, n_vectors))

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.geometry import alignment_curve
    >>> alignment_curve(np.array([[0.6, 0.8]]), np.eye(2)).round(2)
    array([[0.36, 1.  ]])
    """
    top = np.ascontiguousarray(eigenvectors[:, :max_k])
    parts = np.asarray(normals @ top)
    return np.minimum(np.cumsum(parts**2, axis=1), 1.0)


def random_alignment(d: int, max_k: int = MAX_K) -> np.ndarray:
    """Median of s_k for a direction drawn at random on the sphere: a Beta distribution.

    Its mean is k / d.
    """
    k = np.arange(1, min(max_k, d) + 1)
    return np.where(k == d, 1.0, stats.beta.median(k / 2, np.maximum(d - k, 1) / 2))


def normals_alignment(normals, scale, eigenvectors, mixed, max_k=MAX_K, seed=0) -> np.ndarray:
    """Return the alignment of cuts with eigenvectors given in standard deviations.

    Only columns that H mixes count: normals are restricted to them, and cuts that use none of them
    are left out.

    Parameters
    ----------
    normals : sparse array of shape (n_cuts, n_features)
        In the units of the columns, of any length.
    scale : ndarray of shape (n_features,)
        Standard deviations.
    eigenvectors : ndarray of shape (n_mixed, n_vectors)
    mixed : ndarray
        Indices of the columns that H mixes.
    max_k, seed : int
        ``seed`` draws a sample of more than 100,000 normals.

    Returns
    -------
    ndarray of shape (n_normals, n_k)
    """
    normals = sparse.csr_array(normals)
    if normals.shape[0] > MAX_NORMALS:
        rng = np.random.default_rng(seed)
        normals = normals[np.sort(rng.choice(normals.shape[0], MAX_NORMALS, replace=False))]
    scaled = sparse.csr_array(normals.multiply(scale))[:, mixed]
    return alignment_curve(_unit_rows(scaled), eigenvectors, max_k)


def _unit_rows(matrix: Any) -> Any:
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    keep = norms > 0
    return sparse.csr_array(matrix[keep].multiply(1.0 / norms[keep, None]))


def eigenvector_alignment(
    first: np.ndarray, second: np.ndarray, k: int = 10
) -> tuple[float, float]:
    """Return the similarity of two sets of leading eigenvectors, by two measures.

    The mean absolute cosine between the i-th vectors of both, i = 1..k (the paper's wording), and
    the mean cosine of the principal angles between two spans, which does not depend on their order.
    The spans have k vectors too, but at most d / 2: all d would always agree.
    """
    pairs = (first[:, :k] * second[:, :k]).sum(axis=0)
    few = min(k, max(len(first) // 2, 1))
    cosines = np.linalg.svd(first[:, :few].T @ second[:, :few], compute_uv=False)
    return float(np.abs(pairs).mean()), float(cosines.clip(max=1.0).mean())
