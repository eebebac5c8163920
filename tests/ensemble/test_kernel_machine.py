"""The kernel machine as an estimator: dense, with inducing rows, with weights and categories."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from jarf import JacobianKernelClassifier, JacobianKernelRegressor
from jarf.export import load, save
from jarf.surrogate import Choice, Rows, fit_machine, held_out_losses

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
Y = np.sin(X[:, 0] + X[:, 1])
FIXED = {"n_refinements": 1, "bandwidth": 1.0, "ridge": 1e-3, "kernel": "laplace", "sharpness": 1.0}


def rows(n=300, weights=None, outputs=Y):
    weights = np.ones(n) if weights is None else weights
    return Rows(X[:n], outputs[:n, None], np.zeros(n, int), weights)


@parametrize_with_checks(
    [
        JacobianKernelClassifier(random_state=0, calibrate=False, **FIXED),
        JacobianKernelRegressor(random_state=0, calibrate=False, **FIXED),
    ],
    expected_failed_checks=lambda estimator: {
        f"check_sample_weight_equivalence_on_{kind}_data": "ridges are per mean weight"
        for kind in ("dense", "sparse")
    },
)
def test_estimator_contract(estimator, check):
    check(estimator)


def matern(distances):
    steps = np.sqrt(3) * distances
    return (1 + steps) * np.exp(-steps)


@pytest.mark.parametrize(
    ("name", "function"), [("laplace", lambda r: np.exp(-r)), ("matern", matern)]
)
def test_without_refinements_it_is_kernel_ridge_regression(name, function):
    machine = fit_machine(rows(), Choice(0, 1.0, 0.05, name), 1000, None)
    kernel = function(pairwise_distances(X) / machine.bandwidth)
    expected = KernelRidge(alpha=0.05, kernel="precomputed").fit(kernel, Y - Y.mean())
    np.testing.assert_allclose(machine.predict(X)[:, 0], expected.predict(kernel) + Y.mean())


def test_a_weight_counts_as_copies():
    weights = 1.0 + (np.arange(300) % 3 == 0)
    copies = np.repeat(np.arange(300), weights.astype(int))
    weighted = fit_machine(rows(weights=weights), Choice(0, 1.0, 0.1), 1000, None)
    copied = fit_machine(rows().only(copies), Choice(0, 1.0, 0.1 * weights.mean()), 1000, None)
    # The bandwidths differ a little: copies move the median distance.
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), atol=0.02)


def test_inducing_rows_come_near_the_dense_solution():
    choice = Choice(1, 1.0, 1e-2)
    dense = fit_machine(rows(), choice, 300, None).predict(X)
    errors = []
    for n_anchors in (20, 100, 250):
        machine = fit_machine(rows(), choice, n_anchors, np.random.RandomState(0))
        assert len(machine.anchors) == n_anchors
        errors.append(np.abs(machine.predict(X) - dense).mean())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.03


@pytest.mark.parametrize("kernel", ["laplace", "matern"])
def test_gradients_are_derivatives(kernel):
    machine = fit_machine(rows(200), Choice(1, 1.0, 1e-2, kernel), 1000, None)
    at, step = X[250:260], 1e-5
    found = machine.gradients(at, np.zeros(10, int))
    for j in range(5):
        move = step * np.eye(5)[j]
        expected = (machine.predict(at + move) - machine.predict(at - move))[:, 0] / (2 * step)
        np.testing.assert_allclose(found[:, j], expected, atol=1e-5)


def test_trials_predict_what_a_fit_on_the_learning_rows_predicts():
    learn, score = rows().only(slice(0, 200)), rows().only(slice(200, 300))
    choices = [
        Choice(s, w, r, k)
        for s in (0, 2)
        for w in (1.0, 2.0)
        for r in (1e-3, 1e-1)
        for k in ("laplace", "matern")
    ]
    losses, predictions = held_out_losses(learn, score, choices)
    for choice, loss, prediction in zip(choices, losses, predictions, strict=True):
        expected = fit_machine(learn, choice, 1000, None).predict(score.Z)
        np.testing.assert_allclose(prediction, expected, atol=1e-9)
        assert loss == pytest.approx(((expected - score.outputs) ** 2).sum())


def test_columns_are_weighed_and_the_metric_is_refined():
    """The forest finds the columns that matter, refinements the direction within them."""
    noise = np.hstack([X, rng.normal(size=(300, 20))])
    model = JacobianKernelRegressor(random_state=0).fit(noise[:200], Y[:200])
    plain = JacobianKernelRegressor(n_refinements=0, n_columns=None, random_state=0)
    plain.fit(noise[:200], Y[:200])
    assert model.choice_.n_refinements > 0
    assert plain.choice_.n_refinements == 0
    assert model.score(noise[200:], Y[200:]) > plain.score(noise[200:], Y[200:])
    assert plain.scale_[:2].max() < 0.5 * plain.scale_[2:].min()
    for fitted in (model, plain):
        assert fitted.score(noise[200:], Y[200:]) > 0.9
        assert fitted.feature_importances_.shape == (25,)
        assert fitted.feature_importances_[:2].sum() > 0.8


def test_sharp_weights_find_few_columns_among_many():
    wide = np.random.default_rng(1).normal(size=(500, 150))
    target = np.sin(wide[:, 0] + wide[:, 1]) + wide[:, 2] ** 2
    scores = {
        power: JacobianKernelRegressor(sharpness=power, n_columns=None, random_state=0)
        .fit(wide[:400], target[:400])
        .score(wide[400:], target[400:])
        for power in (0.0, 1.0, 3.0)
    }
    assert scores[0.0] < scores[1.0] < scores[3.0]


def test_few_columns_among_many_are_kept():
    wide = np.random.default_rng(1).normal(size=(500, 150))
    target = np.sin(wide[:, 0] + wide[:, 1]) + wide[:, 2] ** 2
    fitted = {
        kept: JacobianKernelRegressor(n_columns=kept, random_state=0).fit(wide[:400], target[:400])
        for kept in ("auto", None, 8, 16)
    }
    chosen = fitted["auto"].choice_.n_columns
    assert chosen in (8, 16)
    scores = {kept: model.score(wide[400:], target[400:]) for kept, model in fitted.items()}
    assert scores["auto"] == scores[chosen] > scores[None]
    assert scores[8] > scores[None]
    model = fitted[8]
    used = np.flatnonzero(model.feature_importances_)
    assert len(used) == 8
    assert {0, 1, 2} <= set(used)
    # Predictions depend on no other columns.
    other = np.random.default_rng(2).normal(size=wide.shape)
    other[:, used] = wide[:, used]
    np.testing.assert_array_equal(model.predict(other), model.predict(wide))


def test_the_choice_depends_on_the_number_of_columns():
    def starts(d, **given):
        choices = JacobianKernelRegressor(**given)._choices(d)
        return {(choice.sharpness, choice.n_columns) for choice in choices}

    assert starts(11) == {(1.0, None)}
    assert starts(12) == {(1.0, None), (3.0, None)}
    assert starts(24) == {(1.0, None), (1.0, 8), (1.0, 16)}
    assert starts(24, sharpness=2.0, n_columns=3) == {(2.0, 3)}


def test_too_few_rows_to_rank_columns_keep_all():
    model = JacobianKernelRegressor(n_columns=2, random_state=0).fit(X[:10], Y[:10])
    assert model.feature_importances_.all()


def test_noise_gets_the_largest_ridge():
    model = JacobianKernelRegressor(random_state=0).fit(X, rng.normal(size=300))
    assert model.choice_.ridge == 1.0


def test_classes_probabilities_and_sets():
    data, labels = load_wine(return_X_y=True)
    names = np.array(["red", "rose", "white"])[labels]
    model = JacobianKernelClassifier(random_state=0).fit(data[::2], names[::2])
    found = model.predict_proba(data[1::2])
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert model.score(data[1::2], names[1::2]) > 0.9
    assert model.calibration_.log_loss[1] <= model.calibration_.log_loss[0]
    sets = model.predict_set(data[1::2], 0.9)
    assert sets[np.arange(89), labels[1::2]].mean() > 0.85


def test_intervals():
    noisy = Y + 0.3 * rng.normal(size=300)
    model = JacobianKernelRegressor(random_state=0).fit(X[:200], noisy[:200])
    low, high = model.predict_interval(X[200:], 0.9).T
    assert 0.8 < np.mean((low <= noisy[200:]) & (noisy[200:] <= high)) <= 1


def test_categories_and_missing_values():
    frame = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "a", "b")})
    frame.loc[::7, "x"] = np.nan
    target = X[:, 0] + 2.0 * (X[:, 1] > 0)
    model = JacobianKernelRegressor(random_state=0).fit(frame[:200], target[:200])
    assert model.score(frame[200:], target[200:]) > 0.6
    assert len(model.feature_importances_) == 2


def test_few_rows_take_the_defaults():
    model = JacobianKernelRegressor(ridge=0.5, random_state=0).fit(X[:10], Y[:10])
    assert model.choice_ == Choice(2, 2.5, 0.5)
    with pytest.raises(ValueError, match="held no rows out"):
        model.predict_interval(X)


def test_the_same_seed_gives_the_same_bits_and_pickles():
    one = JacobianKernelRegressor(n_anchors=50, random_state=3).fit(X, Y)
    two = JacobianKernelRegressor(n_anchors=50, random_state=3).fit(X, Y)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(X), one.predict(X))


@pytest.mark.parametrize("cls", [JacobianKernelClassifier, JacobianKernelRegressor])
def test_files(cls, tmp_path):
    target = (Y > 0) if cls is JacobianKernelClassifier else Y
    model = cls(random_state=0).fit(X, target)
    save(model, tmp_path / "model")
    copy = load(tmp_path / "model")
    for method in ("predict", "predict_set", "predict_interval", "predict_proba"):
        if hasattr(model, method):
            expected = getattr(model, method)(X)
            np.testing.assert_array_equal(getattr(copy, method)(X), expected)
    assert copy.choice_ == model.choice_


@pytest.mark.parametrize("distance", [1e6, 1e8])
@pytest.mark.parametrize("kind", [JacobianKernelClassifier, JacobianKernelRegressor])
def test_rows_far_from_the_others_do_not_stop_a_fit(kind, distance):
    """Distances between them are inaccurate, so the kernel matrix is not positive definite."""
    far = X[:200].copy()
    far[:40] += distance
    target = Y[:200] if kind is JacobianKernelRegressor else Y[:200] > 0
    model = kind(random_state=0).fit(far, target)
    assert np.isfinite(model.predict(far)).all()
    if distance == 1e6:  # farther, differences between the other rows are lost to rounding
        assert model.score(far[40:], target[40:]) > 0.7
