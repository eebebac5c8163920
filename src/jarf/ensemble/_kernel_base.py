"""Base of both kernel machines: the choice of settings on held-out rows, and the fit."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from jarf._sklearn import (
    BaseEstimator,
    ClassifierMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from jarf.ensemble._cross_fit import HeldOut
from jarf.ensemble._holdout import MIN_ROWS, score_splits
from jarf.ensemble._sources import Table, column_weights, forest_sensitivities, leading_columns
from jarf.surrogate import Choice, KernelMachine, Rows, fit_machine, held_out_losses
from jarf.table import TableEncoder, fit_table, read_table, take_tables
from jarf.trees import ClassTarget, ResponseTarget, Target, stream

# Settings tried on held-out rows: metric refinements, ridges, kernels.
REFINEMENTS = (0, 1, 2, 3)
RIDGES = (1e-3, 1e-2, 1e-1, 1.0)
KERNELS = ("laplace", "matern")
DEFAULT = Choice(2, 2.5, 1e-2, "laplace", 1.0)
# Powers of the columns' weights and numbers of columns kept (None: all), by the minimum number of
# columns; larger powers than the first are tried with few refinements only.
Start = tuple[float, int | None]
STARTS: dict[int, tuple[Start, ...]] = {
    0: ((1.0, None),),
    12: ((1.0, None), (3.0, None)),
    24: ((1.0, None), (1.0, 8), (1.0, 16)),
}
FEW_REFINEMENTS = (0, 1)
# Maximum numbers of rows that trial machines learn from and are scored on. Tables of fewer rows
# than FOLDS_BELOW use N_FOLDS folds.
MAX_TRIAL, MAX_SCORED, FOLDS_BELOW, N_FOLDS = 800, 2000, 1000, 4
# Maximum number of rows that the machine is fitted to.
MAX_ROWS = 40_000
# Lower bound for the scale of level indicators, so that rare levels do not dominate.
LEAST_LEVEL_SCALE = 0.3
# Number of rows over which sensitivities are averaged.
SENSITIVITY_ROWS = 1000
# The forest that weighs the columns sees at most this many rows.
FOREST_ROWS = 5000


class KernelEstimator(BaseEstimator, metaclass=ABCMeta):
    """Base of both kernel machines in the metric of their own EJOP."""

    table_: TableEncoder
    machine_: KernelMachine
    mean_: np.ndarray
    scale_: np.ndarray

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "n_anchors": [Interval(Integral, 2, None, closed="left")],
        "n_refinements": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
        "ridge": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "kernel": [StrOptions({"auto", *KERNELS})],
        "sharpness": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "n_columns": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "calibrate": ["boolean"],
        "random_state": ["random_state"],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    }

    def __init__(
        self,
        n_anchors: int = 3000,
        *,
        n_refinements: int | str = "auto",
        bandwidth: float = 2.5,
        ridge: float | str = "auto",
        kernel: str = "auto",
        sharpness: float | str = "auto",
        n_columns: int | str | None = "auto",
        calibrate: bool = True,
        random_state: Any = None,
        categorical_features: Any = "from_dtype",
    ):
        self.n_anchors = n_anchors
        self.n_refinements = n_refinements
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.kernel = kernel
        self.sharpness = sharpness
        self.n_columns = n_columns
        self.calibrate = calibrate
        self.random_state = random_state
        self.categorical_features = categorical_features

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose metric, bandwidth and ridge on held-out rows, and fit the machine.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers, booleans, text and categories; missing values are allowed.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows with zero weight are ignored.

        Returns
        -------
        self : object
        """
        X, y = fit_table(
            self,
            X,
            y,
            classifies=isinstance(self, ClassifierMixin),
            dtype=np.float64,
            order="C",
            sample_weight=sample_weight,
        )
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("All sample weights are zero: there is nothing to learn from.")
        used = np.flatnonzero(weights)
        outputs, observed = self._outputs(y)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        if len(used) > MAX_ROWS:
            used = np.sort(stream(seed, "rows").choice(used, MAX_ROWS, replace=False))
        X, weights = X[used], weights[used]
        self._standardise(X)
        rows = Rows(self._standardised(X), outputs[used], observed[used], weights)
        self.choice_, held_out = self._choose(X, rows, seed)
        kept, shares = weighed_columns(self._sensitivities(rows, seed, "final"), self.choice_)
        self.scale_[kept] /= shares
        rows.Z[:, kept] *= shares
        seen = rows._replace(Z=rows.Z[:, kept])
        machine = fit_machine(seen, self.choice_, self.n_anchors, stream(seed, "anchors"))
        n_columns = rows.Z.shape[1]
        self.machine_ = machine if len(kept) == n_columns else machine.widened(kept, n_columns)
        self._keep(held_out)
        some = rows.only(slice(0, None, -(-len(used) // SENSITIVITY_ROWS)))
        slopes = self.machine_.gradients(some.Z, some.observed)
        slopes[:, kept] *= shares
        self.sensitivities_ = np.average(slopes**2, axis=0, weights=some.weights)
        return self

    def _standardise(self, X: np.ndarray) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean_, scale = X.mean(axis=0), X.std(axis=0)
        if not np.isfinite(scale).all():
            raise ValueError(
                "X contains infinity or a value too large to be squared. Scale its columns to "
                "about one."
            )
        scale = np.where(self.table_.is_level, np.maximum(scale, LEAST_LEVEL_SCALE), scale)
        self.scale_ = np.where(scale > 0, scale, 1.0)

    def _standardised(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) / self.scale_

    def _choices(self, n_columns: int) -> list[Choice]:
        starts = next(tried for least, tried in reversed(STARTS.items()) if n_columns >= least)
        if self.sharpness != "auto":
            starts = tuple((float(self.sharpness), kept) for _, kept in starts)
        if not isinstance(self.n_columns, str):
            starts = tuple((power, self.n_columns) for power, _ in starts)
        starts = tuple(dict.fromkeys(starts))
        options: Any = (
            tried if given == "auto" else (given,)
            for given, tried in (
                (self.n_refinements, REFINEMENTS),
                (self.ridge, RIDGES),
                (self.kernel, KERNELS),
            )
        )
        steps, ridges, kernels = options
        return [
            Choice(s, float(self.bandwidth), float(r), k, *start)
            for start in starts
            for s in steps
            for r in ridges
            for k in kernels
            if start[0] == starts[0][0] or s in FEW_REFINEMENTS or len(steps) == 1
        ]

    def _sensitivities(self, rows: Rows, seed: int, part: str) -> np.ndarray:
        """Return the mean squared derivatives of a small forest on these rows, by column."""
        n, d = rows.Z.shape
        if n < MIN_ROWS:
            return np.ones(d)
        rng = stream(seed, "sensitivities", part)
        if n > FOREST_ROWS:
            rows = rows.only(np.sort(rng.choice(n, FOREST_ROWS, replace=False)))
        target: Target = ResponseTarget(rows.outputs)
        if isinstance(self, ClassifierMixin):
            target = ClassTarget(rows.observed, rows.outputs.shape[1])
        table = Table.standardised(np.asfortranarray(rows.Z, np.float32), rows.weights)
        return forest_sensitivities(table, target, rng, 1)

    def _choose(self, X: np.ndarray, rows: Rows, seed: int) -> tuple[Choice, HeldOut | None]:
        """Return the best settings and their predictions of the held-out rows."""
        choices = self._choices(X.shape[1])
        splits = []
        if len(X) >= MIN_ROWS and (len(choices) > 1 or self.calibrate):
            splits = score_splits(
                *(X, stream(seed, "splits"), (3, 4), MAX_TRIAL, MAX_SCORED),
                n_folds=N_FOLDS,
                folds_below=FOLDS_BELOW,
            )
        if not splits:
            return (choices[0] if len(choices) == 1 else self._default()), None
        tried = [
            self._trial(rows, learn, score, choices, seed, f"split {number}")
            for number, (learn, score) in enumerate(splits)
        ]
        best = int(np.argmin(sum(losses for losses, _ in tried)))
        scored = rows.only(np.concatenate([score for _, score in splits]))
        means = np.concatenate([predictions[best] for _, predictions in tried])
        return choices[best], HeldOut(means, np.ones_like(means), scored.outputs, scored.weights)

    def _trial(
        self, rows: Rows, learn, score, choices: list[Choice], seed: int, part: str
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the losses and predictions of all choices; nothing sees the scored targets."""
        found = self._sensitivities(rows.only(learn), seed, part)
        losses: list[np.ndarray] = []
        predictions: list[np.ndarray] = []
        for start in dict.fromkeys((choice.sharpness, choice.n_columns) for choice in choices):
            some = [choice for choice in choices if (choice.sharpness, choice.n_columns) == start]
            kept, shares = weighed_columns(found, some[0])
            weighed = rows._replace(Z=rows.Z[:, kept] * shares)
            each, answers = held_out_losses(weighed.only(learn), weighed.only(score), some)
            losses.append(each)
            predictions += answers
        return np.concatenate(losses), predictions

    def _default(self) -> Choice:
        given: dict[str, Any] = {name: getattr(self, name) for name in vars(DEFAULT)}
        return replace(DEFAULT, **{name: own for name, own in given.items() if own != "auto"})

    @abstractmethod
    def _outputs(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns to fit, and which of them each row refines the metric with."""

    @abstractmethod
    def _keep(self, held_out: HeldOut | None) -> None:
        """Store the errors at held-out rows; None: no rows were held out."""

    def _answers(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.answer_encoded(read_table(self, X, dtype=np.float64, order="C"))

    def answer_encoded(self, matrix: np.ndarray) -> np.ndarray:
        """Predict at rows of the encoded matrix.

        Parameters
        ----------
        matrix : ndarray of shape (n_samples, n_encoded)
            The encoded columns of ``table_``.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            Class probabilities, or responses.
        """
        return self.machine_.predict(self._standardised(matrix))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean squared derivatives per standard deviation, by original column; they sum to one."""
        check_is_fitted(self)
        credit = self.table_.per_column(self.sensitivities_)
        return credit / credit.sum() if credit.sum() > 0 else credit

    def __sklearn_tags__(self):
        return take_tables(super().__sklearn_tags__())


def weighed_columns(sensitivities: np.ndarray, choice: Choice) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers and the weights of the columns that a machine is given.

    If all are equally sensitive, all are kept.
    """
    kept = np.arange(len(sensitivities))
    if choice.n_columns is not None and np.ptp(sensitivities) > 0:
        kept = leading_columns(sensitivities, choice.n_columns)
    return kept, column_weights(sensitivities[kept], choice.sharpness)
