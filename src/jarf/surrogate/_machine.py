"""A kernel machine in its own EJOP metric that scales: a dense solve, or inducing rows.

Kernel ridge regression with a Laplace kernel or a smoother Matern kernel. The metric is replaced by
the mean outer product of the machine's gradients a few times, as in `_kernel.py`. Up to a bounded
number of rows every row is an anchor; with more rows, a random part of them is, and all rows decide
the coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from jarf._threads import one_blas_thread
from jarf.surrogate._kernel import cached_blocks, distances, metric_root, solve_positive

# Rows are compared with the anchors in blocks of this many.
BLOCK_ROWS = 1024
# The kernels, with the ridge of the machines that refine the metric. Their bandwidth is the median
# distance. "laplace" is exp(-r), "matern" is (1 + s) exp(-s) with s = sqrt(3) r (Matern 3/2).
REFINING_RIDGES = {"laplace": 1e-3, "matern": 1e-2}
# A solve over inducing rows costs at most this many rows times anchors squared.
MOST_WORK = 1e10
# The metric is refined on at most this many anchors.
REFINING_ROWS = 1500


@dataclass(frozen=True)
class Choice:
    """How a machine is fitted.

    Parameters
    ----------
    n_refinements : int
    bandwidth : float
        In multiples of the median distance.
    ridge : float
    kernel : {"laplace", "matern"}, default="laplace"
    sharpness : float, default=1.0
        Power of the weights that columns have before the metric is refined; they are part of the
        rows that a machine is given.
    n_columns : int or None, default=None
        Number of columns, the most sensitive ones; a machine is given only these. None: all.

    Examples
    --------
    >>> from jarf.surrogate import Choice
    >>> Choice(n_refinements=2, bandwidth=1.0, ridge=0.1).ridge
    0.1
    """

    n_refinements: int
    bandwidth: float
    ridge: float
    kernel: str = "laplace"
    sharpness: float = 1.0
    n_columns: int | None = None


@dataclass(frozen=True, eq=False)
class KernelMachine:
    """A fitted machine: ``f(z) = centre + sum_a coefficients_a k(|z root - anchor_a| / h)``.

    Parameters
    ----------
    anchors : ndarray of shape (n_anchors, n_directions)
        In the coordinates in which the metric is the identity.
    coefficients : ndarray of shape (n_anchors, n_outputs)
    centre : ndarray of shape (n_outputs,)
    root : ndarray of shape (n_columns, n_directions) or None
        None: the metric is the identity.
    bandwidth : float
        The number h.
    kernel : {"laplace", "matern"}, default="laplace"
        The function k.

    Examples
    --------
    >>> from jarf import JacobianKernelRegressor
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = JacobianKernelRegressor(random_state=0).fit(X, X[:, 0])
    >>> type(model.machine_).__name__
    'KernelMachine'
    """

    anchors: np.ndarray
    coefficients: np.ndarray
    centre: np.ndarray
    root: np.ndarray | None
    bandwidth: float
    kernel: str = "laplace"

    def predict(self, Z: np.ndarray) -> np.ndarray:
        """Predict at standardised rows: (n_rows, n_outputs)."""
        with one_blas_thread():
            return self.sums(Z) + self.centre

    def sums(self, Z: np.ndarray) -> np.ndarray:
        """Predict without the centre, and without setting the number of BLAS threads."""
        found = np.empty((len(Z), self.coefficients.shape[1]))
        for block, apart in _far_apart(self._seen(Z), self.anchors):
            found[block] = similarity(apart, self.bandwidth, self.kernel) @ self.coefficients
        return found

    def gradients(self, Z: np.ndarray, output: np.ndarray) -> np.ndarray:
        """Differentiate one output per row, in closed form: (n_rows, n_columns)."""
        seen, h = self._seen(Z), self.bandwidth
        slopes = np.empty(Z.shape)
        for block, apart in _far_apart(seen, self.anchors):
            pull = _pull(apart, h, self.kernel)
            for rows in cached_blocks(pull):
                pull[rows] *= self.coefficients.T[output[block][rows]]
            slope = pull @ self.anchors - pull.sum(axis=1)[:, None] * seen[block]
            slopes[block] = slope if self.root is None else slope @ self.root.T
        return slopes

    def widened(self, columns: np.ndarray, n_columns: int) -> KernelMachine:
        """Return the same machine for rows of ``n_columns`` columns, of which it uses some."""
        root = np.zeros((n_columns, self.anchors.shape[1]))
        root[columns] = np.eye(len(columns)) if self.root is None else self.root
        return replace(self, root=root)

    def _seen(self, Z: np.ndarray) -> np.ndarray:
        return Z if self.root is None else Z @ self.root


class Rows(NamedTuple):
    """Standardised rows with their outputs.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
    outputs : ndarray of shape (n_rows, n_outputs)
    observed : ndarray of shape (n_rows,)
        The output of each row that refines the metric: its class.
    weights : ndarray of shape (n_rows,)
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.surrogate import Rows
    >>> rows = Rows(np.zeros((3, 2)), np.ones((3, 1)), np.zeros(3, int), np.ones(3))
    >>> rows.outputs.shape
    (3, 1)
    """

    Z: np.ndarray
    outputs: np.ndarray
    observed: np.ndarray
    weights: np.ndarray

    def only(self, rows) -> Rows:
        return Rows(*(part[rows] for part in self))


def refined_roots(rows: Rows, n_refinements: int, kernel: str) -> Iterator[np.ndarray | None]:
    """Yield the root of the metric after 0, 1, ... refinements on these rows (dense solves)."""
    root = None
    yield root
    for _ in range(n_refinements):
        machine = solve(rows, root, 1.0, [REFINING_RIDGES[kernel]], kernel)[0]
        root = metric_root(machine.gradients(rows.Z, rows.observed))
        yield root


def solve(
    rows: Rows, root, bandwidth: float, ridges: list[float], kernel: str
) -> list[KernelMachine]:
    """Fit one machine per ridge with every row as an anchor."""
    seen = rows.Z if root is None else rows.Z @ root
    apart = distances(seen, seen)
    h = bandwidth * _typical(apart)
    alike = similarity(apart, h, kernel)
    centre = np.average(rows.outputs, axis=0, weights=rows.weights)
    noise = rows.weights.mean() / rows.weights
    machines = []
    for ridge in ridges:
        matrix = alike.copy() if len(ridges) > 1 else alike
        matrix[np.diag_indices(len(matrix))] += ridge * noise
        found = solve_positive(matrix, rows.outputs - centre)
        machines.append(KernelMachine(seen, found, centre, root, h, kernel))
    return machines


def solve_inducing(rows: Rows, anchors: np.ndarray, root, choice: Choice) -> KernelMachine:
    """Fit a machine carried by some rows (``anchors`` numbers them) to all rows."""
    seen = rows.Z if root is None else rows.Z @ root
    held = seen[anchors]
    inner = distances(held, held)
    h = choice.bandwidth * _typical(inner)
    centre = np.average(rows.outputs, axis=0, weights=rows.weights)
    roots = np.sqrt(rows.weights / rows.weights.mean())[:, None]
    gram = choice.ridge * similarity(inner, h, choice.kernel)
    gram[np.diag_indices(len(gram))] += 1e-9 * len(seen)
    right = np.zeros((len(anchors), rows.outputs.shape[1]))
    for block, apart in _far_apart(seen, held):
        alike = similarity(apart, h, choice.kernel)
        alike *= roots[block]
        gram += alike.T @ alike  # half the work: NumPy sees that the product is symmetric
        right += alike.T @ (roots[block] * (rows.outputs[block] - centre))
    found = solve_positive(gram, right)
    return KernelMachine(held, found, centre, root, h, choice.kernel)


def most_anchors(n_rows: int, n_anchors: int) -> int:
    """Return the number of anchors of a machine that is fitted to this many rows.

    Parameters
    ----------
    n_rows : int
    n_anchors : int
        Up to this many rows, all are anchors.

    Returns
    -------
    int

    Examples
    --------
    >>> from jarf.surrogate import most_anchors
    >>> most_anchors(2000, 3000), most_anchors(10_000, 3000)
    (2000, 1000)
    """
    if n_rows <= n_anchors:
        return n_rows
    return max(2, min(n_anchors, int(np.sqrt(MOST_WORK / n_rows))))


def fit_machine(rows: Rows, choice: Choice, n_anchors: int, rng) -> KernelMachine:
    """Fit a machine to any number of rows.

    Parameters
    ----------
    rows : Rows
    choice : Choice
    n_anchors : int
        Up to this many rows, all are anchors.
    rng : RandomState
        Draws anchors, and those that refine the metric.

    Returns
    -------
    KernelMachine
    """
    n = len(rows.Z)
    anchors = np.arange(n)
    if n > n_anchors:
        anchors = np.sort(rng.choice(n, most_anchors(n, n_anchors), replace=False))
    some = anchors
    if len(anchors) > REFINING_ROWS:
        some = np.sort(rng.choice(anchors, REFINING_ROWS, replace=False))
    with one_blas_thread():
        *_, root = refined_roots(rows.only(some), choice.n_refinements, choice.kernel)
        if len(anchors) < n:
            return solve_inducing(rows, anchors, root, choice)
        return solve(rows, root, choice.bandwidth, [choice.ridge], choice.kernel)[0]


def held_out_losses(
    learn: Rows, score: Rows, choices: list[Choice]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Fit the machines of all choices to some rows and predict others.

    Parameters
    ----------
    learn, score : Rows
    choices : list of Choice

    Returns
    -------
    losses : ndarray of shape (n_choices,)
        Weighted sums of squared errors at the scored rows.
    predictions : list of ndarray of shape (n_scored, n_outputs)
    """
    losses = np.full(len(choices), np.inf)
    predictions: list[np.ndarray] = [np.empty(0)] * len(choices)
    with one_blas_thread():
        for places, machines in _machines_of(learn, choices):
            # The kernel between learning and scored rows serves all ridges.
            every = np.hstack([machine.coefficients for machine in machines])
            found = replace(machines[0], coefficients=every).sums(score.Z)
            parts = np.split(found, len(places), axis=1)
            for i, part, machine in zip(places, parts, machines, strict=True):
                predictions[i] = part + machine.centre
                errors = ((predictions[i] - score.outputs) ** 2).sum(axis=1)
                losses[i] = score.weights @ errors
    return losses, predictions


def _machines_of(
    rows: Rows, choices: list[Choice]
) -> Iterator[tuple[list[int], list[KernelMachine]]]:
    """Yield the machines that share a kernel matrix, with the places of their choices."""
    for kernel in dict.fromkeys(choice.kernel for choice in choices):
        most = max(choice.n_refinements for choice in choices if choice.kernel == kernel)
        for step, root in enumerate(refined_roots(rows, most, kernel)):
            wanted = [
                i for i, c in enumerate(choices) if (c.kernel, c.n_refinements) == (kernel, step)
            ]
            for bandwidth in sorted({choices[i].bandwidth for i in wanted}):
                places = [i for i in wanted if choices[i].bandwidth == bandwidth]
                ridges = [choices[i].ridge for i in places]
                yield places, solve(rows, root, bandwidth, ridges, kernel)


def similarity(apart: np.ndarray, bandwidth: float, kernel: str) -> np.ndarray:
    """Return the kernel at these distances."""
    found = np.empty_like(apart)
    for rows in cached_blocks(apart):
        if kernel == "laplace":
            np.exp(apart[rows] / -bandwidth, out=found[rows])
            continue
        steps = apart[rows] * (np.sqrt(3.0) / bandwidth)
        np.exp(-steps, out=found[rows])
        steps += 1.0
        found[rows] *= steps
    return found


def _pull(apart: np.ndarray, bandwidth: float, kernel: str) -> np.ndarray:
    """Return the negative derivative of the kernel by the distance, divided by the distance."""
    pull = np.empty_like(apart)
    for rows in cached_blocks(apart):
        part = pull[rows]
        if kernel == "matern":
            np.exp(apart[rows] * (-np.sqrt(3.0) / bandwidth), out=part)
            part *= 3.0 / bandwidth**2
            continue
        least = 1e-6 * bandwidth
        np.exp(apart[rows] / -bandwidth, out=part)
        part /= np.maximum(apart[rows], least) * bandwidth
        part[apart[rows] < least] = 0.0  # an anchor does not pull at itself
    return pull


def _typical(apart: np.ndarray) -> float:
    """Return the median distance of some rows; 1 where all are identical."""
    sample = apart[:: max(1, len(apart) // 200)]
    return float(np.median(sample[sample > 0])) if (sample > 0).any() else 1.0


def _far_apart(seen: np.ndarray, anchors: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of rows with their distances to all anchors."""
    for start in range(0, len(seen), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        yield block, distances(seen[block], anchors)
