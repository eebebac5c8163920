"""Jacobian forests of large tables: gradients at some rows, sums over blocks, memory freed."""

import gc

import numpy as np
import pytest

from jarf import JacobianForestClassifier
from jarf.datasets import make_rotated_halfspace
from jarf.ensemble import Geometry, GivenGradients
from jarf.ensemble._jacobian_growth import LEAST_LOADING, Gradients, gradient_rows
from jarf.ensemble._sources import ForestSource, Table, fit_sources, forest_sensitivities
from jarf.ensemble._tracks import Track
from jarf.trees import ClassTarget

X, y = make_rotated_halfspace(300, 4, angle=45, random_state=0)


def small(**params):
    return JacobianForestClassifier(**{"n_estimators": 10, "random_state": 0, **params})


def test_blocks_of_rows_change_no_gradient(monkeypatch):
    table, target = Table.standardised(X.astype(np.float32), np.ones(len(X))), ClassTarget(y, 2)
    fitted = fit_sources(["kernel"], table, target, 0, "part", 1)
    whole = Gradients.at(fitted, table, target, 1).arrays["kernel"][0]
    monkeypatch.setattr("jarf.ensemble._sources.BLOCK_ROWS", 70)
    monkeypatch.setattr("jarf.ensemble._jacobian_growth.BLOCK_ROWS", 70)
    parts = Gradients.at(fitted, table, target, 1).arrays["kernel"][0]
    np.testing.assert_allclose(parts, whole, rtol=1e-6)


def few_gradients(monkeypatch, n_rows):
    """Treat tables of more rows than this as large."""
    monkeypatch.setattr("jarf.ensemble._jacobian_growth.GRADIENT_ROWS", n_rows)


def test_large_tables_have_gradients_at_some_rows(monkeypatch):
    table, target = Table.standardised(X.astype(np.float32), np.ones(len(X))), ClassTarget(y, 2)
    fitted = fit_sources(["forest", "whitened"], table, target, 0, "part", 1)
    whole = Gradients.at(fitted, table, target, 1).arrays
    few_gradients(monkeypatch, 100)
    monkeypatch.setattr("jarf.ensemble._jacobian_growth.BLOCK_ROWS", 30)
    some = Gradients.sampled(fitted, table.only, table.weights, target, 1)
    assert some.is_sampled
    for number, name in enumerate(fitted):
        values, _, _, places = some.arrays[name]
        rows = gradient_rows(len(X), number)
        np.testing.assert_array_equal(np.flatnonzero(places >= 0), rows)
        assert len(values) == len(rows) == 100
        everywhere = whole[name][0][rows]
        ratio = np.linalg.norm(values) / np.linalg.norm(everywhere)  # scales are of all rows
        np.testing.assert_allclose(values[places[rows]], everywhere * ratio, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(gradient_rows(300, 0), gradient_rows(300, 1))


def test_gradients_are_at_all_rows_of_small_tables_and_a_share_of_large_ones():
    table, target = Table.standardised(X.astype(np.float32), np.ones(len(X))), ClassTarget(y, 2)
    fitted = fit_sources(["forest"], table, target, 0, "part", 1)
    assert not Gradients.sampled(fitted, table.only, table.weights, target, 1).is_sampled
    assert len(gradient_rows(20_000, 0)) == 8_000
    assert len(gradient_rows(80_000, 0)) == 10_000


@pytest.mark.parametrize("geometry", ["weighted", "smooth"])
def test_large_tables_give_the_same_bits_for_any_n_jobs(monkeypatch, geometry):
    few_gradients(monkeypatch, 50)
    models = [small(geometry=geometry, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)]
    one, two = (model.predict_proba(X) for model in models)
    np.testing.assert_array_equal(two, one)
    assert np.diff(models[0].split_normals().normals.indptr).max() > 1


def test_directions_of_large_tables_have_no_small_loadings(monkeypatch):
    def smallest(model):
        cuts = model.forest_.directions()[1].toarray() * model.feature_scales_
        sizes = np.abs(cuts[(cuts != 0).sum(axis=1) > 1])
        return min(row[row > 0].min() / row.max() for row in sizes)

    assert smallest(small(geometry="smooth").fit(X, y)) < LEAST_LOADING
    few_gradients(monkeypatch, 50)
    assert smallest(small(geometry="smooth").fit(X, y)) > 0.99 * LEAST_LOADING


def test_sensitivities_of_large_tables_are_those_of_a_sample(monkeypatch):
    table, target = Table.standardised(X.astype(np.float32), np.ones(len(X))), ClassTarget(y, 2)
    seen = []
    real = ForestSource.gradients

    def watched(self, table, target, n_jobs):
        seen.append(table.rows)
        return real(self, table, target, n_jobs)

    monkeypatch.setattr(ForestSource, "gradients", watched)
    whole = forest_sensitivities(table, target, np.random.RandomState(0), 1)
    monkeypatch.setattr("jarf.ensemble._sources.SENSITIVITY_ROWS", 100)
    part = forest_sensitivities(table, target, np.random.RandomState(0), 1)
    assert [len(rows) for rows in seen] == [300, 100]
    assert len(np.unique(np.diff(seen[1]))) > 1  # not evenly spaced: tables may be periodic
    np.testing.assert_allclose(part, whole, rtol=0.5)


def test_the_race_is_freed_before_the_final_surrogates(monkeypatch):
    def tracks():
        gc.collect()
        return [thing for thing in gc.get_objects() if type(thing) is Track]

    def watched(*args):
        alive.append(len(tracks()))
        return fit_sources(*args)

    alive, before = [], tracks()  # the list keeps those of other tests alive
    monkeypatch.setattr("jarf.ensemble._jacobian_base.fit_sources", watched)
    small(geometry=["sparse"]).fit(X, y)
    assert alive == [len(before)]


def test_given_gradients_of_large_tables_belong_to_their_rows(monkeypatch):
    few_gradients(monkeypatch, 50)
    slopes = np.zeros(X.shape)
    slopes[np.arange(len(X)), np.arange(len(X)) % 4] = 1.0  # row i points along column i % 4
    model = small(geometry=Geometry("given", (GivenGradients(slopes),)), calibrate=False)
    seen = []
    real = Gradients.sampled.__func__

    def watched(cls, *args):
        seen.append(real(cls, *args))
        return seen[-1]

    monkeypatch.setattr(Gradients, "sampled", classmethod(watched))
    model.fit(X, y)
    [(values, _, _, places)] = seen[-1].arrays.values()
    rows = np.flatnonzero(places >= 0)
    np.testing.assert_array_equal(np.abs(values[places[rows]]).argmax(axis=1), rows % 4)
