"""The Jacobian forest: the geometry of surrogates' gradients as a proposal at every node."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from jarf._progress import Stages
from jarf._sklearn import Interval, StrOptions
from jarf.ensemble._bagged import (
    CLASSIFIER_CONSTRAINTS,
    BaggedForest,
    ForestClassifierMixin,
    ForestRegressorMixin,
)
from jarf.ensemble._forest_docs import documented
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

# What "fast" means: the geometry that does best on average without a race.
FAST = "sparse"


class _JacobianForest(BaggedForest):
    geometry: Any
    surrogate_rows: int | None
    geometries_: tuple[Geometry, ...]

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
        """Set the geometries and ``min_samples_split_``."""
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

    @property
    def geometry_(self) -> Geometry:
        """The best of ``geometries_``."""
        return self.geometries_[0]

    def _fixed_geometry(self) -> Geometry | None:
        """Return the requested geometry; None if a race decides."""
        if isinstance(self.geometry, Geometry):
            return self.geometry
        if not isinstance(self.geometry, str) or self.geometry == "auto":
            return None
        return GEOMETRIES[FAST if self.geometry == "fast" else self.geometry]

    def _racers(self) -> list[Geometry]:
        """Return all geometries, or the requested ones and plain axes."""
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
        """Return a function that makes pilots of one split from its learning rows only."""
        part, labels = table.only(learn), target.only(learn)
        fitted = fit_sources(needed_sources(geometries), part, labels, seed, split, self.n_jobs)
        gradients = Gradients.at(fitted, part, labels, self.n_jobs)
        prepared = make_columns(X[learn], self.n_jobs)  # all racers share them
        scored, observed = np.ascontiguousarray(X[score]), target.indicators(score)
        rules = self._rules(min_samples_split=self.min_samples_split_)
        sizes, columns = self._sizes(table), part.only(slice(0))

        def pilot(geometry: Geometry) -> Pilot:
            growth = JacobianGrowth(rules, (geometry,), sizes, fitted, columns)
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


_CONSTRAINTS: dict[str, list[Any]] = {
    **BaggedForest._parameter_constraints,
    "geometry": [StrOptions({"auto", "fast", *GEOMETRIES}), Geometry, list, tuple],
    "min_samples_split": [
        *BaggedForest._parameter_constraints["min_samples_split"],
        StrOptions({"auto"}),
    ],
    "surrogate_rows": [Interval(Integral, 2, None, closed="left"), None],
}


@documented
class JacobianForestClassifier(ForestClassifierMixin, _JacobianForest):
    """A forest whose cuts follow the gradients of surrogate models, where that helps.

    A node tries plain axes and, in addition, directions drawn from the local expected Jacobian
    outer product: signed sums of the surrogates' gradients at a few random rows of the node. The
    *geometry* determines the surrogates, the sparsity of directions and how axes are drawn. It is
    chosen by a race on held-out rows, whose labels no surrogate saw. Plain axes win ties, so the
    result is a plain random forest unless something better was found.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    <criterion>
    geometry : {"auto", "fast", ...}, Geometry or list, default="auto"
        "auto" holds the race. "fast" skips it and takes the geometry that does best on average.
        A name of :data:`jarf.ensemble.GEOMETRIES`, or a :class:`jarf.ensemble.Geometry`, is taken
        as it is. A list of them holds a race between those and plain axes.
    surrogate_rows : int or None, default=50_000
        Race and surrogates see at most this many random rows (and one of every class); None: all.
        Gradients are taken at every row.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Number of axes that a node tries.
    <limits>
    <sampling>

    Attributes
    ----------
    geometries_ : tuple of Geometry
        What the trees were grown with, best first: more than one where the race did not tell them
        apart.
    geometry_ : Geometry
        The first of them.
    race_ : RaceResult
        Which geometry won, by how much, and whether that is more than noise; print it. Set only
        if ``geometry`` is "auto" or a list.
    min_samples_split_ : int or float
        Least number of rows of a node that was split: the parameter, or what the race chose.
    stage_times_ : dict
        Seconds spent on "race", "surrogates", "gradients" and "fit".
    <attributes>

    Notes
    -----
    There is no out-of-bag score: directions have seen every training label, so it would be too
    optimistic. The losses in ``race_`` are computed on held-out rows.

    Examples
    --------
    >>> from jarf import JacobianForestClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(800, 5, angle=45, random_state=0)
    >>> model = JacobianForestClassifier(50, random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.85
    True
    """

    _parameter_constraints = {**_CONSTRAINTS, **CLASSIFIER_CONSTRAINTS}  # noqa: RUF012

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        criterion: str = "gini",
        geometry: Any = "auto",
        surrogate_rows: int | None = 50_000,
        max_features: int | float | str | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int | float | str = "auto",
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.geometry = geometry
        self.surrogate_rows = surrogate_rows
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.categorical_features = categorical_features
        self.class_weight = class_weight

    def _n_directions(self, d: int) -> int:
        return max(1, int(np.sqrt(d)))


@documented
class JacobianForestRegressor(ForestRegressorMixin, _JacobianForest):
    """A regression forest whose cuts follow the gradients of surrogate models, where that helps.

    See :class:`JacobianForestClassifier`.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    geometry : {"auto", "fast", ...}, Geometry or list, default="auto"
        "auto" holds the race. "fast" skips it and takes the geometry that does best on average.
        A name of :data:`jarf.ensemble.GEOMETRIES`, or a :class:`jarf.ensemble.Geometry`, is taken
        as it is. A list of them holds a race between those and plain axes.
    surrogate_rows : int or None, default=50_000
        Race and surrogates see at most this many random rows (and one of every class); None: all.
        Gradients are taken at every row.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Number of axes that a node tries.
    <limits>
    <sampling>

    Attributes
    ----------
    geometries_ : tuple of Geometry
        What the trees were grown with, best first: more than one where the race did not tell them
        apart.
    geometry_ : Geometry
        The first of them.
    race_ : RaceResult
        Which geometry won, by how much, and whether that is more than noise; print it. Set only
        if ``geometry`` is "auto" or a list.
    min_samples_split_ : int or float
        Least number of rows of a node that was split: the parameter, or what the race chose.
    stage_times_ : dict
        Seconds spent on "race", "surrogates", "gradients" and "fit".
    <attributes>

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JacobianForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(800, 4))
    >>> y = np.sin(X[:, 0] + X[:, 1])
    >>> model = JacobianForestRegressor(50, random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.9
    True
    """

    _parameter_constraints = _CONSTRAINTS

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        geometry: Any = "auto",
        surrogate_rows: int | None = 50_000,
        max_features: int | float | str | None = 1.0,
        max_depth: int | None = None,
        min_samples_split: int | float | str = "auto",
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        categorical_features: Any = "from_dtype",
    ):
        self.n_estimators = n_estimators
        self.geometry = geometry
        self.surrogate_rows = surrogate_rows
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.categorical_features = categorical_features

    def _n_directions(self, d: int) -> int:
        return max(1, -(-d // 3))
