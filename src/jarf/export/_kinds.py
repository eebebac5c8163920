"""How objects of a known class are taken apart and put together again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from jarf._sklearn import validate_params
from jarf.export._checks import check_field, require
from jarf.export._members import UnsoundFile

# Parameters that belong to the machine, not to the model.
_NOT_KEPT = ("n_jobs", "callbacks")


@dataclass(frozen=True)
class Kind:
    """A plain class: its attributes by name, and what each must be.

    Parameters
    ----------
    cls : type
    fields : dict of str to str
        Name of an attribute -> kinds it may be of, divided by "|"; see ``check_field``.
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

    def build(self, state: dict[str, Any]) -> Any:
        self.check_state(state)
        made = self.make(state)
        if self.check is not None and self.is_whole(state):
            self.check(made)
        return made

    def is_whole(self, state: dict[str, Any]) -> bool:
        """Whether there is more to check than single attributes."""
        return True

    def check_state(self, state: dict[str, Any]) -> None:
        name = self.cls.__name__
        require(not set(state) - set(self.fields), f"{name} has attributes that it never has")
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
    """An estimator: parameters for its constructor, and attributes that fit had set.

    Parameters that a model file has no words for are left at their defaults.
    """

    writable: Callable[[Any], bool] = lambda value: True

    def state(self, value: Any) -> dict[str, Any]:
        return {"params": self.params(value), **super().state(value)}

    def params(self, value: BaseEstimator) -> dict[str, Any]:
        found = value.get_params(deep=False)
        return {k: v for k, v in found.items() if k not in _NOT_KEPT and self.writable(v)}

    def check_state(self, state: dict[str, Any]) -> None:
        params = state.get("params")
        require(isinstance(params, dict), f"{self.cls.__name__} has no parameters")
        known = set(self.cls().get_params(deep=False)) - set(_NOT_KEPT)
        unknown = set(params or {}) - known
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


def check_names(model: Any) -> None:
    """Check names and classes against the number of columns and outputs."""
    names = getattr(model, "feature_names_in_", None)
    fine = names is None or len(names) == model.n_features_in_
    require(fine, "the names of the columns are not as many as the columns")
    classes = getattr(model, "classes_", None)
    if classes is not None and len(set(classes.tolist())) != len(classes):
        raise UnsoundFile("a class has two places")


def as_int64(values: Any) -> np.ndarray:
    """Convert to 64-bit integers, as scikit-learn's trees have them."""
    return np.asarray(values, dtype=np.int64)
