"""Ensemble -> inspection: plots of the EJOP and explanations in the user's own columns.

Names outside ``__all__`` are shared with export and bench and may change between releases.
"""

from jarf.inspection._alignment import AlignmentDisplay
from jarf.inspection._ejop import EJOPLoadingsDisplay, EJOPSpectrumDisplay, SensitivityDisplay
from jarf.inspection._explain import explain_path, explain_split
from jarf.inspection._facts import EJOPFacts as EJOPFacts
from jarf.inspection._facts import facts_of_ejop as facts_of_ejop
from jarf.inspection._models import answers as answers
from jarf.inspection._models import check_model as check_model
from jarf.inspection._models import column_names as column_names
from jarf.inspection._models import raw_columns as raw_columns
from jarf.inspection._plane import TopPlaneDisplay
from jarf.inspection._shapley import ShapleyValues, shapley_values
from jarf.inspection._trees import Trees as Trees
from jarf.inspection._trees import forest_of as forest_of
from jarf.inspection._trees import trees_of as trees_of
from jarf.inspection._words import Wording as Wording

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
