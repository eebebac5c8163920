"""Made data."""

from jarf.datasets._halfspace import halfspace_bayes_kappa, make_rotated_halfspace

__all__ = ["halfspace_bayes_kappa", "make_rotated_halfspace"]
