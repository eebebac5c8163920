"""The only file that touches scikit-learn's private names, and where its base classes are typed.

When a scikit-learn release moves one of them, this is the file to change.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from sklearn.base import _fit_context, is_regressor
from sklearn.base import is_classifier as _is_classifier
from sklearn.ensemble._base import _set_random_states as set_random_states
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
)
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets as _check_classes
from sklearn.utils.multiclass import type_of_target as _type_of_target
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_monotonic_cst as check_monotonic_cst
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "HasMethods",
    "Interval",
    "Options",
    "RegressorMixin",
    "StrOptions",
    "TransformerMixin",
    "available_if",
    "check_classification_targets",
    "check_feature_names_in",
    "check_monotonic_cst",
    "check_sample_weight",
    "class_weights",
    "fit_context",
    "is_classifier",
    "is_regressor",
    "rows_of",
    "set_random_states",
    "type_of_target",
    "validate_params",
    "weigh_classes",
]

Method = TypeVar("Method", bound=Callable[..., Any])

if TYPE_CHECKING:
    from jarf._sklearn_types import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        RegressorMixin,
        TransformerMixin,
        available_if,
    )
else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.utils.metaestimators import available_if


# Whether the labels of the outermost fit under way have been checked: an empty list if not; None
# outside of fits.
_CHECKED: ContextVar[list[bool] | None] = ContextVar("checked", default=None)


def is_classifier(model: Any) -> bool:
    """Return whether a model is a classifier; DaskXGBClassifier before 3.0 has no tags."""
    return _is_classifier(model) or getattr(model, "_estimator_type", None) == "classifier"


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """Decorate ``fit``: validate the parameters first, and undo a fit that fails.

    A fit that fails or is interrupted leaves the estimator as it was: unfitted, or with the
    attributes of an earlier fit.

    Parameters
    ----------
    prefer_skip_nested_validation : bool
        Whether estimators fitted inside skip the validation of their parameters.

    Returns
    -------
    callable
    """
    checked = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)

    def decorate(fit: Method) -> Method:
        fit_checked = checked(fit)

        @wraps(fit)
        def all_or_nothing(estimator: Any, *args: Any, **kwargs: Any) -> Any:
            before = dict(vars(estimator))
            outermost = _CHECKED.set([]) if _CHECKED.get() is None else None
            try:
                return fit_checked(estimator, *args, **kwargs)
            except BaseException:
                vars(estimator).clear()
                vars(estimator).update(before)
                raise
            finally:
                if outermost is not None:
                    _CHECKED.reset(outermost)

        return cast(Method, all_or_nothing)

    return decorate


def check_classification_targets(y: Any) -> None:
    """Reject targets that are not class labels; integers beyond 64 bits cause no warning.

    Models that are fitted inside another fit see the same labels. They are not checked again, so
    that scikit-learn's warning about many classes is shown once.
    """
    checked = _CHECKED.get()
    if checked:
        return
    with np.errstate(invalid="ignore"):
        _check_classes(y)
    if checked is not None:
        checked.append(True)


def class_weights(class_weight: Any, classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weight of each class.

    Parameters
    ----------
    class_weight : dict or "balanced"
    classes : ndarray of shape (n_classes,)
    y : ndarray of shape (n_samples,)
        Labels; they are counted for "balanced".

    Returns
    -------
    ndarray of shape (n_classes,)
        Finite, not negative and not all zero.
    """
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            if not isinstance(weight, Real) or not 0 <= float(weight) < np.inf:
                raise ValueError(
                    f"class_weight gives class {label!r} the weight {weight!r}; weights must be "
                    "finite and not negative. To ignore a class, give it weight 0."
                )
    weights = np.asarray(compute_class_weight(class_weight, classes=classes, y=y), np.float64)
    if not weights.any():
        raise ValueError(
            "class_weight gives every class weight 0: there is nothing to learn from. Give at "
            "least one class a positive weight."
        )
    return weights


def weigh_classes(class_weight: Any, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Multiply row weights by the weights of their classes; None stands for unit weights."""
    classes, codes = np.unique(y, return_inverse=True)
    balance = class_weights(class_weight, classes, y)[codes]
    weighted = balance if weights is None else weights * balance
    if not weighted.any():
        raise ValueError(
            "sample_weight and class_weight leave no row with a positive weight: there is nothing "
            "to learn from. Give the class of at least one weighted row a positive weight."
        )
    return weighted


def rows_of(X: Any, rows: np.ndarray) -> Any:
    """Take rows, by number, of an array, a DataFrame of any library or a sparse matrix."""
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    return _safe_indexing(X, rows)


def type_of_target(y: Any) -> str:
    """Return the type of the target; integers beyond 64 bits cause no warning."""
    with np.errstate(invalid="ignore"):
        return _type_of_target(y)


def histogram_trees(model: Any) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """Return the node arrays of histogram gradient boosting, and its raw baseline prediction.

    Parameters
    ----------
    model : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Fitted.

    Returns
    -------
    rounds : list of list of ndarray
        One list per round, one structured array of nodes per output.
    start : ndarray of shape (n_outputs,)
    """
    rounds = [[tree.nodes for tree in trees] for trees in model._predictors]
    return rounds, np.ravel(np.asarray(model._baseline_prediction, dtype=np.float64))


def validate_params(estimator: Any) -> None:
    """Validate an estimator's parameters as ``fit`` does, if it declares constraints."""
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
