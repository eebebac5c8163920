"""How objects of a known class are stored and restored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from jarf._sklearn import validate_params
from jarf.export._checks import check_field, require
from jarf.export._members import Budget, UnsoundFile

# Parameters that depend on the machine, not on the model.
_NOT_KEPT = ("n_jobs", "callbacks")
# Bytes that an object takes beside its arrays, at most.
_OBJECT = 8192


@dataclass(frozen=True)
class Kind:
    """A plain class: its attributes by name, and the allowed types of each.

    Parameters
    ----------
    cls : type
    fields : dict of str to str
        Name of an attribute -> allowed kinds, separated by "|"; see ``check_field``.
    check : callable, default=None
        Called with the finished object.
    optional : set of str, default=()
        Attributes that may be absent.
    """

    cls: Any
    fields: Mapping[str, str]
    check: Callable[[Any], None] | None = None
    optional: frozenset[str] = field(default_factory=frozenset)

    def state(self, value: Any) -> dict[str, Any]:
        return {name: getattr(value, name) for name in self.fields if hasattr(value, name)}

    def cost(self, state: dict[str, Any]) -> int:
        """Bytes that the object takes beside the arrays of its state, at most."""
        return _OBJECT

    def build(self, state: dict[str, Any], budget: Budget) -> Any:
        budget.spend(self.cost(state))
        self.check_state(state)
        made = self.make(state)
        if self.check is not None and self.is_whole(state):
            self.check(made)
        return made

    def is_whole(self, state: dict[str, Any]) -> bool:
        """Check the object as a whole, beyond single attributes."""
        return True

    def check_state(self, state: dict[str, Any]) -> None:
        name = self.cls.__name__
        require(not set(state) - set(self.fields), f"{name} has unexpected attributes")
        absent = set(self.fields) - set(state) - self.optional
        require(not absent, f"{name} has no {min(absent, default='')}")
        for key, value in state.items():
            check_field(name, key, value, self.fields[key])

    def make(self, state: dict[str, Any]) -> Any:
        if is_dataclass(self.cls):
            make: Any = self.cls
            return make(**state)
        made = self.cls.__new__(self.cls)
        for key, value in state.items():
            setattr(made, key, value)
        return made


@dataclass(frozen=True)
class EstimatorKind(Kind):
    """An estimator: parameters of its constructor, and attributes set by ``fit``.

    Parameters that a model file cannot represent are left at their defaults.
    """

    writable: Callable[[Any], bool] = lambda value: True

    def state(self, value: Any) -> dict[str, Any]:
        return {"params": self.params(value), **super().state(value)}

    def params(self, value: BaseEstimator) -> dict[str, Any]:
        found, known = value.get_params(deep=False), self.known_params()
        return {k: v for k, v in found.items() if k in known and self.writable(v)}

    def known_params(self) -> set[str]:
        """Return the names of the parameters that are kept; XGBoost accepts arbitrary others."""
        return set(self.cls().get_params(deep=False)) - set(_NOT_KEPT)

    def check_state(self, state: dict[str, Any]) -> None:
        params = state.get("params")
        require(isinstance(params, dict), f"{self.cls.__name__} has no parameters")
        unknown = set(params or {}) - self.known_params()
        require(not unknown, f"{self.cls.__name__} has no parameter {min(unknown, default='')!r}")
        fitted = {name: value for name, value in state.items() if name != "params"}
        if fitted:
            super().check_state(fitted)

    def make(self, state: dict[str, Any]) -> Any:
        made = self.cls(**state["params"])
        validate_params(made)
        for name, value in state.items():
            if name != "params":
                setattr(made, name, value)
        return made

    def is_whole(self, state: dict[str, Any]) -> bool:
        return len(state) > 1  # fitted


_WAYS_OUT = {
    "Pipeline": "Pass its last step, pipeline[-1], and apply the preceding steps yourself. The "
    "estimators of this library accept raw tables: they need no scaler, encoder or imputer.",
    "CalibratedClassifierCV": "The Jacobian forest, boosting, kernel machine and ensemble are "
    "calibrated by default: fit one of them without this wrapper. It holds one model per fold; "
    "to keep it, pass calibrated.calibrated_classifiers_[k].estimator for each k and average "
    "their calibrated probabilities yourself.",
    "GridSearchCV": "Pass its best_estimator_.",
    "RandomizedSearchCV": "Pass its best_estimator_.",
    "TransformedTargetRegressor": "Pass its regressor_ and invert the transformation yourself.",
}


def refuse_wrapper(model: Any, what: str) -> None:
    """Reject scikit-learn's wrappers around a model, and say what to pass instead."""
    name = type(model).__name__
    if name in _WAYS_OUT and type(model).__module__.startswith("sklearn."):
        raise TypeError(f"A {name} cannot be {what}. {_WAYS_OUT[name]}")


def check_names(model: Any) -> None:
    """Check names and classes against the number of columns and outputs."""
    names = getattr(model, "feature_names_in_", None)
    fine = names is None or len(names) == model.n_features_in_
    require(fine, "the number of column names does not match the number of columns")
    classes = getattr(model, "classes_", None)
    if classes is not None and len(set(classes.tolist())) != len(classes):
        raise UnsoundFile("a class label occurs twice")
    n_classes = getattr(model, "n_classes_", None)
    fine = n_classes is None or (classes is not None and n_classes == len(classes))
    require(fine, "the number of classes does not match the classes")


def as_int64(values: Any) -> np.ndarray:
    """Convert to 64-bit integers, as scikit-learn's trees have them."""
    return np.asarray(values, dtype=np.int64)


def bytes_of(values: Any) -> int:
    """Bytes of the arrays in a dictionary, or of one array; 0 for anything else."""
    if isinstance(values, dict):
        return sum(bytes_of(value) for value in values.values())
    return values.nbytes if isinstance(values, np.ndarray) else 0
