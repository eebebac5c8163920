"""The preconditioner on Dask."""

from __future__ import annotations

from sklearn.utils import check_random_state

from jarf import geometry
from jarf._progress import Stages
from jarf._sklearn import fit_context, is_classifier
from jarf.dask._base import OnDask, on_dask
from jarf.dask._boosting import distributed
from jarf.dask._ejop import fit_on_partitions
from jarf.dask._encoding import Sample
from jarf.dask._partitions import Partitions
from jarf.gradients import learning_rows
from jarf.surrogate import default_surrogate, thaw

FLOATS = ["float64", "float32"]


@on_dask
class JacobianPreconditioner(OnDask, geometry.JacobianPreconditioner):
    """:class:`jarf.JacobianPreconditioner` for Dask arrays and DataFrames.

    The surrogate is fitted on the client to a random sample of ``surrogate_rows`` rows of all
    partitions (and one of every class), which also determines how columns are encoded and scaled;
    no other rows are collected. Each partition computes the sum of the outer products at its
    probes, and a tree of tasks adds them. Rows are drawn by their number in the whole table, so H
    equals that of a local fit for any partitions, up to rounding.

    Parameters
    ----------
    surrogate, surrogate_rows, n_probes, ... :
        As in :class:`jarf.JacobianPreconditioner`. A ``surrogate`` of XGBoost or LightGBM is
        trained by them on all partitions, if there is a cluster and the table is all numbers.

    Attributes
    ----------
    ejop_, preconditioner_, surrogate_, ... :
        As in :class:`jarf.JacobianPreconditioner`.

    Examples
    --------
    >>> import dask.array as da
    >>> from jarf.dask import JacobianPreconditioner
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(400, 3, angle=45, random_state=0)
    >>> X, y = da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100)
    >>> mapped = JacobianPreconditioner(random_state=0).fit(X, y).transform(X)
    >>> mapped.chunks
    ((100, 100, 100, 100), (3,))
    """

    _local = geometry.JacobianPreconditioner
    _grows_trees = False

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the surrogate and estimate the map.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_samples, n_features)
        y : dask array or Series of shape (n_samples,)
            Classes or numbers, in the partitions of ``X``.
        sample_weight : dask array or Series of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        classifies = None if self.surrogate is None else is_classifier(thaw(self.surrogate))
        parts = Partitions(X, y, sample_weight, classifies)
        surrogate = self.surrogate
        if surrogate is None:
            surrogate = default_surrogate(bool(parts.classifies))
        rng = check_random_state(self.random_state)
        rows = learning_rows(parts.n_rows, self.surrogate_rows, rng, lambda: parts.first_rows)
        sample = Sample(self, parts, rows, FLOATS)
        stages = Stages(type(self).__name__, self.verbose)
        fit_on_partitions(self, distributed(surrogate), sample, rng, stages)
        return self

    def transform(self, X):
        """Map ``X`` to ``X H``, lazily.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples, n_features_out)
        """
        return self._lazily("transform", X)

    def inverse_transform(self, X):
        """Undo ``transform``, lazily.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples, n_features)
        """
        return self._lazily("inverse_transform", X)
