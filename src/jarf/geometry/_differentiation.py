"""The EJOP of some rows, wherever they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jarf.geometry._map import LinearMap
from jarf.gradients import EJOP, Differences, WideEJOP, gradient_blocks, sum_blocks
from jarf.surrogate import output_index, thaw
from jarf.trees import Forest, find_trees


@dataclass(frozen=True, eq=False)
class Differentiation:
    """A surrogate and how it is differentiated: everything needed for a block of rows.

    It does not depend on the rows, so the sums of blocks add up to the sum over all rows, and it is
    small enough to be sent to workers.

    Parameters
    ----------
    surrogate : estimator or PackedForest
        Packed where that is possible.
    classes_ : ndarray or None
        Labels in the order of the outputs of a packed classifier.
    standardise : LinearMap or None
        Applied to rows before the surrogate.
    differences : Differences
        In the surrogate's coordinates.
    outputs : {"observed", "all"}
    moves : ndarray of shape (n_features,) of bool
        Features that take part.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import JacobianPreconditioner
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = JacobianPreconditioner(random_state=0).fit(X, X[:, 0])
    >>> model.learned_.differentiation().ejop(X[:10], X[:10, 0]).n_probes
    10
    """

    surrogate: Any
    classes_: np.ndarray | None
    standardise: LinearMap | None
    differences: Differences
    outputs: str
    moves: np.ndarray

    @classmethod
    def of(
        cls, surrogate, *, standardise, steps, low, high, scheme, boundary, outputs, moves, toggled
    ) -> Differentiation:
        """Make one from steps and a range in the units of the rows."""
        if standardise is not None:
            steps = steps / standardise.scale
            low, high = standardise.transform(np.stack([low, high]))
        toggled = toggled if toggled.any() else None
        differences = Differences(steps, low, high, scheme, boundary, toggled)
        inner = thaw(surrogate)
        classes = getattr(inner, "classes_", None)
        model = find_trees(inner) or inner
        return cls(model, classes, standardise, differences, outputs, moves)

    def ejop(self, X, labels, weights=None, *, keep=False, n_jobs=None) -> EJOP | WideEJOP:
        """Sum the outer products over rows of the encoded table.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        labels : ndarray of shape (n_rows,)
            As passed to the surrogate.
        weights : ndarray of shape (n_rows,), default=None
        keep : bool, default=False
            Keep the gradients on the result.
        n_jobs : int, default=None

        Returns
        -------
        EJOP or WideEJOP
        """
        if self.standardise is not None:
            X = self.standardise.transform(X)
        packed = isinstance(self.surrogate, Forest)
        if packed and self.classes_ is not None and self.outputs == "observed":
            labels = output_index(self, labels)
        blocks = gradient_blocks(
            self.surrogate, X, labels, self.differences, outputs=self.outputs, n_jobs=n_jobs
        )
        if not self.moves.all():  # a surrogate with its own gradients returns all of them
            blocks = (block * self.moves for block in blocks)
        return sum_blocks(blocks, X.shape[1], weights, keep)
