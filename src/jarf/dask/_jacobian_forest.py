"""The Jacobian forest on Dask."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from jarf import ensemble
from jarf._progress import Stages
from jarf._sklearn import fit_context, is_classifier
from jarf.dask._base import OnDaskClassifier, OnDaskPredictor, on_dask
from jarf.dask._encoding import Sample
from jarf.dask._forests import grow_forest
from jarf.dask._partitions import Partitions
from jarf.gradients import learning_rows


class _FitForest:
    """Fitting, for the classifier and the regressor."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self: Any, X, y, sample_weight=None):
        """Grow the forest.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_samples, n_features)
        y : dask array or Series of shape (n_samples,)
            In the partitions of ``X``.
        sample_weight : dask array or Series of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        if self.warm_start:
            raise ValueError(
                "warm_start=True is not supported on Dask. Fit with more trees instead."
            )
        parts = Partitions(X, y, sample_weight, is_classifier(self))
        parts.weigh_classes(getattr(self, "class_weight", None))
        rng = check_random_state(self.random_state)
        rows = learning_rows(parts.n_rows, self.surrogate_rows, rng, lambda: parts.first_rows)
        sample = Sample(self, parts, rows, np.float32)
        stages = Stages(type(self).__name__, self.verbose)
        if is_classifier(self):
            self._read_target(sample.y)  # sets classes_: the sample holds a row of each
        grow_forest(self, sample, self.rows_per_tree, stages)
        self.stage_times_ = stages.times
        return self

    def apply(self: Any, X):
        """Find the leaf that each row reaches in each tree, lazily.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples, n_estimators)
        """
        return self._lazily("apply", X)


@on_dask
class JacobianForestClassifier(OnDaskClassifier, _FitForest, ensemble.JacobianForestClassifier):
    """:class:`jarf.JacobianForestClassifier` for Dask arrays and DataFrames.

    The race and the surrogates use a random sample of ``surrogate_rows`` rows of all partitions
    (and one row of every class), collected on the client. Rows are then divided at random into
    groups of about ``rows_per_tree``, across partitions. Workers differentiate the surrogates at
    the rows of each group, and trees are assigned to the groups in turn. A tree sees the rows of
    its group, or a bootstrap sample of them, depending on the geometry. If there are more groups
    than trees, some rows are not used. Up to ``rows_per_tree`` rows there is one group, and the
    forest equals that of a local fit.

    Parameters
    ----------
    n_estimators, geometry, surrogate_rows, max_features, ... :
        As in :class:`jarf.JacobianForestClassifier`, without ``warm_start``.
    rows_per_tree : int, default=500_000
        Rows of a group: what a task that grows trees holds in memory, with their gradients.

    Attributes
    ----------
    classes_, geometries_, race_, forest_, feature_importances_, ... :
        As in :class:`jarf.JacobianForestClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from jarf.dask import JacobianForestClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(800, 5, angle=45, random_state=0)
    >>> X, y = da.from_array(X, chunks=(200, 5)), da.from_array(y, chunks=200)
    >>> model = JacobianForestClassifier(50, random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.85
    True
    """

    _local = ensemble.JacobianForestClassifier


@on_dask
class JacobianForestRegressor(OnDaskPredictor, _FitForest, ensemble.JacobianForestRegressor):
    """:class:`jarf.JacobianForestRegressor` for Dask arrays and DataFrames.

    See :class:`jarf.dask.JacobianForestClassifier` for what is done where.

    Parameters
    ----------
    n_estimators, geometry, surrogate_rows, max_features, ... :
        As in :class:`jarf.JacobianForestRegressor`, without ``warm_start``.
    rows_per_tree : int, default=500_000
        Rows of a group: what a task that grows trees holds in memory, with their gradients.

    Attributes
    ----------
    geometries_, race_, forest_, feature_importances_, ... :
        As in :class:`jarf.JacobianForestRegressor`.

    Examples
    --------
    >>> import dask.array as da
    >>> from jarf.dask import JacobianForestRegressor
    >>> X = da.random.default_rng(0).normal(size=(800, 4), chunks=(200, 4))
    >>> y = da.sin(X[:, 0] + X[:, 1])
    >>> model = JacobianForestRegressor(50, geometry="fast", random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    _local = ensemble.JacobianForestRegressor
