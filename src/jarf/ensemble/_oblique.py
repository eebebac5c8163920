"""What all forests on the native engine share.

A forest is a proposal (what a node tries), its defaults and its docstring; everything else is
here: :class:`ObliqueForest`, and the two mixins that make it a classifier or a regressor.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from jarf._progress import Stages
from jarf._sklearn import (
    Interval,
    StrOptions,
    check_classification_targets,
    check_sample_weight,
    fit_context,
)
from jarf.ensemble._forest import Forest, GrownTree, SplitNormals
from jarf.ensemble._growing import Limits, Space, Target, grow_tree, grow_trees, make_space
from jarf.gradients import column_std, learning_rows
from jarf.table import TableEncoder, fit_table, read_table, take_tables

# Rows of a bootstrap sample are drawn so many at a time.
DRAWN_AT_ONCE = 2**16


class ObliqueForest(BaseEstimator, metaclass=ABCMeta):
    """Base of all forests on the native engine. A subclass says what a node tries."""

    n_estimators: int
    max_features: Any
    max_depth: int | None
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: float
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    bootstrap: bool
    max_samples: Any
    oob_score: Any
    n_jobs: int | None
    random_state: Any
    verbose: int
    warm_start: bool
    categorical_features: Any = "from_dtype"
    surrogate_rows: int | None = None  # all: most forests have no surrogate
    table_: TableEncoder
    forest_: Forest
    _tree_seeds: np.ndarray

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
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
        "bootstrap": ["boolean"],
        "max_samples": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0.0, 1.0, closed="right"),
        ],
        "oob_score": ["boolean", callable],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    }

    def _assign(self, parameters: dict[str, Any]) -> None:
        """Set the parameters of ``__init__``, given as its ``locals()``."""
        for name, value in parameters.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    # --- what a subclass says -----------------------------------------------------------------

    @abstractmethod
    def _proposal(self, X: np.ndarray, context: Any) -> Any:
        """Make the recipe of the candidates that a node tries on rows and their context."""

    def _proposals(self, X: np.ndarray, context: Any) -> Callable[[int], Any]:
        """Say which recipe the tree of a seed uses: by default all the same."""
        proposal = self._proposal(X, context)
        return lambda seed: proposal

    def _space(self, X: np.ndarray, target: Target) -> Callable[[int], Space]:
        """Say on which columns the tree of a seed is grown: by default all on the same."""
        space = make_space(X, self.n_jobs)
        return lambda seed: space

    # --- fit ----------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Grow the forest.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers, booleans, text and categories; missing values are welcome. It becomes a
            float32 matrix; so does a sparse matrix of at most 2**27 entries.
        y : array-like of shape (n_samples,)
            Class labels or responses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative. Rows of weight zero take no part.

        Returns
        -------
        self : object
        """
        more = self.warm_start and hasattr(self, "forest_")
        X, y = fit_table(
            self,
            X,
            y,
            classifies=self._classifies,
            dtype=np.float32,
            order="F",
            sample_weight=sample_weight,
            reset=not more,
        )
        return self._fit_target(X, y, self._read_target(y), sample_weight, more)

    def _fit_target(self, X, y, target: Target, sample_weight, more: bool = False):
        """Grow the forest on an encoded table."""
        weights = self._row_weights(X, y, sample_weight)
        used = weights > 0
        seeds = self._seeds(Forest.empty(X.shape[1], target.n_classes) if not more else None)
        stages = Stages(type(self).__name__, self.verbose)
        self._grow_all(*_only(used, X, weights), target.only(used), seeds, stages)
        self.stage_times_ = stages.times
        if self.oob_score:
            self._score_out_of_bag(X, y, weights)
        return self

    def _grow_all(self, X, weights, target: Target, seeds: np.ndarray, stages: Stages) -> None:
        rng = check_random_state(self.random_state)
        rows = learning_rows(len(X), self.surrogate_rows, rng, target.first_rows)
        every = slice(None) if rows is None else rows
        learned = self._learn(X[every], weights[every], target.only(every), stages)
        context = self._context(learned, X, weights, target, stages)
        with stages.stage("fit"):
            trees = self._grow(X, weights, target, seeds, context)
        self.forest_ = self.forest_.extended(trees)

    def _learn(self, X, weights, target: Target, stages: Stages) -> Any:
        """Learn what trees on any rows share, from all rows or a sample of them."""
        self._feature_scales = column_std(X)

    def _context(self, learned: Any, X, weights, target: Target, stages: Stages) -> Any:
        """Compute what the proposal needs to know of each row; it can be pickled."""

    def _grow(self, X, weights, target: Target, seeds: np.ndarray, context: Any) -> list[GrownTree]:
        """Grow one tree a seed on these rows."""
        limits, proposal_of = self._limits(len(X)), self._proposals(X, context)
        space_of = self._space(X, target)

        def grow_one(seed: int, stop: np.ndarray) -> GrownTree:
            tree_weights = self._tree_counts(len(X), seed)
            tree_weights *= weights
            return grow_tree(
                space_of(seed), proposal_of(seed), target, tree_weights, seed, limits, stop
            )

        return grow_trees(grow_one, seeds, self.n_jobs, self.verbose)

    def _seeds(self, start: Forest | None) -> np.ndarray:
        """Begin a forest, or go on with the present one; return the seeds of the new trees."""
        if start is not None:
            self.forest_ = start
            self._tree_seeds = np.empty(0, np.int64)
        n_have = len(self._tree_seeds)
        if self.n_estimators < n_have:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {n_have} trees that "
                "warm_start=True keeps. Raise it, or set warm_start=False to start again."
            )
        if self.n_estimators == n_have:
            warn("warm_start=True and n_estimators has not grown: no new trees.", stacklevel=4)
        draws = check_random_state(self.random_state).randint(
            np.iinfo(np.int64).max, size=self.n_estimators, dtype=np.int64
        )
        self._tree_seeds = np.concatenate([self._tree_seeds, draws[n_have:]])
        return self._tree_seeds[n_have:]

    def _limits(self, n_rows: int) -> Limits:
        def rows(rule: Any, least: int) -> int:
            if isinstance(rule, Integral):
                return int(rule)
            return max(least, int(np.ceil(rule * n_rows)))

        return Limits(
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_split=rows(self._split_rule, 2),
            min_samples_leaf=rows(self.min_samples_leaf, 1),
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            min_impurity_decrease=self.min_impurity_decrease,
        )

    @property
    def _split_rule(self) -> Any:
        return self.min_samples_split

    def _n_candidates(self, n_features: int) -> int:
        """Resolve ``max_features`` to a number."""
        rule = self.max_features
        if rule is None:
            return n_features
        if rule == "sqrt":
            return max(1, int(np.sqrt(n_features)))
        if rule == "log2":
            return max(1, int(np.log2(n_features)))
        if isinstance(rule, Integral):
            return int(rule)
        return max(1, int(rule * n_features))

    def _row_weights(self, X, y, sample_weight) -> np.ndarray:
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("All sample weights are zero: there is nothing to learn from.")
        return weights

    def _tree_counts(self, n_rows: int, seed: int) -> np.ndarray:
        """Count how often each row is in the bootstrap sample of a tree."""
        if not self.bootstrap:
            return np.ones(n_rows)
        n_draws = n_rows
        if isinstance(self.max_samples, Integral):
            n_draws = int(self.max_samples)
        elif self.max_samples is not None:
            n_draws = max(1, round(self.max_samples * n_rows))
        counts, rng = np.zeros(n_rows), np.random.default_rng(seed)
        for start in range(0, n_draws, DRAWN_AT_ONCE):  # every thread holds what it draws
            size = min(DRAWN_AT_ONCE, n_draws - start)
            np.add.at(counts, rng.integers(n_rows, size=size), 1.0)
        return counts

    def _score_out_of_bag(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        if not self.bootstrap:
            raise ValueError("Out-of-bag scores need bootstrap=True.")
        used = np.flatnonzero(weights)
        in_bag = np.zeros((self.forest_.n_trees, len(X)), np.uint8)
        for tree, seed in enumerate(self._tree_seeds.tolist()):
            in_bag[tree, used] = self._tree_counts(len(used), seed) > 0
        counts = self.forest_.n_trees - in_bag.sum(axis=0, dtype=np.int64)
        if not counts.all():
            warn(
                "Some rows are in the bootstrap sample of every tree and have no out-of-bag "
                "prediction (NaN). Grow more trees.",
                stacklevel=4,
            )
        with np.errstate(invalid="ignore"):
            means = self.forest_.predict(X, self.n_jobs, in_bag) / counts[:, None]
        self._keep_out_of_bag(means, y, counts > 0)

    # --- what a fitted forest tells -----------------------------------------------------------

    def _rows(self, X) -> np.ndarray:
        check_is_fitted(self)
        return read_table(self, X, dtype=np.float32, order="C")

    def _means(self, X) -> np.ndarray:
        """Average the trees: (n_samples, n_outputs)."""
        X = self._rows(X)
        return self.forest_.predict(X, self.n_jobs) / self.forest_.n_trees

    def apply(self, X):
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
        """Return every cut of the forest in the original columns.

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
        return self.table_.per_column(self.forest_.importances(self._feature_scales))

    @property
    def _plain_axes(self) -> np.ndarray:
        """Outputs of the table that no direction mixes: levels, target means, indicators."""
        return ~self.table_.is_number

    @property
    def _classifies(self) -> bool:
        return isinstance(self, ClassifierMixin)

    @abstractmethod
    def _read_target(self, y: np.ndarray) -> Target: ...

    @abstractmethod
    def _target_of(self, y: np.ndarray, classes: np.ndarray) -> Target: ...

    @abstractmethod
    def _keep_out_of_bag(self, means: np.ndarray, y: np.ndarray, known: np.ndarray) -> None: ...

    def __sklearn_tags__(self):
        return take_tables(super().__sklearn_tags__())


@fit_context(prefer_skip_nested_validation=True)
def fit_on_matrix(forest: ObliqueForest, X, y, sample_weight=None, *, n_classes: int = 0):
    """Fit a forest on a finished matrix and an encoded target, without the table stage.

    Parameters
    ----------
    forest : ObliqueForest
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
    ObliqueForest
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
    return forest._fit_target(X, y, target, sample_weight)


def _only(used: np.ndarray, X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave rows of weight zero out, without a copy where there are none."""
    return (X, weights) if used.all() else (np.asfortranarray(X[used]), weights[used])


class ForestClassifierMixin(ClassifierMixin):
    """Makes an :class:`ObliqueForest` a classifier."""

    classes_: np.ndarray

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ObliqueForest._parameter_constraints,
        "criterion": [StrOptions({"gini", "entropy"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _read_target(self, y: np.ndarray) -> Target:
        check_classification_targets(y)
        classes = np.unique(y)
        more = self.warm_start and hasattr(self, "forest_")
        if more and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start=True needs the same classes as the first fit.")
        return self._target_of(np.searchsorted(classes, y), classes)

    def _target_of(self, y: np.ndarray, classes: np.ndarray) -> Target:
        self.classes_, self.n_classes_ = classes, len(classes)
        return Target.of_classes(y, len(classes), self.criterion)

    def _row_weights(self, X, y, sample_weight) -> np.ndarray:
        weights = super()._row_weights(X, y, sample_weight)
        if self.class_weight is None:
            return weights
        return weights * compute_sample_weight(self.class_weight, y)

    def _keep_out_of_bag(self, means, y, known) -> None:
        self.oob_decision_function_ = means
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = score(y[known], self.classes_[means[known].argmax(axis=1)])

    def predict_proba(self, X):
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

    def predict(self, X):
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


class ForestRegressorMixin(RegressorMixin):
    """Makes an :class:`ObliqueForest` a regressor."""

    def _read_target(self, y: np.ndarray) -> Target:
        return Target.of_responses(y)

    def _target_of(self, y: np.ndarray, classes: np.ndarray) -> Target:
        return Target.of_responses(y)

    def _keep_out_of_bag(self, means, y, known) -> None:
        self.oob_prediction_ = means[:, 0]
        score = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = score(y[known], means[known, 0])

    def predict(self, X):
        """Average the means of the leaves that each row reaches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        responses : ndarray of shape (n_samples,)
        """
        return self._means(X)[:, 0]
