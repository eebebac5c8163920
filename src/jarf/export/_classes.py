"""The classes that a model file may hold: this list is all that loading can make."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import jarf.ensemble as ours
from jarf.ensemble._race import RaceResult
from jarf.export._checks import check_forest, check_map, require
from jarf.export._codec import CannotWrite, Writer
from jarf.export._kinds import EstimatorKind, Kind, check_names
from jarf.export._members import UnsoundFile
from jarf.export._peers import BoosterKind, ForestKind, check_sklearn
from jarf.geometry import JacobianPreconditioner, Learned, LinearMap, LowRankPreconditioner
from jarf.gradients import EJOP, WideEJOP
from jarf.table import TableEncoder
from jarf.table._filling import ForestFill, LinearFill
from jarf.table._parts import Levels, Numbers, OneHot, TargetMeans

_FORESTS = (
    "AxisForest",
    "SPORF",
    "CanonicalCorrelationForest",
    "RotationForest",
    "JacobianForest",
)
_COLUMNS = {"n_features_in_": "count", "feature_names_in_": "texts"}


def describe(value: Any) -> tuple[str, dict] | None:
    """Take an object of a listed class apart."""
    name = type(value).__name__
    kind = kinds().get(name)
    if kind is None or kind.cls is not type(value):
        return None
    return name, kind.state(value)


def build(name: str, state: dict) -> Any:
    """Put an object of a listed class together; any other class is refused."""
    kind = kinds().get(name)
    if kind is None:
        raise UnsoundFile(f"it names the class {name!r}, which is not among those that are loaded")
    return kind.build(state)


@cache
def kinds() -> dict[str, Kind]:
    """All listed classes by name; XGBoost's where it is installed."""
    listed = [*_parts(), *_table(), *_estimators(), *_sklearn(), *_xgboost()]
    return {kind.cls.__name__: kind for kind in listed}


def _writable(value: Any) -> bool:
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return False
    try:
        Writer(describe).encode(value)
    except CannotWrite:
        return False
    return True


def _parts() -> list[Kind]:
    forest = {
        **dict.fromkeys(("roots", "starts", "features"), "ints"),
        **dict.fromkeys(("weights", "gains", "loadings"), "vector"),
        "nodes": "any",
        "values": "matrix",
        "n_pure": "count",
        "n_features": "count",
    }
    linear = {"mean": "vector", "scale": "vector", "matrix": "matrix|LowRankPreconditioner|none"}
    geometry = {"name": "text", "sources": "tuple", "n_loadings": "count", "local": "bool"}
    geometry |= {"power": "number", "bootstrap": "bool", "axes": "bool"}
    race = {"winners": "tuple", "rows": "list", "sizes": "dict", "min_samples_split": "count"}
    per_tree = {"classifies": "bool", "maps_": "list", "trees_": "list"}
    sizes = ("mean", "scale", "std", "low", "high", "steps")
    learned = {
        **dict.fromkeys(sizes, "vector"),
        **dict.fromkeys(("moves", "toggled"), "bools"),
        **dict.fromkeys(("standardised", "coded"), "bool"),
        **dict.fromkeys(("scheme", "boundary", "outputs"), "text"),
        "classes": "labels|none",
    }
    return [
        Kind(ours.Forest, forest, check_forest),
        Kind(LinearMap, linear, check_map),
        Kind(LowRankPreconditioner, {"factor": "csr_array", "diagonal": "vector"}, _check_low_rank),
        Kind(EJOP, {"total": "matrix", "weight": "number", "n_probes": "count"}, _check_ejop),
        Kind(WideEJOP, {"factor": "csr_array", "weight": "number", "n_probes": "count"}),
        Kind(ours.Geometry, geometry),
        Kind(RaceResult, race, optional=frozenset({"sizes", "min_samples_split"})),
        Kind(ours.PerTreeForest, per_tree, _check_per_tree),
        Kind(Learned, learned, _check_learned),  # without the surrogate, which only fit needs
    ]


def _table() -> list[Kind]:
    numbers = {"fill": "number", "has_apart": "bool", "is_empty": "bool", "kind": "text"}
    numbers |= {"apart": "number", "low": "number"}
    filling = dict.fromkeys(("unit", "mean", "spread", "low", "high"), "vector")
    filling["weights"] = "matrix"
    means = {"levels": "Levels", "class_names": "list", "seed": "count", "means": "matrix"}
    table = {
        "categorical_features": "any",
        "fill_values_": "holes",
        "_parts": "list|none",
        "_classes": "labels|none",
        "_seed": "count|none",
        "_filling": "LinearFill|ForestFill|none",
        "_numbers": "ints",
    }
    late = frozenset({"_classes", "_seed"})
    return [
        Kind(Numbers, numbers, _check_numbers),
        Kind(Levels, {"codes": "dict", "label": "text"}, _check_levels),
        Kind(OneHot, {"levels": "Levels"}),
        Kind(TargetMeans, means, _check_means),
        Kind(LinearFill, filling, _check_filling),
        Kind(ForestFill, {**filling, "forests": "dict"}, _check_forest_fill),
        _TableKind(TableEncoder, table, optional=late),
    ]


class _TableKind(Kind):
    """What outputs there are is worked out again from the parts, not read."""

    def make(self, state: dict[str, Any]) -> Any:
        made = super().make(state)
        made.random_state = None
        parts = made._parts
        n_columns = len(made.fill_values_)
        if parts is None:
            require(np.isfinite(made.fill_values_).all(), "a table without fill values")
            made._describe(np.arange(n_columns), ["number"] * n_columns)
            _check_table_filling(made)
            return made
        known = all(isinstance(part, Numbers | OneHot | TargetMeans) for part in parts)
        require(known and 0 < len(parts) == n_columns, "a table's columns are wrong")
        sizes = [len(part.kinds) for part in parts]
        names = [kind for part in parts for kind in part.kinds]
        made._describe(np.repeat(np.arange(n_columns), sizes), names)
        _check_table_filling(made)
        return made


def _check_table_filling(table: TableEncoder) -> None:
    numbers, n_columns = table._numbers, len(table.fill_values_)
    inside = ((numbers >= 0) & (numbers < n_columns)).all() and (np.diff(numbers) > 0).all()
    require(inside, "a table's numbers are wrong")
    parts = list(table._all_parts())
    require(all(isinstance(parts[j], Numbers) for j in numbers), "a category among the numbers")
    filling = table._filling
    fits = filling is None or len(filling.mean) == len(numbers)
    require(fits, "the filling is of other columns")


def _check_numbers(part: Numbers) -> None:
    require(part.kind in ("number", "level"), "a column of no kind")
    require(np.isfinite(part.fill), "a fill value is not a number")
    require(not part.has_apart or np.isfinite(part.apart), "a missing value is set nowhere")


def _check_levels(levels: Levels) -> None:
    fine = list(levels.codes.values()) == list(range(len(levels.codes)))
    require(fine and len(levels.codes) > 0, "the levels of a category are not numbered")


def _check_means(part: TargetMeans) -> None:
    shape = (len(part.levels) + 1, len(part.class_names))
    require(part.means.shape == shape, "target means are not as many as levels")
    require(all(isinstance(name, str) for name in part.class_names), "a class without a name")


def _check_filling(filling: LinearFill) -> None:
    d = len(filling.mean)
    sizes = {len(getattr(filling, name)) for name in ("unit", "spread", "low", "high")}
    require(sizes == {d} and filling.weights.shape == (d, d), "the filling's shapes are wrong")
    require((filling.unit != 0).all() and (filling.spread != 0).all(), "the filling's units are 0")


def _check_forest_fill(filling: ForestFill) -> None:
    _check_filling(filling)
    d = len(filling.mean)
    for j, forest in filling.forests.items():
        fine = isinstance(j, int) and 0 <= j < d and isinstance(forest, ExtraTreesRegressor)
        require(fine and forest.n_features_in_ == d - 1, "a filling forest is of other columns")


def _check_low_rank(matrix: LowRankPreconditioner) -> None:
    require(matrix.factor.shape[1] == len(matrix.diagonal), "H's factor is of other columns")
    require(np.isfinite(matrix.factor.data).all(), "H's factor is not finite")


def _check_ejop(ejop: EJOP) -> None:
    d = len(ejop.total)
    require(ejop.total.shape == (d, d) and ejop.weight > 0, "the EJOP is not square or weighs 0")


def _check_learned(learned: Learned) -> None:
    names = ("mean", "scale", "std", "low", "high", "steps", "moves", "toggled")
    sizes = {len(getattr(learned, name)) for name in names}
    require(len(sizes) == 1, "what was learned is of several tables")
    require((learned.scale != 0).all(), "a learned scale is 0")


def _check_per_tree(forest: ours.PerTreeForest) -> None:
    require(len(forest.maps_) == len(forest.trees_) > 0, "maps and trees are not as many")
    require(all(isinstance(linear, LinearMap) for linear in forest.maps_), "a map is none")


def _estimators() -> list[Kind]:
    fitted = {**_COLUMNS, "table_": "TableEncoder", "stage_times_": "dict"}
    grown = {
        **fitted,
        "forest_": "Forest",
        "_tree_seeds": "ints",
        "_feature_scales": "vector",
        "classes_": "labels",
        "n_classes_": "count",
        "oob_score_": "number",
        "oob_decision_function_": "any",
        "oob_prediction_": "any",
        "geometries_": "tuple",
        "race_": "RaceResult",
        "min_samples_split_": "number",
    }
    needed = {"n_features_in_", "table_", "forest_", "_tree_seeds", "_feature_scales"}
    optional = frozenset(set(grown) - needed)
    names = [f"{stem}{task}" for stem in _FORESTS for task in ("Classifier", "Regressor")]
    listed: list[Kind] = [
        EstimatorKind(getattr(ours, name), grown, check_names, optional, _writable)
        for name in names
    ]
    jarf = {**fitted, "classes_": "labels", "preconditioner_": "JacobianPreconditioner"}
    jarf["estimator_"] = "any"
    absent = frozenset({"feature_names_in_", "classes_", "stage_times_"})
    for cls in (ours.JARFClassifier, ours.JARFRegressor):
        listed.append(EstimatorKind(cls, jarf, check_names, absent, _writable))
    mapped = {
        **fitted,
        "learned_": "Learned",
        "ejop_": "EJOP|WideEJOP",
        "preconditioner_": "matrix|LowRankPreconditioner",
        "map_": "LinearMap",
    }
    listed.append(EstimatorKind(JacobianPreconditioner, mapped, None, absent, _writable))
    appended = {**_COLUMNS, "table_": "TableEncoder", "directions_": "matrix", "_mean": "vector"}
    appended |= {"_scale": "vector", "switched_on_": "bool"}
    appended |= {"gain_": "number", "gain_standard_error_": "number"}
    absent = frozenset({"feature_names_in_", "gain_", "gain_standard_error_"})
    listed.append(
        EstimatorKind(ours.JacobianFeatures, appended, _check_features, absent, _writable)
    )
    return listed


def _check_features(model: Any) -> None:
    check_names(model)
    d = model.table_.n_outputs
    sizes = {len(model._mean), len(model._scale), len(model.directions_)}
    require(sizes == {d} and (model._scale != 0).all(), "directions of other columns")


def _sklearn() -> list[Kind]:
    fitted = {**_COLUMNS, "n_outputs_": "count", "classes_": "labels", "n_classes_": "count"}
    fitted["trees"] = "dict"
    absent = frozenset({"feature_names_in_", "classes_", "n_classes_"})
    forests = (
        *(RandomForestClassifier, RandomForestRegressor),
        *(ExtraTreesClassifier, ExtraTreesRegressor),
    )
    return [ForestKind(cls, fitted, check_sklearn, absent, _writable) for cls in forests]


def _xgboost() -> list[Kind]:
    try:
        import xgboost
    except ImportError:
        return []
    names = ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor")
    return [
        BoosterKind(getattr(xgboost, name), {"booster": "bytes"}, None, frozenset(), _writable)
        for name in names
    ]
