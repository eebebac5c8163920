"""Forests on one native engine, in which only the candidates of a node differ."""

from jarf.ensemble._axes import AxisForestClassifier, AxisForestRegressor

__all__ = ["AxisForestClassifier", "AxisForestRegressor"]
