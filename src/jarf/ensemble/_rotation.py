"""Rotation forest: every tree sees a different rotation of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from jarf._native import engine
from jarf._sklearn import Interval
from jarf._threads import one_blas_thread
from jarf.ensemble._bagged import (
    CLASSIFIER_CONSTRAINTS,
    BootstrapForest,
    ForestClassifierMixin,
    ForestRegressorMixin,
)
from jarf.ensemble._forest_docs import documented
from jarf.ensemble._growth import Growth, n_candidates
from jarf.trees import ClassTarget, GrownTree, Target, TreePlan, narrow, rotate_columns

_CONSTRAINTS = {
    "n_groups": [Interval(Integral, 1, None, closed="left")],
    "group_size": [Interval(Integral, 1, None, closed="left"), None],
    "rotation_samples": [Interval(Real, 0.0, 1.0, closed="right")],
}

Rotation = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class RotationGrowth(Growth):
    """Grows trees on plain axes of columns that are rotated for every tree."""

    n_candidates: int
    plain: np.ndarray  # encoded columns that are not rotated
    scales: np.ndarray
    n_groups: int
    group_size: int | None
    rotation_samples: float

    def grow(self, X, weights, target, seeds, context, **options: Any) -> list[GrownTree]:
        # Trees run in parallel; threads inside the small matrix products would only compete.
        with one_blas_thread():
            return super().grow(X, weights, target, seeds, context, **options)

    def plan_of(self, X, target, context, n_jobs) -> Callable[[int], TreePlan]:
        axes, n_draws = engine().Axes(self.n_candidates, np.empty(0)), self.rules.n_draws(len(X))

        def plan(seed: int) -> TreePlan:
            rng = np.random.default_rng([seed, 1])
            groups = self._groups(np.flatnonzero(~self.plain), rng)
            columns = rotate_columns(X, self._rotation(X, target, groups, rng))
            return TreePlan(columns, axes, n_draws)

        return plan

    def _groups(self, features: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """Divide columns at random into groups of nearly equal size."""
        n_features = len(features)
        if n_features == 0:
            return []
        n_groups = max(1, min(self.n_groups, n_features // 3))
        if self.group_size is not None:
            n_groups = -(-n_features // self.group_size)
        return np.array_split(features[rng.permutation(n_features)], n_groups)

    def _rotation(
        self, X: np.ndarray, target: Target, groups: list[np.ndarray], rng: np.random.Generator
    ) -> Rotation:
        """Compute the principal components of every group, each from its own sample of rows.

        Columns that are not numbers stay as they are.
        """
        plain = np.flatnonzero(self.plain)
        features, loadings, sizes = [plain], [np.ones(len(plain))], [1] * len(plain)
        for group in groups:
            rows = _sample_rows(target, len(X), self.rotation_samples, rng)
            sample = X.T[group][:, rows] / self.scales[group, None]
            sample -= sample.mean(axis=1, keepdims=True)
            components = np.linalg.eigh(sample @ sample.T)[1].T
            features.append(np.tile(group, len(group)))
            loadings.append((components / self.scales[group]).ravel())
            sizes += [len(group)] * len(group)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        return (
            starts,
            np.concatenate(features).astype(np.int32),
            narrow(np.concatenate(loadings)),
        )


class _RotationForest(BootstrapForest):
    n_groups: int
    group_size: int | None
    rotation_samples: float

    def _growth(self, X, weights, target, stages) -> Growth:
        return RotationGrowth(
            self._rules(),
            n_candidates(self.max_features, X.shape[1]),
            self._plain_axes,
            np.where(self.feature_scales_ > 0, self.feature_scales_, 1.0),
            self.n_groups,
            self.group_size,
            self.rotation_samples,
        )


def _sample_rows(
    target: Target, n_rows: int, fraction: float, rng: np.random.Generator
) -> np.ndarray:
    """Draw a random subset of the classes, then a bootstrap of a fraction of their rows."""
    rows = np.arange(n_rows)
    if isinstance(target, ClassTarget) and target.n_classes > 1:
        present = np.flatnonzero(np.bincount(target.labels))
        n_kept = rng.integers(1, len(present) + 1)
        kept = np.zeros(target.n_classes, bool)
        kept[rng.choice(present, n_kept, replace=False)] = True
        rows = np.flatnonzero(kept[target.labels])
    return rng.choice(rows, max(1, round(fraction * len(rows))))


@documented
class RotationForestClassifier(ForestClassifierMixin, _RotationForest):
    """Rotation forest: each tree is grown on its own rotation of the columns.

    For every tree the columns are divided at random into groups; each group is rotated to its
    principal components, computed from a random subset of the classes and a bootstrap of 75 % of
    their rows; all components are kept, and the tree is grown on all rows and all rotated columns.
    Differences from the published method: trees are binary with entropy as criterion, not C4.5;
    trees are not pruned; columns are first divided by their standard deviation; and the default
    number of groups, 6, is that of the paper this library implements; ``group_size=3`` gives the
    authors' setting. Columns that are not numeric (see ``categorical_features``) are not rotated.

    Rotated columns are computed in the nodes that try them. In a node with at most a sixteenth of
    the rows, or half of them in at most 32 MB, they are cached for the nodes below it.

    The method was published in [1]_.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    <criterion>
    n_groups : int, default=6
        Number of groups that the columns are cut into; fewer where a group would have fewer than
        three columns.
    group_size : int, default=None
        Size of the groups, instead of their number.
    rotation_samples : float, default=0.75
        Size of the bootstrap that a group's components are computed from.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of rotated columns that a node tries; None all.
    <limits>
    bootstrap : bool, default=False
        Whether each tree is grown on a bootstrap sample.
    <sampling>

    Attributes
    ----------
    <attributes>

    References
    ----------
    .. [1] J. J. Rodriguez, L. I. Kuncheva and C. J. Alonso, "Rotation Forest: A New Classifier
       Ensemble Method", IEEE Transactions on Pattern Analysis and Machine Intelligence 28, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from jarf.ensemble import RotationForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RotationForestClassifier(20, n_groups=2, random_state=0).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    _parameter_constraints = {  # noqa: RUF012
        **BootstrapForest._parameter_constraints,
        **CLASSIFIER_CONSTRAINTS,
        **_CONSTRAINTS,
    }

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        criterion: str = "entropy",
        n_groups: int = 6,
        group_size: int | None = None,
        rotation_samples: float = 0.75,
        max_features: int | float | str | None = None,
        max_depth: int | None = None,
        min_samples_split: int | float | str = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.n_groups = n_groups
        self.group_size = group_size
        self.rotation_samples = rotation_samples
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.categorical_features = categorical_features
        self.class_weight = class_weight


@documented
class RotationForestRegressor(ForestRegressorMixin, _RotationForest):
    """Rotation forest with squared error.

    There are no classes to leave out: a group's components come from a bootstrap of 75 % of all
    rows. See :class:`RotationForestClassifier` for the rest.

    The method was published in [1]_.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    n_groups : int, default=6
        Number of groups that the columns are cut into; fewer where a group would have fewer than
        three columns.
    group_size : int, default=None
        Size of the groups, instead of their number.
    rotation_samples : float, default=0.75
        Size of the bootstrap that a group's components are computed from.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of rotated columns that a node tries; None all.
    <limits>
    bootstrap : bool, default=False
        Whether each tree is grown on a bootstrap sample.
    <sampling>

    Attributes
    ----------
    <attributes>

    References
    ----------
    .. [1] J. J. Rodriguez, L. I. Kuncheva and C. J. Alonso, "Rotation Forest: A New Classifier
       Ensemble Method", IEEE Transactions on Pattern Analysis and Machine Intelligence 28, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from jarf.ensemble import RotationForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RotationForestRegressor(50, group_size=3, random_state=0).fit(X[::2], y[::2])
    >>> 0.3 < model.score(X[1::2], y[1::2]) < 0.6
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **BootstrapForest._parameter_constraints,
        **_CONSTRAINTS,
    }

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        n_groups: int = 6,
        group_size: int | None = None,
        rotation_samples: float = 0.75,
        max_features: int | float | str | None = None,
        max_depth: int | None = None,
        min_samples_split: int | float | str = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        categorical_features: Any = "from_dtype",
    ):
        self.n_estimators = n_estimators
        self.n_groups = n_groups
        self.group_size = group_size
        self.rotation_samples = rotation_samples
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.categorical_features = categorical_features
