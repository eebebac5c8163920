"""Common alternatives: extra trees and popular boosters, untuned.

Extra trees get the study's number of trees. A booster's number of rounds is part of its method, so
each booster keeps its own: LightGBM 500 rounds at rate 0.05 with early stopping, CatBoost, ydf and
scikit-learn their defaults. All get one thread, and no setting
that would make a fit random or write files.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from jarf.bench._interval_peers import INTERVALS, QuantilePair
from jarf.bench._methods import Method, Setting
from jarf.bench._protocol import cap_rows
from jarf.bench._recipes import Recipe

__all__ = ["METHODS", "EarlyStopped", "XRFMModel", "YDFModel"]


def _matrix(X: Any) -> np.ndarray:
    return np.ascontiguousarray(X, dtype=np.float64)


def _on_matrix(model: Any) -> Any:
    """Return a model that sees numbers only: indicators of levels become 0 and 1."""
    return make_pipeline(FunctionTransformer(_matrix), model)


def _extra_trees(setting: Setting, **params: Any) -> Any:
    kind = ExtraTreesClassifier if setting.classification else ExtraTreesRegressor
    return kind(
        n_estimators=setting.n_trees,
        max_features="sqrt" if setting.classification else 1.0,
        random_state=setting.random_state,
        n_jobs=setting.n_jobs,
        **params,
    )


def _histograms(setting: Setting, **params: Any) -> Any:
    kind = HistGradientBoostingRegressor
    if setting.classification:
        kind = HistGradientBoostingClassifier
    return kind(random_state=setting.random_state, **params)


class EarlyStopped(BaseEstimator):
    """LightGBM that stops early on training rows it holds out itself.

    A random fifth of the training rows is held out; boosting stops after 50 rounds without a
    smaller loss there, and the rounds up to the best one are kept.

    Parameters
    ----------
    estimator : LGBMClassifier or LGBMRegressor
        Its ``random_state`` also draws the rows that are held out.

    Examples
    --------
    >>> from jarf.bench import EarlyStopped
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> EarlyStopped(HistGradientBoostingRegressor()).estimator
    HistGradientBoostingRegressor()
    """

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> EarlyStopped:
        """Hold rows out and fit on the others; every class keeps a row to learn from."""
        from lightgbm import early_stopping

        X, y = _matrix(X), np.asarray(y)
        task = "classification" if is_classifier(self.estimator) else "regression"
        every, n_learn = np.arange(len(y)), len(y) - max(1, len(y) // 5)
        learn = cap_rows(every, y, n_learn, task, self.estimator.random_state or 0)
        held_out = np.setdiff1d(every, learn)
        model, stop = clone(self.estimator), early_stopping(50, verbose=False)
        judges: dict[str, Any] = {"eval_set": [(X[held_out], y[held_out])]}
        if "eval_X" in signature(model.fit).parameters:  # LightGBM 4.7 renamed it
            judges = {"eval_X": X[held_out], "eval_y": y[held_out]}
        self.model_ = model.fit(X[learn], y[learn], callbacks=[stop], **judges)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict classes, or numbers in regression."""
        return self.model_.predict(_matrix(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probabilities of the classes."""
        return self.model_.predict_proba(_matrix(X))


def _lightgbm(setting: Setting, **params: Any) -> Any:
    import lightgbm

    kind = lightgbm.LGBMClassifier if setting.classification else lightgbm.LGBMRegressor
    options = {
        "n_estimators": 500,
        "learning_rate": 0.05,
        "random_state": setting.random_state,
        "n_jobs": setting.n_jobs,
        "verbosity": -1,
        **params,
    }
    return EarlyStopped(kind(**options))


def _catboost(setting: Setting, intervals: bool = False, **params: Any) -> Any:
    import catboost

    kind = catboost.CatBoostClassifier if setting.classification else catboost.CatBoostRegressor
    model = kind(
        random_seed=setting.random_state,
        thread_count=setting.n_jobs,
        verbose=False,
        allow_writing_files=False,
        **params,
    )
    return QuantilePair(model) if intervals else _on_matrix(model)


class YDFModel(BaseEstimator):
    """A learner of Yggdrasil decision forests (ydf) with scikit-learn's methods.

    Parameters
    ----------
    learner : {"RandomForestLearner", "GradientBoostedTreesLearner"}
    classification : bool
    options : dict or None
        Passed to the learner.
    """

    def __init__(
        self,
        learner: str = "RandomForestLearner",
        classification: bool = True,
        options: dict[str, Any] | None = None,
    ):
        self.learner = learner
        self.classification = classification
        self.options = options

    def fit(self, X: Any, y: Any) -> YDFModel:
        """Train; classes are numbered 0, 1, ..."""
        import ydf

        task = ydf.Task.CLASSIFICATION if self.classification else ydf.Task.REGRESSION
        learner = getattr(ydf, self.learner)(label="y", task=task, **(self.options or {}))
        self.n_classes_ = int(np.max(y)) + 1 if self.classification else 0
        self.model_ = learner.train({"x": _matrix(X), "y": np.asarray(y)}, verbose=0)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes."""
        found = self.model_.predict({"x": _matrix(X)})
        if found.ndim == 1:
            found = np.column_stack([1 - found, found])
        proba = np.zeros((len(found), self.n_classes_))
        proba[:, [int(name) for name in self.model_.label_classes()]] = found
        return proba

    def predict(self, X: Any) -> np.ndarray:
        """Classes, or numbers in regression."""
        if self.classification:
            return self.predict_proba(X).argmax(axis=1)
        return self.model_.predict({"x": _matrix(X)})


class XRFMModel(BaseEstimator):
    """A recursive feature machine with a tree (xrfm) with scikit-learn's methods.

    A fifth of the training rows validates its iterations, as xrfm requires.

    Parameters
    ----------
    classification : bool
    options : dict or None
        Passed to ``xrfm.xRFM``.
    """

    def __init__(self, classification: bool = True, options: dict[str, Any] | None = None):
        self.classification = classification
        self.options = options

    def fit(self, X: Any, y: Any) -> XRFMModel:
        """Train; classes are numbered 0, 1, ..."""
        from xrfm import xRFM

        X, y = _matrix(X), np.asarray(y, dtype=np.int64 if self.classification else np.float32)
        self.n_classes_ = int(y.max()) + 1 if self.classification else 0
        seed = (self.options or {}).get("random_state", 0)
        order = np.random.default_rng(seed).permutation(len(y))
        validation, train = np.split(order, [max(1, len(y) // 5)])
        self.model_ = xRFM(device="cpu", verbose=False, **(self.options or {}))
        self.model_.fit(X[train], y[train], X[validation], y[validation])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes."""
        found = np.asarray(self.model_.predict_proba(_matrix(X)), dtype=float)
        proba = np.zeros((len(found), self.n_classes_))
        proba[:, : found.shape[1]] = found[:, : self.n_classes_]
        return proba

    def predict(self, X: Any) -> np.ndarray:
        """Classes, or numbers in regression."""
        if self.classification:
            return self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.model_.predict(_matrix(X)), dtype=float).ravel()


def _xrfm(setting: Setting, **params: Any) -> XRFMModel:
    options = {"random_state": setting.random_state, "n_threads": setting.n_jobs, **params}
    return XRFMModel(setting.classification, options)


def _ydf(learner: str, **fixed: Any) -> Any:
    def factory(setting: Setting, **params: Any) -> YDFModel:
        options = {
            "random_seed": setting.random_state % 2**31,
            "num_threads": setting.n_jobs,
            **fixed,
            **params,
        }
        if learner == "RandomForestLearner":
            options.setdefault("num_trees", setting.n_trees)
        return YDFModel(learner, setting.classification, options)

    return factory


METHODS = (
    Method(
        "ET",
        _extra_trees,
        note="extra trees of scikit-learn: a random forest whose thresholds are drawn at random; "
        "square root of the columns per node in classification, all in regression",
        recipe=Recipe(
            ("from sklearn.ensemble import ExtraTrees{Kind}",),
            "ExtraTrees{Kind}(n_estimators={trees}, random_state=0)",
        ),
    ),
    Method(
        "HGB",
        _histograms,
        note="histogram gradient boosting of scikit-learn, untuned: its defaults (100 "
        "rounds, learning rate 0.1, 31 leaves; early stopping above 10,000 training rows)",
        recipe=Recipe(
            ("from sklearn.ensemble import HistGradientBoosting{Kind}",),
            "HistGradientBoosting{Kind}(random_state=0)",
        ),
    ),
    Method(
        "LGBM",
        _lightgbm,
        note="LightGBM, untuned: at most 500 rounds, learning rate 0.05, 31 leaves, early stopping "
        "on a fifth of the training rows after 50 rounds without improvement",
        requires=("lightgbm",),
        recipe=Recipe(
            ("from lightgbm import LGBM{Kind}", "from jarf.bench import EarlyStopped"),
            "EarlyStopped(LGBM{Kind}(n_estimators=500, learning_rate=0.05, random_state=0, "
            "verbosity=-1))",
        ),
    ),
    Method(
        "CatBoost",
        _catboost,
        variants={INTERVALS: {"intervals": True}},
        note="CatBoost, untuned: 1,000 rounds, depth 6, learning rate chosen by CatBoost (its "
        "defaults); categories are one-hot here as for every method",
        requires=("catboost",),
        recipe=Recipe(
            ("from catboost import CatBoost{Kind}",),
            "CatBoost{Kind}(random_seed=0, verbose=False, allow_writing_files=False)",
        ),
    ),
    Method(
        "YDF-oblique",
        _ydf("RandomForestLearner", split_axis="SPARSE_OBLIQUE", winner_take_all=False),
        note="random forest of ydf with sparse oblique splits, untuned: depth at most 16, at least "
        "5 rows per leaf, probabilities averaged",
        requires=("ydf",),
    ),
    Method(
        "YDF-GBT",
        _ydf("GradientBoostedTreesLearner"),
        note="gradient boosted trees of ydf, untuned: at most 300 rounds, depth 6, shrinkage 0.1, "
        "early stopping on a tenth of the training rows",
        requires=("ydf",),
    ),
    Method(
        "YDF-oblique-GBT",
        _ydf("GradientBoostedTreesLearner", split_axis="SPARSE_OBLIQUE"),
        note="gradient boosted trees of ydf with sparse oblique splits, untuned: at most 300 "
        "rounds, depth 6, shrinkage 0.1, early stopping on a tenth of the training rows",
        requires=("ydf",),
    ),
    Method(
        "xRFM",
        _xrfm,
        note="recursive feature machine with a tree (xrfm), a kernel machine that learns an "
        "average gradient outer product; untuned, a fifth of the training rows validates its "
        "iterations",
        requires=("xrfm", "torch"),
    ),
)
