"""Base of both Jacobian boosters: the fit, from a float matrix to the sum of trees."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self
from warnings import warn

import numpy as np
from sklearn.utils import check_random_state

from jarf._progress import Stages
from jarf._sklearn import (
    ClassifierMixin,
    Interval,
    RegressorMixin,
    StrOptions,
    check_monotonic_cst,
    fit_context,
)
from jarf._threads import threads_with_room
from jarf.ensemble._base import TreeEnsemble
from jarf.ensemble._boosting_race import MORE_ROUNDS, Chosen, Racer, Stopping, choose
from jarf.ensemble._cross_fit import HeldOut
from jarf.ensemble._cycles import CYCLES, Cycle, racing_cycles
from jarf.ensemble._geometries import Geometry
from jarf.ensemble._holdout import MIN_ROWS, ScoredRows, score_splits
from jarf.ensemble._losses import Loss
from jarf.ensemble._race_result import RaceResult
from jarf.ensemble._rounds import (
    HISTOGRAM_FROM,
    LearningRows,
    RoundRules,
    Rounds,
    Scored,
    fit_surrogates,
    surrogate_target,
)
from jarf.ensemble._sources import Table
from jarf.gradients import column_std, learning_rows
from jarf.table import fit_table, refuse_dask
from jarf.trees import Forest, Limits, stream

# Maximum number of rows in a race between geometries.
RACE_ROWS = 10_000
# Number of rounds if there are too few rows for early stopping.
FEW_ROUNDS = 100
# Number of cross-fitting folds for small tables, by the minimum number of rows.
FOLDS = {0: 5, 500: 3}
# On held-out rows, the race multiplies the learning rate by at most this factor, up to this rate,
# and divides the number of rounds by the same factor. The final model uses the original rate.
COARSE, COARSE_RATE = 3.0, 0.1
# The rate of learning_rate="auto". With "fast", if early stopping asks for more than MANY_ROUNDS
# rounds, the final model's rate is raised, at most to that of the race, and it runs fewer rounds.
AUTO_RATE, MANY_ROUNDS = 0.03, 1000
# Up to SMALL rows, the final model learns at SLOWER times this rate, in more rounds.
SMALL, SLOWER = 2000, 1 / 3
# min_samples_leaf="auto": rows of the leaves of ordinary trees, and of symmetric trees.
LEAST_ROWS = (5, 2)
# Names of scores for early stopping that are losses, not scikit-learn's scorers.
LOSSES = ("auto", "loss", "calibrated_loss")
# Attributes that only early stopping sets.
_FROM_HELD_OUT = ("validation_score_", "validation_rows_", "validation_predictions_")


class JacobianBoosting(TreeEnsemble, metaclass=ABCMeta):
    """Base of both Jacobian boosters."""

    loss: str
    learning_rate: float | str
    max_iter: int
    l2_regularization: float
    subsample: float
    monotonic_cst: Any
    geometry: Any
    surrogate_rows: int | None
    early_stopping: Any
    validation_fraction: float
    n_iter_no_change: int
    tol: float
    scoring: Any
    calibrate: bool
    warm_start: bool
    geometry_: Cycle
    learning_rate_: float
    monotonic_cst_: np.ndarray | None
    n_iter_: int
    train_score_: np.ndarray
    validation_score_: np.ndarray
    validation_rows_: list[np.ndarray]
    validation_predictions_: np.ndarray
    race_: RaceResult

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "learning_rate": [
            StrOptions({"auto", "fast"}),
            Interval(Real, 0.0, None, closed="neither"),
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "l2_regularization": [Interval(Real, 0.0, None, closed="left")],
        "max_features": [StrOptions({"auto"}), Interval(Real, 0.0, 1.0, closed="right")],
        "monotonic_cst": ["array-like", dict, None],
        "subsample": [Interval(Real, 0.0, 1.0, closed="right")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "geometry": [StrOptions({"auto", "fast", *CYCLES}), Cycle, Geometry, list, tuple],
        "surrogate_rows": [Interval(Integral, 2, None, closed="left"), None],
        "early_stopping": [StrOptions({"auto"}), "boolean"],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "scoring": [str, callable, None],
        "calibrate": ["boolean"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

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
        X, y, weights, used = self._encoded(X, y, sample_weight, more)
        stages = Stages(type(self).__name__, self.verbose)
        seed = self._draw_seed()
        n_rounds = 0 if more else self._decide(X, y, weights, used, seed, stages)
        self._boost(X, y, weights, n_rounds, more, seed, stages)
        self.stage_times_ = stages.times
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def hold_race(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Hold the race and the early stopping of ``fit``, and grow no final trees.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : object
            Not fitted; with ``race_``, ``geometry_``, ``learning_rate_``, ``n_iter_`` and
            ``validation_score_``.
        """
        X, y, weights, used = self._encoded(X, y, sample_weight)
        vars(self).pop("forest_", None)
        stages = Stages(type(self).__name__, self.verbose)
        self.n_iter_ = self._decide(X, y, weights, used, self._draw_seed(), stages)
        return self

    def _encoded(self, X: Any, y: Any, sample_weight: Any, more: bool = False):
        """Return the rows of positive weight: matrix, target, weights and numbers."""
        refuse_dask(self, X=X, y=y, sample_weight=sample_weight)
        X, y = fit_table(
            self,
            X,
            y,
            classifies=isinstance(self, ClassifierMixin),
            several_outputs=isinstance(self, RegressorMixin),
            dtype=np.float32,
            order="F",
            sample_weight=sample_weight,
            reset=not more,
        )
        weights = self._row_weights(X, y, sample_weight)
        signs = self._signs()
        if more and np.any(signs != self.monotonic_cst_):
            raise ValueError(
                "monotonic_cst has changed, but warm_start=True keeps trees that do not obey it. "
                "Set warm_start=False to start again."
            )
        self.monotonic_cst_ = signs
        y = self._read_target(y, weights, more)
        used = np.flatnonzero(weights)
        if len(used) < len(X):
            X, y, weights = np.asfortranarray(X[used]), y[used], weights[used]
        return X, y, weights, used

    @abstractmethod
    def _read_target(self, y: np.ndarray, weights: np.ndarray, more: bool) -> np.ndarray:
        """Check and encode the target; set attributes that depend on it."""

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss; call it after ``_read_target``."""

    @property
    def _n_classes(self) -> int:
        """The number of classes; 0 in regression."""
        return 0

    def _draw_seed(self) -> int:
        return check_random_state(self.random_state).randint(2**31 - 1)

    def _decide(self, X, y, weights, used: np.ndarray, seed: int, stages: Stages) -> int:
        """Make the decisions on held-out rows; return the number of rounds."""
        self.learning_rate_ = self._rate()
        n_rounds = self._choose(X, y, weights, seed, stages)
        if hasattr(self, "validation_rows_"):
            self.validation_rows_ = [used[rows] for rows in self.validation_rows_]
        return n_rounds

    def _boost(self, X, y, weights, n_rounds: int, more: bool, seed: int, stages: Stages) -> None:
        if not more:
            self.feature_scales_ = column_std(X)
        with stages.stage("surrogates"):
            rows = self._prepare(X, y, weights, [self.geometry_], seed, "final")
        n_threads = threads_with_room(self.n_jobs)
        loss, rules = self._loss(), self._round_rules(self.learning_rate_)
        run = Rounds(rows, loss, self.geometry_, rules, seed, n_threads=n_threads)
        run.start_from(self._storable(loss.base(y, weights)))
        if more:
            n_rounds = self._rounds_to_add(run)
        with stages.stage("fit"):
            self._grow(run, n_rounds, stages)
        self.n_iter_ = run.n_rounds
        self.forest_ = self._in_units(run.forest())

    def _grow(self, run: Rounds, n_rounds: int, stages: Stages) -> None:
        """Grow the final trees and store the loss on the training rows."""
        score = [] if run.n_rounds else [run.training_loss()]
        for done in range(1, n_rounds + 1):
            run.advance(1)
            score.append(run.training_loss())
            if done % max(1, n_rounds // 10) == 0:
                stages.detail(f"{done} of {n_rounds} rounds, training loss {score[-1]:.5g}")
        kept = self.train_score_ if run.n_before else np.empty(0)
        self.train_score_ = np.concatenate([kept, -np.array(score)])

    def _rounds_to_add(self, run: Rounds) -> int:
        """Return the number of rounds to add to the existing trees."""
        have = self.forest_.n_trees
        if self.max_iter < have:
            raise ValueError(
                f"max_iter={self.max_iter} is less than the {have} rounds that warm_start=True "
                "keeps. Raise it, or set warm_start=False to start again."
            )
        if self.max_iter == have:
            warn("warm_start=True and max_iter has not grown: no new rounds.", stacklevel=5)
        if self.forest_.link != run.loss.link:
            raise ValueError(
                f"loss={self.loss!r} has another link function than the trees that warm_start=True "
                "keeps. Set warm_start=False to start again."
            )
        run.go_on(self._in_raw_units(self.forest_))
        return self.max_iter - have

    # --- decisions on held-out rows ----------------------------------------------------------

    def _choose(self, X, y, weights, seed: int, stages: Stages) -> int:
        """Set the geometry; return the number of rounds."""
        for name in (*_FROM_HELD_OUT, "race_", "calibration_", "conformal_"):
            vars(self).pop(name, None)
        self._keep_errors(None)
        cycles = racing_cycles(self.geometry, X.shape[1])
        stops = self.early_stopping is not False
        few = len(X) < MIN_ROWS
        self.geometry_ = cycles[0]
        if few or (len(cycles) == 1 and not stops):
            if len(cycles) > 1:
                reason = f"{len(X)} training rows are fewer than the {MIN_ROWS} that a race needs"
                name = cycles[0].name
                self.race_ = RaceResult((name,), [], reason=reason, plain=name)
            return min(self.max_iter, FEW_ROUNDS) if stops else self.max_iter
        with stages.stage("race" if len(cycles) > 1 else "early stopping"):
            chosen = self._contest(X, y, weights, cycles, seed, stages)
        if chosen is None:
            return min(self.max_iter, FEW_ROUNDS) if stops else self.max_iter
        self.geometry_ = chosen.cycle
        if chosen.race is not None:
            self.race_ = chosen.race
        if len(cycles) > 1 and len(X) > RACE_ROWS and stops:
            with stages.stage("early stopping"):
                chosen = self._contest(X, y, weights, [chosen.cycle], seed, stages) or chosen
        held_out = self._held_out(chosen)
        if self.calibrate:
            self._keep_errors(held_out)
        if not stops:
            return self.max_iter
        self.validation_score_ = -chosen.losses
        self.validation_rows_, self.validation_predictions_ = chosen.rows, held_out.means
        n_rounds = MORE_ROUNDS * self._coarse() * chosen.n_rounds
        if isinstance(self.learning_rate, str):
            factor = self._rate_factor(n_rounds, len(X))
            self.learning_rate_ = factor * AUTO_RATE
            n_rounds /= factor
        return min(self.max_iter, max(1, round(n_rounds)))

    def _rate_factor(self, n_rounds: float, n_rows: int) -> float:
        """Return the final learning rate, as a multiple of that for which rounds were counted."""
        least, most, most_rounds = SLOWER if n_rows <= SMALL else 1.0, 1.0, self.max_iter
        if self.learning_rate == "fast":
            most, most_rounds = self._coarse(), min(MANY_ROUNDS, self.max_iter)
        return min(most, max(least, n_rounds / most_rounds))

    @abstractmethod
    def _held_out(self, chosen: Chosen) -> HeldOut:
        """Return the winner's predictions of the held-out rows."""

    @abstractmethod
    def _keep_errors(self, held_out: HeldOut | None) -> None:
        """Store the errors at held-out rows; None: no rows were held out."""

    def _contest(
        self, X, y, weights, cycles: Sequence[Cycle], seed: int, stages: Stages
    ) -> Chosen | None:
        """Run the race, or tune the rounds of one geometry; None if rows cannot be split."""
        some = np.arange(len(X))
        if len(cycles) > 1 and len(X) > RACE_ROWS:
            some = stream(seed, "race rows").permutation(len(X))[:RACE_ROWS]
            X, y, weights = np.asfortranarray(X[some]), y[some], weights[some]
        hundredths = round(100 * (1.0 - self.validation_fraction))
        n_folds = next(number for least, number in reversed(FOLDS.items()) if len(X) >= least)
        splits = score_splits(X, stream(seed, "splits"), (hundredths, 100), len(X), len(X), n_folds)
        if not splits:
            return None
        loss, measure, coarse = self._loss(), self._measure(), self._coarse()
        calibrated = self._is_calibrated()
        rules = self._round_rules(coarse * self._rate())
        racers = [Racer(cycle, [], np.empty(0)) for cycle in cycles]
        # Several boosters grow side by side; a single one shares its rounds among the threads.
        n_threads = 1 if len(splits) * len(cycles) > 1 else threads_with_room(self.n_jobs)
        for number, (learn, score) in enumerate(splits):
            part = f"split {number}"
            rows = self._prepare(X[learn], y[learn], weights[learn], cycles, seed, part)
            left_out = np.ascontiguousarray(X[score]), y[score], weights[score]
            scored = Scored(*left_out, measure, calibrated)
            for racer in racers:
                run = Rounds(rows, self._loss(), racer.cycle, rules, seed, scored, n_threads)
                racer.runs.append(run)
        held_out = np.concatenate([score for _, score in splits])
        for racer in racers:
            racer.shares = np.array([weights[score].sum() for _, score in splits])
        stopping = Stopping(max(1, round(self.max_iter / coarse)), self.n_iter_no_change, self.tol)
        chosen = choose(
            racers,
            ScoredRows.of(X[held_out], weights[held_out]),
            stopping,
            f"calibrated {loss.title}" if calibrated else loss.title,
            self.n_jobs,
            stages.detail,
        )
        return replace(chosen, rows=[some[score] for _, score in splits])

    def _coarse(self) -> float:
        """Return the factor on the learning rate while rows are held out."""
        return max(1.0, min(COARSE, COARSE_RATE / self._rate()))

    def _rate(self) -> float:
        """Return the learning rate before early stopping."""
        return AUTO_RATE if isinstance(self.learning_rate, str) else self.learning_rate

    def _prepare(self, X, y, weights, cycles, seed: int, part: str) -> LearningRows:
        """Fit surrogates on at most ``surrogate_rows`` rows and differentiate them at all."""
        is_number = self.table_.is_number
        if self.monotonic_cst_ is not None:  # constrained columns stay plain axes
            is_number = is_number & (self.monotonic_cst_ == 0)
        target = surrogate_target(y, self._n_classes)
        rng = stream(seed, "surrogate rows", part)
        rows = learning_rows(len(X), self.surrogate_rows, rng, target.first_rows)
        some = slice(None) if rows is None else rows
        table = Table.standardised(X[some], weights[some], is_number)
        fitted = fit_surrogates(cycles, table, target.only(some), seed, part, self.n_jobs)
        return LearningRows.prepare(X, y, weights, is_number, fitted, target, self.n_jobs)

    def _round_rules(self, learning_rate: float) -> RoundRules:
        at_least = (self.min_samples_leaf,) * 2 if self.min_samples_leaf != "auto" else LEAST_ROWS
        limits = Limits(
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=at_least[0],
            histogram_from=HISTOGRAM_FROM,
        )
        # A symmetric tree has as many cuts as levels.
        depths = [self.max_depth, self.max_leaf_nodes and self.max_leaf_nodes - 1]
        depth = min((depth for depth in depths if depth is not None), default=None)
        symmetric = Limits(max_depth=depth, min_samples_leaf=at_least[1], symmetric=True)
        return RoundRules(
            learning_rate,
            limits,
            symmetric,
            self.l2_regularization,
            self.subsample,
            self.max_features,
            self.monotonic_cst_,
        )

    def _signs(self) -> np.ndarray | None:
        """Return the constraint of every encoded column; None: no constraints."""
        signs = check_monotonic_cst(self, self.monotonic_cst)
        if not signs.any():
            return None
        kinds = self.table_.encoded_kinds_
        # The copy of a column in which missing values are set apart is constrained like the column.
        encoded = signs[self.table_.encoded_columns_].astype(np.int8)
        encoded[(kinds != "number") & (kinds != "missing")] = 0
        constrained = set(self.table_.encoded_columns_[encoded != 0])
        for column in np.flatnonzero(signs):
            if column not in constrained:
                raise ValueError(
                    f"monotonic_cst constrains column {column}, which holds categories or "
                    "booleans: only numbers have an order. Leave it out, or pass the column as "
                    "numbers."
                )
        return encoded

    def _is_calibrated(self) -> bool:
        """Return whether early stopping looks at calibrated probabilities."""
        if self.scoring == "calibrated_loss":
            if not self._n_classes:
                raise ValueError(
                    "scoring='calibrated_loss' is for classifiers; use scoring='loss' for "
                    "responses."
                )
            return self._n_classes > 1
        return self.scoring == "auto" and self.calibrate and self._n_classes > 1

    @abstractmethod
    def _measure(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], float] | None:
        """Return the measure for early stopping; None means the loss."""
        return None

    # --- units of the responses ----------------------------------------------------------------

    def _in_units(self, forest: Forest) -> Forest:
        """Return the sum of trees in the units of the responses."""
        return forest

    def _in_raw_units(self, forest: Forest) -> Forest:
        """Return the sum of trees in the units used during boosting."""
        return forest

    def _storable(self, base: np.ndarray) -> np.ndarray:
        """Return a base that the units of the responses do not round, so that fits can go on."""
        return base

    # --- predictions -----------------------------------------------------------------------------

    def _predictions(self, X) -> np.ndarray:
        """Return the predictions: (n_samples, n_outputs)."""
        X = self._rows(X)
        return self.forest_.predict(X, self.n_jobs)

    def _staged(self, X) -> Iterator[np.ndarray]:
        """Yield the predictions after every round."""
        X = self._rows(X)
        yield from self.forest_.staged(X, self.n_jobs)
