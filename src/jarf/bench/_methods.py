"""The registry of methods: a name, a factory and a grid; users can add their own."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from jarf.bench._recipes import Recipe

__all__ = [
    "Fit",
    "Method",
    "Setting",
    "get_method",
    "load_plugin",
    "method_names",
    "register_method",
]


TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Setting:
    """Facts about a fit that a factory may use to build its estimator.

    Attributes
    ----------
    task : {"classification", "regression"}
    n_trees : int
        Trees of a forest, rounds of XGBoost. Other boosters have a number of their own.
    random_state : int
    n_jobs : int
    numeric : ndarray of bool
        Encoded columns that a rotation may mix; the others are one-hot.
    n_train : int
        Training rows.
    slow_probes : int
        Maximum number of probes for a surrogate that is evaluated point by point.

    Examples
    --------
    >>> from jarf.bench import Setting, get_method
    >>> forest = get_method("RF").build(Setting("regression", n_trees=20))
    >>> forest.n_estimators
    20
    """

    task: str
    n_trees: int = 200
    random_state: int = 0
    n_jobs: int = 1
    numeric: np.ndarray = field(default_factory=lambda: np.ones(0, dtype=bool))
    n_train: int = 0
    slow_probes: int = 10_000

    @property
    def classification(self) -> bool:
        """Whether classes are predicted."""
        return self.task == "classification"


@dataclass(frozen=True)
class Fit:
    """A fitted model and its split, passed to a method's ``inspect`` after timing has ended.

    Examples
    --------
    >>> from jarf.bench import Fit, Setting
    >>> fit = Fit(model=None, split=None, setting=Setting("regression"))
    >>> fit.setting.classification
    False
    """

    model: Any
    split: Any
    setting: Setting


@dataclass(frozen=True)
class Method:
    """A method of the benchmark.

    Parameters
    ----------
    name : str
        Shown in tables.
    factory : callable
        ``factory(setting, **params)`` returns an estimator that is not fitted.
    grid : mapping or None
        Parameters of the factory and their values, tuned inside the training half.
    tuned_as : str or None
        Take the tuned parameters of that method instead of tuning again.
    variants : mapping
        Name of a variant to parameters of the factory.
    tasks : tuple of str
        Tasks that it supports; it is left out of experiments on other tasks.
    inspect : callable or None
        ``inspect(fit) -> dict`` of further numbers for the row, outside the timing.
    note : str
        One sentence for people who do not know the method, shown by ``--list`` and on pages.
    requires : tuple of str
        Packages that must be installed; otherwise the method is listed as left out.
    recipe : Recipe or None
        Code with which a user builds the model outside the benchmark.
    measure : callable or None
        ``measure(dataset, setting, **params) -> dict`` with ``metrics`` and ``extra`` of a row, in
        place of fitting and scoring an estimator.
    collection : str
        If not empty, the only collection of datasets it runs on; it is then not listed.

    Examples
    --------
    >>> from jarf.bench import get_method
    >>> method = get_method("XGB")
    >>> sorted(method.grid), method.requires
    (['learning_rate', 'max_depth', 'reg_lambda'], ('xgboost',))
    """

    name: str
    factory: Callable[..., Any]
    grid: Mapping[str, Sequence[Any]] | None = None
    tuned_as: str | None = None
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tasks: tuple[str, ...] = TASKS
    inspect: Callable[[Fit], dict[str, Any]] | None = None
    note: str = ""
    requires: tuple[str, ...] = ()
    recipe: Recipe | None = None
    measure: Callable[..., dict[str, Any]] | None = None
    collection: str = ""

    @property
    def missing(self) -> list[str]:
        """Return required packages that are not installed."""
        return [name for name in self.requires if find_spec(name) is None]

    def build(self, setting: Setting, variant: str = "", **params: Any) -> Any:
        """Return the estimator of one fit."""
        if variant and variant not in self.variants:
            raise KeyError(f"{self.name} has no variant {variant!r}")
        options = dict(self.variants[variant]) if variant else {}
        return self.factory(setting, **{**options, **params})


_REGISTRY: dict[str, Method] = {}
_BUILT_IN: set[str] = set()


def register_method(
    name: str, factory: Any, *, grid: Mapping[str, Sequence[Any]] | None = None, **fields: Any
) -> Method:
    """Add a method to the benchmark.

    Parameters
    ----------
    name : str
        Shown in tables.
    factory : callable, estimator class or estimator
        ``factory(setting, **params)`` that returns an estimator; or a scikit-learn class or
        instance, which is used with ``random_state`` and ``n_jobs`` filled in.
    grid : mapping or None
        Parameters to tune inside the training half, and their values.
    **fields
        The other fields of `Method`.

    Returns
    -------
    Method

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from jarf.bench import Setting, register_method
    >>> method = register_method("ExtraTrees", ExtraTreesClassifier(n_estimators=20))
    >>> method.build(Setting("classification", random_state=7))
    ExtraTreesClassifier(n_estimators=20, n_jobs=1, random_state=7)
    """
    made = _as_factory(factory)
    if isinstance(made, _Prototype):
        fields.setdefault("tasks", made.tasks)
    method = Method(name, made, grid=grid, **fields)
    _REGISTRY[name] = method
    _BUILT_IN.discard(name)
    return method


def _as_factory(thing: Any) -> Callable[..., Any]:
    if inspect.isclass(thing):
        return _Prototype(thing())
    if hasattr(thing, "fit"):
        return _Prototype(thing)
    if callable(thing):
        return thing
    raise TypeError(f"a method is a factory, an estimator class or an estimator, not {thing!r}")


@dataclass(frozen=True)
class _Prototype:
    """A factory that copies an estimator and fills in seed and threads."""

    estimator: Any

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the task of the estimator; both if it does not declare one."""
        told = (is_classifier(self.estimator), is_regressor(self.estimator))
        return tuple(t for t, yes in zip(TASKS, told, strict=True) if yes) or TASKS

    def __call__(self, setting: Setting, **params: Any) -> Any:
        copy = clone(self.estimator)
        known = copy.get_params(deep=False)
        filled = {"random_state": setting.random_state, "n_jobs": setting.n_jobs}
        return copy.set_params(**{k: v for k, v in filled.items() if k in known}, **params)


def get_method(name: str) -> Method:
    """Look a method up by name; an unknown name is an error that lists the known ones."""
    _fill()
    if name not in _REGISTRY:
        raise KeyError(f"unknown method {name!r}; known: {', '.join(_REGISTRY)}")
    return _REGISTRY[name]


def is_method(name: str) -> bool:
    """Whether a method of that name is registered."""
    _fill()
    return name in _REGISTRY


def method_names() -> list[str]:
    """All registered names but those of one collection alone, the study's own first."""
    _fill()
    return [name for name, method in _REGISTRY.items() if not method.collection]


def not_installed(method: Method) -> str:
    """Return a note about a method whose packages are missing."""
    verb = "is" if len(method.missing) == 1 else "are"
    return (
        f"Left out: {method.name}, {' and '.join(method.missing)} {verb} not installed "
        f"(pip install {' '.join(method.missing)})."
    )


def uninstalled_methods() -> list[Method]:
    """Methods whose packages are missing."""
    _fill()
    return [method for method in _REGISTRY.values() if method.missing]


def custom_methods() -> list[Method]:
    """Methods registered by the user."""
    _fill()
    return [method for name, method in _REGISTRY.items() if name not in _BUILT_IN]


def add_methods(methods: Sequence[Method]) -> None:
    """Add entries that another process registered."""
    _fill()
    _REGISTRY.update({method.name: method for method in methods})


def _fill() -> None:
    if _BUILT_IN:
        return
    users = dict(_REGISTRY)
    from jarf.bench import _baselines, _jarf_methods, _peers, _theory

    modules = (_baselines, _jarf_methods, _peers, _theory)
    for method in (method for module in modules for method in module.METHODS):
        _REGISTRY[method.name] = method
        _BUILT_IN.add(method.name)
    for name, method in users.items():
        _REGISTRY[name] = method
        _BUILT_IN.discard(name)


def load_plugin(spec: str) -> list[str]:
    """Register methods from ``my_file.py`` or ``module:Class`` and return their names.

    A file is run as Python and calls `register_method` or `register_dataset` itself. A class is
    registered under its own name.
    """
    before = set(_REGISTRY)
    path = Path(spec)
    if path.suffix == ".py":
        if not path.is_file():
            raise FileNotFoundError(f"no method file {spec}")
        module_spec = importlib.util.spec_from_file_location(f"jarf_plugin_{path.stem}", path)
        assert module_spec is not None
        assert module_spec.loader is not None
        module_spec.loader.exec_module(importlib.util.module_from_spec(module_spec))
        return [name for name in _REGISTRY if name not in before]
    module_name, _, attribute = spec.partition(":")
    if not attribute:
        raise ValueError(f"a method is a file 'my_file.py' or 'module:Class', not {spec!r}")
    register_method(attribute, getattr(importlib.import_module(module_name), attribute))
    return [attribute]
