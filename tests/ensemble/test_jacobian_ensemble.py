"""The ensemble: weights from held-out rows, dropped members, consistent predictions."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from jarf import (
    JacobianBoostingRegressor,
    JacobianEnsembleClassifier,
    JacobianEnsembleRegressor,
    JacobianForestClassifier,
)
from jarf._progress import Stages
from jarf.ensemble import EnsembleReport
from jarf.ensemble._blending import greedy_weights, log_losses, squared_errors
from jarf.ensemble._ensemble_fit import Clock, Decision, blend
from jarf.ensemble._ensemble_members import (
    Member,
    Task,
    for_weight,
    lighter,
    make_members,
    with_fewer_trees,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))
Y = np.sin(X[:, 0] + X[:, 1]) + 0.2 * rng.normal(size=400)
LABELS = np.where(Y > 0, "up", "down")
QUICK = [("linear", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=4))]
QUICK_CLASSES = [("linear", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=4))]


STUMP, SMALL = DecisionTreeClassifier(max_depth=1), RandomForestRegressor(3)


@parametrize_with_checks(
    [
        JacobianEnsembleClassifier([QUICK_CLASSES[1], ("stump", STUMP)], random_state=0),
        JacobianEnsembleRegressor([QUICK[1], ("forest", SMALL)], random_state=0),
    ],
    expected_failed_checks=lambda estimator: {
        f"check_sample_weight_equivalence_on_{kind}_data": "copies of rows are held out together"
        for kind in ("dense", "sparse")
    },
)
def test_estimator_contract(estimator, check):
    check(estimator)


# --- weights ------------------------------------------------------------------------------------


def test_a_member_that_gains_nothing_weighs_nothing():
    truth = rng.normal(size=(1000, 1))
    good, bad = truth + 0.1, truth + rng.normal(size=(1000, 1))
    found = greedy_weights(np.stack([bad, good]), squared_errors(truth), np.ones(1000))
    np.testing.assert_array_equal(found, [0, 1])


def test_independent_errors_are_averaged():
    truth = rng.normal(size=(5000, 1))
    noise = [truth + scale * rng.normal(size=(5000, 1)) for scale in (1.0, 1.0, 2.0)]
    found = greedy_weights(np.stack(noise), squared_errors(truth), np.ones(5000))
    np.testing.assert_allclose(found, np.array([4, 4, 1]) / 9, atol=0.06)
    assert found.sum() == pytest.approx(1)


def test_the_best_step_is_kept():
    errors = np.array([[[2.0], [-1], [0]], [[-1.0], [2], [0]], [[-1.0], [-1], [0]]])
    found = greedy_weights(errors, squared_errors(np.zeros((3, 1))), np.ones(3))
    np.testing.assert_allclose(found, 1 / 3)  # their mean is zero; 40 steps are not three times n


def test_weights_of_rows_decide():
    observed = np.eye(2)[np.repeat([0, 1], 50)]
    sure_of_first, sure_of_second = np.tile([0.9, 0.1], (100, 1)), np.tile([0.1, 0.9], (100, 1))
    both = np.stack([sure_of_first, sure_of_second])
    heavy = np.repeat([100.0, 1.0], 50)
    assert greedy_weights(both, log_losses(observed), heavy)[0] == 1
    assert greedy_weights(both, log_losses(observed), heavy[::-1])[1] == 1


def test_blend_is_the_mean_and_the_spread_around_it():
    mean, spread = blend(
        [np.array([[0.0]]), np.array([[4.0]])], [np.array([[2.0]]), None], [0.75, 0.25]
    )
    assert mean == 1
    assert spread == pytest.approx(np.sqrt(0.75 * (1 + 4) + 0.25 * 9))


# --- the estimators -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    members = ["forest", "kernel", ("mean", DummyRegressor())]
    return JacobianEnsembleRegressor(members, random_state=0, n_jobs=1).fit(X[:250], Y[:250])


def test_members_weights_and_report(fitted):
    assert set(fitted.weights_) == {"forest", "kernel", "mean"}
    assert fitted.weights_["mean"] == 0
    assert set(fitted.members_) == {name for name, w in fitted.weights_.items() if w > 0}
    assert sum(fitted.weights_.values()) == pytest.approx(1)
    losses = {row["member"]: row["loss"] for row in fitted.report_.rows}
    assert losses["mean"] == pytest.approx(np.var(Y[:250]), rel=0.05)
    assert fitted.report_.loss <= min(losses.values()) + 1e-12
    assert fitted.report_.n_rows == 250
    text = str(fitted.report_)
    assert "gains nothing: not kept" in text
    assert "<table>" in fitted.report_._repr_html_()
    assert set(fitted.stage_times_) == {"forest", "kernel", "mean"}


def test_the_prediction_is_the_weighted_mean(fitted):
    expected = sum(fitted.weights_[n] * m.predict(X) for n, m in fitted.members_.items())
    np.testing.assert_allclose(fitted.predict(X), expected)
    assert fitted.score(X[250:], Y[250:]) > 0.8


def test_intervals_of_the_ensemble(fitted):
    low, high = fitted.predict_interval(X[250:], 0.9).T
    assert 0.8 < np.mean((low <= Y[250:]) & (Y[250:] <= high)) <= 1
    assert (fitted.predict_quantiles(X, 0.2) < fitted.predict_quantiles(X, 0.8)).all()


def test_importances_are_those_of_the_original_columns(fitted):
    found = fitted.feature_importances_
    assert found.sum() == pytest.approx(1)
    assert found[:2].sum() > 0.8
    linear = JacobianEnsembleRegressor([("line", LinearRegression())]).fit(X, Y)
    with pytest.raises(AttributeError, match="'line', LinearRegression"):
        _ = linear.feature_importances_


def test_named_members_are_fitted_with_what_they_need():
    model = JacobianEnsembleClassifier(random_state=0, n_jobs=1).fit(X[:120], LABELS[:120])
    assert list(model.weights_) == ["forest", "boosting", "kernel"]
    assert model.classes_.tolist() == ["down", "up"]
    probabilities = model.predict_proba(X[120:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert model.score(X[120:], LABELS[120:]) > 0.8
    assert model.predict_set(X, 0.9).any(axis=1).all()
    for member in model.members_.values():
        assert member.calibration_.n_rows == 120  # fitted on the held-out rows of the ensemble


def test_members_are_scored_on_the_rows_that_boosting_held_out():
    boosting = JacobianBoostingRegressor(max_iter=30, random_state=0)
    members = make_members([("line", Ridge()), ("boosting", boosting)], False, 300, "from_dtype")
    own = [(np.arange(150), np.arange(150, 300))]
    decision = Decision(members, Task(X[:300], Y[:300], None, 0), own, 3, 1, Clock(None))
    decision.run(Stages("test"), True)
    line, boosted = members
    folds = boosted.fitted.validation_rows_
    assert sorted(np.concatenate(folds)) == list(range(300))
    for (learn, score), fold in zip(decision.splits, folds, strict=True):
        np.testing.assert_array_equal(score, fold)
        assert sorted([*learn, *score]) == list(range(300))
    np.testing.assert_array_equal(boosted.means, boosted.fitted.validation_predictions_)
    learn, score = decision.splits[0]
    expected = Ridge().fit(X[learn], Y[learn]).predict(X[score])
    np.testing.assert_allclose(line.means[: len(score), 0], expected)


def test_calibration_can_be_left_out():
    members = [*QUICK_CLASSES]
    model = JacobianEnsembleClassifier(members, calibrate=False, random_state=0).fit(X, LABELS)
    assert "calibrate=False" in str(model.calibration_)
    expected = sum(w * model.members_[n].predict_proba(X) for n, w in model.weights_.items() if w)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    with pytest.raises(ValueError, match="calibrate=False"):
        model.predict_set(X)


def test_a_class_that_a_fold_lacks_keeps_its_column():
    labels = np.repeat(["a", "b", "c"], [200, 199, 1])
    model = JacobianEnsembleClassifier(QUICK_CLASSES, random_state=0).fit(X, labels)
    assert model.predict_proba(X).shape == (400, 3)


def test_frames_with_text_reach_the_members():
    frame = pd.DataFrame({"x": X[:, 0], "side": np.where(X[:, 1] > 0, "left", "right")})
    target = X[:, 0] + (X[:, 1] > 0)
    model = JacobianEnsembleRegressor(["kernel"], random_state=0).fit(frame[:300], target[:300])
    assert model.score(frame[300:], target[300:]) > 0.8
    assert model.feature_names_in_.tolist() == ["x", "side"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["side", "x"]])


def test_rows_of_weight_zero_are_ignored():
    weights = np.repeat([2.0, 0.0], 200)
    one = JacobianEnsembleRegressor(QUICK, random_state=0).fit(X, Y, weights)
    two = JacobianEnsembleRegressor(QUICK, random_state=0).fit(X[:200], Y[:200], weights[:200])
    np.testing.assert_allclose(one.predict(X), two.predict(X))
    with pytest.raises(ValueError, match="zero"):
        one.fit(X, Y, 0 * weights)


def test_a_member_that_takes_no_weights_is_named():
    members = [*QUICK, ("near", KNeighborsRegressor())]
    with pytest.raises(ValueError, match="member 'near' KNeighborsRegressor does not take it"):
        JacobianEnsembleRegressor(members).fit(X, Y, np.ones(400))


def test_few_rows_are_averaged_without_scores():
    model = JacobianEnsembleRegressor(QUICK, random_state=0).fit(X[:15], Y[:15])
    assert model.weights_ == {"linear": 0.5, "tree": 0.5}
    assert "No rows were held out" in str(model.report_)
    with pytest.raises(ValueError, match="held no rows out"):
        model.predict_interval(X)


def test_same_seed_same_bits_pickles_and_clones():
    members = ["kernel", ("trees", RandomForestRegressor(5))]
    one = JacobianEnsembleRegressor(members, random_state=1).fit(X, Y)
    two = clone(one).fit(X, Y)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(X), one.predict(X))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (["forrest"], "members holds 'forrest'; a member is one of the names forest, boosting"),
        ([], "members is empty"),
        (["kernel", "kernel"], "two members are called 'kernel'"),
        ([("a", RidgeClassifier())], "'a', RidgeClassifier, is not a regressor"),
        ([("a", object())], "'a', object, is not a regressor"),
        ([Ridge()], "members holds Ridge"),
    ],
)
def test_invalid_members_are_refused(members, message):
    with pytest.raises(ValueError, match=message):
        JacobianEnsembleRegressor(members).fit(X, Y)


def test_a_classifier_without_probabilities_is_refused():
    with pytest.raises(ValueError, match="'line', RidgeClassifier, has no predict_proba"):
        JacobianEnsembleClassifier([("line", RidgeClassifier())]).fit(X, LABELS)


# --- bounded costs ------------------------------------------------------------------------------


class Ticking(RegressorMixin, BaseEstimator):
    """A regressor whose fit takes a number of seconds per row on a clock that tests hold."""

    now = 0.0

    def __init__(self, seconds=0.0, shift=0.0):
        self.seconds, self.shift = seconds, shift

    def fit(self, X, y):
        Ticking.now += self.seconds * len(X)
        self.mean_ = float(np.mean(y)) + self.shift
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def decide(members, limit, monkeypatch, n=400):
    monkeypatch.setattr(Ticking, "now", 0.0)
    monkeypatch.setattr("time.perf_counter", lambda: Ticking.now)
    made = make_members(members, False, n, "from_dtype")
    task = Task(np.resize(X, (n, 4)), np.resize(Y, n), None, 0)
    half = np.arange(n) % 2 == 0
    splits = [(np.flatnonzero(half), np.flatnonzero(~half))]
    decision = Decision(made, task, splits, 0, None, Clock(limit, lambda: Ticking.now))
    decision.run(Stages("test"), True)
    return decision


def test_members_that_take_too_long_are_not_fitted(monkeypatch):
    members = [("slow", Ticking(1.0)), ("quick", Ticking(0.01))]
    without = decide(members, None, monkeypatch)
    assert set(without.weights) <= {"slow", "quick"}
    assert Ticking.now > 500
    limited = decide(members, 160.0, monkeypatch)
    assert limited.weights == {"quick": 1.0}
    assert Ticking.now < 160 * 1.2
    outcomes = {row["member"]: row["outcome"] for row in limited.report().rows}
    assert outcomes["slow"] == "not fitted: no time left"


def test_trials_end_after_a_quarter_of_the_limit(monkeypatch):
    members = [("slow", Ticking(1.0)), ("quick", Ticking(0.01))]
    limited = decide(members, 100.0, monkeypatch)
    outcomes = {row["member"]: row["outcome"] for row in limited.report().rows}
    assert outcomes["quick"] == "not tried: no time left"


@pytest.mark.parametrize("name", ["forest", "boosting", "kernel"])
def test_members_are_simplified_if_time_is_short(name):
    model = JacobianEnsembleRegressor([name, ("mean", DummyRegressor())], time_limit=1e-3)
    fitted = model.set_params(random_state=0).fit(X, Y).members_[name]
    assert not hasattr(fitted, "race_")
    assert fitted.n_features_in_ == X.shape[1]
    assert getattr(fitted, "n_anchors", 1000) == 1000


def test_the_first_member_is_fitted_whatever_the_limit(monkeypatch):
    limited = decide([("slow", Ticking(1.0))], 1.0, monkeypatch)
    assert limited.weights == {"slow": 1.0}
    assert limited.held_out is None


def test_a_member_without_weight_is_not_fitted_to_all_rows(monkeypatch):
    decision = decide([("bad", Ticking(1.0, shift=5.0)), ("fair", Ticking(1.0))], None, monkeypatch)
    assert decision.weights == {"fair": 1.0}
    assert decision.members[0].fitted is None
    assert Ticking.now == 200 + 200 + 400  # half of the rows for each, and all for one


def test_a_hopeless_member_is_dropped_after_a_trial(monkeypatch):
    members = [("bad", Ticking(0.01, shift=5.0)), ("fair", Ticking(0.01))]
    decision = decide(members, None, monkeypatch, n=9000)
    assert decision.weights == {"fair": 1.0}
    outcomes = {row["member"]: row["outcome"] for row in decision.report().rows}
    assert outcomes["bad"] == "dropped after a trial on 1000 rows"
    assert decision.members[0].fitted is None


def test_copies_of_rows_do_not_decide_a_trial():
    drawn = np.random.default_rng(0).normal(size=(500, 4))
    rows, noise = drawn[:, :3], drawn[:, 3]
    members = [("memory", KNeighborsRegressor(1)), ("mean", DummyRegressor())]
    model = JacobianEnsembleRegressor(members, random_state=0)
    model.fit(np.tile(rows, (18, 1)), np.tile(noise, 18))
    assert model.weights_["mean"] > 0.9


def test_large_tables_do_not_wait_for_a_kernel_machine():
    members = make_members(["forest", "kernel"], True, 100_000, "from_dtype")
    assert [member.outcome for member in members] == ["", "not tried: more than 40,000 rows"]


def test_lighter_copies_keep_decisions(fitted):
    for name in ("forest", "kernel"):
        model = make_members([name], False, 100, "from_dtype")[0].model
        model = model.set_params(random_state=0).fit(X[:100], Y[:100])
        light = lighter(model)
        if name == "forest":
            assert light.geometry.rounds == model.geometries_
            assert light.n_estimators == model.n_estimators
            assert with_fewer_trees(light).n_estimators == 60
            again = light.fit(X[:100], Y[:100])
            np.testing.assert_array_equal(again.predict(X), model.predict(X))
        else:
            assert (light.ridge, light.bandwidth) == (model.choice_.ridge, model.choice_.bandwidth)
    boosting = make_members(["boosting"], False, 100, "from_dtype")[0].model
    boosting = boosting.set_params(random_state=0, max_iter=20).fit(X[:100], Y[:100])
    light = lighter(boosting)
    assert light.max_iter == boosting.n_iter_
    assert light.early_stopping is False
    assert with_fewer_trees(light) is light
    dummy = DummyClassifier()
    assert type(lighter(dummy)) is DummyClassifier


def test_a_small_weight_makes_members_cheaper():
    forest, boosting = (
        member.model for member in make_members(["forest", "boosting"], False, 100, "from_dtype")
    )
    found = [for_weight(forest, weight, 99).n_estimators for weight in (1.0, 0.5, 0.3, 0.1)]
    assert found == [200, 200, 120, 50]
    assert for_weight(forest.set_params(n_estimators=10), 0.1, 99).n_estimators == 10
    boosting.set_params(learning_rate=0.03, max_iter=900)
    steps = [for_weight(boosting, weight, 99) for weight in (0.5, 0.25, 0.05)]
    assert [model.max_iter for model in steps] == [900, 450, 300]
    np.testing.assert_allclose([model.learning_rate for model in steps], [0.03, 0.06, 0.09])
    [kernel] = make_members(["kernel"], False, 5000, "from_dtype")
    found = [for_weight(kernel.model, weight, 5000).n_anchors for weight in (0.5, 0.25, 0.05)]
    assert found == [3000, 707, 500]
    dense = [for_weight(kernel.model, weight, 2000).n_anchors for weight in (0.5, 0.4, 0.05)]
    assert dense == [3000, 1600, 500]
    dummy = DummyRegressor()
    assert for_weight(dummy, 0.1, 99) is dummy


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_a_race_alone_decides_like_a_fit(name):
    [member] = make_members([name], False, len(X), "from_dtype")
    model = member.model.set_params(random_state=0)
    alone = clone(model).hold_race(X, Y)
    fitted = model.fit(X, Y)
    assert alone.race_.winners == fitted.race_.winners
    assert getattr(alone, "n_iter_", None) == getattr(fitted, "n_iter_", None)
    with pytest.raises(NotFittedError):
        alone.predict(X)


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_a_single_member_equals_the_model_alone(name):
    ensemble = JacobianEnsembleRegressor([name], random_state=0).fit(X, Y)
    inside = ensemble.members_[name]
    [member] = make_members([name], False, len(X), "from_dtype")
    alone = member.model.set_params(random_state=inside.random_state).fit(X, Y)
    np.testing.assert_array_equal(inside.predict(X), alone.predict(X))
    assert inside.race_.winners == alone.race_.winners
    if name == "boosting":
        assert inside.n_iter_ == alone.n_iter_
        np.testing.assert_array_equal(inside.validation_score_, alone.validation_score_)


@pytest.mark.parametrize(("share", "dropped"), [(1.5, True), (0.5, False)])
def test_a_preview_drops_a_member_whose_errors_go_with_those_of_the_others(share, dropped):
    task, split = Task(X, Y, None, 0), (np.arange(200, 400), np.arange(200))
    noise = np.random.default_rng(1).normal(size=(200, 1))
    others = [Member(name, DummyRegressor(), means=task.observed[:200] + noise) for name in "ab"]

    class Previewed(Member):
        def preview(self, *args):
            return task.observed[:200] + share * noise

    last = Previewed("c", DummyRegressor())
    decision = Decision([*others, last], task, [split], 0, None, Clock(None))
    assert decision._cannot_win(last) is dropped


def test_own_models_are_calibrated_once():
    own = [("own", JacobianForestClassifier(20, geometry="fast"))]
    plain = [("own", JacobianForestClassifier(20, geometry="fast", calibrate=False))]
    models = [JacobianEnsembleClassifier(m, random_state=0).fit(X, LABELS) for m in (own, plain)]
    np.testing.assert_array_equal(*(model.predict_proba(X) for model in models))
    assert own[0][1].calibrate  # the user's model stays as it was


def test_a_class_without_weight_is_never_predicted():
    model = JacobianEnsembleClassifier(["boosting", "forest"], random_state=0)
    model.fit(X[:100], LABELS[:100], sample_weight=LABELS[:100] == "up")
    assert set(model.predict(X)) == {"up"}
    assert model.predict_log_proba(X).shape == (400, 2)


def test_a_time_limit_leaves_own_models_as_they_are():
    own = JacobianBoostingRegressor()
    JacobianEnsembleRegressor([("own", own)], time_limit=1e-6, random_state=0).fit(X, Y)
    assert own.get_params() == JacobianBoostingRegressor().get_params()


def test_trials_on_few_rows_only_measure_time():
    model = JacobianEnsembleRegressor(QUICK, time_limit=3600, random_state=0).fit(X[:80], Y[:80])
    assert not any("trial" in row["outcome"] for row in model.report_.rows)


def test_members_that_predict_nan_are_refused():
    class Broken(LinearRegression):
        def predict(self, X):
            return np.full(len(X), np.nan)

    model = JacobianEnsembleRegressor([("broken", Broken()), QUICK[0]], random_state=0)
    with pytest.raises(ValueError, match="'broken', Broken, predicts NaN"):
        model.fit(X, Y)


def test_held_out_rows_are_numbered_as_in_the_data():
    weights = np.repeat([0.0, 1.0], 200)
    model = JacobianEnsembleRegressor(["boosting"], random_state=0).fit(X, Y, weights)
    rows = np.concatenate(model.members_["boosting"].validation_rows_)
    np.testing.assert_array_equal(np.sort(rows), np.arange(200, 400))


def test_parameters_of_pairs_can_be_searched():
    model = JacobianEnsembleRegressor([("ridge", Ridge()), QUICK[1]], random_state=0)
    assert model.get_params()["ridge__alpha"] == 1.0
    assert "ridge" not in model.get_params(deep=False)
    search = GridSearchCV(model, {"ridge__alpha": [1e-3, 1e9]}, cv=2).fit(X, X[:, 0])
    assert search.best_params_ == {"ridge__alpha": 1e-3}
    changed = clone(model).set_params(ridge=LinearRegression(), verbose=0)
    assert [type(each).__name__ for _, each in changed.members] == [
        "LinearRegression",
        "DecisionTreeRegressor",
    ]
    with pytest.raises(ValueError, match="Invalid parameter 'other'"):
        model.set_params(other=1)


def test_report_without_scores():
    report = EnsembleReport([], "log loss", np.nan, 0)
    assert "not scored" in str(report)
