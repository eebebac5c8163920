"""Surrogate -> gradients -> their expected outer product."""

from jarf.gradients._batches import ejop_of_batches
from jarf.gradients._ejop import EJOP, expected_jacobian_outer_product, sum_blocks
from jarf.gradients._input_gradients import Differences, forest_gradients, gradient_blocks
from jarf.gradients._probes import (
    choose_rows,
    column_blocks,
    column_mean,
    column_std,
    difference_steps,
    first_rows,
    learning_rows,
    probe_positions,
    robust_scale,
    value_gaps,
)
from jarf.gradients._wide import WIDE_FROM, WideEJOP

__all__ = [
    "EJOP",
    "WIDE_FROM",
    "Differences",
    "WideEJOP",
    "choose_rows",
    "column_blocks",
    "column_mean",
    "column_std",
    "difference_steps",
    "ejop_of_batches",
    "expected_jacobian_outer_product",
    "first_rows",
    "forest_gradients",
    "gradient_blocks",
    "learning_rows",
    "probe_positions",
    "robust_scale",
    "sum_blocks",
    "value_gaps",
]
