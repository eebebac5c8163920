"""Jacobian aligned random forests.

Table -> surrogate -> gradients -> geometry -> ensemble: the public names, in that order.
"""

from importlib.metadata import version as _version

from jarf import datasets
from jarf.ensemble import (
    AxisForestClassifier,
    AxisForestRegressor,
    CanonicalCorrelationForestClassifier,
    CanonicalCorrelationForestRegressor,
    JacobianBoostingClassifier,
    JacobianBoostingRegressor,
    JacobianEnsembleClassifier,
    JacobianEnsembleRegressor,
    JacobianFeatures,
    JacobianForestClassifier,
    JacobianForestRegressor,
    JacobianKernelClassifier,
    JacobianKernelRegressor,
    JARFClassifier,
    JARFRegressor,
    RotationForestClassifier,
    RotationForestRegressor,
    SPORFClassifier,
    SPORFRegressor,
)
from jarf.geometry import JacobianPreconditioner
from jarf.gradients import EJOP, expected_jacobian_outer_product

__version__ = _version("jarf")

__all__ = [
    "EJOP",
    "AxisForestClassifier",
    "AxisForestRegressor",
    "CanonicalCorrelationForestClassifier",
    "CanonicalCorrelationForestRegressor",
    "JARFClassifier",
    "JARFRegressor",
    "JacobianBoostingClassifier",
    "JacobianBoostingRegressor",
    "JacobianEnsembleClassifier",
    "JacobianEnsembleRegressor",
    "JacobianFeatures",
    "JacobianForestClassifier",
    "JacobianForestRegressor",
    "JacobianKernelClassifier",
    "JacobianKernelRegressor",
    "JacobianPreconditioner",
    "RotationForestClassifier",
    "RotationForestRegressor",
    "SPORFClassifier",
    "SPORFRegressor",
    "__version__",
    "datasets",
    "expected_jacobian_outer_product",
]
