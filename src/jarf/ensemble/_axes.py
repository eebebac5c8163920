from __future__ import annotations

from typing import Any

import numpy as np

from jarf.ensemble._backend import backend
from jarf.ensemble._oblique import ForestClassifierMixin, ForestRegressorMixin, ObliqueForest


class _AxisForest(ObliqueForest):
    def _proposal(self, X: np.ndarray) -> Any:
        return backend().Axes(self._n_candidates(X.shape[1]), np.empty(0))


class AxisForestClassifier(ForestClassifierMixin, _AxisForest):
    def __init__(
        self,
        n_estimators=200,
        *,
        criterion="gini",
        max_features="sqrt",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        max_samples=None,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        class_weight=None,
    ):
        self._assign(locals())


class AxisForestRegressor(ForestRegressorMixin, _AxisForest):
    def __init__(
        self,
        n_estimators=200,
        *,
        max_features=1.0,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        max_samples=None,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
    ):
        self._assign(locals())
