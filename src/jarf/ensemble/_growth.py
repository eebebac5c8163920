"""How a forest grows trees, as plain data that can be sent to workers.

An estimator learns a :class:`Growth` from at most ``surrogate_rows`` rows. Growing trees on any
rows then needs two more things: their context (gradients of surrogates) and the seeds of the trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from jarf.trees import GrownTree, Limits, Target, TreePlan, grow_trees, make_columns


@dataclass(frozen=True)
class Rules:
    """Limits and samples of trees, as functions of the number of rows.

    Parameters
    ----------
    max_depth, max_leaf_nodes, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, \
min_impurity_decrease : as in the estimators
    bootstrap : bool, default=False
    max_samples : int, float or None, default=None
    """

    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    bootstrap: bool = False
    max_samples: int | float | None = None

    def limits(self, n_rows: int) -> Limits:
        """Resolve fractions of the rows."""

        def rows(rule: Any, least: int) -> int:
            if isinstance(rule, Integral):
                return int(rule)
            return max(least, int(np.ceil(rule * n_rows)))

        return Limits(
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_split=rows(self.min_samples_split, 2),
            min_samples_leaf=rows(self.min_samples_leaf, 1),
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            min_impurity_decrease=self.min_impurity_decrease,
        )

    def n_draws(self, n_rows: int) -> int | None:
        """Return the size of a tree's bootstrap sample; None: every row once."""
        if not self.bootstrap:
            return None
        if self.max_samples is None:
            return n_rows
        if isinstance(self.max_samples, Integral):
            return int(self.max_samples)
        return max(1, round(self.max_samples * n_rows))


@dataclass(frozen=True, eq=False)
class Growth:
    """Data that all trees of a forest share, whatever rows they are grown on."""

    rules: Rules
    needs_context = False

    def context(self, X: np.ndarray, weights, target: Target, n_jobs: int | None) -> Any:
        """Compute what proposals need to know about each row; the result can be pickled."""
        return None

    def proposal(self, context: Any) -> Any:
        """Return the proposal that all trees on some rows share."""
        raise TypeError(f"{type(self).__name__} has no proposal that all trees share.")

    def plan_of(
        self, X: np.ndarray, target: Target, context: Any, n_jobs: int | None
    ) -> Callable[[int], TreePlan]:
        """Return a function from seeds to tree plans; by default all plans are the same."""
        columns = make_columns(X, n_jobs)
        plan = TreePlan(columns, self.proposal(context), self.rules.n_draws(len(X)))
        return lambda seed: plan

    def grow(
        self,
        X: np.ndarray,
        weights: np.ndarray,
        target: Target,
        seeds: np.ndarray,
        context: Any,
        *,
        n_jobs: int | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> list[GrownTree]:
        """Grow one tree per seed on these rows."""
        plan_of = self.plan_of(X, target, context, n_jobs)
        limits = self.rules.limits(len(X))
        return grow_trees(plan_of, target, weights, seeds, limits, n_jobs=n_jobs, progress=progress)


def n_candidates(rule: Any, n_features: int) -> int:
    """Resolve ``max_features`` to a number."""
    if rule is None:
        return n_features
    if rule == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if rule == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(rule, Integral):
        return int(rule)
    return max(1, int(rule * n_features))
