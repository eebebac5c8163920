"""Surrogates: the models whose Jacobian is estimated."""

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

__all__ = [
    "KernelSurrogateClassifier",
    "KernelSurrogateRegressor",
    "check_columns",
    "check_surrogate",
    "default_surrogate",
    "fit_copy",
    "is_frozen",
    "output_index",
    "outputs_of",
    "seeded_copy",
    "thaw",
]
