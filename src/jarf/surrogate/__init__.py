"""Surrogates: the models whose Jacobian is estimated."""

from jarf.surrogate._kernel import KernelSurrogateClassifier, KernelSurrogateRegressor
from jarf.surrogate._machine import (
    Choice,
    KernelMachine,
    Rows,
    fit_machine,
    held_out_losses,
    most_anchors,
)
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
    "Choice",
    "KernelMachine",
    "KernelSurrogateClassifier",
    "KernelSurrogateRegressor",
    "Rows",
    "check_columns",
    "check_surrogate",
    "default_surrogate",
    "fit_copy",
    "fit_machine",
    "held_out_losses",
    "is_frozen",
    "most_anchors",
    "output_index",
    "outputs_of",
    "seeded_copy",
    "thaw",
]
