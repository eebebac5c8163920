"""Geometry -> ensemble: the paper's estimators, and forests on one native engine.

The forests differ only in the candidates that a node tries. Names outside ``__all__`` are shared
with other folders and may change between releases.
"""

from jarf.ensemble._axes import AxisForestClassifier, AxisForestRegressor
from jarf.ensemble._bagged import BaggedForest
from jarf.ensemble._bagged import begin_growth as begin_growth
from jarf.ensemble._base import TreeEnsemble
from jarf.ensemble._calibration import Calibration, expected_calibration_error
from jarf.ensemble._ccf import (
    CanonicalCorrelationForestClassifier,
    CanonicalCorrelationForestRegressor,
)
from jarf.ensemble._conformal import (
    ConformalResiduals,
    ConformalSets,
    IntervalMixin,
    SetMixin,
)
from jarf.ensemble._cycles import CYCLES, Cycle
from jarf.ensemble._ensemble_report import EnsembleReport
from jarf.ensemble._features import JacobianFeatures
from jarf.ensemble._geometries import GEOMETRIES, Geometry
from jarf.ensemble._jacobian_boosting import (
    JacobianBoostingClassifier,
    JacobianBoostingRegressor,
)
from jarf.ensemble._jacobian_ensemble import (
    JacobianEnsembleClassifier,
    JacobianEnsembleRegressor,
)
from jarf.ensemble._jacobian_forest import JacobianForestClassifier, JacobianForestRegressor
from jarf.ensemble._jarf import JARFClassifier, JARFRegressor
from jarf.ensemble._kernel_machine import JacobianKernelClassifier, JacobianKernelRegressor
from jarf.ensemble._per_tree import PerTreeForest as PerTreeForest
from jarf.ensemble._race_result import RaceResult
from jarf.ensemble._rotation import RotationForestClassifier, RotationForestRegressor
from jarf.ensemble._sources import GivenGradients, ModelSource
from jarf.ensemble._sporf import SPORFClassifier, SPORFRegressor
from jarf.trees import Forest as Forest
from jarf.trees import SplitNormals as SplitNormals

__all__ = [
    "CYCLES",
    "GEOMETRIES",
    "AxisForestClassifier",
    "AxisForestRegressor",
    "BaggedForest",
    "Calibration",
    "CanonicalCorrelationForestClassifier",
    "CanonicalCorrelationForestRegressor",
    "ConformalResiduals",
    "ConformalSets",
    "Cycle",
    "EnsembleReport",
    "Geometry",
    "GivenGradients",
    "IntervalMixin",
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
    "ModelSource",
    "RaceResult",
    "RotationForestClassifier",
    "RotationForestRegressor",
    "SPORFClassifier",
    "SPORFRegressor",
    "SetMixin",
    "TreeEnsemble",
    "expected_calibration_error",
]
