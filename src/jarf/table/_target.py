"""Class labels as codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf._sklearn import check_classification_targets


def encode_classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Number the classes of a target.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class labels.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The distinct labels in ascending order.
    codes : ndarray of shape (n_samples,)
        The place of each label in ``classes``.

    Examples
    --------
    >>> from jarf.table import encode_classes
    >>> encode_classes(["no", "yes", "no"])[1]
    array([0, 1, 0])
    """
    check_classification_targets(y)
    classes = np.unique(y)
    return classes, np.searchsorted(classes, y)
