"""The EJOP of a plot: a model's own, a given one, or that of a model's predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from jarf.geometry import N_LEADING, JacobianPreconditioner, leading_spectrum, spectrum
from jarf.gradients import (
    EJOP,
    Differences,
    WideEJOP,
    column_mean,
    column_std,
    difference_steps,
    gradient_blocks,
    robust_scale,
    sum_blocks,
)
from jarf.inspection._models import (
    MODELS,
    answers,
    check_model,
    column_names,
    encode,
    preconditioner_of,
    refuse_ensemble,
)
from jarf.inspection._words import number_text
from jarf.table import TableEncoder

# A model without its own EJOP is differentiated at this many rows at most.
MAX_PROBES = 500
# Its steps are this many robust standard deviations: short steps measure the jumps of a forest,
# which are as frequent along columns of noise.
STEP = 1.0


@dataclass(frozen=True)
class EJOPFacts:
    """An EJOP over the encoded columns that it mixes.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n_vectors,)
    eigenvectors : ndarray of shape (n_mixed, n_vectors)
    trace : float
    mixed : ndarray of shape (n_mixed,)
        Indices of these encoded columns.
    mean, scale : ndarray of shape (n_mixed,)
        The EJOP's coordinates are ``(x - mean) / scale``.
    names : ndarray of shape (n_mixed,) of str
    column_names : ndarray of str
    sensitivities : ndarray of shape (n_columns,)
        NaN for columns that were not differentiated.
    sensitivity_label : str
        What the sensitivities measure, as the label of an axis.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.inspection import facts_of_ejop
    >>> facts = facts_of_ejop(np.diag([4.0, 1.0]), ["income", "debt"])
    >>> facts.eigenvalues, facts.direction_text(0)
    (array([4., 1.]), '1.0 income + ...')
    """

    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    trace: float
    mixed: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    names: np.ndarray
    column_names: np.ndarray
    sensitivities: np.ndarray
    sensitivity_label: str = "root mean square derivative"

    def direction_text(self, k: int, n_terms: int = 3) -> str:
        """Name the largest loadings of an eigenvector."""
        vector = self.eigenvectors[:, k]
        top = np.argsort(-np.abs(vector), kind="stable")[:n_terms]
        top = top[np.abs(vector[top]) > 0.05]
        terms = [
            f"{'-' if vector[j] < 0 else '+'} {number_text(abs(vector[j]), 2)} {self.names[j]}"
            for j in top
        ]
        more = " + ..." if len(vector) > len(top) else ""
        return " ".join(terms).removeprefix("+ ") + more


def facts_of(estimator: Any, X=None, y=None, preconditioner=None) -> EJOPFacts:
    """Find the EJOP that belongs to a fitted estimator.

    Parameters
    ----------
    estimator : estimator
    X, y : default=None
        A forest without a preconditioner is differentiated at these rows.
    preconditioner : JacobianPreconditioner or JARF, default=None
        Whose EJOP to take instead.

    Returns
    -------
    EJOPFacts
    """
    if preconditioner is not None:
        return _of_preconditioner(preconditioner_of(preconditioner))
    if isinstance(estimator, JacobianPreconditioner) or hasattr(estimator, "preconditioner_"):
        return _of_preconditioner(preconditioner_of(estimator))
    name = type(estimator).__name__
    refuse_ensemble(estimator)
    if not isinstance(estimator, MODELS):
        raise TypeError(
            f"{name} is not a model of this library. For any other model, compute the EJOP with "
            "jarf.expected_jacobian_outer_product(model, X, y) and draw it with the display's "
            "from_ejop."
        )
    check_model(estimator)
    if X is None:
        raise TypeError(
            f"{name} holds no EJOP. Pass X and y to differentiate the model itself, or a fitted "
            "preconditioner; or pass an EJOP to from_ejop."
        )
    return _of_model(estimator, X, y)


def facts_of_ejop(ejop: Any, feature_names=None) -> EJOPFacts:
    """Describe a given EJOP or matrix."""
    total = np.asarray(ejop, dtype=np.float64)
    if total.ndim != 2 or total.shape[0] != total.shape[1]:
        raise ValueError(f"An EJOP is a square matrix, got shape {total.shape}.")
    d = len(total)
    names = [f"x{j}" for j in range(d)] if feature_names is None else list(feature_names)
    if len(names) != d:
        raise ValueError(f"feature_names has {len(names)} entries for {d} features.")
    kept = np.array(names, dtype=object)
    whole = EJOP(total, 1.0, 1)
    sensitivities = np.sqrt(np.maximum(whole.diagonal(), 0.0))
    every = np.arange(d)
    return _facts(whole, every, np.zeros(d), np.ones(d), kept, kept, sensitivities)


def _facts(ejop, mixed, mean, scale, names, columns, sensitivities, **label: str) -> EJOPFacts:
    """Describe an EJOP over all encoded columns, of which some are mixed."""
    if isinstance(ejop, WideEJOP):
        values, vectors = leading_spectrum(ejop, N_LEADING)
        vectors = vectors[mixed]
    else:
        values, vectors = spectrum(ejop.matrix[np.ix_(mixed, mixed)])
    return EJOPFacts(
        eigenvalues=values,
        eigenvectors=vectors,
        trace=float(ejop.diagonal()[mixed].sum()),
        mixed=mixed,
        mean=mean[mixed],
        scale=scale[mixed],
        names=names[mixed],
        column_names=columns,
        sensitivities=sensitivities,
        **label,
    )


def _of_preconditioner(model: JacobianPreconditioner) -> EJOPFacts:
    columns = column_names(model)
    names = model.table_.get_feature_names_out(columns)
    unit = "standard deviation" if model.standardize else "unit of the column"
    return _facts(
        model.ejop_,
        np.flatnonzero(model.learned_.moves),
        model.mean_,
        model.scale_,
        names,
        columns,
        _known_only(model.feature_sensitivities_, model.table_, model.learned_.moves),
        sensitivity_label=f"root mean square derivative per {unit}",
    )


def _known_only(sensitivities: np.ndarray, table: TableEncoder, moves: np.ndarray) -> np.ndarray:
    """Set columns without a differentiated encoded column to NaN."""
    moved = table.per_column(np.asarray(moves, np.float64)) > 0
    return np.where(moved, sensitivities, np.nan)


class _OnMatrix(BaseEstimator):
    """A fitted model that predicts at rows of its encoded matrix."""

    def __init__(self, model):
        self.model = model
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_

    def predict_proba(self, X):
        return answers(self.model, X)

    def predict(self, X):
        return answers(self.model, X)[:, 0]


class _Classes(ClassifierMixin, _OnMatrix):
    pass


class _Numbers(RegressorMixin, _OnMatrix):
    pass


def _of_model(model: Any, X, y) -> EJOPFacts:
    """Differentiate a forest with respect to its numeric columns, at evenly spaced rows."""
    matrix = encode(model, X).astype(np.float64)
    moves = model.table_.is_number
    std = column_std(matrix)
    scale = np.where(std > 0, std, 1.0)
    steps = np.where(moves, difference_steps(matrix, STEP), 0.0)
    rows = np.arange(0, len(matrix), -(-len(matrix) // MAX_PROBES))
    kind = _Classes if hasattr(model, "classes_") else _Numbers
    differences = Differences(
        steps, matrix.min(axis=0), matrix.max(axis=0), "centered", "one-sided"
    )
    blocks = gradient_blocks(
        kind(model),
        matrix[rows],
        None if y is None else np.asarray(y)[rows],
        differences,
        outputs="all" if y is None else "observed",
    )
    ejop = sum_blocks(blocks, matrix.shape[1]).rescaled(scale)
    columns = column_names(model)
    names = model.table_.get_feature_names_out(columns)
    # A slope times one standard deviation: the robust one if that is smaller, so that outliers do
    # not multiply the slope by a distance that few rows are apart.
    typical = np.minimum(robust_scale(matrix), scale) / scale
    squares = np.maximum(ejop.diagonal(), 0.0) * typical**2
    sensitivities = _known_only(np.sqrt(model.table_.per_column(squares)), model.table_, moves)
    mixed = np.flatnonzero(moves)
    return _facts(
        ejop,
        mixed,
        column_mean(matrix),
        scale,
        names,
        columns,
        sensitivities,
        sensitivity_label="root mean square change per standard deviation",
    )
