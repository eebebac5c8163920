"""The Jacobian forest: the geometry of surrogates' gradients as a proposal at every node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from jarf._progress import Stages
from jarf._sklearn import Interval, StrOptions
from jarf.ensemble._backend import backend
from jarf.ensemble._ccf import canonical_directions, canonical_proposal
from jarf.ensemble._forest import Forest
from jarf.ensemble._forest_docs import documented
from jarf.ensemble._geometries import GEOMETRIES, PLAIN, Geometry
from jarf.ensemble._growing import Target, grow_tree, grow_trees, make_space
from jarf.ensemble._oblique import ForestClassifierMixin, ForestRegressorMixin, ObliqueForest
from jarf.ensemble._race import MIN_ROWS as MIN_RACE_ROWS
from jarf.ensemble._race import Pilot, RaceResult, run_race, score_splits
from jarf.ensemble._sources import MAX_DENSE, MAX_ENTRIES, Source, Table, fit_sources
from jarf.ensemble._stopping import SIZES
from jarf.gradients import column_std

# A direction mixes the gradients of so many random rows of the node.
N_MIXED = 8
# Smaller nodes try no drawn directions, or no local ones.
MIN_ROWS, MIN_LOCAL_ROWS = 10, 20
# A node has one local direction, computed from so many of its rows at most.
MAX_LOCAL_ROWS = 128
# What "fast" means: the geometry that does best on average without a race.
FAST = "sparse"


class Gradients:
    """The gradients of all sources that some geometries need, at the same rows.

    Parameters
    ----------
    sources : dict of str to Source
        Fitted.
    table : Table
        The rows.
    target : Target
    n_jobs : int
    """

    def __init__(self, sources: dict[Any, Source], table: Table, target: Target, n_jobs):
        self.is_number, self.n_oblique = table.is_number, int(table.oblique.sum())
        self.arrays = {}
        self.diagonal = None
        for name, source in sources.items():
            found = source.gradients(table, target, n_jobs)
            if name == "forest":
                self.diagonal = np.average(found**2, axis=0, weights=table.weights)
            self.arrays[name] = _pack(found, table.oblique)

    def recipe(self, geometry: Geometry, spreads, n_axes: int, n_directions: int) -> Any:
        """What a node tries under a geometry; half as many draws where it has local directions."""
        engine = backend()
        if not geometry.axes:
            return canonical_proposal(~self.is_number)
        if geometry.local:
            n_directions = -(-n_directions // 2)
        parts = [engine.Axes(n_axes, self._chances(geometry.power))]
        if geometry.sources:
            sources = [engine.Gradients(*self.arrays[name]) for name in geometry.sources]
            draws = engine.GradientDraws(
                sources, spreads, n_directions, N_MIXED, geometry.n_loadings
            )
            parts.append(engine.LargeNodes(MIN_ROWS, draws))
        numbers = self.is_number
        if geometry.local and numbers.any():
            chances = None if numbers.all() else numbers.astype(float)
            local = canonical_directions(
                int(numbers.sum()), chances=chances, max_rows=MAX_LOCAL_ROWS, max_components=1
            )
            parts.append(engine.LargeNodes(MIN_LOCAL_ROWS, local))
        return parts[0] if len(parts) == 1 else engine.Sequence(parts)

    def _chances(self, power: float) -> np.ndarray:
        if power == 0 or self.diagonal is None or not self.diagonal.any():
            return np.empty(0)
        share = self.diagonal / self.diagonal.sum()
        # A column that the surrogate overlooked keeps a small chance.
        return (share + 1e-4 / len(share)) ** power


def _pack(gradients: np.ndarray, oblique: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Unit mean square, columns that stay axes set to zero, the largest entries of each row."""
    gradients = np.where(oblique, gradients, 0.0)
    size = np.sqrt(np.mean((gradients**2).sum(axis=1)))
    gradients = (gradients / size if size > 0 else gradients).astype(np.float32)
    d = gradients.shape[1]
    if d <= MAX_DENSE:
        return gradients, np.empty((0, 0), np.int32), d
    places = np.argpartition(-np.abs(gradients), MAX_ENTRIES - 1, axis=1)[:, :MAX_ENTRIES]
    places = np.sort(places, axis=1).astype(np.int32)
    values = np.ascontiguousarray(np.take_along_axis(gradients, places, axis=1))
    return values, places, d


def needed_sources(geometries: Sequence[Geometry]) -> list[Any]:
    """All sources that these geometries draw from."""
    found = [source for geometry in geometries for source in geometry.sources]
    if any(geometry.power for geometry in geometries):
        found.append("forest")
    return list(dict.fromkeys(found))


class Knowledge(NamedTuple):
    """What all trees share: fitted surrogates, and how columns are standardised for them."""

    sources: dict[Any, Source]
    columns: Table  # of no rows


class _JacobianForest(ObliqueForest):
    geometry: Any
    # The geometry says whether trees see bootstrap samples. Out-of-bag scores would not be honest:
    # directions have seen every label. See ``race_``.
    bootstrap, max_samples, oob_score = True, None, False

    def _learn(self, X, weights, target: Target, stages: Stages) -> Knowledge:
        """Hold the race and fit the winner's surrogates."""
        super()._learn(X, weights, target, stages)
        table = Table.standardised(X, weights, ~self._plain_axes)
        rng = check_random_state(self.random_state)
        race_rng, final_rng = (np.random.RandomState(rng.randint(2**31 - 1)) for _ in range(2))
        geometries = self._fixed_geometries()
        if self.forest_.n_trees == 0:
            automatic = self.min_samples_split == "auto"
            self.min_samples_split_ = SIZES[0] if automatic else self.min_samples_split
        if not geometries:
            with stages.stage("race"):
                self.race_ = self._race(X, table, target, race_rng, stages)
            known = {geometry.name: geometry for geometry in self._racers()}
            geometries = tuple(known[name] for name in self.race_.winners)
            if self.min_samples_split == "auto":
                self.min_samples_split_ = self.race_.min_samples_split
        self.geometries_ = geometries
        with stages.stage("surrogates"):
            needed = needed_sources(geometries)
            fitted = fit_sources(needed, table, target, final_rng, self.n_jobs)
        return Knowledge(fitted, table.only(slice(0)))

    def _context(self, learned: Knowledge, X, weights, target: Target, stages: Stages) -> Gradients:
        with stages.stage("gradients"):
            table = learned.columns.at(X, weights)
            return Gradients(learned.sources, table, target, self.n_jobs)

    def _proposal(self, X: np.ndarray, context: Any) -> Any:
        return self._recipe_of(self.geometry_, context, X)

    def _proposals(self, X: np.ndarray, context: Any) -> Callable[[int], Any]:
        made = [self._recipe_of(geometry, context, X) for geometry in self.geometries_]
        return lambda seed: made[seed % len(made)]

    @property
    def _split_rule(self) -> Any:
        return self.min_samples_split_

    @property
    def geometry_(self) -> Geometry:
        """The best of ``geometries_``."""
        return self.geometries_[0]

    def _fixed_geometries(self) -> tuple[Geometry, ...]:
        """The geometry asked for, or that of earlier trees; empty where a race decides."""
        if self.forest_.n_trees > 0:  # a warm start
            return self.geometries_
        if isinstance(self.geometry, Geometry):
            return (self.geometry,)
        if not isinstance(self.geometry, str) or self.geometry == "auto":
            return ()
        return (GEOMETRIES[FAST if self.geometry == "fast" else self.geometry],)

    def _racers(self) -> list[Geometry]:
        """All geometries, or those asked for and plain axes."""
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

    def _recipe_of(self, geometry: Geometry, gradients: Gradients, X: np.ndarray) -> Any:
        d = X.shape[1]
        std = column_std(X)
        spreads = np.where(std > 0, std, 1.0).astype(np.float32)
        n_directions = self._n_directions(gradients.n_oblique)
        n_axes = self._n_candidates(d)
        if not geometry.is_plain:
            n_axes = min(n_axes, self._n_directions(d))
        return gradients.recipe(geometry, spreads, n_axes, n_directions)

    def _tree_counts(self, n_rows: int, seed: int) -> np.ndarray:
        if self.geometries_[seed % len(self.geometries_)].bootstrap:
            return super()._tree_counts(n_rows, seed)
        return np.ones(n_rows)

    def _race(self, X, table: Table, target: Target, rng, stages: Stages) -> RaceResult:
        if len(X) < MIN_RACE_ROWS:
            stages.note(f"{len(X)} rows are too few for a race: plain axes")
            return RaceResult((PLAIN.name,), [])
        geometries = self._racers()
        if self._n_candidates(X.shape[1]) >= X.shape[1]:  # all trees of "whole" would be alike
            geometries = [g for g in geometries if g.bootstrap or not g.is_plain]
        splits = score_splits(len(X), rng)
        tracks = [
            self._track(X, table, target, learn, score, geometries, rng) for learn, score in splits
        ]
        weights = np.concatenate([table.weights[score] for _, score in splits])
        return run_race(
            geometries,
            lambda geometry: [track(geometry) for track in tracks],
            weights,
            self.n_jobs,
            stages.note,
            SIZES if self.min_samples_split == "auto" else (),
        )

    def _track(self, X, table, target, learn, score, geometries, rng):
        """What makes the pilots of one split: surrogates that saw only its learning rows."""
        part, labels = table.only(learn), target.only(learn)
        needed = needed_sources(geometries)
        fitted = fit_sources(needed, part, labels, rng, self.n_jobs)
        gradients = Gradients(fitted, part, labels, self.n_jobs)
        rows = np.asfortranarray(X[learn])
        space = make_space(rows, self.n_jobs)
        scored = np.ascontiguousarray(X[score])
        observed = target.indicators(score)
        seed = rng.randint(2**31 - 1)
        limits = self._limits(len(learn))

        def pilot(geometry: Geometry) -> Pilot:
            recipe = self._recipe_of(geometry, gradients, rows)
            seeds = np.random.RandomState(seed)  # every racer draws the same bootstraps

            def grow_one(tree_seed, stop):
                counts = part.weights
                if geometry.bootstrap:
                    counts = ObliqueForest._tree_counts(self, len(learn), tree_seed) * counts
                return grow_tree(space, recipe, labels, counts, tree_seed, limits, stop)

            def grow(n_trees: int) -> Forest:
                drawn = seeds.randint(np.iinfo(np.int64).max, size=n_trees, dtype=np.int64)
                trees = grow_trees(grow_one, drawn, self.n_jobs, 0)
                return Forest.empty(X.shape[1], target.n_classes).extended(trees)

            # A bootstrap sample holds 63 % of the rows.
            n_rows = len(learn) * (1.0 - np.exp(-1.0) if geometry.bootstrap else 1.0)
            return Pilot(grow, scored, observed, n_rows)

        return pilot


def _constraints(base) -> dict[str, list[Any]]:
    """Those of all forests, without what the geometry decides."""
    kept = {
        name: rule
        for name, rule in base._parameter_constraints.items()
        if name not in ("bootstrap", "max_samples", "oob_score")
    }
    return {
        **kept,
        "geometry": [StrOptions({"auto", "fast", *GEOMETRIES}), Geometry, list, tuple],
        "min_samples_split": [*kept["min_samples_split"], StrOptions({"auto"})],
        "surrogate_rows": [Interval(Integral, 2, None, closed="left"), None],
    }


@documented
class JacobianForestClassifier(ForestClassifierMixin, _JacobianForest):
    """A forest whose cuts follow the gradients of surrogate models, where that helps.

    A node tries plain axes and, beside them, directions drawn from the local expected Jacobian
    outer product: signed sums of the surrogates' gradients at a few random rows of the node. Which
    surrogates, how sparse the directions are and how axes are drawn is the *geometry*. An honest
    race on rows whose labels no surrogate saw chooses it; plain axes win ties, so that the forest
    is a plain one where nothing better was found.

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
        Race and surrogates see at most so many random rows (and one of every class); None: all.
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
        Who won, by how much, and what each racer cost; only with ``geometry="auto"``.
    min_samples_split_ : int or float
        From how many rows on a node was split: the parameter, or what the race chose.
    stage_times_ : dict
        Seconds spent on "race", "surrogates", "gradients" and "fit".
    <attributes>

    Notes
    -----
    There is no out-of-bag score: directions have seen every training label, so it would promise too
    much. The losses in ``race_`` are honest.

    Examples
    --------
    >>> from jarf import JacobianForestClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(800, 5, angle=45, random_state=0)
    >>> model = JacobianForestClassifier(50, random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.85
    True
    """

    _parameter_constraints = _constraints(ForestClassifierMixin)

    def __init__(
        self,
        n_estimators=200,
        *,
        criterion="gini",
        geometry="auto",
        surrogate_rows=50_000,
        max_features="sqrt",
        max_depth=None,
        min_samples_split="auto",
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        categorical_features="from_dtype",
        class_weight=None,
    ):
        self._assign(locals())

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
        Race and surrogates see at most so many random rows (and one of every class); None: all.
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
        Who won, by how much, and what each racer cost; only with ``geometry="auto"``.
    min_samples_split_ : int or float
        From how many rows on a node was split: the parameter, or what the race chose.
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

    _parameter_constraints = _constraints(ObliqueForest)

    def __init__(
        self,
        n_estimators=200,
        *,
        geometry="auto",
        surrogate_rows=50_000,
        max_features=1.0,
        max_depth=None,
        min_samples_split="auto",
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        categorical_features="from_dtype",
    ):
        self._assign(locals())

    def _n_directions(self, d: int) -> int:
        return max(1, -(-d // 3))
