"""Do the split normals of oblique forests lie in the leading EJOP eigenspace?"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse, stats

from jarf.bench._methods import Fit

__all__ = ["alignment_curve", "alignment_of_normals", "eigenvector_alignment", "random_alignment"]

MAX_K = 20
MAX_NORMALS = 100_000


def alignment_curve(normals: Any, eigenvectors: np.ndarray, max_k: int = MAX_K) -> np.ndarray:
    """s_k = ||U_k' n||^2 for each unit normal (rows) and k = 1..max_k (columns).

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.bench import alignment_curve
    >>> alignment_curve(np.array([[0.6, 0.8]]), np.eye(2)).round(2)
    array([[0.36, 1.  ]])
    """
    top = np.ascontiguousarray(eigenvectors[:, :max_k])
    parts = np.asarray(normals @ top)
    return np.minimum(np.cumsum(parts**2, axis=1), 1.0)


def random_alignment(d: int, max_k: int = MAX_K) -> np.ndarray:
    """Median of s_k for a direction drawn at random on the sphere: a Beta distribution."""
    k = np.arange(1, min(max_k, d) + 1)
    return np.where(k == d, 1.0, stats.beta.median(k / 2, np.maximum(d - k, 1) / 2))


def alignment_of_normals(fit: Fit) -> dict[str, Any]:
    """Quartiles of s_k over the inner nodes of a fitted oblique forest, for its row.

    Only numeric columns count, the ones that JARF rotates: normals are cut to them, and cuts
    that use none of them are left out.
    """
    from jarf import JacobianPreconditioner

    numeric = np.flatnonzero(fit.setting.numeric)
    if not hasattr(fit.model, "split_normals") or len(numeric) < 2:
        return {}
    X, y = fit.split.X_train, fit.split.y_train
    ejop = JacobianPreconditioner(random_state=fit.setting.random_state).fit(X, y)
    vectors = numeric_eigenvectors(ejop, numeric)
    normals = _some_rows(_unit_normals(fit.model.split_normals()), fit.setting.random_state)
    # normals of the forest are in the columns it saw; the EJOP is in standard deviations of them
    scaled = _unit_rows(normals.multiply(ejop.scale_).tocsr()[:, numeric])
    curve = alignment_curve(scaled, vectors)
    low, middle, high = np.quantile(curve, [0.25, 0.5, 0.75], axis=0)
    return {
        "alignment": {
            "median": np.round(middle, 5).tolist(),
            "q25": np.round(low, 5).tolist(),
            "q75": np.round(high, 5).tolist(),
            "random": np.round(random_alignment(len(numeric)), 5).tolist(),
            "n_normals": int(curve.shape[0]),
        }
    }


def numeric_eigenvectors(preconditioner: Any, numeric: np.ndarray) -> np.ndarray:
    """Eigenvectors, as columns, of the numeric block of a fitted preconditioner's EJOP."""
    block = preconditioner.ejop_.matrix[np.ix_(numeric, numeric)]
    return np.linalg.eigh(block)[1][:, ::-1]


def _unit_normals(answer: Any) -> Any:
    """The matrix of normals out of ``split_normals()``, which tells more about each cut."""
    return sparse.csr_array(getattr(answer, "normals", answer))


def _some_rows(normals: Any, seed: int) -> Any:
    n = normals.shape[0]
    if n <= MAX_NORMALS:
        return normals
    return normals[np.sort(np.random.default_rng(seed).choice(n, MAX_NORMALS, replace=False))]


def _unit_rows(matrix: Any) -> Any:
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    keep = norms > 0
    return matrix[keep].multiply(1.0 / norms[keep, None]).tocsr()


def eigenvector_alignment(
    first: np.ndarray, second: np.ndarray, k: int = 10
) -> tuple[float, float]:
    """How alike two sets of leading eigenvectors are, in two readings.

    The mean |cosine| between the i-th vectors of both, i = 1..k (the paper's wording), and the
    mean cosine of the principal angles between two spans, which forgives a change of order. The
    spans are of k vectors too, but of d / 2 at most: all d would always agree.
    """
    pairs = (first[:, :k] * second[:, :k]).sum(axis=0)
    few = min(k, max(len(first) // 2, 1))
    cosines = np.linalg.svd(first[:, :few].T @ second[:, :few], compute_uv=False)
    return float(np.abs(pairs).mean()), float(cosines.clip(max=1.0).mean())
