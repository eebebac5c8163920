"""Surrogate -> gradients -> their expected outer product."""

from jarf.gradients._ejop import EJOP, expected_jacobian_outer_product, sum_blocks
from jarf.gradients._input_gradients import Differences, gradient_blocks
from jarf.gradients._probes import column_std, difference_steps, probe_positions, robust_scale
from jarf.gradients._tree_differences import forest_differences, reference_differences

__all__ = [
    "EJOP",
    "Differences",
    "column_std",
    "difference_steps",
    "expected_jacobian_outer_product",
    "forest_differences",
    "gradient_blocks",
    "probe_positions",
    "reference_differences",
    "robust_scale",
    "sum_blocks",
]
