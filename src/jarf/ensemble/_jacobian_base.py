"""How the Jacobian forest is fitted: the race, the held-out rows, the surrogates, the trees."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from jarf._progress import Stages
from jarf._sklearn import Interval, StrOptions, fit_context
from jarf.ensemble._bagged import BaggedForest, only_used
from jarf.ensemble._cross_fit import N_TREES, HeldOut, Predicted, gather, held_out_splits
from jarf.ensemble._cycles import OWN, Cycle
from jarf.ensemble._geometries import GEOMETRIES, PLAIN, Geometry
from jarf.ensemble._growth import Growth, Rules, n_candidates
from jarf.ensemble._holdout import MIN_ROWS, ScoredRows, score_splits
from jarf.ensemble._jacobian_growth import JacobianGrowth, NodeSizes, needed_sources
from jarf.ensemble._race import run_race
from jarf.ensemble._race_result import RaceResult
from jarf.ensemble._sources import Table, fit_sources
from jarf.ensemble._stopping import SIZES
from jarf.ensemble._tracks import Course, Raced
from jarf.trees import Target, stream

# The geometry of "fast": the best one on average without a race.
FAST = "sparse"


class JacobianForest(BaggedForest):
    """The part that classifier and regressor share."""

    geometry: Any
    surrogate_rows: int | None
    calibrate: bool
    geometries_: tuple[Geometry, ...]

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **BaggedForest._parameter_constraints,
        "geometry": [StrOptions({"auto", "fast", *GEOMETRIES}), Geometry, Cycle, list, tuple],
        "min_samples_split": [
            *BaggedForest._parameter_constraints["min_samples_split"],
            StrOptions({"auto"}),
        ],
        "surrogate_rows": [Interval(Integral, 2, None, closed="left"), None],
        "calibrate": ["boolean"],
    }

    @abstractmethod
    def _n_directions(self, d: int) -> int:
        """Return the number of directions that a node tries on ``d`` columns."""

    @property
    def _learning_rows(self) -> int | None:
        return self.surrogate_rows

    def _growth(self, X, weights, target: Target, stages: Stages) -> Growth:
        """Hold the race and fit the winner's surrogates."""
        course = self._course(X, weights, target)
        self._hold_out(course, self._choose(course, stages), stages)  # then the race is freed
        with stages.stage("surrogates"):
            needed, rows = needed_sources(self.geometries_), (course.table, target)
            fitted = fit_sources(needed, *rows, course.seed, "final", self.n_jobs)
        columns = course.table.only(slice(0))
        return JacobianGrowth(self._chosen_rules(), self.geometries_, course.sizes, fitted, columns)

    def _course(self, X, weights, target: Target) -> Course:
        table = Table.standardised(X, weights, ~self._plain_axes)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return Course(X, table, target, self._sizes(table), seed, self.n_jobs)

    @fit_context(prefer_skip_nested_validation=True)
    def hold_race(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Hold the race of ``fit`` and grow no forest.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : object
            Not fitted; with ``race_``, ``geometries_`` and ``min_samples_split_``.
        """
        X, y, weights = self._encoded(X, y, sample_weight)
        used = weights > 0
        target = self._read_target(y).only(used)
        X, weights = only_used(used, X, weights)
        self._begin(X.shape[1], target, more=False)
        some = self._rows_to_learn(target)
        course = self._course(X[some], weights[some], target.only(some))
        self._choose(course, Stages(type(self).__name__, self.verbose))
        del self.forest_
        return self

    def _chosen_rules(self) -> Rules:
        return self._rules(min_samples_split=self.min_samples_split_)

    def _choose(self, course: Course, stages: Stages) -> Raced | None:
        """Set the geometries, and from how many rows nodes are split; return what raced."""
        if self.forest_.n_trees > 0:  # a warm start keeps its geometries
            return self._on_tracks(course, self.geometries_) if hasattr(self, "race_") else None
        vars(self).pop("race_", None)
        automatic = self.min_samples_split == "auto"
        self.min_samples_split_ = SIZES[0] if automatic else self.min_samples_split
        fixed = self._fixed_geometries()
        if fixed is not None:
            self.geometries_ = fixed
            return None
        with stages.stage("race"):
            self.race_, raced = self._race(course, stages)
        known = {geometry.name: geometry for geometry in self._racers()}
        self.geometries_ = tuple(known[name] for name in self.race_.winners)
        if automatic:
            self.min_samples_split_ = self.race_.min_samples_split
        return raced

    def _hold_out(self, course: Course, raced: Raced | None, stages: Stages) -> None:
        """Predict rows that smaller forests of the same geometries did not see, and keep errors."""
        for name in ("calibration_", "conformal_"):
            vars(self).pop(name, None)
        parts: list[Predicted] = []
        if self.calibrate and len(course.X) >= MIN_ROWS:
            with stages.stage("calibration"):
                parts = self._predict_held_out(course, raced)
        self._keep_errors(gather(parts, course.target.indicators(), course.table.weights))

    def _predict_held_out(self, course: Course, raced: Raced | None) -> list[Predicted]:
        n_trees, rules = min(N_TREES, self.n_estimators), self._chosen_rules()
        if raced is not None:
            size = self.min_samples_split_ if self.min_samples_split == "auto" else 0
            return raced.predict(rules, self.geometries_, n_trees, size)
        splits = held_out_splits(course.X, stream(course.seed, "calibration"))
        tracks = (
            course.track(split, self.geometries_, f"calibration {number}")
            for number, split in enumerate(splits)
        )
        return [track.predict(rules, self.geometries_, n_trees) for track in tracks]

    @abstractmethod
    def _keep_errors(self, held_out: HeldOut | None) -> None:
        """Keep what the predictions of held-out rows say; None: no rows were held out."""

    @property
    def geometry_(self) -> Geometry:
        """The best of ``geometries_``."""
        return self.geometries_[0]

    def _fixed_geometries(self) -> tuple[Geometry, ...] | None:
        """Return the geometries asked for, which share the trees; None where a race decides."""
        if isinstance(self.geometry, Geometry):
            return (without_symmetric(self.geometry),)
        if isinstance(self.geometry, Cycle):
            if self.geometry.uses_own:
                raise ValueError(
                    f"The cycle {self.geometry.name!r} draws from {OWN!r}, the gradients of a "
                    "booster so far, which a forest does not have."
                )
            return tuple(without_symmetric(geometry) for geometry in self.geometry.rounds)
        if not isinstance(self.geometry, str) or self.geometry == "auto":
            return None
        return (GEOMETRIES[FAST if self.geometry == "fast" else self.geometry],)

    def _racers(self) -> list[Geometry]:
        """Return all geometries, or those asked for and plain axes."""
        if isinstance(self.geometry, str):
            return list(GEOMETRIES.values())
        asked = [PLAIN]
        for item in self.geometry:
            geometry = GEOMETRIES.get(item) if isinstance(item, str) else item
            if not isinstance(geometry, Geometry):
                raise ValueError(
                    f"geometry holds {item!r}; a race is between objects of Geometry and the names "
                    f"{', '.join(GEOMETRIES)}."
                )
            if geometry != PLAIN and geometry.name in {other.name for other in asked}:
                raise ValueError(f"Two geometries of the race are called {geometry.name!r}.")
            asked += [without_symmetric(geometry)] if geometry != PLAIN else []
        return asked

    def _sizes(self, table: Table) -> NodeSizes:
        """Count what a node tries."""
        d = table.Z.shape[1]
        return NodeSizes(
            n_axes=n_candidates(self.max_features, d),
            n_axes_beside=min(n_candidates(self.max_features, d), self._n_directions(d)),
            n_directions=self._n_directions(int(table.oblique.sum())),
        )

    def _race(self, course: Course, stages: Stages) -> tuple[RaceResult, Raced | None]:
        X, geometries = course.X, self._racers()
        if n_candidates(self.max_features, X.shape[1]) >= X.shape[1]:
            # All trees of "whole" would be identical.
            geometries = [g for g in geometries if g.bootstrap or not g.is_plain]
        raced = self._on_tracks(course, geometries)
        if raced is None:
            reason = f"{len(X)} training rows are fewer than the {MIN_ROWS} that a race needs"
            if len(X) >= MIN_ROWS:
                reason = f"all {len(X)} training rows are identical"
            stages.note(f"no race: {reason}; the forest uses plain axes")
            return RaceResult((PLAIN.name,), [], reason=reason), None
        scored = np.concatenate([track.score for track in raced.tracks])
        result = run_race(
            geometries,
            lambda geometry: raced.pilots[geometry.name],
            ScoredRows.of(X[scored], course.table.weights[scored]),
            self.n_jobs,
            stages.detail,
            SIZES if self.min_samples_split == "auto" else (),
        )
        return result, raced

    def _on_tracks(self, course: Course, geometries: Sequence[Geometry]) -> Raced | None:
        """Return pilots of these geometries before they grow; None if rows are too few."""
        splits = []
        if len(course.X) >= MIN_ROWS:
            splits = score_splits(course.X, stream(course.seed, "splits"))
        automatic = self.min_samples_split == "auto"
        rules = self._rules(min_samples_split=SIZES[0] if automatic else self.min_samples_split)
        tracks = [
            course.track(split, geometries, f"split {number}")
            for number, split in enumerate(splits)
        ]
        pilots = {g.name: [track.pilot(rules, g) for track in tracks] for g in geometries}
        return Raced(tracks, pilots) if tracks else None


def without_symmetric(geometry: Geometry) -> Geometry:
    """Return the geometry; reject symmetric trees, which a forest cannot grow."""
    if geometry.symmetric:
        raise ValueError(
            f"The geometry {geometry.name!r} grows symmetric trees, which only boosting has. Use "
            "it in JacobianBoostingClassifier or JacobianBoostingRegressor, or set "
            "symmetric=False."
        )
    return geometry
