"""EJOP -> geometry: the preconditioner and its linear map.

Names outside ``__all__`` are shared with other folders and may change between releases.
"""

from jarf.geometry._alignment import (
    alignment_curve,
    eigenvector_alignment,
    normals_alignment,
    random_alignment,
)
from jarf.geometry._differentiation import Differentiation
from jarf.geometry._fitting import ProbeGradients as ProbeGradients
from jarf.geometry._fitting import count_probes as count_probes
from jarf.geometry._fitting import fit_preconditioner as fit_preconditioner
from jarf.geometry._fitting import resampled_map as resampled_map
from jarf.geometry._fitting import set_estimate as set_estimate
from jarf.geometry._learned import Learned, learn
from jarf.geometry._map import FARTHEST as FARTHEST
from jarf.geometry._map import LinearMap, preconditioner_matrix, spectrum
from jarf.geometry._preconditioner import JacobianPreconditioner
from jarf.geometry._wide import N_LEADING as N_LEADING
from jarf.geometry._wide import LowRankPreconditioner, leading_spectrum

__all__ = [
    "Differentiation",
    "JacobianPreconditioner",
    "Learned",
    "LinearMap",
    "LowRankPreconditioner",
    "alignment_curve",
    "eigenvector_alignment",
    "leading_spectrum",
    "learn",
    "normals_alignment",
    "preconditioner_matrix",
    "random_alignment",
    "spectrum",
]
