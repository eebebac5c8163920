"""The supervised transformer of the paper."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from jarf._sklearn import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    HasMethods,
    Interval,
    StrOptions,
    TransformerMixin,
    check_sample_weight,
    fit_context,
    is_classifier,
    type_of_target,
)
from jarf.geometry._fitting import fit_preconditioner
from jarf.geometry._learned import Learned
from jarf.geometry._map import LinearMap
from jarf.geometry._wide import ejop_spectrum
from jarf.gradients import EJOP, WideEJOP
from jarf.surrogate import default_surrogate, thaw
from jarf.table import TableEncoder, encode_classes, fit_table, read_table, take_tables


class JacobianPreconditioner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map the inputs by the expected Jacobian outer product of a surrogate model.

    A surrogate is fitted, its outputs are differentiated by finite differences at a sample of
    the training rows, and the mean outer product of the gradients (EJOP; EGOP in regression)
    becomes the linear map ``H = EJOP + gamma I``, divided by its mean eigenvalue. ``transform``
    returns ``X H``: an axis-aligned cut of a column of ``X H`` is an oblique cut of ``X``.

    Parameters
    ----------
    surrogate : estimator, default=None
        The model that is differentiated. None: a random forest of 50 trees with
        ``max_features="sqrt"`` and leaves of one row; a classifier if ``y`` holds classes, a
        regressor if it is continuous (:func:`sklearn.utils.multiclass.type_of_target` decides; pass
        a regressor for an integer target). To use a model that is already fitted, wrap it in
        :class:`sklearn.frozen.FrozenEstimator`; it must have been fitted on the original columns,
        while a surrogate that is fitted here sees standardised columns (if ``standardize``).
    surrogate_rows : int or None, default=50_000
        The surrogate, the columns' scales and ranges and the steps are learned from at most this
        many random rows (and one of every class); None: from all. Gradients are computed at rows of
        the whole table.
    n_probes : int or float, default=10_000
        Number of training rows at which the surrogate is differentiated: an integer (at most all
        rows) or, as a float, a fraction of the rows.
    step : float, default=0.1
        Step alpha of the finite differences.
    step_rule : {"auto", "mad", "global"} or array-like of shape (n_features,), default="auto"
        Distance between the two probes of feature j. "mad": ``alpha * MAD_j / 0.6745`` (the
        standard deviation where the MAD is zero), the paper's rule. "auto": the same, but long
        enough to reach the next value of the column, so that a step of a column of integers or
        of few values crosses the cuts of a tree. "global": one step for all features (alpha
        standard deviations if ``standardize``). An array holds the steps themselves in the units
        of ``X``.
    scheme : {"centered", "forward"}, default="centered"
        Probes at ``x -+ step / 2``, or at ``x`` and ``x + step``.
    boundary : {"one-sided", "clip", "none"}, default="one-sided"
        For a probe beyond the range of its feature: use ``x`` in its place, use the end of the
        range, or leave it there.
    outputs : {"observed", "all"}, default="observed"
        In classification, differentiate the probability of each row's own class (the paper's
        estimator), or of every class (its equation 1). Regression has one output.
    gamma : float, default=1e-3
        Weight of the identity in H.
    normalize : bool, default=True
        Divide H by ``trace(H) / d``. This does not change the trees.
    n_components : int, default=None
        None maps by the whole H. An integer r projects on the r leading eigenvectors instead,
        as in the paper's Theorem 1.
    standardize : bool, default=True
        Centre the columns and divide them by their standard deviations before mapping, and
        take the EJOP in these coordinates, so that the units of the columns do not matter.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Columns that are categories: those of text or category type in a DataFrame, none, or
        names, indices or a mask.
    categorical : {"axes", "toggle"}, default="axes"
        A category of up to 50 levels becomes one column per level, one of more levels cross-fitted
        target means. "axes": these columns pass through the map unchanged, like booleans and
        columns that mark missing values. "toggle": columns of zeros and ones enter the EJOP, probed
        at 0 and 1, and are mapped like numbers.
    n_jobs : int, default=None
        Threads for the surrogate (unless it sets its own) and for the gradients. The result does
        not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the surrogate and the choice of probes.
    verbose : int, default=0
        0: silent. 1 or more: each stage of the fit with its time, written to stderr.

    Attributes
    ----------
    ejop_ : EJOP
        The estimate, in the coordinates of the map; ``np.asarray(ejop_)`` is its matrix. Here and
        below, if the table held categories or missing values, a "feature" is an encoded column;
        ``table_`` maps it to its original column.
    preconditioner_ : ndarray of shape (n_features, n_features)
        The matrix H; the identity for features that pass through. Above 5,000 features H is not
        formed: a :class:`jarf.geometry.LowRankPreconditioner` applies it through the EJOP's sparse
        factor.
    map_ : LinearMap
        What ``transform`` applies to the encoded table: standardisation, then H or its leading
        eigenvectors.
    learned_ : Learned
        Scales, ranges, steps, class labels and the surrogate: what was learned before the
        gradients were taken. ``learned_.differentiation()`` takes gradients at other rows.
    eigenvalues_, eigenvectors_ : ndarray
        Spectrum of the EJOP in descending order; eigenvectors are columns. Computed on first
        access. Above 5,000 features: the 50 leading ones.
    feature_sensitivities_ : ndarray of shape (n_features,)
        ``sqrt(diag(EJOP))``, squares added over the encoded columns of an original column: the
        root mean square, over the probes, of the difference quotient
        ``(f(upper) - f(lower)) / (upper - lower)``, where f is the surrogate's output and the
        two probes are ``steps_`` apart. If ``standardize``, the quotient is per standard
        deviation of the column. It is a slope at the length of a step: moving the column by a
        whole standard deviation changes f by less wherever f levels off.
    steps_ : ndarray of shape (n_features,)
        Distance between the two probes of each feature, in the units of ``X``.
    surrogate_ : estimator
        The fitted surrogate, in standardised columns if ``standardize`` and not frozen.
    classes_ : ndarray
        The classes, in classification only.
    mean_, scale_ : ndarray of shape (n_features,)
        What ``standardize`` subtracts and divides by (0 and 1 without it).
    table_ : TableEncoder
        How the columns became a float matrix, and which encoded column belongs to which.
    stage_times_ : dict
        Seconds spent on "surrogate" and "gradients".
    n_features_in_ : int
    feature_names_in_ : ndarray

    See Also
    --------
    JARFClassifier : The preconditioner and a forest in one estimator.

    References
    ----------
    S. Rauniyar. Jacobian Aligned Random Forests. ICLR 2026.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from jarf import JacobianPreconditioner
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(1000, 5, angle=45, random_state=0)
    >>> model = make_pipeline(
    ...     JacobianPreconditioner(random_state=0), RandomForestClassifier(random_state=0)
    ... ).fit(X, y)
    >>> abs(model[0].eigenvectors_[:, 0]).round(1)
    array([0.8, 0.6, 0. , 0. , 0. ])
    """

    ejop_: EJOP | WideEJOP
    learned_: Learned
    map_: LinearMap
    table_: TableEncoder
    stage_times_: dict[str, float]

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "surrogate": [HasMethods(["fit"]), None],
        "surrogate_rows": [Interval(Integral, 2, None, closed="left"), None],
        "n_probes": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        "step": [Interval(Real, 0, None, closed="neither")],
        "step_rule": [StrOptions({"auto", "mad", "global"}), "array-like"],
        "scheme": [StrOptions({"centered", "forward"})],
        "boundary": [StrOptions({"one-sided", "clip", "none"})],
        "outputs": [StrOptions({"observed", "all"})],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "normalize": ["boolean"],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "standardize": ["boolean"],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "categorical": [StrOptions({"axes", "toggle"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        surrogate: Any = None,
        *,
        surrogate_rows: int | None = 50_000,
        n_probes: int | float = 10_000,
        step: float = 0.1,
        step_rule: Any = "auto",
        scheme: str = "centered",
        boundary: str = "one-sided",
        outputs: str = "observed",
        gamma: float = 1e-3,
        normalize: bool = True,
        n_components: int | None = None,
        standardize: bool = True,
        categorical_features: Any = "from_dtype",
        categorical: str = "axes",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the surrogate and estimate the map.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Classes or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the surrogate and in the EJOP.

        Returns
        -------
        self
        """
        self._fit_table(X, y, sample_weight)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Fit, and map the training rows.

        The same as ``fit`` and ``transform``, except for target means of categories of many levels:
        those of a training row are computed from other rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_components)
        """
        X = self._fit_table(X, y, sample_weight)
        return self.map_.transform(X)

    def _fit_table(self, X, y, sample_weight) -> np.ndarray:
        """Fit, and return the encoded training rows."""
        surrogate, classifies = self._choose_surrogate(y)
        X, y = fit_table(
            self,
            X,
            y,
            classifies=classifies,
            dtype=[np.float64, np.float32],
            order="C",  # so that a DataFrame and an array give the same bits
            sample_weight=sample_weight,
            ensure_min_samples=2,
        )
        weights = None if sample_weight is None else check_sample_weight(sample_weight, X)
        classes, target = encode_classes(y) if classifies else (None, y)
        rng = check_random_state(self.random_state)
        fit_preconditioner(self, surrogate, X, target, classes, weights, random_state=rng)
        return X

    def _choose_surrogate(self, y):
        if self.surrogate is not None:
            return self.surrogate, is_classifier(thaw(self.surrogate))
        kind = "continuous" if y is None else type_of_target(np.asarray(y))
        classification = not kind.startswith("continuous")
        return default_surrogate(classification), classification

    def transform(self, X: Any) -> np.ndarray:
        """Map ``X`` to ``X H``, or to its projections on the leading eigenvectors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_components)
            float32 for float32 inputs.
        """
        check_is_fitted(self)
        X = read_table(self, X, dtype=[np.float64, np.float32], order="C")
        return self.map_.transform(X)

    def transform_batches(self, batches):
        """Map a table that does not fit into memory, batch by batch.

        Parameters
        ----------
        batches : iterable of array-like or DataFrame
            For example slices of an ``np.memmap``, or the batches of a parquet file.

        Yields
        ------
        ndarray of shape (n_rows, n_features_out)
            The mapped rows of each batch that has rows.
        """
        check_is_fitted(self)
        for batch in batches:
            if len(batch):
                yield self.transform(batch)

    def inverse_transform(self, X):
        """Invert ``transform`` if H is invertible (``gamma > 0``, no ``n_components``).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Mapped rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        if not self.table_.is_identity_:
            raise ValueError(
                "The table held categories or missing values: the map was applied to encoded "
                "columns, which cannot be decoded."
            )
        Z = np.asarray(X)
        Z = Z if Z.dtype == np.float32 else Z.astype(np.float64)
        if Z.ndim != 2 or Z.shape[1] != self._n_features_out:
            raise ValueError(
                f"X has shape {Z.shape}, but mapped rows have {self._n_features_out} columns."
            )
        return self.map_.inverse_transform(Z)

    @property
    def _n_features_out(self) -> int:
        return self.map_.matrix.shape[1]

    def _eigen(self):
        check_is_fitted(self, "ejop_")
        kept = getattr(self, "_spectrum", None)
        if kept is None or kept[0] is not self.ejop_:
            self._spectrum = kept = (self.ejop_, *ejop_spectrum(self.ejop_))
        return kept[1:]

    @property
    def eigenvalues_(self):
        """Eigenvalues of the EJOP, in descending order."""
        return self._eigen()[0]

    @property
    def eigenvectors_(self):
        """Eigenvectors of the EJOP as columns."""
        return self._eigen()[1]

    @property
    def feature_sensitivities_(self):
        """Root mean square difference quotient along each original column.

        ``sqrt(diag(EJOP))``, squares added over the encoded columns of an original column; per
        standard deviation of the column if ``standardize``.
        """
        check_is_fitted(self, "ejop_")
        squares = np.maximum(self.ejop_.diagonal(), 0.0)
        return np.sqrt(self.table_.per_column(squares))

    @property
    def mean_(self) -> np.ndarray:
        """The means that ``standardize`` subtracts."""
        return self.learned_.mean

    @property
    def scale_(self) -> np.ndarray:
        """The standard deviations that ``standardize`` divides by."""
        return self.learned_.scale

    @property
    def steps_(self) -> np.ndarray:
        """Distance between the two probes of each feature."""
        return self.learned_.steps

    @property
    def surrogate_(self):
        """The fitted surrogate."""
        if self.learned_.surrogate is None:
            raise AttributeError("A model that was loaded from a file has no surrogate_.")
        return self.learned_.surrogate

    @property
    def classes_(self) -> np.ndarray:
        """Class labels, in classification."""
        if self.learned_.classes is None:
            raise AttributeError("Only a preconditioner fitted on class labels has classes_.")
        return self.learned_.classes

    def __sklearn_tags__(self):
        tags = take_tables(super().__sklearn_tags__())
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
