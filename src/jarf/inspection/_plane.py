"""Predictions in the plane of the two strongest EJOP directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.inspection._display import SERIES_COLOURS, Display
from jarf.inspection._facts import EJOPFacts, facts_of
from jarf.inspection._models import answers, check_model, encode

# If there are more rows than this, evenly spaced ones are drawn.
MAX_POINTS = 2000


class TopPlaneDisplay(Display):
    """Decision regions in the plane of the two strongest EJOP directions, with the data.

    The value at a point of the plane is the average prediction for some rows of the data, each
    moved within the plane to that point and unchanged otherwise (partial dependence).

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (grid_resolution, grid_resolution)
        Coordinates of the grid.
    response : ndarray of shape (grid_resolution, grid_resolution, n_outputs)
        Mean class probabilities, or mean prediction.
    points : ndarray of shape (n_points, 2)
        The data in the plane.
    y : ndarray of shape (n_points,), default=None
    classes : ndarray, default=None
        None in regression.
    labels : tuple of two str, default=("direction 1", "direction 2")

    Attributes
    ----------
    ax_, figure_ : matplotlib objects

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from jarf import JARFClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> from jarf.inspection import TopPlaneDisplay
    >>> X, y = make_rotated_halfspace(400, 4, angle=45, random_state=0)
    >>> model = JARFClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> display = TopPlaneDisplay.from_estimator(model, X, y, grid_resolution=20)
    >>> display.response.shape
    (20, 20, 2)
    """

    def __init__(
        self,
        xx0,
        xx1,
        response,
        points,
        *,
        y=None,
        classes=None,
        labels=("direction 1", "direction 2"),
    ):
        self.xx0, self.xx1, self.response = xx0, xx1, response
        self.points, self.y, self.classes, self.labels = points, y, classes, labels

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y=None,
        *,
        preconditioner=None,
        grid_resolution=60,
        n_averaged=30,
        ax=None,
        **kwargs,
    ):
        """Predict over a grid in the plane.

        Parameters
        ----------
        estimator : JARF, or an oblique or Jacobian forest
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows to draw and to average over.
        y : array-like of shape (n_samples,), default=None
        preconditioner : JacobianPreconditioner or JARF, default=None
            Whose EJOP spans the plane. By default the estimator's own; a forest, which has none,
            is differentiated at rows of X.
        grid_resolution : int, default=60
        n_averaged : int, default=30
            Rows to average predictions over at each point.
        ax : matplotlib axes, default=None
        **kwargs : dict
            Passed to ``plot``.

        Returns
        -------
        TopPlaneDisplay
        """
        check_model(estimator)
        facts = facts_of(estimator, X, y, preconditioner)
        if facts.eigenvectors.shape[1] < 2:
            raise ValueError("A plane needs at least two numeric columns.")
        matrix = encode(estimator, X).astype(np.float64)
        plane = facts.eigenvectors[:, :2]
        points = ((matrix[:, facts.mixed] - facts.mean) / facts.scale) @ plane
        grid = _grid(points, grid_resolution)
        few = _evenly(len(matrix), n_averaged)
        response = sum(
            answers(estimator, _moved(matrix[row], points[row], grid, plane, facts)) for row in few
        ) / len(few)
        drawn = _evenly(len(matrix), MAX_POINTS)
        shape = (grid_resolution, grid_resolution)
        display = cls(
            grid[:, 0].reshape(shape),
            grid[:, 1].reshape(shape),
            np.asarray(response).reshape(*shape, -1),
            points[drawn],
            y=None if y is None else np.asarray(y)[drawn],
            classes=getattr(estimator, "classes_", None),
            labels=(facts.direction_text(0), facts.direction_text(1)),
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, cmap="viridis", point_size=9):
        """Draw regions and data.

        Parameters
        ----------
        ax : matplotlib axes, default=None
        cmap : str, default="viridis"
            Colour map in regression.
        point_size : float, default=9

        Returns
        -------
        self
        """
        ax = self._start(ax, (6.4, 4.8))
        if self.classes is None:
            self._draw_surface(ax, cmap, point_size)
        else:
            self._draw_regions(ax, point_size)
        ax.set_xlabel(f"1: {self.labels[0]}", fontsize="small")
        ax.set_ylabel(f"2: {self.labels[1]}", fontsize="small")
        ax.set_title("Predictions in the plane of the two strongest directions", fontsize="medium")
        return self

    def _draw_surface(self, ax: Any, cmap: str, size: float) -> None:
        surface = ax.contourf(self.xx0, self.xx1, self.response[..., 0], levels=15, cmap=cmap)
        ax.figure.colorbar(surface, ax=ax, label="mean prediction")
        colour = {"c": "white"} if self.y is None else {"c": self.y, "cmap": cmap}
        if self.y is not None:
            colour |= {"vmin": surface.get_clim()[0], "vmax": surface.get_clim()[1]}
        ax.scatter(*self.points.T, s=size, edgecolors="white", linewidths=0.3, **colour)
        self._frame(ax)

    def _draw_regions(self, ax: Any, size: float) -> None:
        n = len(self.classes)
        colours = [SERIES_COLOURS[k % len(SERIES_COLOURS)] for k in range(n)]
        region = self.response.argmax(axis=2)
        levels = np.arange(n + 1) - 0.5
        ax.contourf(self.xx0, self.xx1, region, levels=levels, colors=colours, alpha=0.25)
        for k, label in enumerate(self.classes):
            kept = slice(None) if self.y is None else self.y == label
            if self.y is None and k:
                break
            ax.scatter(
                *self.points[kept].T,
                s=size,
                color="black" if self.y is None else colours[k],
                edgecolors="white",
                linewidths=0.3,
                label=None if self.y is None else str(label),
            )
        if self.y is not None and n <= len(SERIES_COLOURS):
            ax.legend(frameon=True, framealpha=0.8, fontsize="small")
        self._frame(ax)

    def _frame(self, ax: Any) -> None:
        ax.set_xlim(self.xx0.min(), self.xx0.max())
        ax.set_ylim(self.xx1.min(), self.xx1.max())


def _evenly(n: int, n_wanted: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, n_wanted)).astype(int))


def _grid(points: np.ndarray, resolution: int) -> np.ndarray:
    """Return points of a grid over all but the outermost data: (resolution^2, 2)."""
    low, high = np.quantile(points, [0.005, 0.995], axis=0)
    margin = 0.08 * np.where(high > low, high - low, 1.0)
    axes = [np.linspace(a, b, resolution) for a, b in zip(low - margin, high + margin, strict=True)]
    return np.stack([part.ravel() for part in np.meshgrid(*axes)], axis=1)


def _moved(row, point, grid, plane, facts: EJOPFacts) -> np.ndarray:
    """Return copies of a row, moved within the plane to every point of the grid."""
    rows = np.tile(row, (len(grid), 1))
    rows[:, facts.mixed] += ((grid - point) @ plane.T) * facts.scale
    return rows
