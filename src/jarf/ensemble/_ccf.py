"""Canonical correlation forests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from jarf._native import engine
from jarf.ensemble._bagged import (
    CLASSIFIER_CONSTRAINTS,
    BootstrapForest,
    ForestClassifierMixin,
    ForestRegressorMixin,
)
from jarf.ensemble._forest_docs import documented
from jarf.ensemble._growth import Growth, n_candidates

_CONSTRAINTS = {"projection_bootstrap": ["boolean"]}


@dataclass(frozen=True, eq=False)
class CanonicalGrowth(Growth):
    """Grows trees with canonical directions of a few columns as candidates."""

    plain: np.ndarray  # encoded columns that stay axes
    n_drawn: int | None
    n_axes: int | None
    resample: bool

    def proposal(self, context: Any) -> Any:
        return canonical_proposal(self.plain, self.n_drawn, self.n_axes, resample=self.resample)


class _CanonicalCorrelationForest(BootstrapForest):
    projection_bootstrap: bool

    def _growth(self, X, weights, target, stages) -> Growth:
        plain = self._plain_axes
        n_drawn, n_axes = (
            None
            if self.max_features is None
            else n_candidates(self.max_features, max(1, int(columns.sum())))
            for columns in (~plain, plain)
        )
        return CanonicalGrowth(self._rules(), plain, n_drawn, n_axes, self.projection_bootstrap)


def canonical_proposal(plain, n_drawn=None, n_axes=None, **options) -> Any:
    """Propose canonical directions of numeric columns, and as many axes of the ``plain`` ones."""
    n_plain, n_mixed = int(plain.sum()), int((~plain).sum())
    if n_plain == 0:
        return canonical_directions(n_mixed, n_drawn, **options)
    n_axes = n_drawn_by_default(n_plain) if n_axes is None else n_axes
    axes = engine().Axes(n_axes, plain.astype(float))
    if n_mixed == 0:
        return axes
    chances = (~plain).astype(float)
    return engine().Sequence(
        [canonical_directions(n_mixed, n_drawn, chances=chances, **options), axes]
    )


def canonical_directions(
    n_features: int,
    n_drawn: int | None = None,
    resample=True,
    chances: np.ndarray | None = None,
    max_rows: int = 0,
    max_components: int = 0,
) -> Any:
    """Make the proposal, by default with the authors' settings.

    ``chances`` of 0 leave columns out; ``n_features`` is the number of the others. A resample has
    at most ``max_rows`` rows, and the ``max_components`` best components are tried; 0 sets no
    limit.
    """
    n_drawn = n_drawn_by_default(n_features) if n_drawn is None else n_drawn
    chances = np.empty(0) if chances is None else chances
    return engine().CanonicalCorrelation(
        min(n_drawn, n_features), resample, max_rows, max_components, _dsyev(), chances
    )


def n_drawn_by_default(n_features: int) -> int:
    """Return the authors' ceil(log2 d + 1), at most all."""
    return min(n_features, int(np.ceil(np.log2(n_features) + 1)))


def _dsyev() -> Any:
    """Return SciPy's own LAPACK routine for symmetric eigenproblems, as a function pointer."""
    return cython_lapack.__pyx_capi__["dsyev"]


@documented
class CanonicalCorrelationForestClassifier(ForestClassifierMixin, _CanonicalCorrelationForest):
    """CCF: a node tries the canonical correlation directions of a few random columns.

    As published: ceil(log2 d + 1) columns per node, directions from a bootstrap sample of the
    node's rows (the projection bootstrap), thresholds from all of them, every canonical component
    is searched, and trees are not grown on bootstrap samples. Differences: the criterion is Gini
    impurity, as in random forests; trees average class shares instead of voting; and a column that
    depends linearly on those drawn before it is left out of the node's directions. Columns that
    are not numeric (see ``categorical_features``) are not part of directions: they are tried as
    plain axes in addition, their number given by ``max_features``.

    The method was published in [1]_.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    <criterion>
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of columns that the directions of a node are made of. None: ceil(log2 d + 1).
    projection_bootstrap : bool, default=True
        Whether directions come from a bootstrap sample of the node's rows.
    <limits>
    bootstrap : bool, default=False
        Whether each tree is grown on a bootstrap sample.
    <sampling>

    Attributes
    ----------
    <attributes>

    References
    ----------
    .. [1] T. Rainforth and F. Wood, "Canonical Correlation Forests", arXiv:1507.05444, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from jarf.ensemble import CanonicalCorrelationForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> CanonicalCorrelationForestClassifier(20, random_state=0).fit(X, y).predict(X[:3])
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
        criterion: str = "gini",
        max_features: int | float | str | None = None,
        projection_bootstrap: bool = True,
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
        self.max_features = max_features
        self.projection_bootstrap = projection_bootstrap
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
class CanonicalCorrelationForestRegressor(ForestRegressorMixin, _CanonicalCorrelationForest):
    """CCF with squared error: one response, so one canonical direction per node.

    See :class:`CanonicalCorrelationForestClassifier` for the differences from the published method.

    The method was published in [1]_.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of columns that the direction of a node is made of. None: ceil(log2 d + 1).
    projection_bootstrap : bool, default=True
        Whether directions come from a bootstrap sample of the node's rows.
    <limits>
    bootstrap : bool, default=False
        Whether each tree is grown on a bootstrap sample.
    <sampling>

    Attributes
    ----------
    <attributes>

    References
    ----------
    .. [1] T. Rainforth and F. Wood, "Canonical Correlation Forests", arXiv:1507.05444, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from jarf.ensemble import CanonicalCorrelationForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CanonicalCorrelationForestRegressor(50, random_state=0).fit(X[::2], y[::2])
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
        max_features: int | float | str | None = None,
        projection_bootstrap: bool = True,
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
        self.max_features = max_features
        self.projection_bootstrap = projection_bootstrap
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
