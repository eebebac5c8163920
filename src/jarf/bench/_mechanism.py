"""Do the split normals of oblique forests lie in the leading EJOP eigenspace?"""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.bench._methods import Fit
from jarf.geometry import (
    JacobianPreconditioner,
    alignment_curve,
    eigenvector_alignment,
    normals_alignment,
    random_alignment,
)

__all__ = ["alignment_curve", "alignment_of_normals", "eigenvector_alignment", "random_alignment"]


def alignment_of_normals(fit: Fit) -> dict[str, Any]:
    """Return quartiles of s_k over the inner nodes of a fitted oblique forest, for its row.

    Only numeric columns count: those that JARF rotates.
    """
    numeric = np.flatnonzero(fit.setting.numeric)
    if not hasattr(fit.model, "split_normals") or len(numeric) < 2:
        return {}
    X, y = fit.split.X_train, fit.split.y_train
    seed = fit.setting.random_state
    ejop = JacobianPreconditioner(step_rule="mad", random_state=seed).fit(X, y)
    # normals of the forest are in the columns it saw; the EJOP is in standard deviations of them
    curve = normals_alignment(
        fit.model.split_normals().normals,
        ejop.scale_,
        numeric_eigenvectors(ejop, numeric),
        numeric,
        seed=seed,
    )
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
