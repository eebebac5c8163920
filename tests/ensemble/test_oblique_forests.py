"""Properties of all forests on the engine."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_friedman1,
)
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, cohen_kappa_score, mean_absolute_error, r2_score

from jarf.datasets import make_rotated_halfspace
from jarf.ensemble import (
    AxisForestClassifier,
    AxisForestRegressor,
    CanonicalCorrelationForestClassifier,
    CanonicalCorrelationForestRegressor,
    RotationForestClassifier,
    RotationForestRegressor,
    SPORFClassifier,
    SPORFRegressor,
)

CLASSIFIERS = [
    AxisForestClassifier,
    SPORFClassifier,
    CanonicalCorrelationForestClassifier,
    RotationForestClassifier,
]
REGRESSORS = [
    AxisForestRegressor,
    SPORFRegressor,
    CanonicalCorrelationForestRegressor,
    RotationForestRegressor,
]
IRIS, SPECIES = load_iris(return_X_y=True)
BODY, DISEASE = load_diabetes(return_X_y=True)
EVERY = [(cls, IRIS, SPECIES) for cls in CLASSIFIERS] + [(cls, BODY, DISEASE) for cls in REGRESSORS]
every = pytest.mark.parametrize(("cls", "X", "y"), EVERY)


def same_forests(a, b):
    for array in ("nodes", "roots", "loadings", "values", "weights", "gains"):
        np.testing.assert_array_equal(getattr(a.forest_, array), getattr(b.forest_, array))


@every
def test_same_bits_for_any_n_jobs(cls, X, y):
    one, two = (cls(12, random_state=3, n_jobs=n).fit(X, y) for n in (1, 3))
    same_forests(one, two)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    other = cls(12, random_state=4).fit(X, y)
    assert not np.array_equal(one.forest_.weights, other.forest_.weights)


@every
def test_warm_start_is_the_whole_forest(cls, X, y):
    whole = cls(9, random_state=0).fit(X, y)
    grown = cls(4, random_state=0, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=9).fit(X, y)
    same_forests(whole, grown)
    with pytest.warns(UserWarning, match="no new trees"):
        grown.fit(X, y)
    with pytest.raises(ValueError, match="less than the 9 trees"):
        grown.set_params(n_estimators=3).fit(X, y)


@every
def test_rows_of_weight_zero_are_not_there(cls, X, y):
    weights = np.ones(len(y))
    weights[::3] = 0
    kept = weights > 0
    weighted = cls(8, random_state=0).fit(X, y, sample_weight=weights)
    removed = cls(8, random_state=0).fit(X[kept], y[kept])
    np.testing.assert_array_equal(weighted.predict(X), removed.predict(X))
    with pytest.raises(ValueError, match="zero"):
        cls(2).fit(X, y, sample_weight=np.zeros(len(y)))


@every
def test_trees_without_bootstrap_fit_the_training_rows(cls, X, y):
    model = cls(3, bootstrap=False, random_state=0).fit(X, y)
    # Iris holds the same flower with one label twice, never with two labels.
    np.testing.assert_allclose(model.predict(X), y)


@every
def test_out_of_bag(cls, X, y):
    model = cls(80, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    assert model.oob_score_ < model.score(X, y)
    held_out = cls(80, bootstrap=True, random_state=0).fit(X[::2], y[::2])
    assert abs(model.oob_score_ - held_out.score(X[1::2], y[1::2])) < 0.12
    with pytest.raises(ValueError, match="bootstrap=True"):
        cls(3, bootstrap=False, oob_score=True).fit(X, y)
    with pytest.warns(UserWarning, match="Grow more trees"):
        cls(2, bootstrap=True, oob_score=True).fit(X, y)


def test_out_of_bag_details():
    model = AxisForestClassifier(60, oob_score=True, random_state=0).fit(IRIS, SPECIES)
    np.testing.assert_allclose(model.oob_decision_function_.sum(axis=1), 1.0)
    best = model.oob_decision_function_.argmax(axis=1)
    assert model.oob_score_ == accuracy_score(SPECIES, best)
    model = AxisForestRegressor(60, oob_score=mean_absolute_error, random_state=0)
    model.fit(BODY, DISEASE)
    assert model.oob_score_ == mean_absolute_error(DISEASE, model.oob_prediction_)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_halfspace(cls):
    bars = {AxisForestClassifier: 0.845}
    scores = []
    for seed in range(5):
        X, y = make_rotated_halfspace(2000, 10, angle=45, random_state=seed)
        Z, z = make_rotated_halfspace(20_000, 10, angle=45, random_state=100 + seed)
        scores.append(cohen_kappa_score(z, cls(n_jobs=2, random_state=0).fit(X, y).predict(Z)))
    assert np.mean(scores) >= bars.get(cls, 0.865)


def test_plain_axes_score_as_scikit_learns_forest():
    for load in (load_digits, load_breast_cancer):
        X, y = load(return_X_y=True)
        ours, theirs = (
            np.mean(
                [
                    cls(100, random_state=s).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
                    for s in range(3)
                ]
            )
            for cls in (AxisForestClassifier, RandomForestClassifier)
        )
        assert abs(ours - theirs) < 0.01
    X, y = make_friedman1(1500, random_state=0)
    ours, theirs = (
        r2_score(y[1::2], cls(100, random_state=0).fit(X[::2], y[::2]).predict(X[1::2]))
        for cls in (AxisForestRegressor, RandomForestRegressor)
    )
    assert abs(ours - theirs) < 0.01


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_class_weights_weigh(cls):
    X, y = make_rotated_halfspace(400, 4, angle=30, noise=2.0, random_state=0)
    shares = [
        (
            cls(30, random_state=0, class_weight=weight, min_samples_leaf=10).fit(X, y).predict(X)
            == 1
        ).mean()
        for weight in ({0: 5, 1: 1}, None, {0: 1, 1: 5})
    ]
    assert shares[0] < shares[1] < shares[2]
    balanced = cls(5, random_state=0, class_weight="balanced").fit(X, y)
    assert balanced.score(X, y) > 0.5


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_odd_tables(cls):
    rng = np.random.default_rng(0)
    small = {"n_estimators": 4, "random_state": 0}
    # more classes than anything, and fewer rows than classes in a bootstrap
    y = np.arange(2100) % 1000
    X = rng.standard_normal((2100, 3))
    assert cls(**small, bootstrap=False).fit(X, y).score(X, y) == 1.0
    assert cls(**small).fit(X, y).predict_proba(X[:2]).shape == (2, 1000)
    # wide
    X = rng.standard_normal((30, 10_000))
    y = (X[:, 5] > 0).astype(int)
    group = {"group_size": 3} if cls is RotationForestClassifier else {}
    assert cls(**small, **group, bootstrap=False).fit(X, y).score(X, y) == 1.0
    # constant columns, equal rows
    X = np.zeros((20, 5))
    model = cls(**small).fit(X, np.arange(20) % 2)
    assert np.ptp(model.predict_proba(X)) < 1
    X[:, 3] = np.arange(20)
    assert cls(**small, bootstrap=False).fit(X, np.arange(20) > 7).score(X, np.arange(20) > 7) == 1
    # one class, strings
    assert set(cls(**small).fit(X, ["a"] * 20).predict(X)) == {"a"}


@pytest.mark.parametrize("cls", REGRESSORS)
def test_odd_responses(cls):
    X = np.random.default_rng(0).standard_normal((50, 4))
    assert np.ptp(cls(4, random_state=0).fit(X, np.full(50, 3.0)).predict(X)) == 0
    far = cls(4, random_state=0, bootstrap=False).fit(X, 1e9 + X[:, 0])
    np.testing.assert_allclose(far.predict(X), 1e9 + X[:, 0], rtol=1e-15)


@every
def test_max_samples_and_fractions(cls, X, y):
    model = cls(5, bootstrap=True, max_samples=0.3, random_state=0).fit(X, y)
    roots = model.forest_.weights[model.forest_.roots]
    np.testing.assert_array_equal(roots, round(0.3 * len(y)))
    model = cls(5, bootstrap=True, max_samples=20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.forest_.weights[model.forest_.roots], 20)
    model = cls(5, min_samples_leaf=0.2, bootstrap=False, random_state=0).fit(X, y)
    leaves = model.forest_.is_leaf
    assert model.forest_.weights[leaves].min() >= 0.2 * len(y)
    model = cls(5, max_leaf_nodes=4, random_state=0).fit(X, y)
    assert model.forest_.is_leaf.sum() <= 20


@every
def test_wrong_parameters_are_named(cls, X, y):
    for wrong in ({"n_estimators": 0}, {"max_features": "cube"}, {"max_leaf_nodes": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            cls(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        cls().fit(np.full((5, 2), np.inf), y[:5])
    assert clone(cls(7, max_depth=3)).get_params()["max_depth"] == 3


def test_progress_is_shown_on_request(capsys):
    AxisForestClassifier(40, random_state=0, verbose=2).fit(IRIS, SPECIES)
    shown = capsys.readouterr().err
    assert shown.count("[AxisForestClassifier] 4 of 40 trees") == 1
    assert shown.count(" of 40 trees") == 10
    assert shown.count("[AxisForestClassifier] fit: ") == 1


def test_warm_start_wants_the_same_classes():
    model = AxisForestClassifier(2, warm_start=True, random_state=0).fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="same classes"):
        model.set_params(n_estimators=4).fit(IRIS, SPECIES % 2)
