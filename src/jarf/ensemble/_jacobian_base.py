"""How the Jacobian forest is fitted: the race, the held-out rows, the surrogates, the trees."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from jarf._progress import Stages
from jarf._sklearn import Interval, StrOptions
from jarf.ensemble._bagged import BaggedForest
from jarf.ensemble._cross_fit import N_TREES, HeldOut, cross_fit, held_out_splits
from jarf.ensemble._geometries import GEOMETRIES, PLAIN, Geometry
from jarf.ensemble._growth import Growth, n_candidates
from jarf.ensemble._holdout import MIN_ROWS, ScoredRows, score_splits
from jarf.ensemble._jacobian_growth import (
    Gradients,
    JacobianGrowth,
    NodeSizes,
    needed_sources,
)
from jarf.ensemble._race import Pilot, run_race
from jarf.ensemble._race_result import RaceResult
from jarf.ensemble._sources import Table, fit_sources
from jarf.ensemble._stopping import SIZES
from jarf.trees import Forest, Target, grow_forest, make_columns, stream, tree_seeds

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
        "geometry": [StrOptions({"auto", "fast", *GEOMETRIES}), Geometry, list, tuple],
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
        table = Table.standardised(X, weights, ~self._plain_axes)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        self._choose(X, table, target, seed, stages)
        self._hold_out(X, table, target, seed, stages)
        with stages.stage("surrogates"):
            needed = needed_sources(self.geometries_)
            fitted = fit_sources(needed, table, target, seed, "final", self.n_jobs)
        return JacobianGrowth(
            self._rules(min_samples_split=self.min_samples_split_),
            self.geometries_,
            self._sizes(table),
            fitted,
            table.only(slice(0)),
        )

    def _choose(self, X, table: Table, target: Target, seed: int, stages: Stages) -> None:
        """Set the geometries, and from how many rows nodes are split."""
        if self.forest_.n_trees > 0:  # a warm start keeps its geometries
            return
        vars(self).pop("race_", None)
        automatic = self.min_samples_split == "auto"
        self.min_samples_split_ = SIZES[0] if automatic else self.min_samples_split
        fixed = self._fixed_geometry()
        if fixed is not None:
            self.geometries_ = (fixed,)
            return
        with stages.stage("race"):
            self.race_ = self._race(X, table, target, seed, stages)
        known = {geometry.name: geometry for geometry in self._racers()}
        self.geometries_ = tuple(known[name] for name in self.race_.winners)
        if automatic:
            self.min_samples_split_ = self.race_.min_samples_split

    def _hold_out(self, X, table: Table, target: Target, seed: int, stages: Stages) -> None:
        """Predict rows that smaller forests of the same geometries did not see, and keep errors."""
        for name in ("calibration_", "conformal_"):
            vars(self).pop(name, None)
        splits = held_out_splits(X, stream(seed, "calibration")) if self.calibrate else []
        if not splits:
            self._keep_errors(None)
            return

        def predict(number: int, learn, score) -> tuple[np.ndarray, np.ndarray]:
            track = self._track(
                *(X, table, target, learn, score, self.geometries_, seed),
                f"calibration {number}",
            )
            forest = track(*self.geometries_).grow(min(N_TREES, self.n_estimators))
            rows = np.ascontiguousarray(X[score])
            means = forest.predict(rows, self.n_jobs)
            return means, means if target.n_classes else forest.spread(rows, self.n_jobs)

        with stages.stage("calibration"):
            self._keep_errors(cross_fit(splits, predict, target.indicators(), table.weights))

    @abstractmethod
    def _keep_errors(self, held_out: HeldOut | None) -> None:
        """Keep what the predictions of held-out rows say; None: no rows were held out."""

    @property
    def geometry_(self) -> Geometry:
        """The best of ``geometries_``."""
        return self.geometries_[0]

    def _fixed_geometry(self) -> Geometry | None:
        """Return the geometry asked for; None where a race decides."""
        if isinstance(self.geometry, Geometry):
            return self.geometry
        if not isinstance(self.geometry, str) or self.geometry == "auto":
            return None
        return GEOMETRIES[FAST if self.geometry == "fast" else self.geometry]

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
            asked += [geometry] if geometry != PLAIN else []
        return asked

    def _sizes(self, table: Table) -> NodeSizes:
        """Count what a node tries."""
        d = table.Z.shape[1]
        return NodeSizes(
            n_axes=n_candidates(self.max_features, d),
            n_axes_beside=min(n_candidates(self.max_features, d), self._n_directions(d)),
            n_directions=self._n_directions(int(table.oblique.sum())),
        )

    def _race(self, X, table: Table, target: Target, seed: int, stages: Stages) -> RaceResult:
        splits = []
        if len(X) >= MIN_ROWS:
            splits = score_splits(X, stream(seed, "splits"))
        if not splits:
            reason = f"{len(X)} training rows are fewer than the {MIN_ROWS} that a race needs"
            if len(X) >= MIN_ROWS:
                reason = f"all {len(X)} training rows are identical"
            stages.note(f"no race: {reason}; the forest uses plain axes")
            return RaceResult((PLAIN.name,), [], reason=reason)
        geometries = self._racers()
        if n_candidates(self.max_features, X.shape[1]) >= X.shape[1]:
            # All trees of "whole" would be identical.
            geometries = [g for g in geometries if g.bootstrap or not g.is_plain]
        tracks = [
            self._track(X, table, target, learn, score, geometries, seed, f"split {number}")
            for number, (learn, score) in enumerate(splits)
        ]
        scored = np.concatenate([score for _, score in splits])
        return run_race(
            geometries,
            lambda geometry: [track(geometry) for track in tracks],
            ScoredRows.of(X[scored], table.weights[scored]),
            self.n_jobs,
            stages.detail,
            SIZES if self.min_samples_split == "auto" else (),
        )

    def _track(self, X, table, target, learn, score, geometries, seed: int, split: str):
        """Return what makes the pilots of one split: surrogates saw only its learning rows."""
        part, labels = table.only(learn), target.only(learn)
        fitted = fit_sources(needed_sources(geometries), part, labels, seed, split, self.n_jobs)
        gradients = Gradients.at(fitted, part, labels, self.n_jobs)
        prepared = make_columns(X[learn], self.n_jobs)  # all racers share them
        scored, observed = np.ascontiguousarray(X[score]), target.indicators(score)
        rules = self._rules(min_samples_split=self.min_samples_split_)
        sizes, columns = self._sizes(table), part.only(slice(0))

        def pilot(geometry: Geometry, *others: Geometry) -> Pilot:
            growth = JacobianGrowth(rules, (geometry, *others), sizes, fitted, columns)
            plan_of = growth.plans_on(prepared, len(learn), gradients)
            rng = stream(seed, "pilots", split)  # every racer draws the same bootstraps

            def grow(n_trees: int) -> Forest:
                return grow_forest(
                    plan_of,
                    labels,
                    part.weights,
                    tree_seeds(rng, n_trees),
                    rules.limits(len(learn)),
                    n_features=X.shape[1],
                    n_jobs=self.n_jobs,
                )

            # A bootstrap sample holds 63 % of the rows.
            n_rows = len(learn) * (1.0 - np.exp(-1.0) if geometry.bootstrap else 1.0)
            return Pilot(grow, scored, observed, n_rows, classifies=target.n_classes > 0)

        return pilot
