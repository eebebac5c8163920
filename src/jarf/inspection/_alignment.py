"""Alignment of the cuts of a forest with the leading eigenspace of the EJOP."""

from __future__ import annotations

import numpy as np

from jarf.geometry import normals_alignment
from jarf.inspection._display import GREY, ORANGE, Display
from jarf.inspection._facts import facts_of
from jarf.inspection._trees import trees_of


class AlignmentDisplay(Display):
    """Share of the cuts' normals that lies in the span of the k leading EJOP eigenvectors.

    For a cut with unit normal n (columns in the EJOP's units, those that H mixes), ``s_k`` is
    ``||U_k' n||^2``; a direction drawn at random has ``k / d`` on average.

    Parameters
    ----------
    mean, q25, q75 : ndarray of shape (n_k,)
        Mean and quartiles of s_k over the cuts.
    n_features : int
        d, the number of columns that count.
    n_normals : int, default=0
    name : str, default="cuts"

    Attributes
    ----------
    random : ndarray of shape (n_k,)
        ``k / d``.
    ax_, figure_ : matplotlib objects

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from jarf import JacobianPreconditioner, SPORFClassifier
    >>> from jarf.datasets import make_rotated_halfspace
    >>> from jarf.inspection import AlignmentDisplay
    >>> X, y = make_rotated_halfspace(500, 4, angle=45, random_state=0)
    >>> forest = SPORFClassifier(20, random_state=0).fit(X, y)
    >>> ejop = JacobianPreconditioner(random_state=0).fit(X, y)
    >>> display = AlignmentDisplay.from_estimator(forest, preconditioner=ejop)
    >>> bool(display.mean[0] > display.random[0])
    True
    """

    def __init__(self, mean, q25, q75, *, n_features, n_normals=0, name="cuts"):
        self.mean, self.q25, self.q75 = mean, q25, q75
        self.n_features, self.n_normals, self.name = n_features, n_normals, name

    @property
    def random(self) -> np.ndarray:
        return np.arange(1, len(self.mean) + 1) / self.n_features

    @classmethod
    def from_estimator(
        cls, estimator, X=None, y=None, *, preconditioner=None, max_k=20, name=None, ax=None
    ):
        """Compare the cuts of a fitted model with an EJOP.

        Parameters
        ----------
        estimator : JARF, or an oblique or Jacobian forest
            JARF is compared with its own EJOP.
        X, y : default=None
            A forest is differentiated at 500 of these rows at most, if no preconditioner is given.
        preconditioner : JacobianPreconditioner or JARF, default=None
            Fitted on the same table: whose EJOP to compare with.
        max_k : int, default=20
        name : str, default=None
            For the legend; by default the class's name.
        ax : matplotlib axes, default=None

        Returns
        -------
        AlignmentDisplay
        """
        facts = facts_of(estimator, X, y, preconditioner)
        normals = trees_of(estimator).normals()
        scale = np.ones(normals.shape[1])
        scale[facts.mixed] = facts.scale
        curve = normals_alignment(normals, scale, facts.eigenvectors, facts.mixed, max_k)
        if len(curve) == 0:
            raise ValueError("The model has no cuts through columns that the EJOP mixes.")
        q25, q75 = np.quantile(curve, [0.25, 0.75], axis=0)
        display = cls(
            *(curve.mean(axis=0), q25, q75),
            n_features=len(facts.mixed),
            n_normals=len(curve),
            name=type(estimator).__name__ if name is None else name,
        )
        return display.plot(ax=ax)

    def plot(self, ax=None, *, color=ORANGE):
        """Draw the mean, the quartiles and the value of random directions.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Several forests may share one.
        color : str, default=orange

        Returns
        -------
        self
        """
        ax = self._start(ax)
        k = np.arange(1, len(self.mean) + 1)
        labels = ax.get_legend_handles_labels()[1]
        ax.plot(k, self.mean, "o-", markersize=3.5, color=color, label=self.name)
        ax.fill_between(k, self.q25, self.q75, color=color, alpha=0.15, linewidth=0)
        if "random directions: k / d" not in labels:
            ax.plot(k, self.random, "--", color=GREY, label="random directions: k / d")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="k leading EJOP directions", ylabel="$s_k$ of the cuts", ylim=(0, 1.03))
        ax.set_title("Alignment of cuts: mean and quartiles", fontsize="medium")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False, loc="lower right")
        return self
