"""Rounds of boosting against the same steps written out."""

import math
from dataclasses import replace

import numpy as np
import pytest

from jarf import JacobianBoostingRegressor
from jarf.ensemble import CYCLES, Geometry
from jarf.ensemble._losses import classification_loss, regression_loss
from jarf.ensemble._rounds import (
    LearningRows,
    RoundRules,
    Rounds,
    Scored,
    fit_surrogates,
    rounded,
    surrogate_target,
)
from jarf.ensemble._sources import Table
from jarf.trees import Limits

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4)).astype(np.float32)
SCORE = (X[:, 0] + X[:, 1] * X[:, 2]).astype(float)
WEIGHTS = rng.integers(1, 3, 120).astype(float)
LIMITS = Limits(max_depth=3, min_samples_leaf=2, histogram_from=64)
SYMMETRIC = Limits(max_depth=3, symmetric=True)
FIXED = {"early_stopping": False, "random_state": 0}
RULES = RoundRules(0.3, LIMITS, SYMMETRIC, 1.0, 1.0, 1.0)


def start(name="linear", n_classes=0, loss=None, rules=RULES, scored=None, y=None):
    """A booster that has not begun; it holds out the first rows if asked to."""
    y = SCORE[:, None] if y is None else y
    target = surrogate_target(y, n_classes)
    table = Table.standardised(X, WEIGHTS, np.ones(4, bool))
    fitted = fit_surrogates([CYCLES[name]], table, target, 0, "test", 1)
    rows = LearningRows.prepare(X, y, WEIGHTS, np.ones(4, bool), fitted, target, 1)
    loss = regression_loss("squared_error", None, 1) if loss is None else loss
    held_out = Scored(X[:20].copy(), y[:20], WEIGHTS[:20]) if scored else None
    return Rounds(rows, loss, CYCLES[name], rules, 0, held_out)


@pytest.mark.parametrize("name", CYCLES)
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_sums_are_those_of_the_forest(name, share):
    run = start(name, rules=replace(RULES, subsample=share), scored=True)
    run.advance(30)
    forest = run.forest()
    assert forest.n_trees == run.n_rounds == 30
    assert not forest.averaged
    np.testing.assert_allclose(run.raw, forest.raw(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run.scored_raw, forest.raw(X[:20].copy()), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(run.raw_after(10), run.forest(10).raw(X[:20].copy()))
    assert len(run.scored_losses) == 31


def test_the_first_tree_holds_newton_steps():
    run = start("axes")
    run.advance(1)
    tree = run.forest()
    leaves = tree.apply(X)[:, 0]
    rest = WEIGHTS * (SCORE - np.average(SCORE, weights=WEIGHTS))
    for leaf in np.unique(leaves):
        inside = leaves == leaf
        step = 0.3 * rest[inside].sum() / (WEIGHTS[inside].sum() + 1.0)
        np.testing.assert_allclose(tree.leaf_values(leaf)[0], step, rtol=1e-10)


def test_the_training_loss_falls_with_every_round():
    for n_classes in (0, 2, 3):
        y = np.digitize(SCORE, [[0], [0], [-0.5, 0.5]][max(n_classes - 1, 0)])
        run = (
            start("mixed", n_classes, classification_loss(n_classes), y=y)
            if n_classes
            else start("mixed")
        )
        losses = [run.training_loss()]
        for _ in range(10):
            run.advance(1)
            losses.append(run.training_loss())
        assert (np.diff(losses) < 0).all()


def test_leaves_of_the_absolute_error_are_medians():
    run = start("axes", loss=regression_loss("absolute_error", None, 1))
    run.advance(1)
    tree = run.forest()
    leaves = tree.apply(X)[:, 0]
    rest = SCORE - run.base[0]
    for leaf in np.unique(leaves):
        inside = np.repeat(rest[leaves == leaf], WEIGHTS[leaves == leaf].astype(int))
        np.testing.assert_allclose(tree.leaf_values(leaf)[0], 0.3 * np.median(inside))


def test_going_on_repeats_the_bits_of_one_run():
    whole, first, second = start("mixed"), start("mixed"), start("mixed")
    whole.advance(12)
    first.advance(5)
    second.go_on(first.forest())
    second.advance(7)
    assert second.n_before == 5
    np.testing.assert_array_equal(second.raw, whole.raw)
    np.testing.assert_array_equal(second.forest().nodes, whole.forest().nodes)


def test_a_model_draws_from_its_own_gradients_later():
    run = start("recursive")
    run.advance(min(run._own_from))
    assert "own" not in run._gradients.arrays
    run.advance(1)
    assert "own" in run._gradients.arrays


def test_log_steps_are_bounded():
    y = np.where(np.arange(120) < 60, 1e-6, 1e6)[:, None]
    run = start("axes", loss=regression_loss("gamma", None, 1), y=y)
    run.advance(5)
    assert np.abs(run.forest().values).max() <= 0.3 * 5.0


def test_sums_of_rounded_values_do_not_depend_on_the_order():
    rng = np.random.default_rng(0)
    values = rng.lognormal(sigma=3.0, size=(5000, 1)) * rng.choice([-1, 1], size=(5000, 1))
    weights = rng.integers(1, 5, size=5000).astype(float)
    found = rounded(values, weights)
    np.testing.assert_allclose(found, values, atol=1e-14 * np.abs(values).sum())
    repeated = np.repeat(found[:, 0], weights.astype(int))
    sums = {float(np.cumsum(rng.permutation(repeated))[-1]) for _ in range(5)}
    assert sums == {math.fsum(weights * found[:, 0])}
    np.testing.assert_array_equal(rounded(0 * values, weights), 0 * values)


@pytest.mark.parametrize("name", ["mixed", "recursive", "focused"])
def test_large_tables_have_gradients_at_some_rows(name, monkeypatch):
    monkeypatch.setattr("jarf.ensemble._jacobian_growth.GRADIENT_ROWS", 50)
    run = start(name)
    assert run.rows.gradients.is_sampled
    run.advance(60)  # with "recursive", the model's own gradients at all rows join them
    assert run.training_loss() < start(name).training_loss()


def cuts_of(forest, tree):
    """The cuts of one tree, as often as they are used."""
    nodes = np.split(forest.nodes, forest.roots[1:])[tree]
    return nodes[nodes["feature"] != -1][["feature", "threshold"]]


def is_symmetric(forest, tree):
    """Whether a tree has many inner nodes and at most six different cuts."""
    cuts = cuts_of(forest, tree)
    return len(np.unique(cuts)) <= 6 < len(cuts)


def test_symmetric_trees_take_turns_with_ordinary_ones():
    model = JacobianBoostingRegressor(geometry="symmetric", max_iter=6, **FIXED).fit(X, SCORE)
    symmetric = [is_symmetric(model.forest_, tree) for tree in range(6)]
    assert symmetric == [True, False] * 3


@pytest.mark.parametrize(("limit", "most"), [({"max_leaf_nodes": 3}, 2), ({"max_depth": 1}, 1)])
def test_limits_hold_for_the_cuts_of_symmetric_trees(limit, most):
    model = JacobianBoostingRegressor(geometry="symmetric", max_iter=4, **limit, **FIXED)
    forest = model.fit(X, SCORE).forest_
    assert max(len(np.unique(cuts_of(forest, tree))) for tree in range(4)) <= most


def test_leaves_of_symmetric_trees_have_enough_rows():
    for least, asked in ((2, "auto"), (7, 7)):
        own = {"geometry": Geometry("own", symmetric=True), "subsample": 1.0}
        model = JacobianBoostingRegressor(min_samples_leaf=asked, max_iter=3, **own, **FIXED)
        leaves = model.fit(X, SCORE).apply(X)
        counts = [np.unique(column, return_counts=True)[1].min() for column in leaves.T]
        assert least <= min(counts) <= 2 * least


def test_constraints_leave_no_symmetric_trees():
    model = JacobianBoostingRegressor(
        geometry="symmetric", monotonic_cst=[1, 0, 0, 0], max_iter=10, **FIXED
    ).fit(X, SCORE)
    assert not any(is_symmetric(model.forest_, tree) for tree in range(10))


def test_a_geometry_with_directions_cannot_be_symmetric():
    with pytest.raises(ValueError, match="needs local=False and no sources"):
        Geometry("both", ("forest",), symmetric=True)
