"""The Jacobian forest: the geometry of surrogates' gradients as a proposal at every node."""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.ensemble._bagged import (
    CLASSIFIER_CONSTRAINTS,
    ForestClassifierMixin,
    ForestRegressorMixin,
)
from jarf.ensemble._conformal import IntervalMixin, SetMixin
from jarf.ensemble._cross_fit import HeldOut, keep_calibration
from jarf.ensemble._forest_docs import documented
from jarf.ensemble._jacobian_base import JacobianForest


@documented
class JacobianForestClassifier(SetMixin, ForestClassifierMixin, JacobianForest):
    """A forest whose cuts follow the gradients of surrogate models, if that helps.

    A node tries plain axes and, in addition, directions drawn from the local expected Jacobian
    outer product: signed sums of the surrogates' gradients at a few random rows of the node. The
    *geometry* determines the surrogates, the sparsity of directions and how axes are drawn. It is
    chosen by a race on held-out rows, whose labels no surrogate saw. Plain axes win ties, so the
    result is a plain random forest unless something better was found.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    <criterion>
    geometry : {"auto", "fast", ...}, Geometry, Cycle or list, default="auto"
        "auto" holds the race. "fast" skips it and takes the geometry that does best on average.
        A name of :data:`jarf.ensemble.GEOMETRIES`, or a :class:`jarf.ensemble.Geometry`, is taken
        as it is; those of a :class:`jarf.ensemble.Cycle` share the trees. A list holds a race
        between its members and plain axes.
    surrogate_rows : int or None, default=50_000
        Race and surrogates see at most this many random rows (and one of every class); None: all.
        Gradients are taken at every row; in tables of more than 8,000 rows, at 8,000 random rows or
        at an eighth of the rows, whichever is more.
    calibrate : bool, default=True
        Whether to fit the temperature of the probabilities, and the sets of ``predict_set``, on
        held-out rows. After a race these are rows that it scored. In tables of fewer than 1,500
        rows its pilots predict them; in larger tables 40 trees do, grown on all other rows with
        the surrogates of the race. Without a race, at most 60 trees are grown in each of 4 folds
        or, in tables of at least 2,000 rows, on three quarters of the rows. The trees of the
        forest see all rows either way, and predicted classes do not depend on it. With fewer than
        20 rows nothing is calibrated.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Number of axes that a node tries.
    <limits>
    <sampling>

    Attributes
    ----------
    geometries_ : tuple of Geometry
        What the trees were grown with, best first: more than one where the race did not tell them
        apart.
    geometry_ : Geometry
        The first of them.
    race_ : RaceResult
        Which geometry won, by how much, and whether that is more than noise; print it. Set only
        if ``geometry`` is "auto" or a list.
    min_samples_split_ : int or float
        Least number of rows of a node that was split: the parameter, or what the race chose.
    calibration_ : Calibration
        The temperature, and the log loss before and after on held-out rows; print it.
    conformal_ : ConformalSets
        What ``predict_set`` is computed from; not set if no rows were held out.
    stage_times_ : dict
        Seconds spent on "race", "calibration", "surrogates", "gradients" and "fit".
    <attributes>

    Notes
    -----
    There is no out-of-bag score: directions have seen every training label, so it would be too
    optimistic. The losses in ``race_`` are computed on held-out rows.

    Examples
    --------
    >>> from jarf import JacobianForestClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(800, 5, angle=45, random_state=0)
    >>> model = JacobianForestClassifier(50, random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.85
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        **JacobianForest._parameter_constraints,
        **CLASSIFIER_CONSTRAINTS,
    }

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        criterion: str = "gini",
        geometry: Any = "auto",
        surrogate_rows: int | None = 50_000,
        calibrate: bool = True,
        max_features: int | float | str | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int | float | str = "auto",
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.geometry = geometry
        self.surrogate_rows = surrogate_rows
        self.calibrate = calibrate
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.categorical_features = categorical_features
        self.class_weight = class_weight

    def _n_directions(self, d: int) -> int:
        return max(1, int(np.sqrt(d)))

    def _keep_errors(self, held_out: HeldOut | None) -> None:
        keep_calibration(self, held_out)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Average the class shares of the leaves that each row reaches, and calibrate them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        means = self._means(X)
        calibration = getattr(self, "calibration_", None)  # absent in files of earlier versions
        return means if calibration is None else calibration.apply(means)


@documented
class JacobianForestRegressor(IntervalMixin, ForestRegressorMixin, JacobianForest):
    """A regression forest whose cuts follow the gradients of surrogate models, if that helps.

    See :class:`JacobianForestClassifier`.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    geometry : {"auto", "fast", ...}, Geometry, Cycle or list, default="auto"
        "auto" holds the race. "fast" skips it and takes the geometry that does best on average.
        A name of :data:`jarf.ensemble.GEOMETRIES`, or a :class:`jarf.ensemble.Geometry`, is taken
        as it is; those of a :class:`jarf.ensemble.Cycle` share the trees. A list holds a race
        between its members and plain axes.
    surrogate_rows : int or None, default=50_000
        Race and surrogates see at most this many random rows (and one of every class); None: all.
        Gradients are taken at every row; in tables of more than 8,000 rows, at 8,000 random rows or
        at an eighth of the rows, whichever is more.
    calibrate : bool, default=True
        Whether to measure errors on held-out rows, for ``predict_interval`` and
        ``predict_quantiles``. After a race these are rows that it scored. In tables of fewer than
        1,500 rows its pilots predict them; in larger tables 40 trees do, grown on all other rows
        with the surrogates of the race. Without a race, at most 60 trees are grown in each of 4
        folds or, in tables of at least 2,000 rows, on three quarters of the rows. Predictions do
        not depend on it. It needs 20 rows.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Number of axes that a node tries.
    <limits>
    <sampling>

    Attributes
    ----------
    geometries_ : tuple of Geometry
        What the trees were grown with, best first: more than one where the race did not tell them
        apart.
    geometry_ : Geometry
        The first of them.
    race_ : RaceResult
        Which geometry won, by how much, and whether that is more than noise; print it. Set only
        if ``geometry`` is "auto" or a list.
    min_samples_split_ : int or float
        Least number of rows of a node that was split: the parameter, or what the race chose.
    conformal_ : ConformalResiduals
        What intervals and quantiles are computed from; not set if no rows were held out.
    stage_times_ : dict
        Seconds spent on "race", "calibration", "surrogates", "gradients" and "fit".
    <attributes>

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JacobianForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(800, 4))
    >>> y = np.sin(X[:, 0] + X[:, 1])
    >>> model = JacobianForestRegressor(50, random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.9
    True
    """

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        geometry: Any = "auto",
        surrogate_rows: int | None = 50_000,
        calibrate: bool = True,
        max_features: int | float | str | None = 1.0,
        max_depth: int | None = None,
        min_samples_split: int | float | str = "auto",
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        categorical_features: Any = "from_dtype",
    ):
        self.n_estimators = n_estimators
        self.geometry = geometry
        self.surrogate_rows = surrogate_rows
        self.calibrate = calibrate
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.categorical_features = categorical_features

    def _n_directions(self, d: int) -> int:
        return max(1, -(-d // 3))

    def _keep_errors(self, held_out: HeldOut | None) -> None:
        if held_out is not None:
            self.conformal_ = held_out.residuals()

    def _predict_with_spread(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        rows = self._rows(X)
        return self.forest_.predict(rows, self.n_jobs), self.forest_.spread(rows, self.n_jobs)

    def spread(self, X: Any) -> np.ndarray:
        """Return the standard deviation of the trees' predictions for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        spreads : ndarray of shape (n_samples, n_outputs)
        """
        rows = self._rows(X)
        return self.forest_.spread(rows, self.n_jobs)
