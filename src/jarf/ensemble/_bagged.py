"""Bagged forests: trees that are averaged, each grown from its own seed.

A forest consists of a :class:`Growth` (how its trees grow), its defaults and its docstring;
everything else is here: :class:`BaggedForest`, :class:`BootstrapForest`, and the two mixins that
make a forest a classifier or a regressor.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from typing import Any, Self
from warnings import warn

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state

from jarf._progress import Stages
from jarf._sklearn import (
    ClassifierMixin,
    Interval,
    RegressorMixin,
    StrOptions,
    fit_context,
    weigh_classes,
)
from jarf.ensemble._base import TreeEnsemble
from jarf.ensemble._growth import Growth, Rules
from jarf.gradients import column_std, learning_rows
from jarf.table import TableEncoder, encode_classes, fit_table
from jarf.trees import (
    ClassTarget,
    Forest,
    ResponseTarget,
    Target,
    bootstrap_counts,
    tree_seeds,
)


class BaggedForest(TreeEnsemble, metaclass=ABCMeta):
    """Base of all forests. A subclass defines how its trees grow.

    Examples
    --------
    >>> from jarf import JacobianForestClassifier
    >>> from jarf.ensemble import BaggedForest
    >>> issubclass(JacobianForestClassifier, BaggedForest)
    True
    """

    n_estimators: int
    warm_start: bool
    tree_seeds_: np.ndarray

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        **TreeEnsemble._parameter_constraints,
        "warm_start": ["boolean"],
    }

    @abstractmethod
    def _growth(self, X: np.ndarray, weights, target: Target, stages: Stages) -> Growth:
        """Learn what all trees share, from all rows or a sample of them."""

    @property
    def _learning_rows(self) -> int | None:
        """Number of rows that are learned from; None: all."""
        return None

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers, booleans, text and categories; missing values are allowed. It is converted to a
            float32 matrix; so is a sparse matrix of at most 2**27 entries.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, or responses; only regressors take several outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows with zero weight are ignored.

        Returns
        -------
        self : object
        """
        more = self.warm_start and hasattr(self, "forest_")
        X, y, weights = self._encoded(X, y, sample_weight, reset=not more)
        self._fit_encoded(X, y, self._read_target(y), weights, more)
        return self

    def _encoded(self, X: Any, y: Any, sample_weight: Any, reset: bool = True):
        """Return the float matrix that ``table_`` makes, the checked target and the weights."""
        X, y = fit_table(
            self,
            X,
            y,
            classifies=isinstance(self, ClassifierMixin),
            several_outputs=isinstance(self, RegressorMixin),
            dtype=np.float32,
            order="F",
            sample_weight=sample_weight,
            reset=reset,
        )
        return X, y, self._row_weights(X, y, sample_weight)

    def _fit_encoded(self, X, y, target: Target, weights: np.ndarray, more: bool) -> None:
        """Fit to the float matrix that ``table_`` made."""
        used = weights > 0
        seeds = self._begin(X.shape[1], target, more)
        stages = Stages(type(self).__name__, self.verbose)
        self._grow(*only_used(used, X, weights), target.only(used), seeds, stages)
        self.stage_times_ = stages.times

    def _grow(self, X, weights, target: Target, seeds: np.ndarray, stages: Stages) -> None:
        some = self._rows_to_learn(target)
        growth = self._learn(X[some], weights[some], target.only(some), stages)
        context = None
        if growth.needs_context:
            with stages.stage("gradients"):
                context = growth.context(X, weights, target, self.n_jobs)
        with stages.stage("fit"):
            trees = growth.grow(
                X, weights, target, seeds, context, n_jobs=self.n_jobs, progress=stages.detail
            )
        del growth, context
        self.forest_ = self.forest_.extended(trees, empty=True)

    def _rows_to_learn(self, target: Target) -> Any:
        """Return the rows that ``_growth`` sees."""
        rng = check_random_state(self.random_state)
        rows = learning_rows(target.n_rows, self._learning_rows, rng, target.first_rows)
        return slice(None) if rows is None else rows

    def _learn(self, X, weights, target: Target, stages: Stages) -> Growth:
        self.feature_scales_ = column_std(X)
        return self._growth(X, weights, target, stages)

    def _begin(self, n_features: int, target: Target, more: bool) -> np.ndarray:
        """Start a forest, or continue the present one; return the seeds of the new trees."""
        if isinstance(target, ResponseTarget):
            self.n_outputs_ = target.n_outputs
        if not more:
            self.forest_ = Forest.empty(n_features, target.n_classes, target.n_outputs)
            self.tree_seeds_ = np.empty(0, np.int64)
        n_have = len(self.tree_seeds_)
        if self.n_estimators < n_have:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {n_have} trees that "
                "warm_start=True keeps. Raise it, or set warm_start=False to start again."
            )
        if self.n_estimators == n_have:
            warn("warm_start=True and n_estimators has not grown: no new trees.", stacklevel=5)
        draws = tree_seeds(check_random_state(self.random_state), self.n_estimators)
        self.tree_seeds_ = np.concatenate([self.tree_seeds_, draws[n_have:]])
        return self.tree_seeds_[n_have:]

    @property
    def _plain_axes(self) -> np.ndarray:
        """Encoded columns that no direction mixes: levels, target means, indicators."""
        return ~self.table_.is_number

    @abstractmethod
    def _read_target(self, y: np.ndarray) -> Target: ...

    @abstractmethod
    def _target_of(self, y: np.ndarray, classes: np.ndarray) -> Target: ...

    def _means(self, X) -> np.ndarray:
        """Average the trees: (n_samples, n_outputs)."""
        X = self._rows(X)
        return self.forest_.predict(X, self.n_jobs)


def begin_growth(
    forest: BaggedForest, X: np.ndarray, weights: np.ndarray, target: Target, stages: Stages
) -> tuple[Growth, np.ndarray]:
    """Start a forest whose trees are grown elsewhere.

    Parameters
    ----------
    forest : BaggedForest
        Not fitted, except for its ``table_``; ``forest_`` becomes a forest without trees.
    X, weights, target :
        Encoded rows to learn from: all, or a sample.
    stages : Stages

    Returns
    -------
    growth : Growth
    seeds : ndarray
        One per tree.
    """
    seeds = forest._begin(X.shape[1], target, more=False)
    return forest._learn(X, weights, target, stages), seeds


@fit_context(prefer_skip_nested_validation=True)
def fit_on_matrix(forest: BaggedForest, X, y, sample_weight=None, *, n_classes: int = 0):
    """Fit a forest on a finished matrix and an encoded target, without the table stage.

    Parameters
    ----------
    forest : BaggedForest
        Not fitted.
    X : ndarray of shape (n_samples, n_features)
        Numbers without missing values; used as float32, column by column.
    y : ndarray of shape (n_samples,)
        Class codes 0..n_classes-1, or responses.
    sample_weight : ndarray of shape (n_samples,), default=None
    n_classes : int, default=0
        0 in regression.

    Returns
    -------
    BaggedForest
        Fitted; its classes are the codes.
    """
    with np.errstate(over="ignore"):
        X = np.asarray(X, dtype=np.float32, order="F")
    if not np.isfinite(X).all():
        raise ValueError(
            "The matrix that the forest is grown on contains infinity or a value too large for "
            "float32. Scale the columns of X to about one."
        )
    forest.n_features_in_ = X.shape[1]
    forest.table_ = TableEncoder.identity(X.shape[1])
    target = forest._target_of(y, np.arange(n_classes))
    weights = forest._row_weights(X, y, sample_weight)
    forest._fit_encoded(X, y, target, weights, more=False)
    return forest


class BootstrapForest(BaggedForest):
    """A forest whose trees may see bootstrap samples, with out-of-bag scores."""

    bootstrap: bool
    max_samples: Any
    oob_score: Any

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **BaggedForest._parameter_constraints,
        "bootstrap": ["boolean"],
        "max_samples": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0.0, 1.0, closed="right"),
        ],
        "oob_score": ["boolean", callable],
    }

    def _rules(self, **changed: Any) -> Rules:
        return super()._rules(bootstrap=self.bootstrap, max_samples=self.max_samples, **changed)

    def _fit_encoded(self, X, y, target, weights, more) -> None:
        super()._fit_encoded(X, y, target, weights, more)
        if self.oob_score:
            self._score_out_of_bag(X, y, weights)

    def _score_out_of_bag(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        if not self.bootstrap:
            raise ValueError("Out-of-bag scores need bootstrap=True.")
        used = np.flatnonzero(weights)
        n_draws = self._rules().n_draws(len(used))
        in_bag = np.zeros((self.forest_.n_trees, len(X)), np.uint8)
        for tree, seed in enumerate(self.tree_seeds_.tolist()):
            in_bag[tree, used] = bootstrap_counts(len(used), n_draws, seed) > 0
        counts = self.forest_.n_trees - in_bag.sum(axis=0, dtype=np.int64)
        if not counts.all():
            warn(
                "Some rows are in the bootstrap sample of every tree and have no out-of-bag "
                "prediction (NaN). Grow more trees.",
                stacklevel=5,
            )
        with np.errstate(invalid="ignore"):
            means = self.forest_.sums(X, self.n_jobs, in_bag) / counts[:, None]
        self._keep_out_of_bag(means, y, counts > 0)

    @abstractmethod
    def _keep_out_of_bag(self, means: np.ndarray, y: np.ndarray, known: np.ndarray) -> None: ...


def only_used(
    used: np.ndarray, X: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Drop rows with zero weight, without a copy if there are none."""
    return (X, weights) if used.all() else (np.asfortranarray(X[used]), weights[used])


CLASSIFIER_CONSTRAINTS = {
    "criterion": [StrOptions({"gini", "entropy"})],
    "class_weight": [StrOptions({"balanced"}), dict, None],
}


class ForestClassifierMixin(ClassifierMixin, BaggedForest):
    """Makes a :class:`BaggedForest` a classifier."""

    criterion: str
    class_weight: Any
    oob_score: Any

    classes_: np.ndarray

    def _read_target(self, y: np.ndarray) -> Target:
        classes, codes = encode_classes(y)
        more = self.warm_start and hasattr(self, "forest_")
        if more and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start=True needs the same classes as the first fit.")
        return self._target_of(codes, classes)

    def _target_of(self, y: np.ndarray, classes: np.ndarray) -> Target:
        self.classes_, self.n_classes_ = classes, len(classes)
        return ClassTarget(y, len(classes), self.criterion)

    def _row_weights(self, X, y, sample_weight) -> np.ndarray:
        weights = super()._row_weights(X, y, sample_weight)
        if self.class_weight is None:
            return weights
        return weigh_classes(self.class_weight, y, weights)

    def _keep_out_of_bag(self, means, y, known) -> None:
        self.oob_decision_function_ = means
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = score(y[known], self.classes_[means[known].argmax(axis=1)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Average the class shares of the leaves that each row reaches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._means(X)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``; minus infinity if the probability is zero.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class ForestRegressorMixin(RegressorMixin, BaggedForest):
    """Makes a :class:`BaggedForest` a regressor."""

    oob_score: Any
    n_outputs_: int

    def _read_target(self, y: np.ndarray) -> Target:
        n_outputs = ResponseTarget(y).n_outputs
        if self.warm_start and hasattr(self, "forest_") and n_outputs != self.n_outputs_:
            raise ValueError(
                f"y has {n_outputs} outputs, but warm_start=True keeps trees of {self.n_outputs_}."
            )
        return self._target_of(y, np.empty(0))

    def _target_of(self, y: np.ndarray, classes: np.ndarray) -> Target:
        return ResponseTarget(y)

    def _keep_out_of_bag(self, means, y, known) -> None:
        self.oob_prediction_ = self._squeezed(means)
        score = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = score(y[known], self.oob_prediction_[known])

    def predict(self, X: Any) -> np.ndarray:
        """Average the means of the leaves that each row reaches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        responses : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._squeezed(self._means(X))

    def _squeezed(self, means: np.ndarray) -> np.ndarray:
        return means[:, 0] if self.n_outputs_ == 1 else means

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
