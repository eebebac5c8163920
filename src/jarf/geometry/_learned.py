"""The part of a preconditioner that is learned from a sample of rows before gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jarf._sklearn import is_classifier
from jarf.geometry._differentiation import Differentiation
from jarf.geometry._map import LinearMap
from jarf.geometry._wide import mapping_matrix
from jarf.gradients import EJOP, WideEJOP, column_mean, column_std, difference_steps
from jarf.surrogate import check_columns, check_surrogate, fit_copy, is_frozen, thaw
from jarf.table import TableEncoder


@dataclass(frozen=True, eq=False)
class Learned:
    """Scales, range, steps and surrogate: everything that gradients at any rows need.

    All arrays are of shape (n_features,), where the features are the columns of the encoded table.

    Parameters
    ----------
    mean, scale : ndarray
        What standardisation subtracts and divides by; 0 and 1 without it.
    std : ndarray
        Standard deviations.
    moves : ndarray of bool
        Features that are differentiated and mapped; the others pass through the map unchanged.
    toggled : ndarray of bool
        Features among them that are 0 or 1 and probed at both values.
    low, high : ndarray
        Smallest and largest values.
    steps : ndarray
        Distance between the two probes of each feature.
    standardised : bool
        Whether the surrogate sees standardised features. A frozen one never does.
    classes : ndarray of shape (n_classes,) or None
        Class labels; None in regression.
    coded : bool
        Whether the surrogate was fitted on codes 0..C-1 instead of labels.
    scheme, boundary, outputs : str
        How differences are taken; see :class:`JacobianPreconditioner`.
    surrogate : estimator, default=None
        Fitted. None in a model that was loaded from a file.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JacobianPreconditioner
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> learned = JacobianPreconditioner(random_state=0).fit(X, X[:, 0]).learned_
    >>> learned.steps.shape, bool(learned.moves.all())
    ((3,), True)
    """

    mean: np.ndarray
    scale: np.ndarray
    std: np.ndarray
    moves: np.ndarray
    toggled: np.ndarray
    low: np.ndarray
    high: np.ndarray
    steps: np.ndarray
    standardised: bool
    classes: np.ndarray | None
    coded: bool
    scheme: str
    boundary: str
    outputs: str
    surrogate: Any = None

    def labels(self, y: np.ndarray) -> np.ndarray:
        """Return the target as it was passed to the surrogate.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Class codes, or responses.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return y if self.coded or self.classes is None else self.classes[y]

    def differentiation(self) -> Differentiation:
        """Return what workers need to compute the EJOP of any rows."""
        return Differentiation.of(
            self.surrogate,
            standardise=LinearMap(self.mean, self.scale) if self.standardised else None,
            steps=self.steps,
            low=self.low,
            high=self.high,
            scheme=self.scheme,
            boundary=self.boundary,
            outputs=self.outputs,
            moves=self.moves,
            toggled=self.toggled,
        )

    def rescaled(self, ejop: EJOP | WideEJOP) -> EJOP | WideEJOP:
        """Convert an EJOP in the surrogate's coordinates to those of the map.

        Parameters
        ----------
        ejop : EJOP or WideEJOP
            From :meth:`differentiation`.

        Returns
        -------
        EJOP or WideEJOP
        """
        return ejop if self.standardised else ejop.rescaled(self.scale)

    def map(
        self, ejop: EJOP | WideEJOP, *, gamma: float, normalize: bool, n_components=None
    ) -> LinearMap:
        """Return the linear map of an estimate of the EJOP.

        Parameters
        ----------
        ejop : EJOP or WideEJOP
            In the coordinates of the map.
        gamma, normalize, n_components
            As in :class:`JacobianPreconditioner`.

        Returns
        -------
        LinearMap
        """
        H = mapping_matrix(ejop, self.moves, gamma, normalize, n_components)
        return LinearMap(self.mean, self.scale, H)


def learn(
    preconditioner: Any, surrogate: Any, X, y, classes=None, weights=None, *, random_state=None
) -> Learned:
    """Learn scales, range and steps, and fit the surrogate.

    Parameters
    ----------
    preconditioner : JacobianPreconditioner
        Its parameters are used, and ``table_`` with the names of the columns.
    surrogate : estimator
        Fitted here unless it is frozen.
    X : ndarray of shape (n_rows, n_features)
        Rows of the encoded table.
    y : ndarray of shape (n_rows,)
        Class codes, or responses.
    classes : ndarray of shape (n_classes,), default=None
        Class labels; None in regression.
    weights : ndarray of shape (n_rows,), default=None
    random_state : RandomState, default=None

    Returns
    -------
    Learned
    """
    table = preconditioner.table_
    toggled = table.is_level & (preconditioner.categorical == "toggle")
    moves = table.is_number | toggled
    _check(preconditioner, surrogate, moves, classes)
    frozen = is_frozen(surrogate)
    coded = not frozen and is_classifier(thaw(surrogate))
    std = column_std(X)
    mean, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if preconditioner.standardize:
        mean = np.where(moves, column_mean(X), 0.0)
        scale = np.where(moves & (std > 0), std, 1.0)
    standardised = preconditioner.standardize and not frozen
    fitted = fit_copy(
        surrogate,
        LinearMap(mean, scale).transform(X) if standardised else X,
        y if coded or classes is None else classes[y],
        sample_weight=weights,
        random_state=random_state,
        n_jobs=preconditioner.n_jobs,
    )
    return Learned(
        mean=mean,
        scale=scale,
        std=std,
        moves=moves,
        toggled=toggled,
        low=X.min(axis=0),
        high=X.max(axis=0),
        steps=_steps(X, table, toggled, preconditioner, scale),
        standardised=standardised,
        classes=classes,
        coded=coded,
        scheme=preconditioner.scheme,
        boundary=preconditioner.boundary,
        outputs=preconditioner.outputs,
        surrogate=fitted,
    )


def _check(preconditioner: Any, surrogate: Any, moves: np.ndarray, classes) -> None:
    """Reject a surrogate, classes or a number of components that do not fit the table."""
    check_surrogate(surrogate, is_classifier(thaw(surrogate)))
    if is_frozen(surrogate):
        names = getattr(preconditioner, "feature_names_in_", None)
        check_columns(surrogate, preconditioner.n_features_in_, names)
        if not preconditioner.table_.is_identity_:
            raise ValueError(
                "A frozen surrogate is differentiated in the columns it was fitted on, but "
                "categories and missing values of X are encoded first. Pass a surrogate "
                "that is not fitted, or encode X before both."
            )
    n_moving, n_components = int(moves.sum()), preconditioner.n_components
    if n_components is not None and n_components > n_moving:
        raise ValueError(
            f"n_components={n_components} is more than the {n_moving} features of X that "
            "are mapped."
        )
    if classes is not None and len(classes) < 2:
        raise ValueError(
            f"y holds only one class, {classes.tolist()[0]!r}: class probabilities that never "
            "change have no Jacobian. At least two classes are needed."
        )


def _steps(X, table: TableEncoder, toggled, preconditioner: Any, scale) -> np.ndarray:
    """Return steps: numeric columns by the rule, toggled ones the full range, others zero."""
    rule = preconditioner.step_rule

    def steps_of(columns, unit):
        return difference_steps(
            columns, preconditioner.step, rule, unit, scheme=preconditioner.scheme
        )

    if table.is_identity_:
        return steps_of(X, scale)
    if not isinstance(rule, str):
        wanted = difference_steps(np.empty((0, len(table.fill_values_))), rule=rule)
        steps = table.per_encoded(wanted)
    else:
        number, steps = table.is_number, np.zeros(X.shape[1])
        steps[number] = steps_of(X[:, number], scale[number])
    steps[toggled] = np.ptp(X[:, toggled], axis=0)
    return steps
