"""Canonical correlation forests."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from jarf.ensemble._backend import backend
from jarf.ensemble._forest_docs import documented
from jarf.ensemble._oblique import ForestClassifierMixin, ForestRegressorMixin, ObliqueForest

_CONSTRAINTS = {"projection_bootstrap": ["boolean"]}


class _CanonicalCorrelationForest(ObliqueForest):
    projection_bootstrap: bool

    def _proposal(self, X: np.ndarray) -> Any:
        n_features = X.shape[1]
        if self.max_features is None:
            n_drawn = int(np.ceil(np.log2(n_features) + 1))
        else:
            n_drawn = self._n_candidates(n_features)
        return backend().CanonicalCorrelation(
            min(n_drawn, n_features), self.projection_bootstrap, _dsyev()
        )


def _dsyev() -> Any:
    """Return SciPy's own LAPACK routine for symmetric eigenproblems, as a function pointer."""
    return cython_lapack.__pyx_capi__["dsyev"]


@documented
class CanonicalCorrelationForestClassifier(ForestClassifierMixin, _CanonicalCorrelationForest):
    """CCF [1]_: a node tries the canonical correlation directions of a few random columns.

    As published: ceil(log2 d + 1) columns a node, directions from a bootstrap sample of the node's
    rows (the projection bootstrap), thresholds from all of them, every canonical component is
    searched, and trees are not grown on bootstrap samples. Departures: classes are compared by
    Gini, as random forests do, trees average class shares instead of voting, and collinear columns
    are dealt with by dropping small eigenvalues of the node's correlation matrix.

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

    _parameter_constraints = {**ForestClassifierMixin._parameter_constraints, **_CONSTRAINTS}  # noqa: RUF012

    def __init__(
        self,
        n_estimators=200,
        *,
        criterion="gini",
        max_features=None,
        projection_bootstrap=True,
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
        class_weight=None,
    ):
        self._assign(locals())


@documented
class CanonicalCorrelationForestRegressor(ForestRegressorMixin, _CanonicalCorrelationForest):
    """CCF [1]_ with squared error: one response, so one canonical direction a node.

    See :class:`CanonicalCorrelationForestClassifier` for what is as published and what is not.

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

    _parameter_constraints = {**ObliqueForest._parameter_constraints, **_CONSTRAINTS}  # noqa: RUF012

    def __init__(
        self,
        n_estimators=200,
        *,
        max_features=None,
        projection_bootstrap=True,
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
    ):
        self._assign(locals())
