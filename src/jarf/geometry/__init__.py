"""EJOP -> geometry: the preconditioner and the linear map it makes."""

from jarf.geometry._map import LinearMap, preconditioner_matrix, spectrum
from jarf.geometry._preconditioner import JacobianPreconditioner

__all__ = ["JacobianPreconditioner", "LinearMap", "preconditioner_matrix", "spectrum"]
