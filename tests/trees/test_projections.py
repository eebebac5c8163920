"""Values along directions: summed in double precision, rounded once to float32."""

import math

import numpy as np
import pytest

from jarf._native import engine
from jarf.trees import NODE, Forest, Limits, ResponseTarget, grow_tree, rotate_columns


def oblique_stump(loadings, threshold):
    """Return a tree of one cut; rows above the threshold answer 1, the others 0."""
    nodes = np.array([(-2, threshold, 1, 2), (-1, 0, 0, 0), (-1, 0, 1, 0)], NODE)
    stump = Forest.of_axes(nodes, [0], [[0.0], [1.0]], len(loadings))
    stump.starts = np.array([0, len(loadings)], np.int32)
    stump.features = np.arange(len(loadings), dtype=np.int32)
    stump.loadings = loadings
    return stump


def exact_sum(loadings, row):
    """Return the value of a row that is rounded once."""
    return np.float32(math.fsum(loadings.astype(float) * row.astype(float)))


def float_sum(loadings, row):
    """Return the value of a row that is rounded at every step."""
    total = np.float32(0)
    for term in loadings * row:
        total += term
    return total


@pytest.mark.parametrize("n_terms", [1, 2, 4, 7, 40])
def test_a_prediction_rounds_once(both_engines, n_terms):
    rng = np.random.default_rng(n_terms)
    rows = rng.normal(size=(50, n_terms)).astype(np.float32)
    rows[:, -1] -= 100 * rows[:, 0]  # digits cancel
    loadings = rng.uniform(1, 2, n_terms).astype(np.float32)
    values = [exact_sum(loadings, row) for row in rows]
    for row, value in zip(rows, values, strict=True):
        below = np.nextafter(value, np.float32(-np.inf))
        assert oblique_stump(loadings, value).predict(row[None]) == 0
        assert oblique_stump(loadings, below).predict(row[None]) == 1
    if n_terms > 1:
        assert any(float_sum(loadings, row) != exact_sum(loadings, row) for row in rows)


@pytest.mark.parametrize("n_terms", [2, 3, 4, 5, 8, 9, 41])
def test_a_grown_tree_cuts_between_values_that_are_rounded_once(both_engines, n_terms):
    rng = np.random.default_rng(n_terms)
    X = rng.normal(size=(200, n_terms)).astype(np.float32)
    loadings = rng.normal(size=n_terms).astype(np.float32)
    values = np.array([exact_sum(loadings, row) for row in X])
    low, high = np.sort(values)[99:101]
    rotation = np.array([0, n_terms], np.int32), np.arange(n_terms, dtype=np.int32), loadings
    tree = grow_tree(
        rotate_columns(X, rotation),
        engine().Axes(1, np.empty(0)),
        ResponseTarget((values > low).astype(float)),
        np.ones(len(X)),
        0,
        Limits(max_depth=1),
    )
    assert tree.nodes["threshold"][0] == np.float32(0.5 * float(low) + 0.5 * float(high))
