"""The methods the paper compares with, at the settings of its appendix B.1."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline

from jarf.bench._interval_peers import INTERVALS, SplitConformal
from jarf.bench._mechanism import alignment_of_normals
from jarf.bench._methods import Method, Setting
from jarf.bench._recipes import Recipe

__all__ = ["METHODS", "XGB_GRID", "engine_forest", "forest", "jarf_recipe", "xgboost"]

XGB_GRID = {"max_depth": (3, 6, 9), "learning_rate": (0.05, 0.1), "reg_lambda": (0, 1)}


def forest(setting: Setting, intervals: bool = False, **params: Any) -> Any:
    """The random forest of the study: sqrt(d) features in classification, all in regression."""
    if intervals:
        return SplitConformal(forest(setting, **params))
    options = {
        "n_estimators": setting.n_trees,
        "random_state": setting.random_state,
        "n_jobs": setting.n_jobs,
        **params,
    }
    if setting.classification:
        return RandomForestClassifier(**{"max_features": "sqrt", **options})
    return RandomForestRegressor(**{"max_features": 1.0, **options})


def xgboost(setting: Setting, **params: Any) -> Any:
    """XGBoost with histograms, no subsampling, the tuned part of the grid in ``params``."""
    import xgboost as package

    options = {
        "n_estimators": setting.n_trees,
        "random_state": setting.random_state,
        "n_jobs": setting.n_jobs,
        "tree_method": "hist",
        "verbosity": 0,
        **params,
    }
    kind = package.XGBClassifier if setting.classification else package.XGBRegressor
    return kind(**options)


class BinnedDiscriminants(TransformerMixin, BaseEstimator):
    """Linear discriminants; a numeric target is first divided into ten classes of equal size.

    Regression has no classes for LDA to separate. Dividing the target at its deciles is the usual
    substitute (sliced inverse regression, up to scaling).
    """

    def __init__(self, n_bins: int | None = None):
        self.n_bins = n_bins

    def fit(self, X: Any, y: Any) -> BinnedDiscriminants:
        """Fit the discriminants."""
        labels = np.asarray(y)
        if self.n_bins is not None:
            edges = np.quantile(labels, np.linspace(0, 1, self.n_bins + 1)[1:-1])
            labels = np.searchsorted(edges, labels, side="right")
        self.lda_ = LinearDiscriminantAnalysis().fit(X, labels)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Project on at most (number of classes - 1) discriminants."""
        return self.lda_.transform(X)


def _projected(setting: Setting, projection: Any) -> Any:
    """Project the numeric columns, pass the one-hot columns through, then fit the forest."""
    columns = np.flatnonzero(setting.numeric)
    rotate = ColumnTransformer([("project", projection, columns)], remainder="passthrough")
    return make_pipeline(rotate, forest(setting))


def _pca(setting: Setting) -> Any:
    return _projected(setting, PCA(random_state=setting.random_state))


def _lda(setting: Setting) -> Any:
    return _projected(setting, BinnedDiscriminants(None if setting.classification else 10))


def jarf_recipe(stem: str) -> Recipe:
    """Code that builds one of the library's estimators."""
    return Recipe(
        (f"from jarf import {stem}{{Kind}}",),
        f"{stem}{{Kind}}(n_estimators={{trees}}, random_state=0)",
        takes_tables=True,
    )


def engine_forest(stem: str, classification: Any = None, regression: Any = None) -> Any:
    """Return a factory for one of our forests, with settings for either task."""
    settings = {True: classification or {}, False: regression or {}}

    def factory(setting: Setting, **params: Any) -> Any:
        import jarf

        kind = getattr(jarf, stem + ("Classifier" if setting.classification else "Regressor"))
        return kind(
            n_estimators=setting.n_trees,
            random_state=setting.random_state,
            n_jobs=setting.n_jobs,
            **{**settings[setting.classification], **params},
        )

    return factory


def _grid_text() -> str:
    """The grid as Python whose braces survive ``str.format``."""
    return repr({name: list(values) for name, values in XGB_GRID.items()}).translate(
        {ord("{"): "{{", ord("}"): "}}"}
    )


METHODS = (
    Method(
        "RF",
        forest,
        variants={INTERVALS: {"intervals": True}},
        note="random forest of scikit-learn: the average of many trees, each of which cuts one "
        "column at a time",
        recipe=Recipe(
            ("from sklearn.ensemble import RandomForest{Kind}",),
            "RandomForest{Kind}(n_estimators={trees}, random_state=0)",
        ),
    ),
    Method(
        "RotF",
        engine_forest("RotationForest", {"criterion": "gini", "max_features": "sqrt"}),
        inspect=alignment_of_normals,
        note="Rotation Forest: every tree sees its columns rotated by principal components, in "
        "6 groups",
        recipe=jarf_recipe("RotationForest"),
    ),
    Method(
        "CCF",
        engine_forest("CanonicalCorrelationForest"),
        inspect=alignment_of_normals,
        note="canonical correlation forest: every node cuts along the combination of columns "
        "that correlates most with the target",
        recipe=jarf_recipe("CanonicalCorrelationForest"),
    ),
    Method(
        "SPORF",
        engine_forest("SPORF"),
        inspect=alignment_of_normals,
        note="sparse projection forest: every node tries sums and differences of a few random "
        "columns",
        recipe=jarf_recipe("SPORF"),
    ),
    Method(
        "XGB",
        xgboost,
        grid=XGB_GRID,
        note="XGBoost, gradient boosting: each tree corrects the errors of the trees before it; "
        "depth, learning rate and penalty are tuned on training rows (grid of appendix B.1)",
        requires=("xgboost",),
        recipe=Recipe(
            (
                "from sklearn.model_selection import GridSearchCV",
                "from xgboost import XGB{Kind}",
            ),
            f"GridSearchCV(XGB{{Kind}}(n_estimators={{trees}}), {_grid_text()}, cv=3)",
            numbers_classes=True,
        ),
    ),
    Method(
        "PCA+RF",
        _pca,
        note="random forest on all principal components of the numeric columns",
    ),
    Method(
        "LDA+RF",
        _lda,
        note="random forest on the linear discriminants of the numeric columns (of target "
        "deciles in regression)",
    ),
)
