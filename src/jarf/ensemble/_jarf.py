"""The paper's estimators: a Jacobian preconditioner and an ordinary ensemble behind it."""

from __future__ import annotations

from abc import abstractmethod
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from jarf._progress import Stages
from jarf._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    check_classification_targets,
    check_sample_weight,
    fit_context,
    is_classifier,
)
from jarf.ensemble._axes import AxisForestClassifier, AxisForestRegressor
from jarf.ensemble._docs import with_parameters
from jarf.ensemble._bagged import BaggedForest
from jarf.ensemble._per_tree import PerTreeForest
from jarf.geometry import JacobianPreconditioner
from jarf.surrogate import check_surrogate, default_surrogate, fit_copy, thaw
from jarf.table import fit_table, read_table, take_tables

_PRECONDITIONER_PARAMETERS = tuple(JacobianPreconditioner().get_params(deep=False))


def _final_has(method):
    def check(self):
        model = getattr(self, "estimator_", self.estimator)
        return model is None or hasattr(model, method)

    return check


class _JARF(BaseEstimator):
    """What the classifier and the regressor share: everything but labels and defaults."""

    estimator_: Any

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "share": [StrOptions({"global", "per-tree"})],
        **JacobianPreconditioner._parameter_constraints,
    }

    def __init__(
        self,
        estimator=None,
        *,
        n_estimators=200,
        min_weight_fraction_leaf=0.0,
        share="global",
        surrogate=None,
        surrogate_rows=50_000,
        n_probes=10_000,
        step=0.1,
        step_rule="mad",
        scheme="centered",
        boundary="one-sided",
        outputs="observed",
        gamma=1e-3,
        normalize=True,
        n_components=None,
        standardize=True,
        categorical_features="from_dtype",
        categorical="axes",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.share = share
        self.surrogate = surrogate
        self.surrogate_rows = surrogate_rows
        self.n_probes = n_probes
        self.step = step
        self.step_rule = step_rule
        self.scheme = scheme
        self.boundary = boundary
        self.outputs = outputs
        self.gamma = gamma
        self.normalize = normalize
        self.n_components = n_components
        self.standardize = standardize
        self.categorical_features = categorical_features
        self.categorical = categorical
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit surrogate, preconditioner and final ensemble.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers, booleans, text and categories; missing values are welcome.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in all three.

        Returns
        -------
        self
        """
        surrogate = (
            default_surrogate(self._classifies) if self.surrogate is None else self.surrogate
        )
        self._check_models(surrogate)
        X, y = fit_table(
            self,
            X,
            y,
            classifies=self._classifies,
            dtype=[np.float64, np.float32],
            order="C",  # so that a DataFrame and an array give the same bits
            sample_weight=sample_weight,
            ensure_min_samples=2,
        )
        target = self._encode(y)
        weights = self._row_weights(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        stages = Stages(type(self).__name__, self.verbose)

        self.preconditioner_ = self._preconditioner(surrogate, rng)._fit_matrix(
            X, y, weights, keep_gradients=self.share == "per-tree"
        )
        final = self._default_ensemble() if self.estimator is None else self.estimator
        with stages.stage("fit"):
            if self.share == "per-tree":
                final = PerTreeForest(final, self.preconditioner_, n_jobs=self.n_jobs)
                self.estimator_ = final.fit(X, target, weights, rng)
            else:
                # Our forests want column after column; what they want is not copied.
                order = "F" if isinstance(final, BaggedForest) else "C"
                self.estimator_ = fit_copy(
                    final,
                    self.preconditioner_._map.transform(X, order),
                    target,
                    sample_weight=weights,
                    random_state=rng,
                    n_jobs=self.n_jobs,
                    role="final estimator",
                )
        self.stage_times_ = {**self.preconditioner_.stage_times_, **stages.times}
        return self

    def _check_models(self, surrogate):
        kind = "classifier" if self._classifies else "regressor"
        check_surrogate(surrogate, self._classifies)
        for role, model in (("surrogate", surrogate), ("final estimator", self.estimator)):
            own_gradients = role == "surrogate" and hasattr(thaw(model), "input_gradients")
            if model is None or own_gradients:
                continue
            if is_classifier(thaw(model)) != self._classifies:
                raise ValueError(
                    f"The {role} {type(thaw(model)).__name__} of {type(self).__name__} must be "
                    f"a {kind}."
                )

    def _preconditioner(self, surrogate, rng):
        params = {name: getattr(self, name) for name in _PRECONDITIONER_PARAMETERS}
        params.update(surrogate=surrogate, random_state=rng)
        preconditioner = JacobianPreconditioner(**params)
        for name in ("table_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(preconditioner, name, getattr(self, name))
        return preconditioner

    def _row_weights(self, X, y, sample_weight):
        return None if sample_weight is None else check_sample_weight(sample_weight, X)

    def _mapped(self, X):
        """Validated rows as the final ensemble sees them."""
        check_is_fitted(self)
        X = read_table(self, X, dtype=[np.float64, np.float32], order="C")
        if self.share == "per-tree":
            return X  # every tree maps for itself
        return self.preconditioner_._map.transform(X)

    @property
    def feature_importances_(self):
        """Importances of the original features; they sum to one.

        The final ensemble's importance of a column of ``X H`` is shared among the original
        features j in proportion to ``(H_jk * std_j)**2``, their shares of that column's
        variance were they uncorrelated.
        """
        check_is_fitted(self)
        std = self.preconditioner_._std
        if self.share == "per-tree":
            credit = self.estimator_.credited_importances(std)
        else:
            credit = self.preconditioner_._map.credit(self.estimator_.feature_importances_, std)
        return self.table_.per_column(credit)

    @property
    @abstractmethod
    def _classifies(self) -> bool: ...

    @abstractmethod
    def _default_ensemble(self): ...

    @abstractmethod
    def _encode(self, y): ...

    def __sklearn_tags__(self):
        return take_tables(super().__sklearn_tags__())


_SHARED_PARAMETERS = tuple(signature(_JARF).parameters)


@with_parameters
class JARFClassifier(ClassifierMixin, _JARF):
    """Jacobian aligned random forest for classification.

    A surrogate forest is fitted, the gradients of its class probabilities are averaged to the
    expected Jacobian outer product, and an ordinary forest is trained on ``X H``, where
    ``H = EJOP + gamma I``. Its cuts are axis-aligned in ``X H`` and oblique in ``X``.

    Parameters
    ----------
    estimator : classifier, default=None
        The final ensemble. None: a random forest with Gini impurity and
        ``max_features="sqrt"``, grown by the native engine
        (:class:`AxisForestClassifier`). Any scikit-learn compatible classifier works; with
        ``XGBClassifier`` this is the paper's JARF-XGB. It sees the classes as 0..C-1.
    %(parameters)s
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the rows' weights.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    %(attributes)s

    References
    ----------
    S. Rauniyar. Jacobian Aligned Random Forests. ICLR 2026.

    Examples
    --------
    >>> from jarf import JARFClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(600, 5, angle=45, random_state=0)
    >>> model = JARFClassifier(n_estimators=50, random_state=0).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.85
    True
    >>> sorted(model.feature_importances_.argsort()[-2:].tolist())
    [0, 1]
    """

    _classifies = True
    _parameter_constraints = {  # noqa: RUF012
        **_JARF._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        estimator=None,
        *,
        n_estimators=200,
        min_weight_fraction_leaf=0.0,
        share="global",
        surrogate=None,
        surrogate_rows=50_000,
        n_probes=10_000,
        step=0.1,
        step_rule="mad",
        scheme="centered",
        boundary="one-sided",
        outputs="observed",
        gamma=1e-3,
        normalize=True,
        n_components=None,
        standardize=True,
        categorical_features="from_dtype",
        categorical="axes",
        n_jobs=None,
        random_state=None,
        verbose=0,
        class_weight=None,
    ):
        given = {name: value for name, value in locals().items() if name in _SHARED_PARAMETERS}
        super().__init__(**given)
        self.class_weight = class_weight

    def _row_weights(self, X, y, sample_weight):
        weights = super()._row_weights(X, y, sample_weight)
        if self.class_weight is None:
            return weights
        balance = compute_sample_weight(self.class_weight, y)
        return balance if weights is None else weights * balance

    def _default_ensemble(self):
        return AxisForestClassifier(
            self.n_estimators,
            max_features="sqrt",
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
        )

    def _encode(self, y):
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        return np.searchsorted(self.classes_, y)

    def predict(self, X):
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        mapped = self._mapped(X)
        return self.classes_[np.asarray(self.estimator_.predict(mapped), dtype=np.intp)]

    @available_if(_final_has("predict_proba"))
    def predict_proba(self, X):
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        mapped = self._mapped(X)
        return self.estimator_.predict_proba(mapped)

    @available_if(_final_has("predict_proba"))
    def predict_log_proba(self, X):
        """Predict logarithms of class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


@with_parameters
class JARFRegressor(RegressorMixin, _JARF):
    """Jacobian aligned random forest for regression.

    A surrogate forest is fitted, its gradients are averaged to the expected gradient outer
    product (EGOP), and an ordinary forest is trained on ``X H``, where ``H = EGOP + gamma I``.

    Parameters
    ----------
    estimator : regressor, default=None
        The final ensemble. None: a random forest with squared error that tries all features
        at a split, grown by the native engine (:class:`AxisForestRegressor`). Any
        scikit-learn compatible regressor works; with ``XGBRegressor`` this is the paper's
        JARF-XGB.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    References
    ----------
    S. Rauniyar. Jacobian Aligned Random Forests. ICLR 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JARFRegressor
    >>> X = np.random.default_rng(0).normal(size=(600, 4))
    >>> y = np.sin(X[:, 0] + X[:, 1])
    >>> model = JARFRegressor(n_estimators=50, random_state=0).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.9
    True
    """

    _classifies = False

    def _default_ensemble(self):
        return AxisForestRegressor(
            self.n_estimators,
            max_features=1.0,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
        )

    def _encode(self, y):
        return y

    def predict(self, X):
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        mapped = self._mapped(X)
        return np.asarray(self.estimator_.predict(mapped))
