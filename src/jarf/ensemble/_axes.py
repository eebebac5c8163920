"""Random forests on the native engine, the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jarf._native import engine
from jarf.ensemble._bagged import (
    CLASSIFIER_CONSTRAINTS,
    BootstrapForest,
    ForestClassifierMixin,
    ForestRegressorMixin,
)
from jarf.ensemble._forest_docs import documented
from jarf.ensemble._growth import Growth, n_candidates


@dataclass(frozen=True, eq=False)
class AxisGrowth(Growth):
    """Grows trees with plain axes as candidates."""

    n_candidates: int

    def proposal(self, context: Any) -> Any:
        return engine().Axes(self.n_candidates, np.empty(0))


class _AxisForest(BootstrapForest):
    def _growth(self, X, weights, target, stages) -> Growth:
        return AxisGrowth(self._rules(), n_candidates(self.max_features, X.shape[1]))


@documented
class AxisForestClassifier(ForestClassifierMixin, _AxisForest):
    """A random forest: the engine with plain axes as candidates.

    It differs from scikit-learn's in two details: large nodes are searched in bins with equal
    numbers of rows, and a column that is constant in a node does not count as one of its
    ``max_features`` candidates.

    The method was published in [1]_.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    <criterion>
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Number of columns that a node tries; a float is a fraction, None all.
    <limits>
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample.
    <sampling>

    Attributes
    ----------
    <attributes>

    References
    ----------
    .. [1] L. Breiman, "Random Forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from jarf.ensemble import AxisForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> AxisForestClassifier(20, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _parameter_constraints = {  # noqa: RUF012
        **BootstrapForest._parameter_constraints,
        **CLASSIFIER_CONSTRAINTS,
    }

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        criterion: str = "gini",
        max_features: int | float | str | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int | float | str = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
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
class AxisForestRegressor(ForestRegressorMixin, _AxisForest):
    """A random forest: the engine with plain axes as candidates, squared error.

    See :class:`AxisForestClassifier` for what differs from scikit-learn's.

    The method was published in [1]_.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Number of columns that a node tries; a float is a fraction, None all.
    <limits>
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample.
    <sampling>

    Attributes
    ----------
    <attributes>

    References
    ----------
    .. [1] L. Breiman, "Random Forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from jarf.ensemble import AxisForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AxisForestRegressor(50, oob_score=True, random_state=0).fit(X, y)
    >>> 0.3 < model.oob_score_ < 0.6
    True
    """

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        max_features: int | float | str | None = 1.0,
        max_depth: int | None = None,
        min_samples_split: int | float | str = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        categorical_features: Any = "from_dtype",
    ):
        self.n_estimators = n_estimators
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
