"""The paper's simulated data: a rotated halfspace."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state


def make_rotated_halfspace(n_samples=2000, n_features=10, angle=45.0, noise=0.2, random_state=None):
    """Two classes on the sides of a noisy hyperplane, rotated away from the axes.

    ``x ~ N(0, I)`` and ``y = 1{cos(angle) x_1 + sin(angle) x_2 + eta >= 0}`` with
    ``eta ~ N(0, noise**2)``. No classifier's Cohen's kappa can exceed
    ``1 - 2 arctan(noise) / pi`` on average (0.874 for the paper's noise of 0.2).

    Parameters
    ----------
    n_samples : int, default=2000
    n_features : int, default=10
        At least 2.
    angle : float, default=45.0
        Angle between the normal and the first axis, in degrees.
    noise : float, default=0.2
        Standard deviation of eta.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        0 or 1.

    Examples
    --------
    >>> from jarf.datasets import make_rotated_halfspace
    >>> X, y = make_rotated_halfspace(100, 10, angle=30, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 10), [0, 1])
    """
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
    if n_features < 2:
        raise ValueError(f"n_features must be at least 2, got {n_features}.")
    if noise < 0:
        raise ValueError(f"noise must not be negative, got {noise}.")
    rng = check_random_state(random_state)
    X = rng.normal(size=(n_samples, n_features))
    margin = halfspace_margin(X, angle)
    return X, (margin + noise * rng.normal(size=n_samples) >= 0).astype(int)


def halfspace_margin(X, angle):
    """Signed distance of rows from the boundary of the rotated halfspace, without its noise.

    The best possible classifier predicts its sign.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    angle : float
        In degrees.

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.datasets import halfspace_margin
    >>> halfspace_margin(np.array([[1.0, 0.0], [0.0, 2.0]]), angle=90).round(6)
    array([0., 2.])
    """
    theta = np.deg2rad(angle)
    return np.cos(theta) * X[:, 0] + np.sin(theta) * X[:, 1]


def halfspace_bayes_kappa(noise=0.2):
    """Cohen's kappa of the best possible classifier on the rotated halfspace.

    Parameters
    ----------
    noise : float, default=0.2

    Returns
    -------
    float

    Examples
    --------
    >>> from jarf.datasets import halfspace_bayes_kappa
    >>> round(halfspace_bayes_kappa(0.2), 3)
    0.874
    """
    return float(1 - 2 * np.arctan(noise) / np.pi)
