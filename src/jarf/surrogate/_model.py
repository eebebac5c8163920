"""Uniform access to surrogates, whatever model they are."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import has_fit_parameter

from jarf._sklearn import is_classifier, set_random_states


def default_surrogate(classification: bool):
    """Return the paper's surrogate: 50 trees, ``sqrt(d)`` features per split, leaves of one row."""
    forest = RandomForestClassifier if classification else RandomForestRegressor
    return forest(n_estimators=50, max_features="sqrt", min_samples_leaf=1)


def is_frozen(model) -> bool:
    """Return whether ``model`` is a fitted model in scikit-learn's ``FrozenEstimator``."""
    return isinstance(model, FrozenEstimator)


def thaw(model):
    """Return the model inside a ``FrozenEstimator``, or the model itself."""
    while is_frozen(model):
        model = model.estimator
    return model


def check_surrogate(model, classification: bool) -> None:
    """Reject an unsuitable surrogate before any work is done."""
    inner = thaw(model)
    if hasattr(inner, "input_gradients"):
        return
    if classification and not hasattr(inner, "predict_proba"):
        hint = (
            " Set probability=True, or wrap it in CalibratedClassifierCV."
            if is_classifier(inner)
            else " A classification surrogate must be a classifier."
        )
        raise ValueError(
            f"The surrogate {type(inner).__name__} has no predict_proba, which the Jacobian of "
            f"the class probabilities needs.{hint}"
        )
    if not classification and not hasattr(inner, "predict"):
        raise ValueError(f"The surrogate {type(inner).__name__} has no predict.")


def check_columns(model, n_features: int, names=None) -> None:
    """Reject a frozen surrogate that was fitted on other columns, or in another order."""
    inner = thaw(model)
    known = getattr(inner, "n_features_in_", n_features)
    if known != n_features:
        raise ValueError(
            f"X has {n_features} features, but the frozen surrogate {type(inner).__name__} was "
            f"fitted on {known}."
        )
    their_names = getattr(inner, "feature_names_in_", None)
    if names is not None and their_names is not None and list(names) != list(their_names):
        raise ValueError(
            f"The columns of X are {list(names)}, but the frozen surrogate was fitted on "
            f"{list(their_names)}. Give both the same columns in the same order."
        )


def fit_copy(model, X, y, *, sample_weight=None, random_state=None, n_jobs=None, role="surrogate"):
    """Clone, seed and fit a model; return a frozen one unchanged. ``role`` is used in messages.

    ``n_jobs`` is set only if the model has not set its own.
    """
    if is_frozen(model):
        return model
    model = seeded_copy(model, random_state=random_state, n_jobs=n_jobs)
    if sample_weight is None:
        return model.fit(X, y)
    if not has_fit_parameter(model, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but the {role} {type(model).__name__} does not take it in "
            "fit. Leave the weights out or choose another one."
        )
    return model.fit(X, y, sample_weight=sample_weight)


def seeded_copy(model, *, random_state=None, n_jobs=None):
    """Clone a model, draw its seeds, and set ``n_jobs`` if it has not set its own."""
    model = clone(model)
    set_random_states(model, random_state)
    params = model.get_params(deep=False)
    if n_jobs is not None and "n_jobs" in params and params["n_jobs"] is None:
        model.set_params(n_jobs=n_jobs)
    return model


def outputs_of(model, X: np.ndarray) -> np.ndarray:
    """Return class probabilities or predictions as an array of shape (n_rows, n_outputs)."""
    inner = thaw(model)
    rows = _named(inner, X)
    answer = inner.predict_proba(rows) if is_classifier(inner) else inner.predict(rows)
    answer = np.asarray(answer, dtype=np.float64)
    return answer.reshape(len(X), -1)


def _named(model, X: np.ndarray):
    """Return rows as a DataFrame if the model was fitted on one."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=names)


def output_index(model, y) -> np.ndarray:
    """Return the output of each observed label: its position in ``model.classes_``."""
    classes = np.asarray(thaw(model).classes_)
    order = np.argsort(classes)
    place = np.searchsorted(classes, y, sorter=order)
    index = order[np.minimum(place, len(classes) - 1)]
    unknown = classes[index] != np.asarray(y)
    if unknown.any():
        raise ValueError(
            f"y holds the label {np.asarray(y)[unknown][0]!r}, which the surrogate was not trained "
            f"on; its classes are {classes.tolist()}."
        )
    return index.astype(np.int32)
