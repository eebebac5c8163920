"""Forests on one native engine, in which only the candidates of a node differ."""

from jarf.ensemble._axes import AxisForestClassifier, AxisForestRegressor
from jarf.ensemble._ccf import (
    CanonicalCorrelationForestClassifier,
    CanonicalCorrelationForestRegressor,
)
from jarf.ensemble._forest import Forest, SplitNormals
from jarf.ensemble._rotation import RotationForestClassifier, RotationForestRegressor
from jarf.ensemble._sporf import SPORFClassifier, SPORFRegressor

__all__ = [
    "AxisForestClassifier",
    "AxisForestRegressor",
    "CanonicalCorrelationForestClassifier",
    "CanonicalCorrelationForestRegressor",
    "Forest",
    "RotationForestClassifier",
    "RotationForestRegressor",
    "SPORFClassifier",
    "SPORFRegressor",
    "SplitNormals",
]
