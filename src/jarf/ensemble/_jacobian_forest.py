"""The Jacobian forest: the geometry of surrogates' gradients as a proposal at every node."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from jarf._progress import Stages
from jarf._sklearn import StrOptions
from jarf.ensemble._backend import backend
from jarf.ensemble._ccf import canonical_directions
from jarf.ensemble._forest import Forest, GrownTree
from jarf.ensemble._forest_docs import documented
from jarf.ensemble._geometries import GEOMETRIES, PLAIN, Geometry
from jarf.ensemble._growing import Target, grow_tree, grow_trees, make_space
from jarf.ensemble._oblique import ForestClassifierMixin, ForestRegressorMixin, ObliqueForest
from jarf.ensemble._race import MIN_ROWS as MIN_RACE_ROWS
from jarf.ensemble._race import Pilot, RaceResult, run_race, score_splits
from jarf.ensemble._sources import MAX_ENTRIES, SOURCES, Table
from jarf.gradients import column_std

# A direction mixes the gradients of so many random rows of the node.
N_MIXED = 8
# Smaller nodes try no drawn directions, or no local ones.
MIN_ROWS, MIN_LOCAL_ROWS = 5, 10
# What "fast" means: the geometry that does best on average without a race.
FAST = "sparse"


class Gradients:
    """The gradients of all sources that some geometries need, at the same rows.

    Parameters
    ----------
    table : Table
    target : Target
    sources : set of str
    rng : RandomState
    n_jobs : int
    """

    def __init__(self, table: Table, target: Target, sources, rng, n_jobs):
        self.table = table
        self.packed = {}
        self.diagonal = None
        for name in SOURCES:
            seed = rng.randint(np.iinfo(np.int32).max)  # drawn for all, so that none shifts another
            if name not in sources:
                continue
            own = np.random.RandomState(seed)
            found = SOURCES[name](table, target, own, n_jobs)
            if name == "forest":
                self.diagonal = np.average(found**2, axis=0, weights=table.weights)
            self.packed[name] = _pack(found, table.oblique)

    def recipe(self, geometry: Geometry, spreads, n_axes: int, n_directions: int) -> Any:
        """What a node tries under a geometry."""
        engine = backend()
        parts = [engine.Axes(n_axes, self._chances(geometry.power))]
        if geometry.sources:
            sources = [self.packed[name] for name in geometry.sources]
            draws = engine.GradientDraws(
                sources, spreads, n_directions, N_MIXED, geometry.n_loadings
            )
            parts.append(engine.LargeNodes(MIN_ROWS, draws))
        numbers = self.table.is_number
        if geometry.local and numbers.any():
            chances = None if numbers.all() else numbers.astype(float)
            local = canonical_directions(int(numbers.sum()), chances=chances)
            parts.append(engine.LargeNodes(MIN_LOCAL_ROWS, local))
        return parts[0] if len(parts) == 1 else engine.Sequence(parts)

    def _chances(self, power: float) -> np.ndarray:
        if power == 0 or self.diagonal is None or not self.diagonal.any():
            return np.empty(0)
        share = self.diagonal / self.diagonal.sum()
        # A column that the surrogate overlooked keeps a small chance.
        return (share + 1e-4 / len(share)) ** power


def _pack(gradients: np.ndarray, oblique: np.ndarray):
    """Unit mean square, columns that stay axes set to zero, the largest entries of each row."""
    gradients = np.where(oblique, gradients, 0.0)
    size = np.sqrt(np.mean((gradients**2).sum(axis=1)))
    gradients = (gradients / size if size > 0 else gradients).astype(np.float32)
    d = gradients.shape[1]
    if d <= MAX_ENTRIES:
        return backend().Gradients(gradients, np.empty((0, 0), np.int32), d)
    places = np.argpartition(-np.abs(gradients), MAX_ENTRIES - 1, axis=1)[:, :MAX_ENTRIES]
    places = np.sort(places, axis=1).astype(np.int32)
    values = np.ascontiguousarray(np.take_along_axis(gradients, places, axis=1))
    return backend().Gradients(values, places, d)


class _JacobianForest(ObliqueForest):
    geometry: Any
    # The geometry says whether trees see bootstrap samples. Out-of-bag scores would not be honest:
    # directions have seen every label. See ``race_``.
    bootstrap, max_samples, oob_score = True, None, False

    def _grow(self, X, weights, target: Target, seeds: np.ndarray) -> list[GrownTree]:
        stages = Stages(type(self).__name__, self.verbose)
        table = Table.standardised(X, weights, ~self._plain_axes)
        rng = check_random_state(self.random_state)
        race_rng, final_rng = (np.random.RandomState(rng.randint(2**31 - 1)) for _ in range(2))
        geometry = self._fixed_geometry()
        if geometry is None:
            with stages.stage("race"):
                self.race_ = self._race(X, table, target, race_rng, stages)
            geometry = GEOMETRIES[self.race_.winner]
        self.geometry_ = geometry
        with stages.stage("gradients"):
            needed = set(geometry.sources) | ({"forest"} if geometry.power else set())
            gradients = Gradients(table, target, needed, final_rng, self.n_jobs)
            self._recipe = self._recipe_of(geometry, gradients, X)
        with stages.stage("fit"):
            try:
                trees = super()._grow(X, weights, target, seeds)
            finally:
                del self._recipe
        self.stage_times_ = stages.times
        return trees

    def _proposal(self, X: np.ndarray) -> Any:
        return self._recipe

    def _fixed_geometry(self) -> Geometry | None:
        """The geometry asked for by name; None where a race decides."""
        if self.warm_start and len(self._tree_seeds) > self.n_estimators:
            return self.geometry_
        if isinstance(self.geometry, Geometry):
            return self.geometry
        if self.geometry == "auto":
            return None
        return GEOMETRIES[FAST if self.geometry == "fast" else self.geometry]

    def _recipe_of(self, geometry: Geometry, gradients: Gradients, X: np.ndarray) -> Any:
        d = X.shape[1]
        std = column_std(X)
        spreads = np.where(std > 0, std, 1.0).astype(np.float32)
        n_directions = self._n_directions(d)
        n_axes = self._n_candidates(d)
        if not geometry.is_plain:
            n_axes = min(n_axes, n_directions)
        return gradients.recipe(geometry, spreads, n_axes, n_directions)

    def _tree_counts(self, n_rows: int, seed: int) -> np.ndarray:
        if self.geometry_.bootstrap:
            return super()._tree_counts(n_rows, seed)
        return np.ones(n_rows)

    def _race(self, X, table: Table, target: Target, rng, stages: Stages) -> RaceResult:
        if len(X) < MIN_RACE_ROWS:
            stages.note(f"{len(X)} rows are too few for a race: plain axes")
            return RaceResult(PLAIN.name, [])
        geometries = list(GEOMETRIES.values())
        sources = {name for geometry in geometries for name in geometry.sources}
        splits = score_splits(len(X), rng)
        tracks = [
            self._track(X, table, target, learn, score, sources, rng) for learn, score in splits
        ]
        weights = np.concatenate([table.weights[score] for _, score in splits])
        return run_race(
            geometries,
            lambda geometry: [track(geometry) for track in tracks],
            weights,
            self.n_jobs,
            stages.note,
        )

    def _track(self, X, table, target, learn, score, sources, rng):
        """What makes the pilots of one split: surrogates that saw only its learning rows."""
        part, labels = table.only(learn), target.only(learn)
        gradients = Gradients(part, labels, sources, rng, self.n_jobs)
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

            return Pilot(grow, scored, observed)

        return pilot


def _constraints(base) -> dict[str, list[Any]]:
    """Those of all forests, without what the geometry decides."""
    kept = {
        name: rule
        for name, rule in base._parameter_constraints.items()
        if name not in ("bootstrap", "max_samples", "oob_score")
    }
    return {**kept, "geometry": [StrOptions({"auto", "fast", *GEOMETRIES}), Geometry]}


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
    geometry : {"auto", "fast", ...} or Geometry, default="auto"
        "auto" holds the race. "fast" skips it and takes the geometry that does best on average.
        A name of :data:`jarf.ensemble.GEOMETRIES`, or a :class:`jarf.ensemble.Geometry`, is taken
        as it is.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Number of axes that a node tries.
    <limits>
    <sampling>

    Attributes
    ----------
    geometry_ : Geometry
        What the forest was grown with.
    race_ : RaceResult
        Who won, by how much, and what each racer cost; only with ``geometry="auto"``.
    stage_times_ : dict
        Seconds spent on "race", "gradients" and "fit".
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
        max_features="sqrt",
        max_depth=None,
        min_samples_split=2,
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
    geometry : {"auto", "fast", ...} or Geometry, default="auto"
        "auto" holds the race. "fast" skips it and takes the geometry that does best on average.
        A name of :data:`jarf.ensemble.GEOMETRIES`, or a :class:`jarf.ensemble.Geometry`, is taken
        as it is.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Number of axes that a node tries.
    <limits>
    <sampling>

    Attributes
    ----------
    geometry_ : Geometry
        What the forest was grown with.
    race_ : RaceResult
        Who won, by how much, and what each racer cost; only with ``geometry="auto"``.
    stage_times_ : dict
        Seconds spent on "race", "gradients" and "fit".
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
        max_features=1.0,
        max_depth=None,
        min_samples_split=2,
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
