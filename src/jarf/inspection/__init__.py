"""Ensemble -> inspection: pictures of the EJOP and explanations in the user's own columns."""

from jarf.inspection._alignment import AlignmentDisplay
from jarf.inspection._ejop import EJOPLoadingsDisplay, EJOPSpectrumDisplay, SensitivityDisplay
from jarf.inspection._explain import explain_path, explain_split
from jarf.inspection._plane import TopPlaneDisplay
from jarf.inspection._shapley import ShapleyValues, shapley_values

__all__ = [
    "AlignmentDisplay",
    "EJOPLoadingsDisplay",
    "EJOPSpectrumDisplay",
    "SensitivityDisplay",
    "ShapleyValues",
    "TopPlaneDisplay",
    "explain_path",
    "explain_split",
    "shapley_values",
]
