"""Synthetic data."""

from jarf.datasets._halfspace import (
    halfspace_bayes_kappa,
    halfspace_margin,
    make_rotated_halfspace,
)

__all__ = ["halfspace_bayes_kappa", "halfspace_margin", "make_rotated_halfspace"]
