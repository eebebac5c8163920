"""Boosters that XGBoost and LightGBM train on Dask with their own modules.

A fitted booster is converted to its local counterpart, which predicts partition by partition
without a cluster.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator

from jarf._sklearn import set_random_states
from jarf.dask._cluster import active_client, shared
from jarf.dask._encoding import Sample

# Local estimators and their Dask trainers: module and class.
TRAINERS = {
    "XGBClassifier": ("xgboost.dask", "DaskXGBClassifier"),
    "XGBRegressor": ("xgboost.dask", "DaskXGBRegressor"),
    "XGBRFClassifier": ("xgboost.dask", "DaskXGBRFClassifier"),
    "XGBRFRegressor": ("xgboost.dask", "DaskXGBRFRegressor"),
    "LGBMClassifier": ("lightgbm.dask", "DaskLGBMClassifier"),
    "LGBMRegressor": ("lightgbm.dask", "DaskLGBMRegressor"),
}
# Seconds that training may take to end on its own after a worker was lost.
GRACE = 10.0
LOCAL = {trainer: name for name, (_, trainer) in TRAINERS.items()}


def is_distributed(model: Any) -> bool:
    """Return whether XGBoost or LightGBM train this model on Dask."""
    return type(model).__name__ in LOCAL


def distributed(model: Any) -> Any:
    """Return the Dask trainer of a local booster with its parameters; other models unchanged."""
    name = type(model).__name__
    if name not in TRAINERS:
        return model
    module, trainer = TRAINERS[name]
    return getattr(import_module(module), trainer)(**model.get_params())


def fit_booster(model: Any, sample: Sample, rng: Any, linear=None) -> Any:
    """Train a booster on all partitions; return its local counterpart.

    Parameters
    ----------
    model : estimator
        A trainer on Dask.
    sample : Sample
        Holds the partitions and their encoding.
    rng : RandomState
    linear : LinearMap, default=None
        Maps the encoded rows first.

    Returns
    -------
    estimator
        Fitted on classes 0..C-1.
    """
    name = type(model).__name__
    client = active_client()
    if client is None:
        raise RuntimeError(
            f"{name} is trained by workers and needs a cluster: start one by "
            "dask.distributed.Client(), or use the default forest."
        )
    model = clone(model)
    model.client = client
    set_random_states(model, rng)
    X, y, weights = _arrays(sample, linear)
    try:
        _watched(client, lambda: model.fit(X, y, sample_weight=weights))
    except Exception as error:
        raise RuntimeError(
            f"{name} could not be trained on the cluster. If a worker was lost, fit again: "
            f"boosting cannot continue without it. Error: {error}"
        ) from error
    return _local_twin(model)


def _watched(client: Any, fit: Callable[[], Any]) -> None:
    """Train in a thread; give up if a worker is lost and training does not end on its own."""
    errors: list[Exception] = []

    def train() -> None:
        try:
            fit()
        except Exception as error:
            errors.append(error)

    workers = set(client.nthreads())
    thread = threading.Thread(target=train, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(1.0)
        lost = workers - set(client.nthreads())
        if thread.is_alive() and lost:
            thread.join(GRACE)
            if thread.is_alive():
                raise RuntimeError(f"the workers {sorted(lost)} were lost in training")
    if errors:
        raise errors[0]


def distributed_surrogate(model: Any, sample: Sample, rng: Any) -> FrozenEstimator:
    """Train a surrogate on all partitions, in the columns as they are."""
    twin: Any = fit_booster(model, sample, rng)
    if sample.parts.classifies:
        twin = LabelledBooster(twin, sample.parts.classes)
    return FrozenEstimator(twin)


class LabelledBooster(ClassifierMixin, BaseEstimator):
    """Wraps a classifier of classes 0..C-1 and returns the original labels."""

    def __init__(self, model, classes):
        self.model = model
        self.classes = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self):
        return self.classes

    def predict_proba(self, X):
        return self.model.predict_proba(X)


def _arrays(sample: Sample, linear) -> tuple[Any, Any, Any]:
    """Return lazy arrays of mapped rows, class codes and weights, without empty partitions."""
    parts = sample.parts
    encoding, classes = shared(sample.encoding(linear)), parts.classes
    width = sample.X.shape[1] if linear is None else linear.matrix.shape[1]
    encode = delayed(_encoded, nout=3, pure=False)
    columns: tuple[list[Any], ...] = ([], [], [])
    for block, correction, size in zip(
        parts.blocks(), sample.corrections(), parts.sizes.tolist(), strict=True
    ):
        if size == 0:
            continue
        X, y, weights = encode(encoding, block, correction, classes)
        kind = np.int64 if parts.classifies else np.float64
        columns[0].append(da.from_delayed(X, (size, width), np.float32))
        columns[1].append(da.from_delayed(y, (size,), kind))
        columns[2].append(da.from_delayed(weights, (size,), np.float64))
    X, y, weights = (da.concatenate(column) for column in columns)
    has_weights = sample.weights is not None
    return X, y, weights if has_weights else None


def _encoded(encoding, block, correction, classes):
    X = encoding.matrix(block, correction).astype(np.float32, copy=False)
    y = np.searchsorted(classes, block.y) if len(classes) else block.y.astype(np.float64)
    return X, y, np.ones(len(X)) if block.weights is None else block.weights


def _local_twin(model: Any) -> Any:
    if hasattr(model, "to_local"):  # LightGBM
        return model.to_local()
    local = getattr(import_module("xgboost"), LOCAL[type(model).__name__])
    twin = local(**model.get_params())
    twin.load_model(bytearray(model.get_booster().save_raw()))
    return twin
