"""Rotation forest: every tree sees the data in its own axes."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from jarf._sklearn import Interval
from jarf.ensemble._backend import backend
from jarf.ensemble._forest import GrownTree
from jarf.ensemble._forest_docs import documented
from jarf.ensemble._growing import Space, Target, narrow, rotate_space
from jarf.ensemble._oblique import ForestClassifierMixin, ForestRegressorMixin, ObliqueForest

_CONSTRAINTS = {
    "n_groups": [Interval(Integral, 1, None, closed="left")],
    "group_size": [Interval(Integral, 1, None, closed="left"), None],
    "rotation_samples": [Interval(Real, 0.0, 1.0, closed="right")],
}

Rotation = tuple[np.ndarray, np.ndarray, np.ndarray]


class _RotationForest(ObliqueForest):
    n_groups: int
    group_size: int | None
    rotation_samples: float

    def _proposal(self, X: np.ndarray, context: Any) -> Any:
        return backend().Axes(self._n_candidates(X.shape[1]), np.empty(0))

    def _grow(self, X, weights, target: Target, seeds: np.ndarray, context: Any) -> list[GrownTree]:
        # Trees run side by side; threads within the small products would only wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            return super()._grow(X, weights, target, seeds, context)

    def _space(self, X: np.ndarray, target: Target) -> Callable[[int], Space]:
        scales = np.where(self.feature_scales_ > 0, self.feature_scales_, 1.0)

        def space_of(seed: int) -> Space:
            rng = np.random.default_rng([seed, 1])
            groups = self._groups(np.flatnonzero(~self._plain_axes), rng)
            return rotate_space(X, self._rotation(X, target, scales, groups, rng))

        return space_of

    def _groups(self, features: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """Cut columns, in random order, into groups of nearly one size."""
        n_features = len(features)
        if n_features == 0:
            return []
        n_groups = max(1, min(self.n_groups, n_features // 3))
        if self.group_size is not None:
            n_groups = -(-n_features // self.group_size)
        return np.array_split(features[rng.permutation(n_features)], n_groups)

    def _rotation(
        self,
        X: np.ndarray,
        target: Target,
        scales: np.ndarray,
        groups: list[np.ndarray],
        rng: np.random.Generator,
    ) -> Rotation:
        """Make the principal components of every group, each from its own sample of rows.

        Columns that are no numbers stay as they are.
        """
        plain = np.flatnonzero(self._plain_axes)
        features, loadings, sizes = [plain], [np.ones(len(plain))], [1] * len(plain)
        for group in groups:
            rows = _sample_rows(target, len(X), self.rotation_samples, rng)
            sample = X.T[group][:, rows] / scales[group, None]
            sample -= sample.mean(axis=1, keepdims=True)
            components = np.linalg.eigh(sample @ sample.T)[1].T
            features.append(np.tile(group, len(group)))
            loadings.append((components / scales[group]).ravel())
            sizes += [len(group)] * len(group)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        return (
            starts,
            np.concatenate(features).astype(np.int32),
            narrow(np.concatenate(loadings)),
        )


def _sample_rows(
    target: Target, n_rows: int, fraction: float, rng: np.random.Generator
) -> np.ndarray:
    """Draw a random subset of the classes, then a bootstrap of a fraction of their rows."""
    rows = np.arange(n_rows)
    if target.n_classes > 1:
        present = np.flatnonzero(np.bincount(target.labels))
        n_kept = rng.integers(1, len(present) + 1)
        kept = np.zeros(target.n_classes, bool)
        kept[rng.choice(present, n_kept, replace=False)] = True
        rows = np.flatnonzero(kept[target.labels])
    return rng.choice(rows, max(1, round(fraction * len(rows))))


@documented
class RotationForestClassifier(ForestClassifierMixin, _RotationForest):
    """Rotation forest [1]_: each tree is grown on its own rotation of the columns.

    For every tree the columns are cut at random into groups; each group is rotated to its principal
    components, computed from a random subset of the classes and a bootstrap of 75 % of their rows;
    all components are kept, and the tree is grown on all rows and all rotated columns. Departures:
    the tree is a binary one judged by entropy, not C4.5, trees are not pruned, columns are first
    divided by their standard deviation, and the default number of groups, 6, is that of the paper
    this library implements; ``group_size=3`` gives the authors' setting. Columns that are no
    numbers (see ``categorical_features``) are not rotated and stay among the tree's columns.

    Rotated columns are made in the nodes that try them; once a node has a sixteenth of the rows, or
    half of them in at most 32 MB, they are kept for the nodes below it. No tree holds more.

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

    _parameter_constraints = {**ForestClassifierMixin._parameter_constraints, **_CONSTRAINTS}  # noqa: RUF012

    def __init__(
        self,
        n_estimators=200,
        *,
        criterion="entropy",
        n_groups=6,
        group_size=None,
        rotation_samples=0.75,
        max_features=None,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=False,
        max_samples=None,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        categorical_features="from_dtype",
        class_weight=None,
    ):
        self._assign(locals())


@documented
class RotationForestRegressor(ForestRegressorMixin, _RotationForest):
    """Rotation forest [1]_ with squared error.

    There are no classes to leave out: a group's components come from a bootstrap of 75 % of all
    rows. See :class:`RotationForestClassifier` for the rest.

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

    _parameter_constraints = {**ObliqueForest._parameter_constraints, **_CONSTRAINTS}  # noqa: RUF012

    def __init__(
        self,
        n_estimators=200,
        *,
        n_groups=6,
        group_size=None,
        rotation_samples=0.75,
        max_features=None,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=False,
        max_samples=None,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        categorical_features="from_dtype",
    ):
        self._assign(locals())
