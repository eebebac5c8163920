"""Uniform access to every fitted model of this library."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jarf._sklearn import is_classifier
from jarf.ensemble import (
    JacobianEnsembleClassifier,
    JacobianEnsembleRegressor,
    JacobianKernelClassifier,
    JacobianKernelRegressor,
    JARFClassifier,
    JARFRegressor,
    TreeEnsemble,
)
from jarf.geometry import JacobianPreconditioner
from jarf.table import Column, checked_table, read_columns, read_table

KERNELS = (JacobianKernelClassifier, JacobianKernelRegressor)
ENSEMBLES = (JacobianEnsembleClassifier, JacobianEnsembleRegressor)
MODELS = (TreeEnsemble, *KERNELS, JARFClassifier, JARFRegressor)


def check_model(model: Any) -> None:
    """Reject anything but a fitted predictor of this library."""
    refuse_ensemble(model)
    if not isinstance(model, MODELS):
        raise TypeError(
            "Expected a model of this library (JARF, a forest, Jacobian boosting or a kernel "
            f"machine), got {type(model).__name__}."
        )
    check_is_fitted(model)


def refuse_ensemble(model: Any) -> None:
    """Reject an ensemble where a single model is needed, and name its members."""
    if isinstance(model, ENSEMBLES):
        check_is_fitted(model)
        members = " or ".join(f"model.members_[{name!r}]" for name in model.members_)
        raise TypeError(
            f"{type(model).__name__} holds several models, but one is needed here. Pass a member: "
            f"{members}."
        )


def column_names(model: Any) -> np.ndarray:
    """Names of the original columns: the DataFrame's, or x0, x1, ..."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return np.asarray(names, dtype=object)
    return np.array([f"x{j}" for j in range(model.n_features_in_)], dtype=object)


def encode(model: Any, X: Any) -> np.ndarray:
    """Convert a table to the float matrix that ``model`` uses."""
    dtype: Any = np.float32 if isinstance(model, TreeEnsemble) else [np.float64, np.float32]
    return read_table(model, X, dtype=dtype, order="C")


def answers(model: Any, matrix: np.ndarray) -> np.ndarray:
    """Class probabilities, or predictions, at rows of the encoded matrix: (n_rows, n_outputs)."""
    if isinstance(model, TreeEnsemble):
        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        found = model.forest_.predict(matrix, model.n_jobs)
        calibration = getattr(model, "calibration_", None)
        return found if calibration is None else calibration.apply(found)
    if isinstance(model, KERNELS):
        return model.answer_encoded(np.asarray(matrix, dtype=np.float64))
    if model.share != "per-tree":
        matrix = model.preconditioner_.map_.transform(matrix)
    if not is_classifier(model):
        return np.asarray(model.estimator_.predict(matrix), dtype=np.float64)[:, None]
    if not hasattr(model.estimator_, "predict_proba"):
        raise ValueError(
            f"The final estimator {type(model.estimator_).__name__} has no predict_proba."
        )
    return np.asarray(model.estimator_.predict_proba(matrix), dtype=np.float64)


def raw_answers(model: Any, matrix: np.ndarray) -> np.ndarray:
    """Sums of trees before the link, at rows of the encoded matrix: (n_rows, n_raw)."""
    if not isinstance(model, TreeEnsemble):
        raise ValueError(
            f"output='raw' needs a forest or a booster of this library, got "
            f"{type(model).__name__}. Use output='prediction'."
        )
    return model.forest_.raw(np.ascontiguousarray(matrix, dtype=np.float32), model.n_jobs)


def raw_columns(X: Any) -> list[Column]:
    """Read the columns of a table without encoding, including missing values."""
    return read_columns(checked_table(X))


def preconditioner_of(model: Any) -> JacobianPreconditioner:
    """Return the fitted preconditioner inside ``model``; without one, the error names the fix."""
    found = getattr(model, "preconditioner_", None)
    if isinstance(model, JacobianPreconditioner):
        found = model
    if not isinstance(found, JacobianPreconditioner):
        raise TypeError(
            f"{type(model).__name__} holds no EJOP. Fit a JacobianPreconditioner on the same table "
            "and pass it, or use from_ejop."
        )
    check_is_fitted(found, "ejop_")
    return found


class MixedRows:
    """Rows that take some columns from one table and the rest from another.

    Columns are encoded one by one, so encoded columns can be mixed; only numbers that were imputed
    from the row's other numbers are imputed again.

    Parameters
    ----------
    model : estimator
    first, second : array-like or DataFrame
    """

    def __init__(self, model: Any, first: Any, second: Any):
        self.table = model.table_
        self.matrices = encode(model, first), encode(model, second)
        self.numbers = None
        if self.table.filling_ is not None:
            dtype = self.matrices[0].dtype
            values = [self.table.numbers_of(raw_columns(X), dtype) for X in (first, second)]
            if any(np.isnan(part).any() for part in values):
                self.numbers = values

    def mix(self, i: np.ndarray, j: np.ndarray, from_first: np.ndarray) -> np.ndarray:
        """Mix row ``i[k]`` of the first table with row ``j[k]`` of the second.

        Parameters
        ----------
        i, j : ndarray of shape (n,)
        from_first : ndarray of shape (n, n_columns) of bool

        Returns
        -------
        ndarray of shape (n, n_encoded)
        """
        first, second = self.matrices
        mask = from_first[:, self.table.encoded_columns_]
        mixed = np.where(mask, first[i], second[j])
        if self.numbers is not None:
            first, second = self.numbers
            values = np.where(from_first[:, self.table.number_columns_], first[i], second[j])
            self.table.refill(mixed, values)
        return mixed
