"""A training matrix that changes during ``fit`` causes an error, never a crash or a hang."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest

from jarf import JacobianBoostingRegressor, JacobianForestRegressor, JacobianKernelRegressor
from jarf.trees import (
    ClassTarget,
    Limits,
    NewtonTarget,
    ResponseTarget,
    TreePlan,
    grow_tree,
    grow_trees,
    make_columns,
)

kernels = pytest.importorskip("jarf._kernels")

N_ROWS = 300
RESPONSES = np.random.default_rng(1).normal(size=(N_ROWS, 2))
CHANGED = "training matrix changed while the tree grew"


def shared_matrix():
    """float32 in column order is not copied."""
    values = np.random.default_rng(0).integers(20, size=(N_ROWS, 3))
    return np.asfortranarray(values, dtype=np.float32)


def axes():
    return kernels.Axes(3, np.empty(0))


def tree_or_error(columns, target, seed):
    try:
        return grow_tree(columns, axes(), target, np.ones(N_ROWS), seed, Limits())
    except RuntimeError as error:
        return str(error)


TARGETS = {
    "gini": ClassTarget((RESPONSES[:, 0] > 0).astype(np.int32), 2),
    "entropy": ClassTarget((RESPONSES[:, 0] > 0).astype(np.int32), 2, "entropy"),
    "response": ResponseTarget(RESPONSES[:, 0]),
    "responses": ResponseTarget(RESPONSES),
    "newton": NewtonTarget(RESPONSES, np.ones_like(RESPONSES)),
}


@pytest.mark.parametrize("max_leaf_nodes", [None, 9])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_a_split_without_rows_on_one_side_is_an_error(target, max_leaf_nodes):
    X = shared_matrix()
    columns, weights = make_columns(X), np.ones(N_ROWS)
    limits = Limits(max_leaf_nodes=max_leaf_nodes)
    grow_tree(columns, axes(), target, weights, 0, limits)
    X[:] = 7
    with pytest.raises(RuntimeError, match=CHANGED):
        grow_tree(columns, axes(), target, weights, 0, limits)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38])
def test_other_numbers_than_were_checked_do_no_harm(number):
    X = shared_matrix()
    columns = make_columns(X)
    X[::2, 1] = number
    for seed in range(20):
        result = tree_or_error(columns, TARGETS["responses"], seed)
        assert CHANGED in result if isinstance(result, str) else np.isfinite(result.values).all()


def test_a_change_between_two_trees_stops_the_forest():
    X = shared_matrix()
    columns = make_columns(X)
    n_plans = 0

    def plan(seed):
        nonlocal n_plans
        n_plans += 1
        if n_plans == 3:
            X[:] = 0
        return TreePlan(columns, axes())

    with pytest.raises(RuntimeError, match=CHANGED):
        grow_trees(plan, TARGETS["gini"], np.ones(N_ROWS), np.arange(9), Limits(), n_jobs=1)
    assert n_plans == 3


def test_bins_of_a_matrix_that_changed_are_an_error():
    X = shared_matrix()
    arrays = {
        "codes": np.zeros((3, N_ROWS), np.uint8),
        "lowest": np.zeros((3, 256), np.float32),
        "highest": np.zeros((3, 256), np.float32),
        "n_bins": np.zeros(3, np.int32),
    }
    kernels.bin_columns(X.T, **arrays)
    X[0, 0] += 100
    with pytest.raises(ValueError, match="the training matrix changed"):
        kernels.TrainingColumns(X.T, **arrays)


@contextmanager
def rewritten(X):
    """Let another thread write other values to a matrix, again and again."""
    versions = [X.copy(), X[::-1].copy(), np.full_like(X, 3), np.full_like(X, np.nan)]
    done = threading.Event()

    def rewrite():
        while not done.is_set():
            for version in versions:
                X[:] = version

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        yield
    finally:
        done.set()
        writer.join()


def test_a_thread_that_writes_while_trees_grow():
    """Whatever the other thread does, every tree is grown or fails with the error."""
    X = shared_matrix()
    columns = make_columns(X)
    with rewritten(X):
        for seed in range(100):
            result = tree_or_error(columns, TARGETS["gini"], seed)
            assert CHANGED in result if isinstance(result, str) else len(result.nodes)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "model",
    [
        JacobianForestRegressor(5, n_jobs=1),
        JacobianBoostingRegressor(max_iter=20, n_jobs=1),
        JacobianBoostingRegressor(max_iter=20, monotonic_cst=[1, 0, -1], n_jobs=1),
        JacobianKernelRegressor(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_thread_that_writes_during_a_fit(model):
    """A fit ends with finite predictions or an error."""
    fresh = np.random.default_rng(2).normal(size=(20, 3))
    for seed in range(3):
        X = shared_matrix()
        with rewritten(X):
            try:
                model.set_params(random_state=seed).fit(X, RESPONSES[:, 0])
            except (ValueError, RuntimeError):
                continue
        assert np.isfinite(model.predict(fresh)).all()
