"""Plots of the EJOP: its spectrum, its leading directions, the sensitivities of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.inspection._display import BLUE, GREY, ORANGE, SERIES_COLOURS, Display
from jarf.inspection._facts import EJOPFacts, facts_of, facts_of_ejop


class _EJOPDisplay(Display):
    """Display that is created from an estimator or from an EJOP."""

    @classmethod
    def _of(cls, facts: EJOPFacts) -> Any: ...

    plot: Any

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, preconditioner=None, ax=None, **kwargs):
        """Draw the EJOP that belongs to a fitted estimator.

        Parameters
        ----------
        estimator : JacobianPreconditioner, JARF, or an oblique or Jacobian forest
        X, y : default=None
            Needed only for a forest, which has no EJOP of its own: its predictions are
            differentiated at 500 of these rows at most, over steps of one robust standard
            deviation. Without ``y``, all classes are.
        preconditioner : JacobianPreconditioner or JARF, default=None
            Whose EJOP to draw instead.
        ax : matplotlib axes, default=None
        **kwargs : dict
            Passed to ``plot``.

        Returns
        -------
        display
        """
        return cls._of(facts_of(estimator, X, y, preconditioner)).plot(ax=ax, **kwargs)

    @classmethod
    def from_ejop(cls, ejop, *, feature_names=None, ax=None, **kwargs):
        """Draw a given EJOP.

        Parameters
        ----------
        ejop : EJOP or ndarray of shape (n_features, n_features)
        feature_names : list of str, default=None
        ax : matplotlib axes, default=None
        **kwargs : dict
            Passed to ``plot``.

        Returns
        -------
        display
        """
        return cls._of(facts_of_ejop(ejop, feature_names)).plot(ax=ax, **kwargs)


class EJOPSpectrumDisplay(_EJOPDisplay):
    """Eigenvalues of the EJOP: how many directions matter.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n_values,)
        In descending order.
    trace : float, default=None
        Sum of all eigenvalues, if not all are given.

    Attributes
    ----------
    shares : ndarray of shape (n_values,)
        Eigenvalues divided by their sum.
    effective_rank : float
        ``(sum of eigenvalues)^2 / sum of their squares``.
    ax_, figure_ : matplotlib objects

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.inspection import EJOPSpectrumDisplay
    >>> display = EJOPSpectrumDisplay(np.array([3.0, 1.0]))
    >>> display.shares
    array([0.75, 0.25])
    """

    def __init__(self, eigenvalues, *, trace=None):
        self.eigenvalues = np.asarray(eigenvalues, dtype=np.float64)
        self.trace = float(self.eigenvalues.sum() if trace is None else trace)

    @classmethod
    def _of(cls, facts: EJOPFacts):
        return cls(facts.eigenvalues, trace=facts.trace)

    @property
    def shares(self) -> np.ndarray:
        return self.eigenvalues / self.trace if self.trace > 0 else 0.0 * self.eigenvalues

    @property
    def effective_rank(self) -> float:
        squares = float(np.square(self.shares).sum())
        return 1.0 / squares if squares > 0 else 0.0

    def plot(self, ax=None, *, n_components=20):
        """Draw shares of eigenvalues as bars and their running sum as a line.

        Parameters
        ----------
        ax : matplotlib axes, default=None
        n_components : int, default=20
            Eigenvalues to show at most.

        Returns
        -------
        self
        """
        ax = self._start(ax)
        shown = self.shares[:n_components]
        k = np.arange(1, len(shown) + 1)
        ax.bar(k, shown, color=BLUE, label="share of the eigenvalue")
        ax.plot(k, np.cumsum(shown), "o-", color=ORANGE, markersize=3.5, label="of the first k")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="k-th direction", ylabel="share of the trace", ylim=(0, 1.05))
        ax.set_title(f"EJOP spectrum, effective rank {self.effective_rank:.1f}", fontsize="medium")
        ax.grid(axis="y", alpha=0.3)
        ax.legend(frameon=False, loc="center right")
        return self


class EJOPLoadingsDisplay(_EJOPDisplay):
    """Leading eigenvectors of the EJOP: which columns make up each direction.

    Loadings are for columns in standard deviations, unless the preconditioner was fitted with
    ``standardize=False``. Columns that H does not mix (categories) have none.

    Parameters
    ----------
    loadings : ndarray of shape (n_features, n_vectors)
    shares : ndarray of shape (n_vectors,)
        Of the trace.
    feature_names : ndarray of str

    Attributes
    ----------
    ax_, figure_ : matplotlib objects

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.inspection import EJOPLoadingsDisplay
    >>> display = EJOPLoadingsDisplay(np.eye(2), np.array([0.9, 0.1]), np.array(["a", "b"]))
    >>> display.strongest(1).tolist()
    [0]
    """

    def __init__(self, loadings, shares, feature_names):
        self.loadings = np.asarray(loadings, dtype=np.float64)
        self.shares = np.asarray(shares, dtype=np.float64)
        self.feature_names = np.asarray(feature_names, dtype=object)

    @classmethod
    def _of(cls, facts: EJOPFacts):
        shares = facts.eigenvalues / facts.trace if facts.trace > 0 else 0 * facts.eigenvalues
        return cls(facts.eigenvectors, shares, facts.names)

    def strongest(self, n_features: int, n_components: int | None = None) -> np.ndarray:
        """Columns with the largest loadings, each weighted by its direction's share."""
        shown = slice(n_components)
        size = np.square(self.loadings[:, shown]) @ self.shares[shown]
        return np.argsort(-size, kind="stable")[:n_features]

    def plot(self, ax=None, *, kind="heatmap", n_components=5, n_features=20):
        """Draw the loadings.

        Parameters
        ----------
        ax : matplotlib axes, default=None
        kind : {"heatmap", "bars"}, default="heatmap"
        n_components : int, default=5
            Directions to show at most; for bars, 3 are plenty.
        n_features : int, default=20
            Columns to show at most, the strongest first.

        Returns
        -------
        self
        """
        if kind not in ("heatmap", "bars"):
            raise ValueError(f"kind must be 'heatmap' or 'bars', got {kind!r}.")
        n_components = min(n_components, self.loadings.shape[1])
        places = self.strongest(n_features, n_components)
        labels = [f"{k + 1}\n({share:.0%})" for k, share in enumerate(self.shares[:n_components])]
        width = 2.5 + 0.9 * n_components if kind == "heatmap" else 6.0
        ax = self._start(ax, (width, 1.4 + 0.32 * len(places)))
        if kind == "heatmap":
            self._draw_heatmap(ax, places, labels)
        else:
            self._draw_bars(ax, places, labels)
        ax.set_yticks(range(len(places)), self.feature_names[places])
        ax.set_ylim(len(places) - 0.5, -0.5)
        ax.set_title("EJOP loadings", fontsize="medium")
        return self

    def _draw_heatmap(self, ax, places, labels) -> None:
        block = self.loadings[places, : len(labels)]
        image = ax.imshow(block, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        for (row, column), value in np.ndenumerate(block):
            colour = "white" if abs(value) > 0.6 else "black"
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, size=8)
        ax.set_xticks(range(len(labels)), labels)
        ax.set_xlabel("direction (share of the trace)")
        ax.figure.colorbar(image, ax=ax, label="loading")

    def _draw_bars(self, ax, places, labels) -> None:
        height = 0.8 / len(labels)
        for k, label in enumerate(labels):
            at = np.arange(len(places)) + (k - (len(labels) - 1) / 2) * height
            text = label.replace("\n", " ")
            colour = SERIES_COLOURS[k % len(SERIES_COLOURS)]
            ax.barh(at, self.loadings[places, k], height, color=colour, label=f"direction {text}")
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_xlabel("loading")
        ax.grid(axis="x", alpha=0.3)
        ax.legend(loc="lower right")


class SensitivityDisplay(_EJOPDisplay):
    """Sensitivity of the model's output to each original column.

    For a preconditioner, JARF or a given EJOP, this is the root mean square derivative,
    ``sqrt(diag(EJOP))``: a slope over the length of a step, per standard deviation of the column
    (unless the preconditioner was fitted with ``standardize=False``). The short steps of the
    paper's rule also measure the small jumps of a forest along columns of noise, and the standard
    deviation of a column with outliers is much larger than a step. To rank columns, use steps of
    one standard deviation: ``JacobianPreconditioner(step=1.0)``.

    For other models, it is the root mean square change over a step of one standard deviation: the
    robust one (1.48 times the median absolute deviation) if that is smaller. Where the next value
    of a column is further away, the step is longer and the change is scaled.

    Squares of the encoded columns of a column are added.

    Categories have no derivative. They are drawn without a bar, as "not differentiated", unless the
    preconditioner was fitted with ``categorical="toggle"``, which compares the model's output with
    and without each category of the columns that are one-hot encoded.

    Parameters
    ----------
    sensitivities : ndarray of shape (n_features,)
        NaN for columns that were not differentiated.
    feature_names : ndarray of str
    label : str, default="root mean square derivative"
        What the sensitivities measure: the label of the horizontal axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects

    Examples
    --------
    >>> import numpy as np
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from jarf.inspection import SensitivityDisplay
    >>> display = SensitivityDisplay.from_ejop(np.diag([4.0, 1.0]), feature_names=["a", "b"])
    >>> display.sensitivities
    array([2., 1.])
    """

    def __init__(self, sensitivities, feature_names, *, label="root mean square derivative"):
        self.label = label
        self.sensitivities = np.asarray(sensitivities, dtype=np.float64)
        self.feature_names = np.asarray(feature_names, dtype=object)

    @classmethod
    def _of(cls, facts: EJOPFacts):
        return cls(facts.sensitivities, facts.column_names, label=facts.sensitivity_label)

    def plot(self, ax=None, *, n_features=20):
        """Draw the largest sensitivities as bars, and columns without one last.

        Parameters
        ----------
        ax : matplotlib axes, default=None
        n_features : int, default=20

        Returns
        -------
        self
        """
        order = np.argsort(-self.sensitivities, kind="stable")[:n_features]
        ax = self._start(ax, (6.0, 1.2 + 0.28 * len(order)))
        shown = self.sensitivities[order]
        ax.barh(range(len(order)), np.nan_to_num(shown), color=BLUE)
        for place in np.flatnonzero(np.isnan(shown)):
            ax.text(
                0.01,
                place,
                "not differentiated",
                transform=ax.get_yaxis_transform(),
                va="center",
                color=GREY,
                fontsize="small",
                fontstyle="italic",
            )
        ax.set_yticks(range(len(order)), self.feature_names[order])
        ax.invert_yaxis()
        ax.set_xlabel(self.label)
        ax.set_title("Sensitivity of the columns", fontsize="medium")
        ax.grid(axis="x", alpha=0.3)
        return self
