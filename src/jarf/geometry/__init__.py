"""EJOP -> geometry: the preconditioner and the linear map it makes."""

from jarf.geometry._alignment import (
    alignment_curve,
    eigenvector_alignment,
    normals_alignment,
    random_alignment,
)
from jarf.geometry._map import FARTHEST as FARTHEST
from jarf.geometry._map import LinearMap, preconditioner_matrix, spectrum
from jarf.geometry._preconditioner import JacobianPreconditioner
from jarf.geometry._wide import N_LEADING as N_LEADING
from jarf.geometry._wide import LowRankPreconditioner, leading_spectrum

__all__ = [
    "JacobianPreconditioner",
    "LinearMap",
    "LowRankPreconditioner",
    "alignment_curve",
    "eigenvector_alignment",
    "leading_spectrum",
    "normals_alignment",
    "preconditioner_matrix",
    "random_alignment",
    "spectrum",
]
