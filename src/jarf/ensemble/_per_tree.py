"""A forest in which every tree has its own preconditioner (the paper's appendix)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from jarf._threads import thread_map
from jarf.ensemble._axes import AxisForestClassifier, AxisForestRegressor
from jarf.ensemble._bagged import BaggedForest, fit_on_matrix
from jarf.geometry import LinearMap

FORESTS = (
    AxisForestClassifier,
    AxisForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


@dataclass(frozen=True, eq=False)
class PerTreeForest:
    """Trees on ``X H_b``, where H_b averages the gradients over tree b's bootstrap sample.

    Parameters
    ----------
    maps_ : list of LinearMap
    trees_ : list of estimator
        Forests of one tree each, in the coordinates of their maps.
    classifies : bool
    """

    maps_: list[LinearMap]
    trees_: list[Any]
    classifies: bool

    def _mean(self, method: str, X):
        total = sum(
            getattr(tree, method)(linear.transform(X))
            for linear, tree in zip(self.maps_, self.trees_, strict=True)
        )
        return total / len(self.trees_)

    def predict_proba(self, X: Any) -> np.ndarray:
        return self._mean("predict_proba", X)

    def predict(self, X: Any) -> np.ndarray:
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


def grow_per_tree(
    forest: Any,
    map_of: Callable[[np.ndarray], LinearMap],
    X,
    y,
    weights,
    *,
    n_classes: int,
    random_state,
    n_jobs=None,
) -> PerTreeForest:
    """Grow the trees of a forest, each with its own map.

    Parameters
    ----------
    forest : random forest, scikit-learn's or ours
        Its parameters are used for the trees.
    map_of : callable
        The map of a bootstrap sample, from how often each row is in it times its weight.
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Class codes, or responses.
    weights : ndarray of shape (n_samples,) or None
    n_classes : int
        0 in regression.
    random_state : RandomState
        Every tree gets its own seed.
    n_jobs : int, default=None

    Returns
    -------
    PerTreeForest
    """
    if not isinstance(forest, FORESTS):
        raise ValueError(
            "share='per-tree' gives every bootstrapped tree its own H and needs a "
            f"random forest, scikit-learn's or ours, not {type(forest).__name__}. "
            "Use share='global'."
        )

    def grow_one(seed):
        rng = np.random.RandomState(seed)
        counts = np.bincount(rng.randint(len(X), size=len(X)), minlength=len(X)).astype(float)
        if weights is not None:
            counts *= weights
        linear = map_of(counts)
        tree = clone(forest).set_params(
            n_estimators=1, bootstrap=False, n_jobs=1, random_state=rng.randint(2**31 - 1)
        )
        inside = counts > 0
        if n_classes:  # one row of every class keeps the classes the same for all trees
            inside[np.unique(y, return_index=True)[1]] = True
        rows, target, counted = linear.transform(X[inside]), y[inside], counts[inside]
        if isinstance(tree, BaggedForest):
            return linear, fit_on_matrix(tree, rows, target, counted, n_classes=n_classes)
        return linear, tree.fit(rows, target, counted)

    seeds = random_state.randint(np.iinfo(np.int32).max, size=forest.n_estimators)
    maps, trees = zip(*thread_map(grow_one, seeds, n_jobs), strict=True)
    return PerTreeForest(list(maps), list(trees), n_classes > 0)
