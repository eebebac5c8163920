"""Ensemble -> inspection: pictures of the EJOP and explanations in the user's own columns."""

from jarf.inspection._alignment import AlignmentDisplay
from jarf.inspection._ejop import EJOPLoadingsDisplay, EJOPSpectrumDisplay, SensitivityDisplay
from jarf.inspection._explain import explain_path, explain_split
from jarf.inspection._facts import EJOPFacts, facts_of_ejop
from jarf.inspection._plane import TopPlaneDisplay
from jarf.inspection._shapley import ShapleyValues, shapley_values
from jarf.inspection._words import Wording

__all__ = [
    "AlignmentDisplay",
    "EJOPFacts",
    "EJOPLoadingsDisplay",
    "EJOPSpectrumDisplay",
    "SensitivityDisplay",
    "ShapleyValues",
    "TopPlaneDisplay",
    "Wording",
    "explain_path",
    "explain_split",
    "facts_of_ejop",
    "shapley_values",
]
