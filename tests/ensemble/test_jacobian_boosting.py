"""Jacobian boosting: answers, stages, weights, losses, the race, and its edges."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import d2_pinball_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jarf import (
    JacobianBoostingClassifier,
    JacobianBoostingRegressor,
    expected_jacobian_outer_product,
)
from jarf.ensemble import CYCLES, Cycle, Geometry
from jarf.ensemble import _boosting as boosting
from jarf.ensemble._boosting_race import fold_error_scale
from jarf.ensemble._losses import REGRESSION_LOSSES

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 4))
SCORE = X[:, 0] + X[:, 1] * X[:, 2]
CLASSES = np.digitize(SCORE, [-0.6, 0.6])
FIXED = {"early_stopping": False, "random_state": 0}
# Every row in every tree, no row too few for a leaf; deep trees would break ties by last digits.
EXACT = {**FIXED, "geometry": "axes", "subsample": 1.0, "min_samples_leaf": 1, "max_depth": 3}
CASES = {
    "two classes": (JacobianBoostingClassifier, {}, CLASSES > 0),
    "three classes": (JacobianBoostingClassifier, {}, np.array(["a", "b", "c"])[CLASSES]),
    "several outputs": (JacobianBoostingRegressor, {}, np.column_stack([SCORE, X[:, 3]])),
    **{
        name: (
            JacobianBoostingRegressor,
            {"loss": name, "quantile": 0.8 if name == "quantile" else None},
            np.exp(SCORE),
        )
        for name in REGRESSION_LOSSES
    },
}
every = pytest.mark.parametrize("case", CASES)


def make(case, **params):
    kind, own, y = CASES[case]
    return kind(**own, **params), y


def answers(model, rows=X):
    return model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)


@every
def test_stages_end_at_the_prediction(case):
    model, y = make(case, max_iter=12, geometry="mixed", **FIXED)
    model.fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_iter_ == model.forest_.n_trees == 12
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(stages[-1], model.predict(X))
        stages = list(model.staged_predict_proba(X))
        assert len(stages) == 12
    np.testing.assert_allclose(stages[-1], answers(model), rtol=1e-12)
    assert stages[0].shape == answers(model).shape
    assert model.train_score_.shape == (13,)
    assert model.train_score_[-1] > model.train_score_[0]
    assert not hasattr(model, "validation_score_")


@every
def test_a_warm_start_equals_one_long_fit(case):
    model, y = make(case, max_iter=5, geometry="mixed", max_depth=3, **FIXED)
    model.set_params(warm_start=True).fit(X, y).set_params(max_iter=12).fit(X, y)
    whole = make(case, max_iter=12, geometry="mixed", max_depth=3, **FIXED)[0].fit(X, y)
    np.testing.assert_allclose(answers(model), answers(whole), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.train_score_, whole.train_score_, rtol=1e-10)
    assert model.n_iter_ == 12


def test_invalid_warm_starts_are_refused():
    model = JacobianBoostingClassifier(max_iter=5, geometry="axes", warm_start=True, **FIXED)
    model.fit(X, CLASSES)
    with pytest.warns(UserWarning, match="no new rounds"):
        model.fit(X, CLASSES)
    with pytest.raises(ValueError, match="less than the 5 rounds"):
        model.set_params(max_iter=2).fit(X, CLASSES)
    with pytest.raises(ValueError, match="same classes"):
        model.set_params(max_iter=9).fit(X, CLASSES > 1)
    model = JacobianBoostingRegressor(max_iter=5, geometry="axes", warm_start=True, **FIXED)
    with pytest.raises(ValueError, match="2 outputs"):
        model.fit(X, SCORE).fit(X, X[:, :2])
    model.set_params(max_iter=6)
    with pytest.raises(ValueError, match="another link"):
        model.set_params(loss="poisson").fit(X, np.exp(SCORE))
    with pytest.raises(ValueError, match="monotonic_cst has changed"):
        model.set_params(loss="squared_error", monotonic_cst=[1, 0, 0, 0]).fit(X, SCORE)


@every
@pytest.mark.parametrize("geometry", ["axes", "symmetric"])
def test_weights_are_repeated_rows(case, geometry):
    model, y = make(case, max_iter=20, **{**EXACT, "geometry": geometry})
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    again = np.repeat(np.arange(len(X)), weights)
    weighed = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(X[again], y[again])
    np.testing.assert_allclose(answers(weighed), answers(repeated), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("geometry", CYCLES)
def test_rows_of_weight_zero_are_ignored_by_every_geometry(geometry):
    weights = np.where(np.arange(len(X)) < 200, 1.0, 0.0)
    model = JacobianBoostingClassifier(max_iter=30, geometry=geometry, **FIXED)
    found = clone(model).fit(X, CLASSES, sample_weight=weights)
    known = clone(model).fit(X[:200], CLASSES[:200])
    np.testing.assert_array_equal(found.predict_proba(X), known.predict_proba(X))


@pytest.mark.parametrize(("n_columns", "expected"), [(49, False), (50, True)])
def test_focused_axes_race_in_wide_tables(n_columns, expected):
    wide = np.random.default_rng(0).normal(size=(60, n_columns))
    model = JacobianBoostingRegressor(max_iter=3, random_state=0).fit(wide, wide[:, 0])
    raced = {row["geometry"] for row in model.race_.rows}
    assert raced == {"symmetric", "mixed", "recursive", "weighted"} | (
        {"focused"} if expected else set()
    )


def test_class_weights_are_row_weights():
    model = JacobianBoostingClassifier(max_iter=10, geometry="linear", **FIXED)
    weighed = clone(model).fit(X, CLASSES, sample_weight=np.array([1.0, 2.0, 3.0])[CLASSES])
    model.set_params(class_weight={0: 1.0, 1: 2.0, 2: 3.0}).fit(X, CLASSES)
    np.testing.assert_array_equal(model.predict_proba(X), weighed.predict_proba(X))


@pytest.mark.parametrize("geometry", ["mixed", "recursive"])
def test_any_number_of_threads_gives_the_same_bits(geometry):
    model = JacobianBoostingClassifier(max_iter=40, geometry=["linear", geometry], random_state=0)
    one, two = (clone(model).set_params(n_jobs=n).fit(X, CLASSES) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.race_.winners == two.race_.winners
    np.testing.assert_array_equal(one.validation_score_, two.validation_score_)


@every
def test_the_reference_gives_the_same(case, monkeypatch):
    rows = X[:40]
    found = []
    for without in ("0", "1"):
        monkeypatch.setenv("JARF_NO_NATIVE", without)
        model, y = make(case, max_iter=3, geometry="axes", max_depth=3, **FIXED)
        found.append(answers(model.fit(rows, y[:40]), rows))
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-12)


# --- losses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantiles_cover_their_share(quantile):
    drawn = np.random.default_rng(2)
    rows = drawn.normal(size=(1200, 2))
    y = rows[:, 0] + np.exp(rows[:, 1] / 2) * drawn.normal(size=1200)
    model = JacobianBoostingRegressor(
        "quantile", quantile=quantile, max_iter=60, geometry="linear", max_leaf_nodes=4, **FIXED
    ).fit(rows[:600], y[:600])
    assert abs((y[600:] <= model.predict(rows[600:])).mean() - quantile) < 0.07


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_counts_and_amounts_are_positive(loss):
    model = JacobianBoostingRegressor(loss, max_iter=60, geometry="mixed", **FIXED)
    model.fit(X, np.exp(2 * SCORE))
    assert (model.predict(10 * X) > 0).all()
    assert model.score(X, np.exp(2 * SCORE)) > 0.2


@pytest.mark.parametrize("loss", ["absolute_error", "huber"])
def test_a_wild_response_does_not_matter(loss):
    y = SCORE.copy()
    y[::40] = 1e6
    model = JacobianBoostingRegressor(loss, max_iter=60, geometry="linear", **FIXED).fit(X, y)
    near = y < 1e6
    assert np.median(np.abs(model.predict(X) - SCORE)[near]) < 0.5


def test_several_outputs_are_those_of_their_columns():
    Y = np.column_stack([SCORE, 1e6 * X[:, 3]])
    model = JacobianBoostingRegressor(max_iter=60, geometry="linear", **FIXED).fit(X, Y)
    assert model.n_outputs_ == 2
    assert model.predict(X).shape == (240, 2)
    assert all(np.corrcoef(model.predict(X)[:, k], Y[:, k])[0, 1] > 0.9 for k in (0, 1))
    with pytest.raises(ValueError, match="takes one response, but y has 2 columns"):
        JacobianBoostingRegressor("huber").fit(X, Y)


def test_the_unit_of_the_response_does_not_matter():
    model = JacobianBoostingRegressor(max_iter=20, geometry="mixed", **FIXED)
    one = clone(model).fit(X, SCORE).predict(X)
    np.testing.assert_allclose(clone(model).fit(X, 1024 * SCORE).predict(X), 1024 * one, rtol=1e-9)


# --- what is decided on rows held out ---------------------------------------------------------


def test_the_race_keeps_axes_where_labels_are_noise():
    won = [
        JacobianBoostingClassifier(geometry=["linear"], max_iter=30, random_state=seed)
        .fit(X, np.random.default_rng(seed).integers(0, 2, len(X)))
        .race_.winner
        for seed in range(6)
    ]
    assert won.count("axes") >= 4


def test_the_race_finds_an_oblique_boundary():
    y = X @ [1.0, -1.0, 1.0, -1.0] > 0
    model = JacobianBoostingClassifier(geometry=["linear"], max_iter=60, random_state=0).fit(X, y)
    assert model.race_.winner == model.geometry_.name == "linear"
    assert "log loss" in str(model.race_)
    assert "lower than plain axes" in str(model.race_)


def test_early_stopping_finds_the_number_of_rounds():
    y = SCORE + np.random.default_rng(0).normal(size=len(X))
    model = JacobianBoostingRegressor(geometry="axes", learning_rate=0.3, random_state=0)
    model.fit(X, y)
    best = int(np.argmax(model.validation_score_))
    assert 1 <= model.n_iter_ == max(1, round(1.1 * best)) < 200
    assert len(model.train_score_) == model.n_iter_ + 1
    assert len(model.validation_score_) > best + model.n_iter_no_change
    assert not hasattr(model, "race_")


def test_small_tables_are_learned_more_slowly(monkeypatch):
    y = SCORE + np.random.default_rng(0).normal(size=len(X))
    given = JacobianBoostingRegressor(geometry="axes", learning_rate=0.03, random_state=0).fit(X, y)
    assert given.learning_rate_ == 0.03
    for rate in ("auto", "fast"):
        slow = clone(given).set_params(learning_rate=rate)
        assert slow.fit(X, y).learning_rate_ == pytest.approx(0.01)
        assert slow.n_iter_ == pytest.approx(3 * given.n_iter_, abs=2)
        np.testing.assert_array_equal(slow.validation_score_, given.validation_score_)
    assert slow.set_params(early_stopping=False, max_iter=5).fit(X, y).learning_rate_ == 0.03
    monkeypatch.setattr(boosting, "SMALL", len(X) - 1)
    large = clone(given).set_params(learning_rate="auto").fit(X, y)
    assert (large.learning_rate_, large.n_iter_) == (0.03, given.n_iter_)


def test_slow_runs_keep_to_the_maximum_number_of_rounds():
    y = SCORE + np.random.default_rng(0).normal(size=len(X))
    given = JacobianBoostingRegressor(geometry="axes", learning_rate=0.03, random_state=0).fit(X, y)
    slow = clone(given).set_params(learning_rate="auto", max_iter=2 * given.n_iter_).fit(X, y)
    assert slow.n_iter_ == 2 * given.n_iter_
    assert slow.learning_rate_ == pytest.approx(0.015, rel=0.02)


def test_fast_long_runs_learn_faster_in_fewer_rounds(monkeypatch):
    monkeypatch.setattr(boosting, "SMALL", 0)
    y = SCORE + np.random.default_rng(0).normal(size=len(X))
    slow = JacobianBoostingRegressor(geometry="axes", learning_rate=0.03, random_state=0)
    slow.fit(X, y)
    assert slow.learning_rate_ == 0.03
    model = JacobianBoostingRegressor(geometry="axes", learning_rate="fast", random_state=0)
    same = clone(model).fit(X, y)
    assert same.learning_rate_ == 0.03
    assert same.n_iter_ == slow.n_iter_
    monkeypatch.setattr(boosting, "MANY_ROUNDS", slow.n_iter_ / 2)
    same.set_params(learning_rate="auto").fit(X, y)
    assert (same.learning_rate_, same.n_iter_) == (0.03, slow.n_iter_)
    model.fit(X, y)
    np.testing.assert_array_equal(model.validation_score_, slow.validation_score_)
    assert model.n_iter_ == pytest.approx(slow.n_iter_ / 2, abs=1)
    assert model.learning_rate_ == pytest.approx(0.06, rel=0.01)
    monkeypatch.setattr(boosting, "MANY_ROUNDS", 1)  # never faster than the race
    assert model.fit(X, y).learning_rate_ == pytest.approx(0.09)
    trees = model.set_params(warm_start=True, max_iter=model.n_iter_ + 1, early_stopping=False)
    assert trees.fit(X, y).learning_rate_ == pytest.approx(0.09)


@pytest.mark.parametrize(
    ("model", "y", "scoring"),
    [
        (JacobianBoostingClassifier(), CLASSES > 0, "roc_auc"),
        (JacobianBoostingClassifier(), np.array(["a", "b", "c"])[CLASSES], "neg_log_loss"),
        (JacobianBoostingRegressor(), SCORE, "r2"),
        (JacobianBoostingRegressor(), SCORE, make_scorer(d2_pinball_score, alpha=0.8)),
    ],
)
def test_a_scorer_of_the_user_stops(model, y, scoring):
    model.set_params(scoring=scoring, geometry="axes", max_iter=15, learning_rate=0.5)
    model.set_params(random_state=0).fit(X, y)
    assert model.validation_score_.shape == (16,)
    assert model.validation_score_[-1] > model.validation_score_[0]


def test_geometries_of_the_user():
    mine = Cycle("mine", (Geometry("a", local=True), Geometry("b", ("forest",))))
    model = JacobianBoostingClassifier(geometry=mine, max_iter=4, **FIXED).fit(X, CLASSES)
    assert model.geometry_ == mine
    model.set_params(geometry=Geometry("alone", local=True)).fit(X, CLASSES)
    assert model.geometry_.name == "alone"
    for geometry, message in (
        (["nothing"], "geometry holds 'nothing'"),
        (["linear", "linear"], "Two geometries of the race are called 'linear'"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(geometry=geometry).fit(X, CLASSES)


# --- the model as a surrogate -----------------------------------------------------------------


class Hidden(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose trees cannot be seen."""

    def __init__(self, model):
        self.model, self.classes_ = model, model.classes_

    def fit(self, rows, y):
        return self

    def predict_proba(self, rows):
        return self.model.predict_proba(rows)


@pytest.mark.parametrize("labels", [CLASSES > 0, CLASSES], ids=["two", "three"])
def test_its_trees_are_differentiated_exactly(labels, monkeypatch):
    model = JacobianBoostingClassifier(max_iter=10, geometry="mixed", **FIXED).fit(X, labels)
    known = expected_jacobian_outer_product(Hidden(model), X, labels)
    monkeypatch.setattr(type(model), "predict_proba", None)  # not asked
    found = expected_jacobian_outer_product(model, X, labels)
    np.testing.assert_allclose(found.matrix, known.matrix, rtol=1e-8, atol=1e-12)
    assert np.linalg.eigvalsh(found.matrix)[-1] > 0


# --- edges ------------------------------------------------------------------------------------


@pytest.mark.parametrize("geometry", ["auto", "axes"])
def test_one_row_one_class_and_constant_columns(geometry):
    settings = {"geometry": geometry, "max_iter": 3, "random_state": 0}
    one = JacobianBoostingRegressor(**settings).fit(X[:1], SCORE[:1])
    np.testing.assert_allclose(one.predict(X[:3]), SCORE[0])
    same = JacobianBoostingClassifier(**settings).fit(X[:30], ["only"] * 30)
    assert set(same.predict(X)) == {"only"}
    assert same.predict_proba(X).shape == (240, 1)
    flat = np.column_stack([X[:60, 0], np.ones(60)])
    model = JacobianBoostingRegressor(**settings).fit(flat, SCORE[:60])
    assert model.feature_importances_[1] == 0


def test_constant_responses_are_predicted():
    for loss in ("squared_error", "absolute_error", "huber", "poisson", "gamma"):
        model = JacobianBoostingRegressor(loss, geometry="axes", max_iter=3, random_state=0)
        np.testing.assert_allclose(model.fit(X, np.full(240, 3.0)).predict(X), 3.0)


def test_a_class_of_a_single_row():
    y = np.where(np.arange(240) == 7, "rare", np.where(SCORE > 0, "b", "a"))
    model = JacobianBoostingClassifier(geometry=["linear"], max_iter=5, random_state=0).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "rare"]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_ten_thousand_columns():
    wide = np.random.default_rng(0).normal(size=(50, 10_000)).astype(np.float32)
    model = JacobianBoostingClassifier(geometry=["linear"], max_iter=3, random_state=0)
    model.fit(wide, wide[:, 0] > 0)
    assert np.isfinite(model.predict_proba(wide)).all()


def test_in_a_pipeline_and_a_grid():
    settings = {"max_iter": 5, "geometry": "axes", "random_state": 0}
    pipeline = make_pipeline(StandardScaler(), JacobianBoostingClassifier(**settings))
    name = "jacobianboostingclassifier__learning_rate"
    search = GridSearchCV(pipeline, {name: [1e-6, 0.5]}, cv=2).fit(X, CLASSES)
    assert search.best_params_ == {name: 0.5}


def test_verbose_shows_the_rounds(capsys):
    JacobianBoostingClassifier(verbose=2, geometry=["linear"], max_iter=5).fit(X, CLASSES)
    said = capsys.readouterr()
    assert "rounds" in said.out + said.err
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        JacobianBoostingClassifier(geometry="axes", max_iter=5).fit(X, CLASSES)
    said = capsys.readouterr()
    assert said.out + said.err == ""


def test_predictions_of_held_out_rows_are_honest():
    """Noise cannot be predicted: the errors on held-out rows are those of the constant."""
    noise = np.random.default_rng(3).normal(size=len(X))
    weights = np.repeat([1.0, 0.0], [len(X) - 40, 40])
    model = JacobianBoostingRegressor(random_state=0, geometry="fast").fit(X, noise, weights)
    rows = np.concatenate(model.validation_rows_)
    assert sorted(rows) == list(range(len(X) - 40))  # rows of weight zero are not among them
    error = np.mean((noise[rows] - model.validation_predictions_[:, 0]) ** 2)
    assert error > 0.9 * noise[rows].var()
    errors = noise[rows] - model.validation_predictions_[:, 0]
    scale = fold_error_scale(len(model.validation_rows_))
    np.testing.assert_allclose(
        model.conformal_.scores[:, 0] * (1 + model.conformal_.floors), scale * errors
    )
    model.set_params(early_stopping=False, max_iter=3).fit(X, noise)
    assert not hasattr(model, "validation_rows_")


def test_constraints_hold_for_columns_with_missing_values():
    holes = X.copy()
    holes[::7, 0] = np.nan
    falling = JacobianBoostingRegressor(monotonic_cst=[1, 0, 0, 0], max_iter=30, **FIXED)
    falling.fit(holes, -2 * X[:, 0] + X[:, 1])
    rows = np.repeat(X[:20], 30, axis=0)
    rows[:, 0] = np.tile(np.linspace(-3, 3, 30), 20)
    moves = np.diff(falling.predict(rows).reshape(20, 30), axis=1)
    assert (moves >= 0).all()


def test_early_stopping_looks_at_calibrated_probabilities():
    noisy = (SCORE + rng.normal(size=len(X)) > 0).astype(int)
    fits = {
        name: JacobianBoostingClassifier(geometry="axes", scoring=name, random_state=0)
        for name in ("auto", "loss", "calibrated_loss")
    }
    for model in fits.values():
        model.fit(X, noisy)
    auto, loss, calibrated = (fits[name] for name in ("auto", "loss", "calibrated_loss"))
    np.testing.assert_array_equal(auto.predict_proba(X), calibrated.predict_proba(X))
    assert calibrated.validation_score_.max() > loss.validation_score_.max()
    assert calibrated.n_iter_ >= loss.n_iter_
    plain = clone(loss).set_params(calibrate=False)
    same = clone(auto).set_params(calibrate=False)
    assert same.fit(X, noisy).n_iter_ == plain.fit(X, noisy).n_iter_ == loss.n_iter_


def test_responses_have_no_calibrated_loss():
    with pytest.raises(ValueError, match="'calibrated_loss' is for classifiers"):
        JacobianBoostingRegressor(scoring="calibrated_loss").fit(X, SCORE)
