"""What a fit needs before the EJOP: checks, classes, steps of the encoded columns, probes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from jarf._progress import Stages
from jarf._sklearn import check_classification_targets, is_classifier
from jarf.gradients import difference_steps
from jarf.surrogate import check_columns, check_surrogate, is_frozen, thaw
from jarf.table import TableEncoder


def check_fit(estimator: Any, surrogate: Any, moves: np.ndarray) -> None:
    """Refuse a surrogate or a number of components that do not go with the table."""
    check_surrogate(surrogate, is_classifier(thaw(surrogate)))
    if is_frozen(surrogate):
        names = getattr(estimator, "feature_names_in_", None)
        check_columns(surrogate, estimator.n_features_in_, names)
        if not estimator.table_.is_identity_:
            raise ValueError(
                "A frozen surrogate is differentiated in the columns it was fitted on, but "
                "categories and missing values of X are encoded first. Hand in a surrogate "
                "that is not fitted, or encode X before both."
            )
    n_moving, n_components = int(moves.sum()), estimator.n_components
    if n_components is not None and n_components > n_moving:
        raise ValueError(
            f"n_components={n_components} is more than the {n_moving} features of X that "
            "are mapped."
        )


def read_classes(y: np.ndarray) -> np.ndarray:
    """The classes of a target; one alone is refused."""
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"y holds only one class, {classes[0]!r}: class probabilities that never "
            "change have no Jacobian. At least two classes are needed."
        )
    return classes


def output_steps(X, table: TableEncoder, moves, step: float, rule, scale) -> np.ndarray:
    """Steps of the numeric outputs; a toggled one moves from end to end, others never."""
    if table.is_identity_:
        return difference_steps(X, step, rule, unit=scale)
    if not isinstance(rule, str):
        wanted = difference_steps(np.empty((0, len(table.fill_values_))), rule=rule)
        steps = table.per_output(wanted)
    else:
        number, steps = table.is_number, np.zeros(X.shape[1])
        steps[number] = difference_steps(X[:, number], step, rule, unit=scale[number])
    toggled = moves & table.is_level
    steps[toggled] = np.ptp(X[:, toggled], axis=0)
    return steps


def count_probes(n_probes: Any, n_rows: int, stages: Stages) -> int:
    """Resolve a number or a share of rows to a number of rows."""
    wanted = n_probes
    if isinstance(n_probes, Real) and not isinstance(n_probes, Integral):
        wanted = max(1, round(float(n_probes) * n_rows))
    if wanted > n_rows:
        stages.note(f"n_probes={n_probes} is more than the {n_rows} rows: all of them are probed")
    return min(n_rows, int(wanted))


def only_rows(rows: np.ndarray | None, *arrays):
    """Take some rows of arrays; None stands for all, and for an array that is not there."""
    if rows is None:
        return arrays
    return tuple(None if array is None else array[rows] for array in arrays)
