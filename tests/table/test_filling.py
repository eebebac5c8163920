import numpy as np
import pytest

from jarf.table._filling import ForestFill, LinearFill, make_filling


def normal(n=4000, d=5, seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(d, d)) + 2 * np.eye(d)
    X = rng.normal(size=(n, d)) @ mixing.T + np.arange(d)
    return X, mixing @ mixing.T, rng


def test_conditional_means_of_a_normal_distribution():
    X, covariance, rng = normal()
    mean = np.arange(5.0)
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    filling = LinearFill(holes)
    row = X[:1].copy()
    row[0, [1, 3]] = np.nan
    there, gone = [0, 2, 4], [1, 3]
    exact = mean[gone] + covariance[np.ix_(gone, there)] @ np.linalg.solve(
        covariance[np.ix_(there, there)], row[0, there] - mean[there]
    )
    spread = np.sqrt(np.diag(covariance))[gone]
    assert np.all(np.abs(filling.fill(row)[0, gone] - exact) < 0.25 * spread)


def test_it_beats_the_median_and_keeps_known_values():
    X, _, rng = normal()
    gone = rng.random(X.shape) < 0.2
    holes = np.where(gone, np.nan, X)
    filled = LinearFill(holes).fill(holes)
    np.testing.assert_array_equal(filled[~gone], X[~gone])
    error = np.mean((filled - X)[gone] ** 2)
    assert error < 0.7 * np.mean((np.nanmedian(holes, axis=0) - X)[gone] ** 2)
    assert (filled >= np.nanmin(holes, axis=0)).all()
    assert (filled <= np.nanmax(holes, axis=0)).all()


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_extreme_units_constants_and_copies(unit):
    X, _, rng = normal(200, 3)
    X = np.column_stack([X[:, 0] * unit / 100, X[:, 1], X[:, 1], np.full(200, 7.0)])
    holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    filled = LinearFill(holes).fill(holes)
    assert np.isfinite(filled).all()
    np.testing.assert_allclose(filled[:, 3], 7.0)
    one = np.isnan(holes[:, 1]) & ~np.isnan(holes[:, 2])
    assert np.corrcoef(filled[one, 1], X[one, 1])[0, 1] > 0.95


def test_a_row_of_nothing_gets_the_means():
    X, _, _ = normal(500, 3)
    X[0] = np.nan
    filled = LinearFill(X).fill(X[:1])
    np.testing.assert_allclose(filled[0], np.nanmean(X, axis=0))


def test_forests_fill_nonlinear_columns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 3))
    X = np.column_stack([x, x[:, 0] ** 2, 1e300 * np.abs(x[:, 1])])
    gone = rng.random(X.shape) < 0.1
    holes = np.where(gone, np.nan, X)
    errors = [
        np.mean((fill(holes).fill(holes) - X)[gone[:, 3], 3] ** 2)
        for fill in (LinearFill, ForestFill)
    ]
    assert errors[1] < 0.5 * errors[0]
    new = np.array([[2.0, 1.0, np.nan, np.nan, np.nan]])
    filled = ForestFill(holes[:, :]).fill(new)[0]
    assert filled[:2].tolist() == [2.0, 1.0]
    assert 2.5 < filled[3] < 5.5
    assert 0.5e300 < filled[4] < 1.5e300


@pytest.mark.parametrize(
    ("shape", "holes", "kind"),
    [
        ((19, 3), True, type(None)),
        ((30, 1), True, type(None)),
        ((30, 501), True, type(None)),
        ((30, 51), True, LinearFill),
        ((30, 3), False, LinearFill),
        ((30, 3), True, ForestFill),
    ],
)
def test_which_filling(shape, holes, kind):
    V = np.random.default_rng(0).normal(size=shape)
    if holes:
        V[0, 0] = np.nan
    assert type(make_filling(lambda: V, *shape)) is kind
