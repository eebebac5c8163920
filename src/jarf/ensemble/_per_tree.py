"""A forest in which every tree has a preconditioner of its own (the paper's appendix)."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from jarf._sklearn import is_classifier
from jarf._threads import thread_map
from jarf.ensemble._axes import AxisForestClassifier, AxisForestRegressor
from jarf.geometry import LinearMap
from jarf.gradients import EJOP, sum_blocks

FORESTS = (
    AxisForestClassifier,
    AxisForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


class PerTreeForest:
    """Trees on ``X H_b``, where H_b averages the gradients over tree b's bootstrap sample.

    Parameters
    ----------
    forest : random forest, scikit-learn's or ours
        What the trees are to be like.
    preconditioner : JacobianPreconditioner
        Fitted, with the gradients kept; they are dropped after ``fit``.
    n_jobs : int
    """

    def __init__(self, forest, preconditioner, n_jobs=None):
        self.forest = forest
        self.preconditioner = preconditioner
        self.n_jobs = n_jobs

    def fit(self, X, y, weights, rng) -> PerTreeForest:
        """Grow the trees, each from its own seed."""
        forest = self.forest
        if not isinstance(forest, FORESTS):
            raise ValueError(
                "share='per-tree' gives every bootstrapped tree its own H and needs a "
                f"random forest, scikit-learn's or ours, not {type(forest).__name__}. "
                "Use share='global'."
            )
        self.classifies = is_classifier(forest)
        seeds = rng.randint(np.iinfo(np.int32).max, size=forest.n_estimators)
        grown = thread_map(lambda seed: self._grow(X, y, weights, seed), seeds, self.n_jobs)
        self.maps_, self.trees_ = (list(part) for part in zip(*grown, strict=True))
        ejop = self.preconditioner.ejop_
        self.preconditioner.ejop_ = EJOP(ejop.total, ejop.weight, ejop.n_probes)
        return self

    def _grow(self, X, y, weights, seed):
        rng = np.random.RandomState(seed)
        counts = np.bincount(rng.randint(len(X), size=len(X)), minlength=len(X)).astype(float)
        if weights is not None:
            counts *= weights
        linear = self._map(counts)
        tree = clone(self.forest).set_params(
            n_estimators=1, bootstrap=False, n_jobs=1, random_state=rng.randint(2**31 - 1)
        )
        inside = counts > 0
        if self.classifies:  # one row of every class keeps the classes the same for all trees
            inside[np.unique(y, return_index=True)[1]] = True
        return linear, tree.fit(linear.transform(X[inside]), y[inside], counts[inside])

    def _map(self, counts) -> LinearMap:
        """H_b, from the gradients of the probes that tree b drew."""
        shared = self.preconditioner
        weights = counts[shared._probe_rows]
        if not weights.any():  # no probe was drawn: the shared map
            return shared._map
        gradients = shared.ejop_.gradients
        ejop = sum_blocks([gradients], gradients.shape[2], weights)
        return shared._map_of(ejop)

    def _mean(self, method: str, X):
        total = sum(
            getattr(tree, method)(linear.transform(X))
            for linear, tree in zip(self.maps_, self.trees_, strict=True)
        )
        return total / len(self.trees_)

    def predict_proba(self, X):
        return self._mean("predict_proba", X)

    def predict(self, X):
        if self.classifies:
            return self.predict_proba(X).argmax(axis=1)
        return self._mean("predict", X)

    def credited_importances(self, spread):
        """Mean over trees of the importances in original coordinates."""
        credits = [
            linear.credit(tree.feature_importances_, spread)
            for linear, tree in zip(self.maps_, self.trees_, strict=True)
        ]
        return np.mean(credits, axis=0)
