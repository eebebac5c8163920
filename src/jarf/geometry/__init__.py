"""EJOP -> geometry: the preconditioner and the linear map it makes."""

from jarf.geometry._map import LinearMap, preconditioner_matrix, spectrum
from jarf.geometry._preconditioner import JacobianPreconditioner
from jarf.geometry._wide import LowRankPreconditioner, leading_spectrum

__all__ = [
    "JacobianPreconditioner",
    "LinearMap",
    "LowRankPreconditioner",
    "leading_spectrum",
    "preconditioner_matrix",
    "spectrum",
]
