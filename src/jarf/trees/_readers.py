"""Any fitted tree ensemble as a :class:`Forest`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jarf.trees._forest import Forest
from jarf.trees._read_lightgbm import is_lightgbm, read_lightgbm
from jarf.trees._read_sklearn import is_sklearn, read_sklearn
from jarf.trees._read_xgboost import is_xgboost, read_xgboost
from jarf.trees._unreadable import UnreadableTrees

READERS: list[tuple[Callable[[Any], bool], Callable[[Any], Forest]]] = [
    (is_sklearn, read_sklearn),
    (is_xgboost, read_xgboost),
    (is_lightgbm, read_lightgbm),
]


def read_trees(model: Any) -> Forest:
    """Read the trees of a fitted model.

    Parameters
    ----------
    model : estimator
        A forest of this library on plain numbers, a tree, a forest or gradient boosting of
        scikit-learn, XGBoost or LightGBM. Rows are assumed to have no missing values.

    Returns
    -------
    Forest
        Over the columns that the model was fitted on.

    Raises
    ------
    UnreadableTrees
        Where the model has no trees, or trees that are not understood.
    """
    own = getattr(model, "forest_", None)
    if isinstance(own, Forest):
        if not model.table_.is_identity_:
            raise UnreadableTrees(
                f"This {type(model).__name__} encodes categories or missing values first: its "
                "trees cut the encoded columns, not those of X."
            )
        return own
    for is_known, read in READERS:
        if is_known(model):
            return read(model)
    raise UnreadableTrees(
        f"The trees of {type(model).__name__} cannot be read. Readable: the forests of this "
        "library, trees, forests and gradient boosting of scikit-learn, XGBoost and LightGBM."
    )


def find_trees(model: Any) -> Forest | None:
    """Read the trees of a fitted model where that is possible, else return None."""
    try:
        return read_trees(model)
    except UnreadableTrees:
        return None
