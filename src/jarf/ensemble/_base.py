"""Base of all tree ensembles: table, limits, leaves, cuts and importances."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jarf._sklearn import BaseEstimator, Interval, StrOptions, check_sample_weight
from jarf.ensemble._growth import Rules
from jarf.table import TableEncoder, read_table, take_tables
from jarf.trees import Forest, SplitNormals


class TreeEnsemble(BaseEstimator):
    """Base of all estimators whose trees are grown by the engine, bagged or boosted.

    Examples
    --------
    >>> from jarf import AxisForestClassifier
    >>> from jarf.ensemble import TreeEnsemble
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AxisForestClassifier(5, random_state=0).fit(X, y)
    >>> isinstance(model, TreeEnsemble), model.apply(X).shape
    (True, (150, 5))
    """

    max_features: Any
    max_depth: int | None
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: float
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    n_jobs: int | None
    random_state: Any
    verbose: int
    categorical_features: Any
    table_: TableEncoder
    forest_: Forest
    feature_scales_: np.ndarray

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0.0, None, closed="neither"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(Real, 0.0, 1.0, closed="neither"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0.0, 1.0, closed="neither"),
        ],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    }

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")

    def _rules(self, **changed: Any) -> Rules:
        """Collect the limits of trees; ``changed`` replaces or adds some."""
        return Rules(
            **{
                "max_depth": self.max_depth,
                "max_leaf_nodes": self.max_leaf_nodes,
                "min_samples_split": self.min_samples_split,
                "min_samples_leaf": self.min_samples_leaf,
                "min_weight_fraction_leaf": self.min_weight_fraction_leaf,
                "min_impurity_decrease": self.min_impurity_decrease,
                **changed,
            }
        )

    def _row_weights(self, X, y, sample_weight) -> np.ndarray:
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("All sample weights are zero: there is nothing to learn from.")
        return weights

    def _rows(self, X) -> np.ndarray:
        check_is_fitted(self)
        return read_table(self, X, dtype=np.float32, order="C")

    def apply(self, X: Any) -> np.ndarray:
        """Find the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
            Numbers of nodes, counted within each tree.
        """
        X = self._rows(X)
        return self.forest_.apply(X, self.n_jobs)

    def split_normals(self) -> SplitNormals:
        """Return every cut of the ensemble in the original columns.

        Returns
        -------
        cuts : SplitNormals
            ``normals``, a sparse array of shape (n_cuts, n_features) with rows of length one;
            ``offsets``, such that a row goes left if normal . x <= offset; ``weights``, the share
            of its tree's training weight that reaches the cut; ``gains``, the decrease of
            impurity there, times that share; and the ``trees`` and ``nodes`` they belong to.
        """
        check_is_fitted(self)
        cuts = self.forest_.split_normals()
        if self.table_.is_identity_:
            return cuts
        return cuts._replace(normals=cuts.normals @ self.table_.selector())

    @property
    def feature_importances_(self) -> np.ndarray:
        """Decrease of impurity, credited to the original columns; sums to one.

        A cut along w credits column j in proportion to (w_j s_j)^2, s_j the column's standard
        deviation in the training data: its share of the variance along w, were the columns
        uncorrelated. For a plain axis this is the usual importance.
        """
        check_is_fitted(self)
        return self.table_.per_column(self.forest_.importances(self.feature_scales_))

    def __sklearn_tags__(self):
        return take_tables(super().__sklearn_tags__())
