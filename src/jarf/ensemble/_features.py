"""Directions drawn from the EJOP as extra columns, for boosters and any other model."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from jarf._progress import Stages
from jarf._sklearn import (
    BaseEstimator,
    HasMethods,
    Interval,
    StrOptions,
    TransformerMixin,
    check_classification_targets,
    check_feature_names_in,
    fit_context,
    is_classifier,
    type_of_target,
)
from jarf._threads import one_blas_thread, openmp_limit
from jarf.ensemble._holdout import CLEAR, ScoredRows, score_splits
from jarf.ensemble._jacobian_boosting import (
    JacobianBoostingClassifier,
    JacobianBoostingRegressor,
)
from jarf.ensemble._race import row_gains
from jarf.ensemble._sources import MAX_SQUARE, SOURCES, Table, fit_sources, leading_components
from jarf.geometry import spectrum
from jarf.gradients import column_std
from jarf.table import TableEncoder, fit_table, read_table, take_tables
from jarf.trees import ClassTarget, ResponseTarget, Target

# Surrogates learn from a fifth of the rows, within these limits. A direction needs no more, and the
# transformer should not cost more than the booster behind it.
LEARN_ROWS = (1500, 4000)
# Rounds and leaves of the booster that decides.
JUDGE_ROUNDS, JUDGE_LEAVES = 30, 8
# Each direction is a dense column of the result.
MOST_DIRECTIONS = 1000
# Shorter than in the Jacobian forest; chosen by measurement.
STEP = 0.5


class JacobianFeatures(TransformerMixin, BaseEstimator):
    """Append directions drawn from the expected Jacobian outer product: ``[X, X W]``.

    Half of the directions are leading eigenvectors of the EJOP of the surrogates, half are signed
    sums of the gradients at a few random rows. The original columns are kept, so a booster uses the
    directions only if they help. A switch decides whether to append them: on held-out rows, whose
    labels no surrogate saw, a model with them must beat the same model without them by more than
    two standard errors (of squared error, or of a smooth form of Cohen's kappa), or none are
    appended.

    A table with categories or missing values is encoded first, so that any model accepts the
    result: one column per level (target means for a category of many levels), imputed numbers, and
    a second column that marks the missing ones. Directions combine numeric columns only.

    Parameters
    ----------
    n_directions : int, default=None
        Number of columns to append, at most 1,000. None: as many as ``X`` has, at least 4 and at
        most 32.
    sources : tuple of {"forest", "whitened", "kernel"}, default=("forest", "whitened", "kernel")
        Surrogates whose gradients are used.
    switch : {"auto", "on"} or estimator, default="auto"
        "auto" decides with a small gradient booster (30 rounds of plain trees), an estimator with
        that one; "on" always appends.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Which columns are categories: those of text or category type, none, or names, indices
        or a mask.
    n_jobs : int, default=None
        Threads. The result does not depend on them.
    random_state : int, RandomState instance or None, default=None
        Seeds the surrogates, the held-out rows and the directions.
    verbose : int, default=0
        0: silent. 1 or more: each stage of the fit with its time, written to stderr.

    Attributes
    ----------
    directions_ : ndarray of shape (n_encoded_features, n_directions)
        The matrix W, for the encoded ``X`` in standard deviations; no columns if the switch is off.
    table_ : TableEncoder
        How ``X`` becomes numbers.
    mean_, scale_ : ndarray of shape (n_encoded_features,)
        Means and standard deviations of the encoded ``X``, in which directions are applied.
    switched_on_ : bool
    gain_, gain_standard_error_ : float
        What the switch measured: the gain in smooth kappa, or the decrease of squared error;
        absent with ``switch="on"``.
    n_features_in_ : int
    feature_names_in_ : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> from jarf import JacobianFeatures
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> y = np.sin(2 * X[:, 0] + 2 * X[:, 1])
    >>> model = make_pipeline(JacobianFeatures(random_state=0), HistGradientBoostingRegressor())
    >>> model.fit(X[:500], y[:500]).score(X[500:], y[500:]) > 0.9
    True
    """

    directions_: np.ndarray
    table_: TableEncoder

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "n_directions": [Interval(Integral, 1, MOST_DIRECTIONS, closed="both"), None],
        "sources": [tuple, list],
        "switch": [StrOptions({"auto", "on"}), HasMethods(["fit", "predict"])],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_directions: int | None = None,
        *,
        sources: tuple[str, ...] = ("forest", "whitened", "kernel"),
        switch: Any = "auto",
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_directions = n_directions
        self.sources = sources
        self.switch = switch
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Draw the directions, and decide whether they help.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Classes or numbers; :func:`sklearn.utils.multiclass.type_of_target` decides.

        Returns
        -------
        self
        """
        self._fit_table(X, y)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any) -> np.ndarray:
        """Fit, and append the directions to the training rows.

        The same as ``fit`` and ``transform``, except for target means of categories of many levels:
        those of a training row are computed from other rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples, n_encoded_features + n_directions)
        """
        return self._appended(self._fit_table(X, y))

    def _fit_table(self, X, y) -> np.ndarray:
        """Fit, and return the encoded training rows."""
        unknown = sorted(set(self.sources) - set(SOURCES))
        if unknown or not self.sources:
            raise ValueError(f"sources must be among {sorted(SOURCES)}, got {self.sources!r}.")
        classes = self._has_classes(y)
        X, y = fit_table(
            self,
            X,
            y,
            classifies=classes,
            dtype=[np.float64, np.float32],
            order="C",
            ensure_min_samples=2,
        )
        rng = check_random_state(self.random_state)
        stages = Stages(type(self).__name__, self.verbose)
        target = self._target(y, classes)
        self.mean_, std = X.mean(axis=0, dtype=np.float64), column_std(X)
        self.scale_ = np.where(std > 0, std, 1.0)
        if self.switch == "on":
            with stages.stage("directions"):
                rows = rng.permutation(len(X))[: self._max_learn(len(X))]
                self._draw([self._learn(X[rows], target.only(rows), rng)], rng)
                self.switched_on_ = True
            return X
        # Matrices are small here: more BLAS threads only wait for one another.
        with stages.stage("switch"), openmp_limit(self.n_jobs), one_blas_thread():
            learned = self._learned_if_helpful(X, target, rng)
            self.switched_on_ = bool(learned)
            self.directions_ = np.zeros((X.shape[1], 0))
            if learned:
                self._draw(learned, rng)
            else:
                stages.note("the directions do not help here: none are appended")
        return X

    def _max_learn(self, n_rows: int) -> int:
        return int(np.clip(n_rows // 5, *LEARN_ROWS))

    def _has_classes(self, y) -> bool:
        if not isinstance(self.switch, str):
            return is_classifier(self.switch)
        return y is not None and not type_of_target(y).startswith("continuous")

    def _target(self, y, classes: bool) -> Target:
        if not classes:
            return ResponseTarget(y)
        check_classification_targets(y)
        found, labels = np.unique(y, return_inverse=True)
        return ClassTarget(labels, len(found))

    def _learn(self, X, target: Target, rng) -> list[np.ndarray]:
        """Return the gradients of surrogates of these rows, by source, in standard deviations."""
        table = Table.standardised(X, np.ones(len(X)), self.table_.is_number, STEP)
        seed = rng.randint(2**31 - 1)
        gradients = []
        for source in fit_sources(
            self.sources, table, target, seed, "features", self.n_jobs
        ).values():
            found = source.gradients(table, target, self.n_jobs) * table.oblique
            found *= self.scale_ / table.scale  # per standard deviation of all rows
            size = np.sqrt(np.mean((found**2).sum(axis=1)))
            gradients.append(found / size if size > 0 else found)
        return gradients

    def _draw(self, learned: list[list[np.ndarray]], rng) -> None:
        """Set ``directions_`` from the gradients of one or several parts of the rows."""
        gradients = [np.concatenate(parts) for parts in zip(*learned, strict=True)]
        n_numbers = int(self.table_.is_number.sum())
        wanted = self.n_directions or int(np.clip(n_numbers, 4, 32))
        drawn = draw_directions(gradients, wanted, rng)
        mixed = np.any([found.any(axis=0) for found in gradients], axis=0)
        self.directions_ = drawn * mixed[:, None]  # eigenvectors are zero up to rounding

    def _learned_if_helpful(self, X, target: Target, rng) -> list[list[np.ndarray]]:
        """Compare on held-out rows; return the gradients of the learning rows if they helped.

        The folds' gradients together stand for those of all rows, so that no surrogate is fitted
        twice. A first fold without any gain ends the comparison.
        """
        labels = target.answers()
        splits = [
            (learn, score)
            for learn, score in score_splits(X, rng, (2, 3), self._max_learn(len(X)))
            if not target.n_classes or len(np.unique(labels[learn])) > 1
        ]
        self.gain_, self.gain_standard_error_ = 0.0, np.inf
        learned: list[list[np.ndarray]] = []
        gains: list[np.ndarray] = []
        for learn, score in splits:
            learned.append(self._learn(X[learn], target.only(learn), rng))
            self._draw(learned[-1:], rng)
            gains.append(self._gains(X, target, learn, score, rng))
            scored = np.concatenate([rows for _, rows in splits[: len(gains)]])
            rows = ScoredRows.of(X[scored], np.ones(len(scored)))
            self.gain_, self.gain_standard_error_ = rows.mean_and_error(np.concatenate(gains))
            if self.gain_ <= 0:
                return []
        return learned if self.gain_ > CLEAR * self.gain_standard_error_ else []

    def _gains(self, X, target: Target, learn, score, rng) -> np.ndarray:
        """Return by how much the directions improve the answer at each scored row."""
        labels = target.answers()
        answers = []
        for table in (X, self._appended(X)):
            model = self._judge(target, rng.randint(2**31 - 1))
            model.fit(table[learn], labels[learn])
            answers.append(_answers(model, table[score], target.n_classes))
        return row_gains(
            answers[1],
            answers[0],
            target.indicators(score),
            classifies=target.n_classes > 0,
        )

    def _judge(self, target: Target, seed: int):
        if not isinstance(self.switch, str):
            model = clone(self.switch)
            if "random_state" in model.get_params():
                model.set_params(random_state=seed)
            return model
        booster: Any = JacobianBoostingRegressor
        if target.n_classes:
            booster = JacobianBoostingClassifier
        return booster(
            learning_rate=0.15,
            max_iter=JUDGE_ROUNDS,
            max_leaf_nodes=JUDGE_LEAVES,
            geometry="axes",
            early_stopping=False,
            n_jobs=self.n_jobs,
            random_state=seed,
        )

    def _appended(self, X):
        extra = ((X - self.mean_) / self.scale_) @ self.directions_
        return np.hstack([X, extra.astype(X.dtype)])

    def transform(self, X: Any) -> np.ndarray:
        """Append the directions to ``X``.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_encoded_features + n_directions)
        """
        check_is_fitted(self)
        return self._appended(read_table(self, X, dtype=[np.float64, np.float32], order="C"))

    def get_feature_names_out(self, input_features=None):
        """Return the names of the encoded columns, then ``jacobian0``, ``jacobian1``, ...

        Parameters
        ----------
        input_features : array-like of str, default=None

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = self.table_.get_feature_names_out(check_feature_names_in(self, input_features))
        extra = [f"jacobian{k}" for k in range(self.directions_.shape[1])]
        return np.concatenate([names, np.array(extra, dtype=object)])

    def __sklearn_tags__(self):
        tags = take_tables(super().__sklearn_tags__())
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def draw_directions(gradients: list[np.ndarray], n_directions: int, rng) -> np.ndarray:
    """Return leading eigenvectors of the mean EJOP, then signed sums of eight random gradients.

    Parameters
    ----------
    gradients : list of ndarray of shape (n, d)
        One for each source.
    n_directions : int
    rng : RandomState

    Returns
    -------
    ndarray of shape (d, at most n_directions)
        Unit columns; columns of length zero are left out.
    """
    n, d = gradients[0].shape
    stacked = np.concatenate(gradients)
    n_leading = min(d, -(-n_directions // 2))
    if d > MAX_SQUARE:
        leading = leading_components(stacked, n_leading)[1][:, ::-1]
    elif d <= len(stacked):
        leading = spectrum(stacked.T @ stacked)[1][:, :n_leading]
    else:
        leading = np.linalg.svd(stacked, full_matrices=False)[2][:n_leading].T
    drawn = np.zeros((d, n_directions - n_leading))
    for k in range(drawn.shape[1]):
        source = gradients[rng.randint(len(gradients))]
        signs = rng.choice([-1.0, 1.0], size=8)
        drawn[:, k] = signs @ source[rng.randint(n, size=8)]
    length = np.linalg.norm(drawn, axis=0)
    drawn = drawn[:, length > 0] / length[length > 0]
    return np.hstack([leading, drawn]) if stacked.any() else np.zeros((d, 0))


def _answers(model, X, n_classes: int) -> np.ndarray:
    """Return probabilities of all classes, or predictions, as columns."""
    if not n_classes:
        return np.reshape(model.predict(X), (-1, 1))
    found = np.zeros((len(X), n_classes))
    found[:, model.classes_] = model.predict_proba(X)
    return found
