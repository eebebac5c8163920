"""Kernel machine estimators in the metric of their expected Jacobian outer product (EJOP)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from jarf._sklearn import ClassifierMixin, RegressorMixin
from jarf.ensemble._calibration import Calibration
from jarf.ensemble._conformal import IntervalMixin, SetMixin
from jarf.ensemble._cross_fit import HeldOut, keep_calibration
from jarf.ensemble._kernel_base import KernelEstimator
from jarf.table import encode_classes


def as_probabilities(answers: np.ndarray) -> np.ndarray:
    """Clip regressions of class indicators to positive values and normalise them to sum one."""
    answers = np.clip(answers, 1e-9, None)
    return answers / answers.sum(axis=1, keepdims=True)


class JacobianKernelClassifier(SetMixin, ClassifierMixin, KernelEstimator):
    """Kernel machine whose metric is its own expected Jacobian outer product.

    Kernel ridge regression of the class indicators (a recursive feature machine): fitted,
    differentiated, and fitted again in the metric of its mean outer product of gradients. The first
    metric weighs each column by the sensitivity of a small forest, and may keep only the most
    sensitive columns. Up to ``n_anchors`` rows, every row is an anchor (kernel centre). With more
    rows, a random subset of them is (inducing points), and the coefficients are fitted to at most
    40,000 rows. Refinements, ridge, kernel and columns are chosen on held-out rows, which also
    calibrate the probabilities.

    Parameters
    ----------
    n_anchors : int, default=3000
        Maximum number of anchors. Time grows with its cube, memory with its square.
    n_refinements : int or "auto", default="auto"
        Number of times the metric is replaced. "auto" tries 0 to 3.
    bandwidth : float, default=2.5
        In multiples of the median distance between rows.
    ridge : float or "auto", default="auto"
        "auto" tries 0.001, 0.01, 0.1 and 1.
    kernel : {"auto", "laplace", "matern"}, default="auto"
        "laplace" is ``exp(-r)``, "matern" the smoother Matern kernel of order 3/2. "auto" tries
        both.
    sharpness : float or "auto", default="auto"
        Power of the columns' weights in the first metric; 0: all columns weigh the same. "auto"
        tries 1 and, with 12 to 23 columns, 3.
    n_columns : int, "auto" or None, default="auto"
        Number of columns that enter the metric, those with the largest sensitivity; None: all.
        "auto" tries all and, with 24 columns or more, 8 and 16.
    calibrate : bool, default=True
        Whether to fit the temperature of the probabilities, and the sets of ``predict_set``, on
        the held-out rows. Predicted classes do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws held-out rows and anchors.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Columns that are categories: those of text or category type in a DataFrame, none, or names,
        indices or a mask.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    choice_ : Choice
        The settings that were used.
    machine_ : KernelMachine
        Anchors, coefficients and metric.
    calibration_ : Calibration
        The temperature, and the log loss before and after on held-out rows; print it.
    conformal_ : ConformalSets
        Held-out scores used by ``predict_set``; not set if no rows were held out.
    feature_importances_ : ndarray of shape (n_features,)
        Mean squared derivatives per standard deviation, by original column; they sum to one.
    table_ : TableEncoder
        Encoder that turns the columns into a float matrix.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from jarf import JacobianKernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = JacobianKernelClassifier(random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    classes_: np.ndarray
    calibration_: Calibration

    def _outputs(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.classes_, codes = encode_classes(y)
        self.n_classes_ = len(self.classes_)
        return np.eye(self.n_classes_)[codes], codes

    def _keep(self, held_out: HeldOut | None) -> None:
        vars(self).pop("conformal_", None)
        honest = None
        if held_out is not None and self.calibrate:
            honest = replace(held_out, means=as_probabilities(held_out.means))
        keep_calibration(self, honest)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict class probabilities: clipped, normalised and calibrated regressions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._answers(X)

    def answer_encoded(self, matrix: np.ndarray) -> np.ndarray:
        answers = super().answer_encoded(matrix)
        return self.calibration_.apply(as_probabilities(answers))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


class JacobianKernelRegressor(IntervalMixin, RegressorMixin, KernelEstimator):
    """Kernel machine whose metric is its own expected Jacobian outer product, for regression.

    See :class:`JacobianKernelClassifier`.

    Parameters
    ----------
    n_anchors : int, default=3000
        Maximum number of anchors. Time grows with its cube, memory with its square.
    n_refinements : int or "auto", default="auto"
        Number of times the metric is replaced. "auto" tries 0 to 3.
    bandwidth : float, default=2.5
        In multiples of the median distance between rows.
    ridge : float or "auto", default="auto"
        "auto" tries 0.001, 0.01, 0.1 and 1.
    kernel : {"auto", "laplace", "matern"}, default="auto"
        "laplace" is ``exp(-r)``, "matern" the smoother Matern kernel of order 3/2. "auto" tries
        both.
    sharpness : float or "auto", default="auto"
        Power of the columns' weights in the first metric; 0: all columns weigh the same. "auto"
        tries 1 and, with 12 to 23 columns, 3.
    n_columns : int, "auto" or None, default="auto"
        Number of columns that enter the metric, those with the largest sensitivity; None: all.
        "auto" tries all and, with 24 columns or more, 8 and 16.
    calibrate : bool, default=True
        Whether to keep the errors at held-out rows, for ``predict_interval`` and
        ``predict_quantiles``.
    random_state : int, RandomState instance or None, default=None
        Draws held-out rows and anchors.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Columns that are categories: those of text or category type in a DataFrame, none, or names,
        indices or a mask.

    Attributes
    ----------
    choice_ : Choice
        The settings that were used.
    machine_ : KernelMachine
        Anchors, coefficients and metric.
    conformal_ : ConformalResiduals
        Held-out errors used for intervals and quantiles; not set if no rows were held out.
    feature_importances_ : ndarray of shape (n_features,)
        Mean squared derivatives per standard deviation, by original column; they sum to one.
    table_ : TableEncoder
        Encoder that turns the columns into a float matrix.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X has column names.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JacobianKernelRegressor
    >>> X = np.random.default_rng(0).normal(size=(400, 5))
    >>> y = np.sin(X[:, 0] + X[:, 1])
    >>> model = JacobianKernelRegressor(random_state=0).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.9
    True
    """

    def _outputs(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(y, np.float64)[:, None], np.zeros(len(y), np.intp)

    def _keep(self, held_out: HeldOut | None) -> None:
        vars(self).pop("conformal_", None)
        if held_out is not None and self.calibrate:
            self.conformal_ = held_out.residuals()

    def predict(self, X: Any) -> np.ndarray:
        """Predict the response of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        responses : ndarray of shape (n_samples,)
        """
        answers = self._answers(X)
        return answers[:, 0]

    def _predict_with_spread(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        answers = self._answers(X)
        return answers, np.ones_like(answers)
