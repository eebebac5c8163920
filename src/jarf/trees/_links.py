"""Links: from the sum of a forest's trees to what the model predicts."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

LINKS = ("identity", "logit", "softmax", "log")


def apply_link(link: str, raw: np.ndarray) -> np.ndarray:
    """Turn raw sums into predictions.

    Parameters
    ----------
    link : {"identity", "logit", "softmax", "log"}
        The link of the model: ``raw = link(prediction)``.
    raw : ndarray of shape (n_rows, n_raw, ...)
        Sums of the trees, outputs along the second axis.

    Returns
    -------
    ndarray of shape (n_rows, n_outputs, ...)
        For "logit" the probabilities of both classes, else as many outputs as sums.
    """
    if link == "identity":
        return raw
    if link == "logit":
        second = expit(raw)
        return np.concatenate([1.0 - second, second], axis=1)
    if link == "softmax":
        return softmax(raw, axis=1)
    if link == "log":
        return np.exp(raw)
    raise ValueError(f"link must be one of {LINKS}, got {link!r}.")


def n_linked(link: str, n_raw: int) -> int:
    """Return the number of outputs behind a link."""
    return 2 * n_raw if link == "logit" else n_raw
