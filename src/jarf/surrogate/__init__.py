"""Any model -> outputs: the surrogate whose Jacobian is estimated."""

from jarf.surrogate._kernel import KernelSurrogateClassifier, KernelSurrogateRegressor
from jarf.surrogate._model import (
    check_columns,
    check_surrogate,
    default_surrogate,
    fit_copy,
    is_frozen,
    output_index,
    outputs_of,
    seeded_copy,
    thaw,
)
from jarf.surrogate._packed import PackedForest, is_packable, pack

__all__ = [
    "KernelSurrogateClassifier",
    "KernelSurrogateRegressor",
    "PackedForest",
    "check_columns",
    "check_surrogate",
    "default_surrogate",
    "fit_copy",
    "is_frozen",
    "is_packable",
    "output_index",
    "outputs_of",
    "pack",
    "seeded_copy",
    "thaw",
]
