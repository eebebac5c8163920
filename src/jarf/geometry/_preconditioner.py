"""The supervised transformer at the heart of the paper."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from jarf._progress import Stages
from jarf._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    is_classifier,
    type_of_target,
)
from jarf.geometry._differentiation import Differentiation
from jarf.geometry._learning import (
    check_fit,
    count_probes,
    only_rows,
    output_steps,
    read_classes,
)
from jarf.geometry._map import LinearMap
from jarf.geometry._wide import ejop_spectrum, mapping_matrix
from jarf.gradients import (
    EJOP,
    WideEJOP,
    choose_rows,
    column_mean,
    column_std,
    first_rows,
    learning_rows,
)
from jarf.surrogate import default_surrogate, fit_copy, is_frozen, thaw
from jarf.table import fit_table, read_table, take_tables


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
        regressor if it is continuous (:func:`sklearn.utils.multiclass.type_of_target` decides;
        hand in a regressor for a target of integers). A model that is already fitted is handed
        in as :class:`sklearn.frozen.FrozenEstimator` and not fitted again; it must have been
        fitted on the columns as they are, while a surrogate that is fitted here sees them
        standardised (if ``standardize``).
    surrogate_rows : int or None, default=50_000
        The surrogate, the columns' scales and ranges and the steps are learned from at most so
        many random rows (and one of every class); None: from all. Gradients are taken at rows of
        the whole table.
    n_probes : int or float, default=10_000
        How many training rows the surrogate is differentiated at: a number (at most all of
        them) or, as a float, a fraction of the rows.
    step : float, default=0.1
        Step alpha of the finite differences.
    step_rule : {"mad", "global"} or array-like of shape (n_features,), default="mad"
        Distance between the two probes of feature j: ``alpha * MAD_j / 0.6745`` (the standard
        deviation where the MAD is zero); one step for all features (alpha standard deviations
        if ``standardize``); or the steps themselves in the units of ``X``.
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
        Divide H by ``trace(H) / d``. Trees do not see it.
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
        Categories become one column a level up to 50 levels, cross-fitted target means beyond.
        "axes": they pass through the map unchanged, as booleans and the columns that hold
        missing numbers apart do. "toggle": columns of zeros and ones enter the EJOP, probed at 0
        and 1, and are mapped like numbers.
    n_jobs : int, default=None
        Threads for the surrogate (where it sets none itself) and for the gradients. The result
        does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the surrogate and the choice of probes.
    verbose : int, default=0
        Positive: show the stages and their times on stderr.

    Attributes
    ----------
    ejop_ : EJOP
        The estimate, in the coordinates of the map; ``np.asarray(ejop_)`` is its matrix. Here
        and below, where the table held categories or missing values, a "feature" is an output
        of ``table_``.
    preconditioner_ : ndarray of shape (n_features, n_features)
        H; the identity for what passes through. Above 5,000 features H is not formed: a
        :class:`jarf.geometry.LowRankPreconditioner` applies it through the EJOP's sparse factor.
    eigenvalues_, eigenvectors_ : ndarray
        Spectrum of the EJOP in falling order; eigenvectors are columns. Computed when first
        asked for. Above 5,000 features: the 50 leading ones.
    feature_sensitivities_ : ndarray of shape (n_features,)
        Root mean square derivative along each original column, per standard deviation of it if
        ``standardize``: ``sqrt(diag(EJOP))``, squares added over the outputs of a column.
    steps_ : ndarray of shape (n_features,)
        Distance between the two probes of each feature, in the units of ``X``.
    surrogate_ : estimator
        The fitted surrogate, in standardised columns if ``standardize`` and not frozen.
    classes_ : ndarray
        The classes, in classification only.
    mean_, scale_ : ndarray of shape (n_features,)
        What ``standardize`` subtracts and divides by (0 and 1 without it).
    table_ : TableEncoder
        How the columns became a float matrix, and which of its outputs belongs to which.
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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "surrogate": [HasMethods(["fit"]), None],
        "surrogate_rows": [Interval(Integral, 2, None, closed="left"), None],
        "n_probes": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        "step": [Interval(Real, 0, None, closed="neither")],
        "step_rule": [StrOptions({"mad", "global"}), "array-like"],
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
        surrogate=None,
        *,
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
    def fit_transform(self, X, y, sample_weight=None):
        """Fit, and map the training rows.

        The same as ``fit`` and ``transform``, but for target means of categories of many levels:
        those of a training row are made from other rows.

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
        return self._map.transform(X)

    def _fit_table(self, X, y, sample_weight) -> np.ndarray:
        """Fit, and return the encoded training rows."""
        X, y = fit_table(
            self,
            X,
            y,
            classifies=self._choose_surrogate(y)[1],
            dtype=[np.float64, np.float32],
            order="C",  # so that a DataFrame and an array give the same bits
            sample_weight=sample_weight,
            ensure_min_samples=2,
        )
        self._fit_matrix(X, y, sample_weight)
        return X

    def _fit_matrix(self, X, y, sample_weight=None, keep_gradients=False):
        """Fit on the float matrix that ``table_`` made."""
        kept = np.arange(len(X))
        weights = None if sample_weight is None else check_sample_weight(sample_weight, X)
        if weights is not None and not weights.all():  # a row of weight zero is no row
            kept = np.flatnonzero(weights)
            X, y, weights = X[kept], y[kept], weights[kept]
        rng = check_random_state(self.random_state)
        stages = Stages(type(self).__name__, self.verbose)
        surrogate, classification = self._choose_surrogate(y)
        always = (lambda: first_rows(y)) if classification else tuple
        learned = learning_rows(len(X), self.surrogate_rows, rng, always)
        self._learn(surrogate, rng, stages, *only_rows(learned, X, y, weights))
        with stages.stage("gradients"):
            n_probes = count_probes(self.n_probes, len(X), stages)
            probes = choose_rows(len(X), n_probes, rng)
            self._probe_rows = kept[probes]
            X, y, weights = only_rows(probes if len(probes) < len(X) else None, X, y, weights)
            self._estimate(
                self._differentiation().ejop(
                    X, self._labels(y), weights, keep=keep_gradients, n_jobs=self.n_jobs
                )
            )
        self.stage_times_ = stages.times
        return self

    def _learn(self, surrogate, rng, stages, X, y, weights) -> None:
        """Learn scales, range, steps and the surrogate: all but the EJOP."""
        self._moves = self.table_.is_number
        if self.categorical == "toggle":
            self._moves = self._moves | self.table_.is_level
        check_fit(self, surrogate, self._moves)
        classification = is_classifier(thaw(surrogate))
        if classification:
            self.classes_ = read_classes(y)
        self._coded = classification and not is_frozen(surrogate)
        self._standardise(X)
        self._scaled = self.standardize and not is_frozen(surrogate)
        self._range = X.min(axis=0), X.max(axis=0)
        with stages.stage("surrogate"):
            seen = LinearMap(self.mean_, self.scale_).transform(X) if self._scaled else X
            self.surrogate_ = fit_copy(
                surrogate,
                seen,
                self._labels(y),
                sample_weight=weights,
                random_state=rng,
                n_jobs=self.n_jobs,
            )
            self.steps_ = output_steps(
                X, self.table_, self._moves, self.step, self.step_rule, self.scale_
            )

    def _differentiation(self) -> Differentiation:
        """How the EJOP is taken from here on, wherever the rows are."""
        return Differentiation.of(
            self.surrogate_,
            standardise=LinearMap(self.mean_, self.scale_) if self._scaled else None,
            steps=self.steps_,
            low=self._range[0],
            high=self._range[1],
            scheme=self.scheme,
            boundary=self.boundary,
            outputs=self.outputs,
            moves=self._moves,
            toggled=self._moves & self.table_.is_level,
        )

    def _estimate(self, ejop: EJOP | WideEJOP) -> None:
        """Turn the summed outer products into H and the map."""
        self.ejop_ = ejop if self._scaled else ejop.rescaled(self.scale_)
        self._spectrum: Any = None
        self.preconditioner_ = mapping_matrix(self.ejop_, self._moves, self.gamma, self.normalize)
        self._map = self._map_of(self.ejop_, self.preconditioner_)
        self._n_features_out = self._map.matrix.shape[1]

    def _map_of(self, ejop: EJOP | WideEJOP, H=None) -> LinearMap:
        """The map of an estimate of the EJOP, whose ``H`` may be there already."""
        if H is None or self.n_components is not None:
            H = mapping_matrix(ejop, self._moves, self.gamma, self.normalize, self.n_components)
        return LinearMap(self.mean_, self.scale_, H)

    def _choose_surrogate(self, y):
        if self.surrogate is not None:
            return self.surrogate, is_classifier(thaw(self.surrogate))
        kind = "continuous" if y is None else type_of_target(np.asarray(y))
        classification = not kind.startswith("continuous")
        return default_surrogate(classification), classification

    def _labels(self, y) -> np.ndarray:
        """What the surrogate was given: codes 0..C-1, or labels and numbers as they are."""
        return np.searchsorted(self.classes_, y) if self._coded else y

    def _standardise(self, X):
        d = X.shape[1]
        self._std = column_std(X)
        if self.standardize:
            self.mean_ = np.where(self._moves, column_mean(X), 0.0)
            self.scale_ = np.where(self._moves & (self._std > 0), self._std, 1.0)
        else:
            self.mean_, self.scale_ = np.zeros(d), np.ones(d)

    def transform(self, X):
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
        return self._map.transform(X)

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
        """Undo ``transform`` where H is invertible (``gamma > 0``, no ``n_components``).

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
                "The table held categories or missing values: what the map was applied to is "
                "their encoding, which cannot be undone."
            )
        Z = np.asarray(X)
        Z = Z if Z.dtype == np.float32 else Z.astype(np.float64)
        if Z.ndim != 2 or Z.shape[1] != self._n_features_out:
            raise ValueError(
                f"X has shape {Z.shape}, but mapped rows have {self._n_features_out} columns."
            )
        return self._map.inverse_transform(Z)

    def _eigen(self):
        check_is_fitted(self, "ejop_")
        if self._spectrum is None:
            self._spectrum = ejop_spectrum(self.ejop_)
        return self._spectrum

    @property
    def eigenvalues_(self):
        """Eigenvalues of the EJOP, in falling order."""
        return self._eigen()[0]

    @property
    def eigenvectors_(self):
        """Eigenvectors of the EJOP as columns."""
        return self._eigen()[1]

    @property
    def feature_sensitivities_(self):
        """Root mean square derivative along each feature."""
        check_is_fitted(self, "ejop_")
        squares = np.maximum(self.ejop_.diagonal(), 0.0)
        return np.sqrt(self.table_.per_column(squares))

    def __sklearn_tags__(self):
        tags = take_tables(super().__sklearn_tags__())
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
