"""Members of an ensemble: created by name, fitted, and used to predict held-out rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from jarf._sklearn import is_classifier, is_regressor, rows_of
from jarf.ensemble._boosting import AUTO_RATE, COARSE, JacobianBoosting
from jarf.ensemble._calibration import Calibration
from jarf.ensemble._cross_fit import N_TREES, Split
from jarf.ensemble._cycles import Cycle
from jarf.ensemble._jacobian_base import JacobianForest
from jarf.ensemble._jacobian_boosting import JacobianBoostingClassifier, JacobianBoostingRegressor
from jarf.ensemble._jacobian_forest import JacobianForestClassifier, JacobianForestRegressor
from jarf.ensemble._kernel_base import DEFAULT, MAX_ROWS, KernelEstimator
from jarf.ensemble._kernel_machine import JacobianKernelClassifier, JacobianKernelRegressor
from jarf.surrogate import fit_copy, most_anchors, seeded_copy
from jarf.trees import stream

# Named members: classifier, regressor, and the parameters set by the ensemble.
NAMED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "forest": (JacobianForestClassifier, JacobianForestRegressor, {"calibrate": False}),
    "boosting": (
        JacobianBoostingClassifier,
        JacobianBoostingRegressor,
        {"calibrate": False, "learning_rate": "fast"},
    ),
    "kernel": (JacobianKernelClassifier, JacobianKernelRegressor, {"calibrate": False}),
}
# A final forest has at least this many trees, and a final kernel machine this many anchors if
# there are as many rows, whatever their weight.
LEAST_TREES, LEAST_ANCHORS = 50, 500
# With at least this weight, a final forest has all its trees, a kernel machine all its anchors, and
# a booster takes small steps.
FULL_FROM = 0.5
# What the final model takes over from a model that only made decisions.
_DECISIONS = ("race_", "validation_score_", "validation_rows_", "validation_predictions_")
# A kernel machine that would learn from more than twice as many rows is previewed on this many.
PREVIEW_ROWS = 1000
_OURS = (JacobianForest, JacobianBoosting, KernelEstimator)
# Assumed powers of the number of rows by which the time of a fit grows, up to some 10,000 rows.
GROWTH: dict[Any, float] = {JacobianForest: 0.6, JacobianBoosting: 0.4, KernelEstimator: 0.8}
# Parameters of members that would otherwise exceed the time limit.
SIMPLE: dict[Any, dict[str, Any]] = {
    JacobianForest: {"geometry": "axes", "n_estimators": 100},
    JacobianBoosting: {"geometry": "axes", "early_stopping": False, "max_iter": 100},
    KernelEstimator: {**vars(DEFAULT), "n_anchors": 1000},
}


@dataclass(frozen=True, eq=False)
class Task:
    """The training rows of an ensemble, in the form that members expect.

    Parameters
    ----------
    X : array-like or DataFrame
    y : ndarray of shape (n_rows,)
        Class numbers, or responses.
    weights : ndarray of shape (n_rows,) or None
        None: members are fitted without weights.
    n_classes : int
        0 in regression.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    n_classes: int

    @property
    def row_weights(self) -> np.ndarray:
        return np.ones(len(self.y)) if self.weights is None else self.weights

    @property
    def observed(self) -> np.ndarray:
        """Class indicators, or responses: (n_rows, n_outputs)."""
        return np.eye(self.n_classes)[self.y] if self.n_classes else self.y[:, None]

    def only(self, rows: np.ndarray) -> Task:
        weights = None if self.weights is None else self.weights[rows]
        return Task(rows_of(self.X, rows), self.y[rows], weights, self.n_classes)

    def predictions(self, model: Any, X: Any) -> np.ndarray:
        """Return probabilities of all classes, or responses: (n_rows, n_outputs)."""
        if not self.n_classes:
            return np.asarray(model.predict(X), np.float64).reshape(-1, 1)
        return self.of_all_classes(model, np.asarray(model.predict_proba(X), np.float64))

    def of_all_classes(self, model: Any, found: np.ndarray) -> np.ndarray:
        """Return probabilities of all classes, some of which the model may not have seen."""
        if not self.n_classes or found.shape[1] == self.n_classes:
            return found
        every = np.zeros((len(found), self.n_classes))
        every[:, np.asarray(model.classes_, np.intp)] = found
        return every

    def spreads(self, model: Any, X: Any) -> np.ndarray | None:
        """Return the local spread of a forest's trees; None if the member has none."""
        if not isinstance(model, JacobianForestRegressor):
            return None
        return model.spread(X)


@dataclass
class Member:
    """A candidate member of an ensemble.

    Parameters
    ----------
    name : str
    model : estimator
        The unfitted model.
    is_named : bool, default=False
        Whether it is one of ours that was asked for by name.
    """

    name: str
    model: Any
    is_named: bool = False
    decided: Any = None
    fitted: Any = None
    light: Any = None
    calibration: Calibration | None = None
    means: np.ndarray = field(default_factory=lambda: np.empty(0))
    spreads: np.ndarray | None = None
    seconds: float = 0.0
    outcome: str = ""

    def __post_init__(self):
        if isinstance(self.model, _OURS) and self.model.calibrate:
            # The ensemble fits one temperature to the held-out predictions.
            self.model = clone(self.model).set_params(calibrate=False)
            if isinstance(self.model, JacobianBoostingClassifier) and self.model.scoring == "auto":
                self.model.set_params(scoring="calibrated_loss")

    def fit(self, task: Task, seed: int, n_jobs: int | None) -> Any:
        """Return a copy of the model, fitted to the rows of a task."""
        return self._timed(self.model, task, seed, n_jobs)

    def decide(self, task: Task, seed: int, n_jobs: int | None) -> None:
        """Hold the race of a forest or a booster among all rows; later fits reuse its decisions."""
        start = time.perf_counter()
        model = seeded_copy(self.model, random_state=np.random.RandomState(seed), n_jobs=n_jobs)
        self.decided = model.hold_race(task.X, task.y, task.weights)
        self.light = lighter(self.decided)
        self.seconds += time.perf_counter() - start

    def fit_all(self, task: Task, seed: int, n_jobs: int | None, weight: float = 1.0) -> None:
        """Fit the final model to all rows, with earlier decisions, if any."""
        model = self.model if self.light is None else self.light
        if self.is_named:
            model = for_weight(model, weight, len(task.y))
        self.fitted = self._timed(model, task, seed, n_jobs)
        for name in _DECISIONS:
            if hasattr(self.decided, name):
                setattr(self.fitted, name, getattr(self.decided, name))

    def preview(self, task: Task, split: Split, seed: int, n_jobs: int | None) -> np.ndarray | None:
        """Predict the scored rows of a split with a kernel machine of few learning rows.

        None for other members, whose time does not grow with the square of the rows, and if there
        are few learning rows anyway. Later fits reuse the decisions of this one.
        """
        learn, score = split
        if not isinstance(self.model, KernelEstimator) or len(learn) <= 2 * PREVIEW_ROWS:
            return None
        some = np.sort(stream(seed, "preview").choice(learn, PREVIEW_ROWS, replace=False))
        model = self._timed(self.model, task.only(some), seed, n_jobs)
        self.light = lighter(model)
        return task.predictions(model, rows_of(task.X, score))

    def predict_held_out(
        self, task: Task, splits: list[Split], seed: int, n_jobs: int | None
    ) -> None:
        """Predict the scored rows of every split with a model fitted to its learning rows.

        Later fits reuse the decisions of the first one. A forest decides among all rows first: its
        race chooses better among them than among those of one split.
        """
        if self.fitted is not None:
            self.light = lighter(self.fitted)
        elif isinstance(self.model, JacobianForest):
            self.decide(task, seed, n_jobs)
        means: list[np.ndarray] = []
        spreads: list[Any] = []
        for learn, score in splits:
            light = self.model if self.light is None else self.light
            model = self._timed(with_fewer_trees(light), task.only(learn), seed, n_jobs)
            if self.light is None:
                self.light = lighter(model)
            rows = rows_of(task.X, score)
            means.append(task.predictions(model, rows))
            spreads.append(task.spreads(model, rows))
        self.means = np.concatenate(means)
        if not np.isfinite(self.means).all():
            raise ValueError(
                f"The member {self.name!r}, {type(self.model).__name__}, predicts NaN or infinity "
                "at held-out rows. Leave it out or repair it."
            )
        self.spreads = None if spreads[0] is None else np.concatenate(spreads)

    @property
    def growth(self) -> float:
        """The assumed power of the number of rows by which the time of a fit grows.

        Races and trials of our own models see a bounded number of rows, and small tables need more
        folds.
        """
        return next((power for kind, power in GROWTH.items() if isinstance(self.model, kind)), 1.0)

    def simplify(self) -> None:
        """Replace one of our own models by a variant that makes no decisions on held-out rows."""
        for kind, params in SIMPLE.items():
            if isinstance(self.model, kind):
                self.model = clone(self.model).set_params(**params)

    @property
    def scores_itself(self) -> bool:
        """Whether the fit of this member also predicts rows that it held out."""
        return isinstance(self.model, JacobianBoosting) and self.model.early_stopping is not False

    def take_held_out(self, task: Task) -> list[Split]:
        """Take over the predictions of held-out rows; return the splits, or none if there are none.

        Boosting held these rows out to choose its geometry and its number of rounds.
        """
        model = self.decided if self.fitted is None else self.fitted
        folds = getattr(model, "validation_rows_", [])
        if folds:
            self.means = task.of_all_classes(model, model.validation_predictions_)
        return [(np.setdiff1d(np.arange(len(task.y)), rows), rows) for rows in folds]

    @property
    def is_ready(self) -> bool:
        """Whether the member was fitted or scored."""
        return self.fitted is not None or len(self.means) > 0

    def fit_calibration(self, labels: np.ndarray, weights: np.ndarray) -> None:
        """Fit a temperature on the held-out predictions and apply it to them.

        Only our own classifiers take a temperature over.
        """
        if not isinstance(self.model, _OURS):
            return
        self.calibration = Calibration.fit(self.means, labels, weights)
        self.means = self.calibration.apply(self.means)

    def calibrate(self) -> None:
        """Give the temperature to the fitted model."""
        if self.fitted is not None and self.calibration is not None:
            self.fitted.calibration_ = self.calibration

    def _timed(self, model: Any, task: Task, seed: int, n_jobs: int | None) -> Any:
        start = time.perf_counter()
        fitted = fit_copy(
            model,
            task.X,
            task.y,
            sample_weight=task.weights,
            random_state=np.random.RandomState(seed),
            n_jobs=n_jobs,
            role=f"member {self.name!r}",
        )
        self.seconds += time.perf_counter() - start
        return fitted


def lighter(model: Any) -> Any:
    """Return an unfitted copy that reuses the decisions of a fitted model."""
    copy = clone(model)
    if isinstance(model, JacobianForest):
        chosen = model.geometries_
        copy.set_params(
            geometry=chosen[0] if len(chosen) == 1 else Cycle("chosen", chosen),
            min_samples_split=model.min_samples_split_,
        )
    elif isinstance(model, JacobianBoosting):
        copy.set_params(
            geometry=model.geometry_,
            learning_rate=model.learning_rate_,
            early_stopping=False,
            max_iter=model.n_iter_,
        )
    elif isinstance(model, KernelEstimator):
        copy.set_params(**vars(model.choice_))
    return copy


def for_weight(model: Any, weight: float, n_rows: int) -> Any:
    """Return a copy that costs less if its weight in the ensemble is small.

    A forest gets trees in proportion to its weight, so that the mean of fewer trees adds less noise
    than the whole forest would alone; a kernel machine gets fewer anchors, and a booster takes
    larger steps.
    """
    share = min(1.0, weight / FULL_FROM)
    if isinstance(model, KernelEstimator) and share < 1.0:
        n_anchors = most_anchors(n_rows, model.n_anchors)
        fewer = max(LEAST_ANCHORS, int(np.ceil(share * n_anchors)))
        return clone(model).set_params(n_anchors=min(model.n_anchors, fewer))
    if isinstance(model, JacobianForest):
        n_trees = max(LEAST_TREES, int(np.ceil(share * model.n_estimators)))
        return clone(model).set_params(n_estimators=min(model.n_estimators, n_trees))
    if isinstance(model, JacobianBoosting) and not isinstance(model.learning_rate, str):
        faster = min(COARSE * AUTO_RATE / model.learning_rate, max(1.0, FULL_FROM / weight))
        return clone(model).set_params(
            learning_rate=faster * model.learning_rate,
            max_iter=max(1, round(model.max_iter / faster)),
        )
    return model


def with_fewer_trees(model: Any) -> Any:
    """Return a copy of a forest for held-out rows; other models are returned as they are."""
    if not isinstance(model, JacobianForest) or model.n_estimators <= N_TREES:
        return model
    return clone(model).set_params(n_estimators=N_TREES)


def make_members(
    asked: Sequence[Any], classifies: bool, n_rows: int, categorical_features: Any
) -> list[Member]:
    """Create the requested members; reject invalid ones.

    Parameters
    ----------
    asked : sequence of str or (str, estimator)
    classifies : bool
    n_rows : int
        The kernel machine is not used for large tables.
    categorical_features : "from_dtype", None or array-like

    Returns
    -------
    list of Member
    """
    members = []
    for item in asked:
        if isinstance(item, str) and item in NAMED:
            classifier, regressor, params = NAMED[item]
            made = classifier if classifies else regressor
            model = made(categorical_features=categorical_features, **params)
            members.append(Member(item, model, is_named=True))
            if item == "kernel" and n_rows > MAX_ROWS:
                members[-1].outcome = f"not tried: more than {MAX_ROWS:,} rows"
        elif isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str):
            name, model = item
            _check_own(name, model, classifies)
            members.append(Member(name, model))
        else:
            raise ValueError(
                f"members holds {item!r}; a member is one of the names {', '.join(NAMED)} or a "
                "pair of a name and an estimator."
            )
    names = [member.name for member in members]
    twice = {name for name in names if names.count(name) > 1}
    if not names or twice:
        found = f"two members are called {min(twice)!r}" if twice else "members is empty"
        raise ValueError(f"{found}: name at least one member, each by a name of its own.")
    return members


def _check_own(name: str, model: Any, classifies: bool) -> None:
    kind, method = ("classifier", "predict_proba") if classifies else ("regressor", "predict")
    of_kind = is_classifier if classifies else is_regressor
    if not hasattr(model, "fit") or not of_kind(model):
        raise ValueError(f"The member {name!r}, {type(model).__name__}, is not a {kind}.")
    if not hasattr(model, method):
        raise ValueError(
            f"The member {name!r}, {type(model).__name__}, has no {method}, which the ensemble "
            "averages."
        )
