"""From encoded rows to a fitted preconditioner, and the maps of samples of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from jarf._progress import Stages
from jarf.geometry._learned import Learned, learn
from jarf.geometry._map import LinearMap
from jarf.gradients import EJOP, WideEJOP, choose_rows, first_rows, learning_rows, sum_blocks


@dataclass(frozen=True, eq=False)
class ProbeGradients:
    """The single gradients of an EJOP.

    Parameters
    ----------
    rows : ndarray of shape (n_probes,)
        The training rows they belong to.
    gradients : ndarray of shape (n_probes, n_outputs, n_features)
        In the coordinates of the map.
    """

    rows: np.ndarray
    gradients: np.ndarray


def fit_preconditioner(
    preconditioner: Any,
    surrogate: Any,
    X,
    y,
    classes=None,
    weights=None,
    *,
    random_state,
    keep_gradients=False,
) -> ProbeGradients | None:
    """Fit a preconditioner to rows of its encoded table.

    Parameters
    ----------
    preconditioner : JacobianPreconditioner
        With ``table_`` and the names that belong to it. Gets its other fitted attributes here.
    surrogate : estimator
        Takes the place of the preconditioner's parameter.
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Class codes, or responses.
    classes : ndarray of shape (n_classes,), default=None
        Class labels; None in regression.
    weights : ndarray of shape (n_rows,), default=None
        Rows with zero weight are ignored.
    random_state : RandomState
    keep_gradients : bool, default=False

    Returns
    -------
    ProbeGradients or None
        If ``keep_gradients``.
    """
    kept = np.arange(len(X))
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        X, y, weights = X[kept], y[kept], weights[kept]
        y, classes = _present(y, classes)
    stages = Stages(type(preconditioner).__name__, preconditioner.verbose)
    always = tuple if classes is None else (lambda: first_rows(y))
    rows = learning_rows(len(X), preconditioner.surrogate_rows, random_state, always)
    with stages.stage("surrogate"):
        some, target, weighted = _only(rows, X, y, weights)
        learned = learn(
            preconditioner, surrogate, some, target, classes, weighted, random_state=random_state
        )
    with stages.stage("gradients"):
        n_probes = count_probes(preconditioner.n_probes, len(X), stages)
        probes = choose_rows(len(X), n_probes, random_state)
        X, y, weights = _only(probes if len(probes) < len(X) else None, X, y, weights)
        ejop = learned.differentiation().ejop(
            X, learned.labels(y), weights, keep=keep_gradients, n_jobs=preconditioner.n_jobs
        )
        ejop = learned.rescaled(ejop)
        gradients = ejop.gradients if isinstance(ejop, EJOP) else None
        set_estimate(preconditioner, learned, _without_gradients(ejop))
    preconditioner.stage_times_ = stages.times
    return None if gradients is None else ProbeGradients(kept[probes], gradients)


def set_estimate(preconditioner: Any, learned: Learned, ejop: EJOP | WideEJOP) -> None:
    """Set the fitted attributes of a preconditioner from an estimate of the EJOP.

    Parameters
    ----------
    preconditioner : JacobianPreconditioner
    learned : Learned
    ejop : EJOP or WideEJOP
        In the coordinates of the map (:meth:`Learned.rescaled`).
    """
    rule = {"gamma": preconditioner.gamma, "normalize": preconditioner.normalize}
    n_components = preconditioner.n_components
    whole = learned.map(ejop, **rule)
    preconditioner.learned_, preconditioner.ejop_ = learned, ejop
    preconditioner.preconditioner_ = whole.matrix
    preconditioner.map_ = whole
    if n_components is not None:
        preconditioner.map_ = learned.map(ejop, **rule, n_components=n_components)


def resampled_map(preconditioner: Any, probes: ProbeGradients, counts: np.ndarray) -> LinearMap:
    """Return the map of a fitted preconditioner, with the EJOP averaged over a sample of the rows.

    Parameters
    ----------
    preconditioner : JacobianPreconditioner
        Fitted.
    probes : ProbeGradients
        What :func:`fit_preconditioner` returned.
    counts : ndarray of shape (n_rows,)
        How often each training row is in the sample, times its weight.

    Returns
    -------
    LinearMap
        ``map_`` itself if the sample holds no probe.
    """
    weights = counts[probes.rows]
    if not weights.any():
        return preconditioner.map_
    ejop = sum_blocks([probes.gradients], probes.gradients.shape[2], weights)
    return preconditioner.learned_.map(
        ejop,
        gamma=preconditioner.gamma,
        normalize=preconditioner.normalize,
        n_components=preconditioner.n_components,
    )


def count_probes(n_probes: Any, n_rows: int, stages: Stages) -> int:
    """Resolve ``n_probes`` to a number of rows.

    Parameters
    ----------
    n_probes : int or float
        A number of rows, or a fraction of them.
    n_rows : int
    stages : Stages
        Gets a note if there are fewer rows than requested.

    Returns
    -------
    int
    """
    wanted = n_probes
    if isinstance(n_probes, Real) and not isinstance(n_probes, Integral):
        wanted = max(1, round(float(n_probes) * n_rows))
    if wanted > n_rows:
        stages.detail(f"n_probes={n_probes} is more than the {n_rows} rows: all of them are probed")
    return min(n_rows, int(wanted))


def _present(y: np.ndarray, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Drop classes without rows, so that a surrogate gets codes 0..C-1."""
    if classes is None:
        return y, None
    present = np.unique(y)
    if len(present) == len(classes):
        return y, classes
    return np.searchsorted(present, y), classes[present]


def _without_gradients(ejop: Any) -> Any:
    return replace(ejop, gradients=None) if isinstance(ejop, EJOP) else ejop


def _only(rows: np.ndarray | None, *arrays):
    """Take some rows of arrays; None stands for all rows, or for an absent array."""
    if rows is None:
        return arrays
    return tuple(None if array is None else array[rows] for array in arrays)
