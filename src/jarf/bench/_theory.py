"""Simulations in which the paper's proofs can be checked: known gradients, known subspaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from jarf.bench._baselines import forest
from jarf.bench._datasets import Dataset, Table
from jarf.bench._methods import Method, Setting

__all__ = [
    *("EJOP", "FUNCTIONS", "GAIN", "ORACLE", "RANK", "THEORY", "gain_name", "ridge_name"),
    *("split_gains", "theory_datasets"),
]

THEORY = "theory"
GAIN, EJOP, ORACLE = "CART gain", "EJOP", "RF on true subspace"
RANK = 2
DIMENSIONS = (10, 50, 200)
ROWS = (250, 500, 1000, 2000, 4000, 8000)
NOISE = 0.25
_D = 10  # columns of the functions of Proposition A.2
_NODES, _NODE_ROWS, _NODE_SD, _ROOT_ROWS = 40, 1000, 0.1, 20_000


# ---- Proposition A.2: gain of a split against w' H0 w


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-z))


# logit and its derivatives in the two coordinates z = U' x
FUNCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "linear": lambda a, b: (2 * a, np.column_stack([np.full_like(a, 2.0), np.zeros_like(b)])),
    "curved": lambda a, b: (
        2 * np.sin(a) + b,
        np.column_stack([2 * np.cos(a), np.ones_like(b)]),
    ),
    "even": lambda a, b: (2 * a**2 - 2, np.column_stack([4 * a, np.zeros_like(b)])),
    "product": lambda a, b: (3 * a * b, np.column_stack([3 * b, 3 * a])),
}


def gain_name(function: str) -> str:
    """The dataset of a function of Proposition A.2."""
    return f"gain-{function}"


@lru_cache(maxsize=8)
def subspace(d: int) -> np.ndarray:
    """The orthonormal directions U on which the simulated targets depend, as columns."""
    return np.linalg.qr(np.random.default_rng(d).normal(size=(d, RANK)))[0]


def _probability(function: str, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probability of class 1 at rows, and its gradients."""
    U = subspace(X.shape[1])
    logit, slopes = FUNCTIONS[function](*(X @ U).T)
    p = _sigmoid(logit)
    return p, ((p * (1 - p))[:, None] * slopes) @ U.T


def split_gains(X: np.ndarray, f: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Largest variance reduction of ``f`` by one cut along each column of ``W``.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    f : ndarray of shape (n,)
        Conditional means: the gain of squared-error CART without its noise.
    W : ndarray of shape (d, k)

    Returns
    -------
    gains : ndarray of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from jarf.bench._theory import split_gains
    >>> split_gains(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 0, 1, 1]), np.eye(1))
    array([0.25])
    """
    n = len(f)
    order = np.argsort(X @ W, axis=0)
    left = np.arange(1, n)[:, None]
    sums = np.cumsum(f[order] - f.mean(), axis=0)[:-1]
    return (sums**2 / (left * (n - left))).max(axis=0)


def _measure_gains(dataset: Dataset, setting: Setting) -> dict[str, Any]:
    """Gains of random directions, axes and eigenvectors of H0, at the root and in small nodes."""
    function = dataset.name.removeprefix(gain_name(""))
    rng = np.random.default_rng(setting.random_state)
    X = rng.normal(size=(_ROOT_ROWS, _D))
    f, gradients = _probability(function, X)
    leading = np.linalg.eigh(gradients.T @ gradients / len(X))[1][:, ::-1][:, :RANK]
    random = rng.normal(size=(_D, 50))
    W = np.hstack([leading, np.eye(_D), random / np.linalg.norm(random, axis=0)])
    slopes = ((gradients @ W) ** 2).mean(axis=0)
    root = split_gains(X, f, W)
    node = np.zeros(W.shape[1])
    for _ in range(_NODES):
        Z = rng.normal(size=_D) + _NODE_SD * rng.normal(size=(_NODE_ROWS, _D))
        node += split_gains(Z, _probability(function, Z)[0], W) / (_NODES * _NODE_SD**2)
    beaten = np.delete(root, range(RANK)) <= root[:RANK].max()
    return {
        "metrics": {
            "correlation_root": float(np.corrcoef(root, slopes)[0, 1]),
            "correlation_node": float(np.corrcoef(node, slopes)[0, 1]),
            "leading_ahead": float(beaten.mean()),
        },
        "extra": {
            "slopes": np.round(slopes, 6).tolist(),
            "root": np.round(root, 6).tolist(),
            "node": np.round(node, 6).tolist(),
            "n_leading": RANK,
        },
    }


# ---- Theorem 1: ridge functions of RANK directions in d columns


def ridge_name(d: int, n: int) -> str:
    """The dataset with d columns and n training rows."""
    return f"ridge-d{d}-n{n}"


def _ridge(d: int, n: int) -> Callable[[int, int, int], tuple[Table, Table]]:
    def draw(seed: int, n_train: int, n_test: int) -> tuple[Table, Table]:
        """Noisy training rows and test rows without noise, so that test errors are risks."""
        import pandas as pd

        rng = np.random.default_rng(seed)
        X = rng.uniform(-np.sqrt(3), np.sqrt(3), size=(n + n_test, d))  # of variance one
        a, b = (X @ subspace(d)).T
        y = 2 * np.sin(a) + np.abs(b - 0.5)
        y[:n] += NOISE * rng.normal(size=n)
        frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(d)])
        test = frame.iloc[n:].reset_index(drop=True)
        return Table(frame.iloc[:n], y[:n], "jarf.bench"), Table(test, y[n:], "jarf.bench")

    return draw


def _measure_subspace(dataset: Dataset, setting: Setting, **options: Any) -> dict[str, Any]:
    """Principal angles, in degrees, between the leading eigenvectors and the truth."""
    from jarf import JacobianPreconditioner

    assert dataset.draw is not None
    train, _ = dataset.draw(setting.random_state, 0, 0)
    model = JacobianPreconditioner(
        step_rule="mad", random_state=setting.random_state, n_jobs=setting.n_jobs, **options
    ).fit(train.X.to_numpy(), train.y)
    angles = subspace_angles(model.eigenvectors_[:, :RANK], subspace(train.X.shape[1]))
    angles = np.degrees(angles)
    return {"metrics": {"angle": float(angles.max()), "least_angle": float(angles.min())}}


def _oracle(setting: Setting) -> Any:
    project = FunctionTransformer(_on_subspace)
    return make_pipeline(project, forest(setting))


def _on_subspace(X: np.ndarray) -> np.ndarray:
    return X @ subspace(X.shape[1])


PROBES = (100, 300, 1000)


def theory_datasets() -> Iterator[Dataset]:
    """The entries of the registry."""
    for function in FUNCTIONS:
        yield Dataset(
            gain_name(function),
            "classification",
            n_features=_D,
            licence="simulated",
            note=f"class probabilities with known gradients, {function}",
            draw=_no_split,
            collection=THEORY,
        )
    for d in DIMENSIONS:
        for n in ROWS:
            yield Dataset(
                ridge_name(d, n),
                "regression",
                n_features=d,
                licence="simulated",
                note=f"function of {RANK} directions in {d} columns, {n} training rows",
                draw=_ridge(d, n),
                facts={"d": d, "n": n},
                collection=THEORY,
            )


def _no_split(seed: int, n_train: int, n_test: int) -> tuple[Table, Table]:
    raise ValueError(f"this dataset is measured by {GAIN!r} only, not split")


METHODS = (
    Method(
        GAIN,
        forest,
        measure=_measure_gains,
        tasks=("classification",),
        note="gains of single splits of functions with known gradients",
        collection=THEORY,
    ),
    Method(
        EJOP,
        forest,
        measure=_measure_subspace,
        variants={f"m = {m}": {"n_probes": m} for m in PROBES},
        tasks=("regression",),
        note="angle between the EJOP's leading eigenvectors and the true directions",
        collection=THEORY,
    ),
    Method(
        ORACLE,
        _oracle,
        tasks=("regression",),
        note=f"random forest on the {RANK} true directions: the limit of any projection",
        collection=THEORY,
    ),
)
