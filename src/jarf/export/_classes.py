"""The classes that a model file may contain; loading creates no others."""

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
from jarf.export._checks import check_forest, check_map, require
from jarf.export._codec import CannotWrite, Writer
from jarf.export._kinds import EstimatorKind, Kind, check_names
from jarf.export._members import Budget, UnsoundFile
from jarf.export._peers import BoosterKind, ForestKind, check_sklearn
from jarf.export._table_kinds import table_kinds
from jarf.geometry import JacobianPreconditioner, Learned, LinearMap, LowRankPreconditioner
from jarf.gradients import EJOP, WideEJOP
from jarf.surrogate import Choice, KernelMachine
from jarf.trees import Forest, nodes_of_words

_FORESTS = (
    "AxisForest",
    "SPORF",
    "CanonicalCorrelationForest",
    "RotationForest",
    "JacobianForest",
)
# Bytes of a mark in the check of projections.
_MARK = 8
_COLUMNS = {"n_features_in_": "count", "feature_names_in_": "texts"}


def describe(value: Any) -> tuple[str, dict] | None:
    """Return the name and the state of an object of a listed class."""
    name = type(value).__name__
    kind = kinds().get(name)
    if kind is None or kind.cls is not type(value):
        return None
    return name, kind.state(value)


def build(name: str, state: dict, budget: Budget) -> Any:
    """Restore an object of a listed class; any other class is rejected."""
    kind = kinds().get(name)
    if kind is None:
        raise UnsoundFile(f"it names the class {name!r}, which is not among those that are loaded")
    return kind.build(state, budget)


@cache
def kinds() -> dict[str, Kind]:
    """Return all listed classes by name, including XGBoost's if it is installed."""
    listed = [*_parts(), *table_kinds(), *_estimators(), *_sklearn(), *_xgboost()]
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
        "base": "vector",
        "link": "text",
        "averaged": "bool",
    }
    linear = {"mean": "vector", "scale": "vector", "matrix": "matrix|LowRankPreconditioner|none"}
    geometry = {"name": "text", "sources": "tuple", "n_loadings": "count", "local": "bool"}
    geometry |= {"power": "number", "bootstrap": "bool", "axes": "bool", "symmetric": "bool"}
    wide = {"factor": "csr_array", "weight": "number", "n_probes": "count"}
    race = {"winners": "tuple", "rows": "list", "sizes": "dict", "min_samples_split": "count"}
    race |= {"measure": "text", "reason": "text", "threshold": "number", "plain": "text"}
    calibration = {"temperature": "number", "floor": "number", "n_rows": "count"}
    calibration |= {"log_loss": "tuple", "calibration_error": "tuple", "reason": "text"}
    residuals = {"scores": "matrix", "weights": "vector", "floors": "vector"}
    choice = {"n_refinements": "count", "kernel": "text", "n_columns": "count|none"}
    choice |= dict.fromkeys(("bandwidth", "ridge", "sharpness"), "number")
    machine = {"anchors": "matrix", "coefficients": "matrix", "centre": "vector"}
    machine |= {"root": "matrix|none", "bandwidth": "number", "kernel": "text"}
    report = {"rows": "list", "measure": "text", "loss": "number", "n_rows": "count"}
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
        _ForestKind(Forest, forest, check_forest),
        Kind(LinearMap, linear, check_map),
        Kind(LowRankPreconditioner, {"factor": "csr_array", "diagonal": "vector"}, _check_low_rank),
        Kind(EJOP, {"total": "matrix", "weight": "number", "n_probes": "count"}, _check_ejop),
        Kind(WideEJOP, wide, _check_wide),
        Kind(ours.Geometry, geometry, _check_geometry, frozenset({"symmetric"})),
        Kind(ours.Cycle, {"name": "text", "rounds": "tuple"}),
        Kind(ours.RaceResult, race, _check_race, frozenset(race) - {"winners", "rows"}),
        Kind(ours.Calibration, calibration, _check_calibration),
        Kind(ours.ConformalResiduals, residuals, _check_residuals),
        Kind(ours.ConformalSets, {"scores": "vector", "weights": "vector"}, _check_sets),
        Kind(Choice, choice, _check_choice, frozenset({"n_columns"})),
        Kind(KernelMachine, machine, _check_machine),
        Kind(ours.EnsembleReport, report, _check_report),
        Kind(ours.PerTreeForest, per_tree, _check_per_tree),
        Kind(Learned, learned, _check_learned),  # without the surrogate, which only fit needs
    ]


class _ForestKind(Kind):
    """Nodes are stored in the file as four 32-bit words each."""

    def state(self, value: Forest) -> dict[str, Any]:
        return {**super().state(value), "nodes": value.words()}

    def cost(self, state: dict[str, Any]) -> int:
        # The check of projections marks the columns of each one.
        n_features = state.get("n_features")
        n_marks = max(0, n_features) if isinstance(n_features, int) else 0
        return super().cost(state) + _MARK * n_marks

    def make(self, state: dict[str, Any]) -> Forest:
        words = state["nodes"]
        fine = isinstance(words, np.ndarray) and words.dtype == np.int32 and words.ndim == 2
        require(fine and words.shape[1] == 4, "the forest's nodes have the wrong fields")
        return super().make({**state, "nodes": nodes_of_words(words)})


def _check_low_rank(matrix: LowRankPreconditioner) -> None:
    require(
        matrix.factor.shape[1] == len(matrix.diagonal),
        "H's factor does not match the columns of the table",
    )
    require(np.isfinite(matrix.factor.data).all(), "H's factor is not finite")


def _check_ejop(ejop: EJOP) -> None:
    d = len(ejop.total)
    require(ejop.total.shape == (d, d) and ejop.weight > 0, "the EJOP is not square or weighs 0")


def _check_learned(learned: Learned) -> None:
    names = ("mean", "scale", "std", "low", "high", "steps", "moves", "toggled")
    sizes = {len(getattr(learned, name)) for name in names}
    require(len(sizes) == 1, "the learned arrays belong to different tables")
    require((learned.scale != 0).all(), "a learned scale is 0")


def _check_wide(ejop: WideEJOP) -> None:
    fine = np.isfinite(ejop.factor.data).all() and ejop.weight > 0
    require(fine, "the EJOP is not finite or weighs 0")


def _check_geometry(geometry: ours.Geometry) -> None:
    require(all(isinstance(name, str) for name in geometry.sources), "a source without a name")


def _plain_rows(rows: list[Any]) -> bool:
    """Whether all rows are dictionaries of texts and numbers."""
    return all(
        isinstance(row, dict) and all(isinstance(v, str | int | float) for v in row.values())
        for row in rows
    )


def _check_race(race: ours.RaceResult) -> None:
    texts = all(isinstance(name, str) for name in race.winners)
    require(texts and _plain_rows(race.rows), "the rows of the race are wrong")
    str(race)  # fails if a row lacks an entry or has one of another type


def _check_report(report: ours.EnsembleReport) -> None:
    names = {"member", "loss", "weight", "seconds", "outcome"}
    fine = _plain_rows(report.rows) and all(set(row) == names for row in report.rows)
    require(fine, "the rows of the report are wrong")
    str(report)


def _check_blended(model: Any) -> None:
    check_names(model)
    _check_held_out(model)
    facts = {hasattr(model, name) for name in ("classes_", "n_classes_", "calibration_")}
    require(len(facts) == 1, "classes or their calibration are missing")
    weights, members = model.weights_, model.members_
    fine = all(isinstance(w, float) and 0 <= w <= 1 for w in weights.values())
    require(fine and abs(sum(weights.values()) - 1) < 1e-9, "the members' weights are wrong")
    kept = {name for name, weight in weights.items() if weight > 0}
    require(kept == set(members) and len(kept) > 0, "members and weights do not match")


def _check_calibration(calibration: ours.Calibration) -> None:
    fine = 0 < calibration.temperature < np.inf and 0 < calibration.floor < 1
    require(fine, "a temperature is not positive")
    pairs = (calibration.log_loss, calibration.calibration_error)
    fine = all(len(pair) == 2 and all(isinstance(v, float) for v in pair) for pair in pairs)
    require(fine, "a calibration has the wrong number of losses")


def _check_residuals(residuals: ours.ConformalResiduals) -> None:
    fits = residuals.scores.shape == (len(residuals.weights), len(residuals.floors))
    require(fits, "residuals do not match the rows or outputs")
    _check_weights(residuals.weights)
    require((residuals.floors > 0).all(), "a floor of spreads is not positive")


def _check_sets(sets: ours.ConformalSets) -> None:
    require(len(sets.scores) == len(sets.weights), "scores do not match the rows")
    _check_weights(sets.weights)


def _check_choice(choice: Choice) -> None:
    require(choice.kernel in ("laplace", "matern"), "a kernel is unknown")


def _check_machine(machine: KernelMachine) -> None:
    require(machine.kernel in ("laplace", "matern"), "a kernel is unknown")
    fits = len(machine.anchors) == len(machine.coefficients) > 0
    fits = fits and machine.coefficients.shape[1] == len(machine.centre)
    require(fits, "anchors and coefficients of a kernel machine differ in number")
    root = machine.root
    fits = root is None or root.shape[1] == machine.anchors.shape[1]
    require(fits and 0 < machine.bandwidth < np.inf, "the metric of a kernel machine is wrong")


def _check_kernel(model: Any) -> None:
    _check_grown(model)
    d, machine = model.table_.n_encoded, model.machine_
    sizes = {len(model.mean_), len(model.scale_), len(model.sensitivities_)}
    sizes.add(len(machine.anchors[0] if machine.root is None else machine.root))
    require(
        sizes == {d} and (model.scale_ != 0).all(),
        "the kernel machine does not match the columns of the table",
    )
    width = len(model.classes_) if hasattr(model, "classes_") else 1
    require(len(machine.centre) == width, "the kernel machine does not match the classes")


def _check_weights(weights: np.ndarray) -> None:
    require((weights >= 0).all(), "a weight is negative")


def _check_grown(model: Any) -> None:
    check_names(model)
    _check_held_out(model)
    fine = all(isinstance(entry, ours.Geometry) for entry in getattr(model, "geometries_", ()))
    require(fine, "a geometry is missing or invalid")


def _check_held_out(model: Any) -> None:
    """Check that calibration and conformal scores are those of the estimator's task."""
    conformal = getattr(model, "conformal_", None)
    wanted = ours.ConformalSets if hasattr(model, "classes_") else ours.ConformalResiduals
    require(
        conformal is None or isinstance(conformal, wanted), "held-out rows belong to another task"
    )
    n_outputs = getattr(model, "n_outputs_", 1)
    if isinstance(conformal, ours.ConformalResiduals):
        require(len(conformal.floors) == n_outputs, "residuals do not match the outputs")


def _check_boosted(model: Any) -> None:
    _check_grown(model)
    fine = hasattr(model, "classes_") == hasattr(model, "calibration_")
    require(fine, "classes or their calibration are missing")
    require(model.n_iter_ == model.forest_.n_trees, "rounds and trees differ in number")
    require(0.0 < model.learning_rate_ < np.inf, "the learning rate is not positive")
    signs = getattr(model, "monotonic_cst_", None)
    fine = signs is None or (signs.dtype == np.int8 and len(signs) == model.table_.n_encoded)
    require(fine, "the monotone constraints do not match the columns of the table")
    units = [getattr(model, name, None) for name in ("response_means_", "response_scales_")]
    n_outputs = 0 if hasattr(model, "classes_") else model.n_outputs_
    fine = all((0 if unit is None else len(unit)) == n_outputs for unit in units)
    require(fine, "the units of the responses do not match the outputs")
    require(units[1] is None or (units[1] > 0).all(), "a unit of the responses is 0")


def _check_per_tree(forest: ours.PerTreeForest) -> None:
    require(len(forest.maps_) == len(forest.trees_) > 0, "maps and trees differ in number")
    require(
        all(isinstance(linear, LinearMap) for linear in forest.maps_), "a map is missing or invalid"
    )


def _estimators() -> list[Kind]:
    fitted = {**_COLUMNS, "table_": "TableEncoder", "stage_times_": "dict"}
    grown = {
        **fitted,
        "forest_": "Forest",
        "tree_seeds_": "ints",
        "feature_scales_": "vector",
        "classes_": "labels",
        "n_classes_": "count",
        "n_outputs_": "count",
        "oob_score_": "number",
        "oob_decision_function_": "floats",
        "oob_prediction_": "floats",
        "geometries_": "tuple",
        "race_": "RaceResult",
        "min_samples_split_": "number",
        "calibration_": "Calibration",
        "conformal_": "ConformalResiduals|ConformalSets",
    }
    needed = {"n_features_in_", "table_", "forest_", "tree_seeds_", "feature_scales_"}
    optional = frozenset(set(grown) - needed)
    names = [f"{stem}{task}" for stem in _FORESTS for task in ("Classifier", "Regressor")]
    listed: list[Kind] = [
        EstimatorKind(getattr(ours, name), grown, _check_grown, optional, _writable)
        for name in names
    ]
    boosted = {name: grown[name] for name in grown if "oob" not in name and name != "tree_seeds_"}
    boosted |= {"geometry_": "Cycle", "n_iter_": "count", "monotonic_cst_": "ints|none"}
    boosted["learning_rate_"] = "number"
    boosted |= dict.fromkeys(
        ("train_score_", "validation_score_", "response_means_", "response_scales_"), "vector"
    )
    needed = {"n_features_in_", "table_", "forest_", "feature_scales_", "geometry_", "n_iter_"}
    needed.add("learning_rate_")
    optional = frozenset(set(boosted) - needed)
    listed += [
        EstimatorKind(
            getattr(ours, f"JacobianBoosting{task}"), boosted, _check_boosted, optional, _writable
        )
        for task in ("Classifier", "Regressor")
    ]
    kernel = {**_COLUMNS, "table_": "TableEncoder", "classes_": "labels", "n_classes_": "count"}
    kernel |= {"machine_": "KernelMachine", "choice_": "Choice", "calibration_": "Calibration"}
    kernel |= dict.fromkeys(("mean_", "scale_", "sensitivities_"), "vector")
    kernel["conformal_"] = "ConformalResiduals|ConformalSets"
    absent = frozenset(
        {"feature_names_in_", "classes_", "n_classes_", "calibration_", "conformal_"}
    )
    listed += [
        EstimatorKind(
            getattr(ours, f"JacobianKernel{task}"), kernel, _check_kernel, absent, _writable
        )
        for task in ("Classifier", "Regressor")
    ]
    blended = {**fitted, "classes_": "labels", "n_classes_": "count", "members_": "dict"}
    blended |= {"weights_": "dict", "report_": "EnsembleReport", "calibration_": "Calibration"}
    blended["conformal_"] = kernel["conformal_"]
    listed += [
        EstimatorKind(
            getattr(ours, f"JacobianEnsemble{task}"), blended, _check_blended, absent, _writable
        )
        for task in ("Classifier", "Regressor")
    ]
    jarf = {**fitted, "classes_": "labels", "preconditioner_": "JacobianPreconditioner"}
    jarf["estimator_"] = "any"
    absent = frozenset({"feature_names_in_", "classes_", "stage_times_"})
    for kind in (ours.JARFClassifier, ours.JARFRegressor):
        listed.append(EstimatorKind(kind, jarf, check_names, absent, _writable))
    mapped = {
        **fitted,
        "learned_": "Learned",
        "ejop_": "EJOP|WideEJOP",
        "preconditioner_": "matrix|LowRankPreconditioner",
        "map_": "LinearMap",
    }
    listed.append(EstimatorKind(JacobianPreconditioner, mapped, None, absent, _writable))
    appended = {**_COLUMNS, "table_": "TableEncoder", "directions_": "matrix", "mean_": "vector"}
    appended |= {"scale_": "vector", "switched_on_": "bool"}
    appended |= {"gain_": "number", "gain_standard_error_": "number"}
    absent = frozenset({"feature_names_in_", "gain_", "gain_standard_error_"})
    listed.append(
        EstimatorKind(ours.JacobianFeatures, appended, _check_features, absent, _writable)
    )
    return listed


def _check_features(model: Any) -> None:
    check_names(model)
    d = model.table_.n_encoded
    sizes = {len(model.mean_), len(model.scale_), len(model.directions_)}
    require(sizes == {d} and (model.scale_ != 0).all(), "directions do not match the columns")


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
        if hasattr(xgboost, name)  # random forests are deprecated in XGBoost 3.4
    ]
