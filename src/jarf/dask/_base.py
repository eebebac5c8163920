"""Shared by the estimators on Dask: parameters of the local ones, lazy predictions, conversion."""

from __future__ import annotations

from inspect import Parameter, Signature, signature
from numbers import Integral
from typing import Any

import numpy as np
from dask.base import is_dask_collection

from jarf._sklearn import Interval, is_classifier
from jarf.dask._lazy import distributed_score, lazily
from jarf.dask._partitions import Partitions, check_table

ROWS_PER_TREE = Parameter("rows_per_tree", Parameter.KEYWORD_ONLY, default=500_000)


def on_dask(cls):
    """Give a class the parameters of its local estimator, and ``rows_per_tree`` if it grows trees.

    The names are in the signature, where scikit-learn and ``help`` find them.
    """
    own = (ROWS_PER_TREE,) if cls._grows_trees else ()
    every = Signature([*signature(cls._local).parameters.values(), *own])

    def __init__(self, *args, **kwargs):
        bound = every.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    me = Parameter("self", Parameter.POSITIONAL_ONLY)
    __init__.__signature__ = every.replace(parameters=[me, *every.parameters.values()])  # type: ignore[attr-defined]
    cls.__init__ = __init__
    rules = {ROWS_PER_TREE.name: [Interval(Integral, 100, None, closed="left")]} if own else {}
    cls._parameter_constraints = {**cls._local._parameter_constraints, **rules}
    return cls


class OnDask:
    """Mixin that makes a local estimator predict lazily; it comes first in the list of bases."""

    _local: Any
    _grows_trees = True

    def to_local(self):
        """Return the local estimator with everything that was learned.

        Returns
        -------
        estimator
            Of the same name in ``jarf``; it needs no Dask.
        """
        names = signature(self._local).parameters
        given = {name: getattr(self, name) for name in names}
        local = self._local(
            **{k: v.to_local() if isinstance(v, OnDask) else v for k, v in given.items()}
        )
        own = {*names, ROWS_PER_TREE.name}
        vars(local).update((name, value) for name, value in vars(self).items() if name not in own)
        return local

    def _lazily(self, method: str, X: Any) -> Any:
        """Call a method lazily on a Dask collection, immediately on anything else."""
        if not is_dask_collection(X):
            return getattr(super(), method)(X)
        local = self.to_local()
        like = getattr(local, method)(_example(check_table(X)))
        return lazily(local, method, X, np.asarray(like))


class OnDaskPredictor(OnDask):
    """Adds predictions and their score."""

    def predict(self, X):
        """Predict every row, lazily.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples,)
        """
        return self._lazily("predict", X)

    def score(self, X, y, sample_weight=None):
        """Return the accuracy, or R2, summed over partitions.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_samples, n_features)
        y : dask array or Series of shape (n_samples,)
        sample_weight : dask array or Series of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        if not is_dask_collection(X):
            return super().score(X, y, sample_weight)  # type: ignore[misc]
        parts = Partitions(X, y, sample_weight, is_classifier(self))
        return distributed_score(self.to_local(), parts)


class OnDaskClassifier(OnDaskPredictor):
    """Adds probabilities."""

    def predict_proba(self, X):
        """Predict class probabilities, lazily.

        Parameters
        ----------
        X : dask array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        dask array of shape (n_samples, n_classes)
        """
        return self._lazily("predict_proba", X)


def _example(meta: Any) -> Any:
    """Return one row of a table, to find the shape and type of a prediction."""
    if not hasattr(meta, "iloc"):
        return np.zeros((1, meta.shape[1]), dtype=meta.dtype)
    return meta.reindex([0])
