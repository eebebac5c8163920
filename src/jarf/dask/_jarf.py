"""JARF on Dask."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from jarf import ensemble
from jarf._progress import Stages
from jarf._sklearn import fit_context, is_classifier, set_random_states
from jarf.dask._base import OnDask, OnDaskClassifier, OnDaskPredictor, on_dask
from jarf.dask._boosting import distributed, fit_booster, is_distributed
from jarf.dask._ejop import fit_on_partitions
from jarf.dask._encoding import Sample
from jarf.dask._forests import grow_forest
from jarf.dask._partitions import Partitions
from jarf.dask._preconditioner import FLOATS
from jarf.gradients import learning_rows
from jarf.table import share_table


class _FitJARF:
    """Fitting, for the classifier and the regressor."""

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self: Any, X, y, sample_weight=None):
        """Fit surrogate, preconditioner and final ensemble.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_samples, n_features)
        y : dask array or Series of shape (n_samples,)
            In the partitions of ``X``.
        sample_weight : dask array or Series of shape (n_samples,), default=None
            Weights of the rows in all three.

        Returns
        -------
        self
        """
        preconditioner = self._new_preconditioner()
        final = self._final()
        parts = Partitions(X, y, sample_weight, is_classifier(self))
        parts.weigh_classes(getattr(self, "class_weight", None))
        rng = check_random_state(self.random_state)
        first = self._first_generator(rng)
        size = preconditioner.surrogate_rows
        rows = learning_rows(parts.n_rows, size, first, lambda: parts.first_rows)
        sample = Sample(self, parts, rows, FLOATS)
        stages = Stages(type(self).__name__, preconditioner.verbose)

        if is_classifier(self):
            self.classes_ = parts.classes
        share_table(self, preconditioner)
        surrogate = distributed(preconditioner.surrogate)
        fit_on_partitions(preconditioner, surrogate, sample, first, stages)
        self.preconditioner_ = preconditioner
        linear = preconditioner.map_
        if is_distributed(final):
            with stages.stage("fit"):
                self.estimator_ = fit_booster(final, sample, rng, linear)
        else:
            set_random_states(final, rng)
            self.estimator_ = grow_forest(final, sample, self.rows_per_tree, stages, linear)
            if final.n_jobs is None:
                self.estimator_.n_jobs = self.n_jobs
            if is_classifier(self):
                self.estimator_.classes_ = np.arange(len(self.classes_))
                self.estimator_.n_classes_ = len(self.classes_)
        self.stage_times_ = stages.times
        return self

    def _new_preconditioner(self: Any) -> Any:
        """Return a local preconditioner, converted from one of this module if necessary."""
        made = super()._new_preconditioner()  # type: ignore[misc]
        return made.to_local() if isinstance(made, OnDask) else made

    def _final(self: Any) -> Any:
        """Return the unfitted final ensemble in the form that workers train."""
        if self.share != "global":
            raise ValueError(
                "share='per-tree' needs every gradient in one place and is not supported on Dask. "
                "Use share='global'."
            )
        final = self._default_ensemble() if self.estimator is None else clone(self.estimator)
        final = distributed(final)
        if not (isinstance(final, ensemble.BaggedForest) or is_distributed(final)):
            raise ValueError(
                f"{type(final).__name__} cannot be trained on partitions. On Dask the final "
                "estimator is a forest of jarf.ensemble, or a booster of XGBoost or LightGBM."
            )
        for name in ("oob_score", "warm_start", "class_weight"):
            if isinstance(final, ensemble.BaggedForest) and getattr(final, name, None):
                raise ValueError(
                    f"{name} of the final {type(final).__name__} is not supported on Dask. Leave "
                    f"it out{', or set that of JARFClassifier' if name == 'class_weight' else ''}."
                )
        return final


@on_dask
class JARFClassifier(OnDaskClassifier, _FitJARF, ensemble.JARFClassifier):
    """:class:`jarf.JARFClassifier` for Dask arrays and DataFrames.

    The preconditioner is fitted as in :class:`jarf.dask.JacobianPreconditioner`. ``X H`` is
    computed partition by partition. Workers grow the trees of a forest: rows are divided at random
    into groups of about ``rows_per_tree``, across partitions, and trees are assigned to the groups
    in turn; a tree sees a bootstrap sample of the rows of its group. If there are more groups than
    trees, some rows are not used. Up to ``rows_per_tree`` rows there is one group, and the forest
    equals that of a local fit.

    Parameters
    ----------
    estimator : classifier, default=None
        None: a random forest grown by the native engine. Else a forest of :mod:`jarf.ensemble`, or
        a booster of XGBoost or LightGBM (``XGBClassifier()`` or ``xgboost.dask``'s own), which is
        trained by their Dask module and needs a cluster.
    preconditioner, n_estimators, ... :
        As in :class:`jarf.JARFClassifier`; ``share`` must be "global".
    rows_per_tree : int, default=500_000
        Rows of a group: what a task that grows trees holds in memory.

    Attributes
    ----------
    classes_, preconditioner_, estimator_, feature_importances_, ... :
        As in :class:`jarf.JARFClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from jarf.dask import JARFClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(600, 5, angle=45, random_state=0)
    >>> X, y = da.from_array(X, chunks=(100, 5)), da.from_array(y, chunks=100)
    >>> model = JARFClassifier(n_estimators=50, random_state=0).fit(X[:300], y[:300])
    >>> model.predict(X).shape
    (600,)
    >>> model.score(X[300:], y[300:]) > 0.85
    True
    """

    _local = ensemble.JARFClassifier


@on_dask
class JARFRegressor(OnDaskPredictor, _FitJARF, ensemble.JARFRegressor):
    """:class:`jarf.JARFRegressor` for Dask arrays and DataFrames.

    See :class:`jarf.dask.JARFClassifier` for what runs on workers and on the client.

    Parameters
    ----------
    estimator : regressor, default=None
        None: a random forest grown by the native engine. Else a forest of :mod:`jarf.ensemble`, or
        a booster of XGBoost or LightGBM.
    preconditioner, n_estimators, ... :
        As in :class:`jarf.JARFRegressor`; ``share`` must be "global".
    rows_per_tree : int, default=500_000
        Rows of a group: what a task that grows trees holds in memory.

    Attributes
    ----------
    preconditioner_, estimator_, feature_importances_, ... :
        As in :class:`jarf.JARFRegressor`.

    Examples
    --------
    >>> import dask.array as da
    >>> from jarf.dask import JARFRegressor
    >>> X = da.random.default_rng(0).normal(size=(600, 4), chunks=(200, 4))
    >>> y = da.sin(X[:, 0] + X[:, 1])
    >>> model = JARFRegressor(n_estimators=50, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    _local = ensemble.JARFRegressor
