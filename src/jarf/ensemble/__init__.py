"""Geometry -> ensemble."""

from jarf.ensemble._jarf import JARFClassifier, JARFRegressor

__all__ = ["JARFClassifier", "JARFRegressor"]
