import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import cohen_kappa_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from jarf import JacobianForestClassifier, JacobianForestRegressor, JARFClassifier
from jarf._native import engine
from jarf.datasets import halfspace_bayes_kappa, make_rotated_halfspace
from jarf.ensemble import (
    CYCLES,
    GEOMETRIES,
    AxisForestClassifier,
    CanonicalCorrelationForestClassifier,
    Cycle,
    Geometry,
    GivenGradients,
    ModelSource,
)
from jarf.ensemble._jacobian_growth import (
    Gradients,
    JacobianGrowth,
    NodeSizes,
)
from jarf.ensemble._race import ROUNDS
from jarf.ensemble._sources import (
    SOURCES,
    Table,
    fit_sources,
    steps_of,
    whitening,
)
from jarf.trees import ClassTarget, ResponseTarget

X, y = make_rotated_halfspace(300, 4, angle=45, random_state=0)
BODY, DISEASE = load_diabetes(return_X_y=True)


def small(cls=JacobianForestClassifier, **params):
    return cls(**{"n_estimators": 10, "random_state": 0, **params})


@parametrize_with_checks(
    [small(n_estimators=4), small(JacobianForestRegressor, n_estimators=4)],
    expected_failed_checks=lambda estimator: {
        f"check_sample_weight_equivalence_on_{kind}_data": "trees or surrogates draw rows"
        for kind in ("dense", "sparse")
    },
)
def test_estimator_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("geometry", ["auto", *GEOMETRIES])
def test_same_bits_for_any_n_jobs_and_after_pickling(geometry):
    one = small(geometry=geometry, n_jobs=1).fit(X, y)
    expected = one.predict_proba(X)
    two = small(geometry=geometry, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(two.predict_proba(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict_proba(X), expected)


def test_the_bayes_limit_is_reached_where_a_plain_forest_is_not():
    kappas = []
    for seed in range(3):
        data, labels = make_rotated_halfspace(11_000, 30, angle=30, random_state=seed)
        for model in (
            RandomForestClassifier(100, random_state=0),
            small(n_estimators=100, geometry="sparse"),
        ):
            answer = model.fit(data[:1000], labels[:1000]).predict(data[1000:])
            kappas.append(cohen_kappa_score(labels[1000:], answer))
    plain, ours = np.reshape(kappas, (3, 2)).mean(axis=0)
    assert plain < halfspace_bayes_kappa() - 0.02
    assert ours > halfspace_bayes_kappa() - 0.012


def test_the_race_is_reported():
    model = small(random_state=1).fit(X, y)
    assert [row["geometry"] for row in model.race_.rows] == list(GEOMETRIES)
    assert model.geometry_ == GEOMETRIES[model.race_.winner]
    assert set(model.race_.winners) - {"axes"}  # an oblique boundary: directions help
    expected = {"race", "calibration", "surrogates", "gradients", "fit"}
    assert set(model.stage_times_) == expected
    assert not hasattr(small(geometry="fast").fit(X, y), "race_")


def test_plain_axes_win_where_there_is_nothing_to_find():
    noise = np.random.default_rng(0).integers(0, 2, 300)
    model = small().fit(X, noise)
    assert model.race_.winner == "axes"


def test_plain_geometry_is_the_plain_forest():
    plain = small(geometry="axes", calibrate=False).fit(X, y)
    control = AxisForestClassifier(10, random_state=0).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X), control.predict_proba(X))


def test_own_geometry():
    own = Geometry("mine", ("kernel",), n_loadings=2, bootstrap=True)
    model = small(geometry=own).fit(X, y)
    assert model.geometry_ is own
    sizes = np.diff(model.split_normals().normals.indptr)
    assert sizes.max() == 2


def test_a_race_between_chosen_geometries():
    model = small(geometry=["sparse", Geometry("mine", ("kernel",))]).fit(X, y)
    assert [row["geometry"] for row in model.race_.rows] == ["axes", "sparse", "mine"]
    assert [geometry.name for geometry in model.geometries_] == list(model.race_.winners)
    for wrong, message in ((["nope"], "'nope'"), ([3], "holds 3"), ([Geometry("axes")], "called")):
        with pytest.raises(ValueError, match=message):
            small(geometry=wrong).fit(X, y)


def test_geometries_share_the_trees():
    kinds = (GEOMETRIES["axes"], GEOMETRIES["linear"])
    model = small(n_estimators=40, geometry="axes").fit(X, y)
    model.geometries_ = kinds
    model.set_params(n_estimators=80, warm_start=True).fit(X, y)
    assert model.geometries_ == kinds
    tree = model.split_normals().trees
    oblique = np.diff(model.split_normals().normals.indptr) > 1
    mixed = {bool(oblique[tree == t].any()) for t in range(40, 80)}
    assert not oblique[tree < 40].any()
    assert mixed == {True, False}


def test_a_cycle_shares_the_trees_without_a_race():
    kinds = (GEOMETRIES["axes"], GEOMETRIES["linear"])
    model = small(n_estimators=40, geometry=Cycle("both", kinds)).fit(X, y)
    assert model.geometries_ == kinds
    assert not hasattr(model, "race_")
    normals = model.split_normals()
    oblique = np.diff(normals.normals.indptr) > 1
    assert {bool(oblique[normals.trees == tree].any()) for tree in range(40)} == {True, False}


def test_a_cycle_of_boosting_alone_is_refused():
    with pytest.raises(ValueError, match="'recursive' draws from 'own'"):
        JacobianForestClassifier(geometry=CYCLES["recursive"]).fit(X, y)


def test_a_warm_start_keeps_its_geometries():
    model = small(n_estimators=4, warm_start=True).fit(X, y)
    race = model.race_
    model.set_params(n_estimators=8).fit(X, y)
    assert model.race_ is race
    whole = small(n_estimators=8).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_the_race_says_from_how_many_rows_on_nodes_are_split():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 4))
    clean, noisy = np.sin(3 * X[:, 0]), X[:, 0] + 3 * rng.normal(size=2400)
    forest = JacobianForestRegressor(10, random_state=0).fit(X, noisy)
    race = forest.race_
    assert forest.min_samples_split_ == race.min_samples_split >= 20
    assert race.sizes[forest.min_samples_split_] < race.sizes[2]
    assert f"min_samples_split = {forest.min_samples_split_}, chosen from 2, 5" in str(race)
    weights = forest.forest_.weights[~forest.forest_.is_leaf]
    assert weights.min() >= forest.min_samples_split_
    assert forest.fit(X, clean).min_samples_split_ == 2  # no memory of the fit before
    assert forest.set_params(geometry="fast").fit(X, noisy).min_samples_split_ == 2
    forest.set_params(geometry="auto", min_samples_split=7).fit(X, noisy)
    assert (forest.min_samples_split_, forest.race_.sizes) == (7, {})


def test_a_warm_start_keeps_its_limit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    forest = JacobianForestRegressor(10, random_state=0).fit(X, X[:, 0] + 3 * rng.normal(size=900))
    chosen = forest.min_samples_split_
    assert chosen > 2
    forest.set_params(n_estimators=20, warm_start=True).fit(X, X[:, 0])
    assert forest.min_samples_split_ == chosen


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_own_models_and_gradients_are_sources(task):
    units = np.array([1.0, 100.0, 1.0, 0.01])
    if task == "classification":
        forest, model, answer = JacobianForestClassifier, LogisticRegression(), y
    else:
        forest, model, answer = JacobianForestRegressor, Ridge(), X[:, 0] - X[:, 1]
    own = small(forest, geometry=Geometry("model", (ModelSource(model),))).fit(X * units, answer)
    given = GivenGradients(np.tile([1.0, -1.0, 0.0, 0.0] / units, (300, 1)))
    ready = small(forest, geometry=Geometry("given", (given,))).fit(X * units, answer)
    normals = (ready.split_normals().normals * units).toarray()
    normals = normals[np.count_nonzero(normals, axis=1) > 1]
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(normals @ [0.5**0.5, -(0.5**0.5), 0, 0]), 1.0, atol=1e-3)
    assert own.score(X * units, answer) > 0.9
    cloned = clone(own)  # the model inside is copied with it
    np.testing.assert_array_equal(
        cloned.fit(X * units, answer).predict(X * units), own.predict(X * units)
    )


def test_wrong_gradients_are_refused():
    for values, message in (
        (np.ones((299, 4)), "shape"),
        (np.ones((300, 3)), "shape"),
        (np.full((300, 4), np.nan), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            small(geometry=Geometry("given", (GivenGradients(values),))).fit(X, y)


def test_progress(capsys):
    small(verbose=2).fit(X, y)
    shown = capsys.readouterr().err
    assert "round 1:" in shown
    for stage in ("race", "surrogates", "gradients", "fit"):
        assert shown.count(f"] {stage}: ") == 1
    assert shown.count(" of 10 trees") == 10  # a line for every tenth of the trees


def test_binary_columns_stay_axes():
    mixed = np.column_stack([X, (X[:, 0] > 1), np.ones(300)])
    model = small(geometry="dense", n_estimators=20).fit(mixed, y)
    table = Table.standardised(mixed.astype(np.float32), np.ones(300))
    np.testing.assert_array_equal(table.oblique, [True] * 4 + [False] * 2)
    assert model.feature_importances_[5] == 0


@pytest.mark.parametrize("name", list(SOURCES))
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_sources_find_the_direction(name, task):
    data, labels = make_rotated_halfspace(800, 5, angle=45, random_state=1)
    table = Table.standardised(data.astype(np.float32), np.ones(800))
    target = ClassTarget(labels, 2)
    if task == "regression":
        target = ResponseTarget(np.tanh(data[:, 0] + data[:, 1]))
    source = SOURCES[name](table, target, np.random.RandomState(0), 1)
    gradients = source.gradients(table, target, 1)
    assert gradients.shape == data.shape
    leading = np.linalg.eigh(gradients.T @ gradients)[1][:, -1]
    assert abs(leading @ [0.5**0.5, 0.5**0.5, 0, 0, 0]) > 0.95


def test_steps_reach_the_next_value_of_a_discrete_column():
    Z = np.column_stack([np.tile([0.0, 1.0], 50), np.repeat(np.arange(10.0), 10)])
    np.testing.assert_array_less([1.0, 1.0], steps_of(Z, 0.5))


def test_steps_reach_the_next_value_in_a_sorted_table():
    year = np.repeat([0.0, 1.0], 3000)
    rare = np.zeros(6000)
    rare[5] = 1.0
    Z = np.column_stack([year, rare, np.sort(np.arange(6000) % 3)]).astype(np.float32)
    np.testing.assert_array_less([1.0, 1.0, 1.0], steps_of(Z, 0.5))


def test_whitening_whitens():
    mixed = np.random.default_rng(0).normal(size=(500, 3)) @ np.array(
        [[1.0, 2.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 5.0]]
    )
    white = (mixed - mixed.mean(axis=0)) @ whitening(mixed)
    np.testing.assert_allclose(np.cov(white, rowvar=False), np.eye(3), atol=1e-8)


def test_weights_and_class_weight():
    half = (X[:, 2] > 0).astype(float)
    flipped = np.where(half > 0, y, 1 - y)  # rows of weight zero have the opposite labels
    assert small().fit(X, flipped, sample_weight=half).score(X, y) > 0.85
    rare = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:15]])
    plain, balanced = (
        small(geometry="fast", min_samples_leaf=10, class_weight=choice).fit(X[rare], y[rare])
        for choice in (None, "balanced")
    )
    assert (balanced.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()


def test_warm_start_goes_on_with_the_same_geometry():
    model = small(warm_start=True).fit(X, y)
    first = model.geometry_
    model.set_params(n_estimators=15).fit(X, y)
    assert model.forest_.n_trees == 15
    assert model.geometry_ == first


@pytest.mark.parametrize("geometry", list(GEOMETRIES))
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_native_equals_reference(monkeypatch, geometry, kind):
    data, target = load_wine(return_X_y=True) if kind == "classifier" else (BODY, DISEASE)
    cls = JacobianForestClassifier if kind == "classifier" else JacobianForestRegressor
    monkeypatch.setattr("jarf.ensemble._sources.N_TREES", 3)
    answers = []
    for value in ("0", "1"):
        monkeypatch.setenv("JARF_NO_NATIVE", value)
        model = small(cls, geometry=geometry, n_estimators=2, max_depth=3)
        answers.append(model.fit(data[:90], target[:90]).predict(data[:90]))
    np.testing.assert_allclose(answers[0], answers[1])


@pytest.mark.parametrize(
    ("data", "labels"),
    [
        (X[:3], y[:3]),
        (X[:6], np.arange(6)),
        (np.ones((20, 3)), np.arange(20) % 2),
        (np.random.default_rng(0).normal(size=(12, 600)), np.arange(12) % 3),
        (X[:, :1], y),
    ],
)
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_odd_shapes(data, labels):
    model = small().fit(data, labels)
    assert model.predict(data).shape == (len(data),)


def test_many_classes_cause_one_warning():
    """Surrogates and pilots see the same labels and do not warn again."""
    with pytest.warns(UserWarning, match="unique classes") as caught:
        small().fit(X[:60], np.arange(60))
    assert len(caught) == 1
    for model in (JacobianForestClassifier(2), JARFClassifier(n_estimators=2)):
        for _ in range(2):  # the check of one fit is not remembered by the next
            with pytest.raises(ValueError, match="Unknown label type"):
                model.fit(X, X[:, 0])


def test_importances_and_normals_are_of_the_original_columns():
    model = small(n_estimators=40).fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 1}
    normals = model.split_normals().normals
    np.testing.assert_allclose(normals.power(2).sum(axis=1), 1, rtol=1e-5)


def test_bad_geometry_is_named():
    with pytest.raises(ValueError, match="geometry"):
        small(geometry="best").fit(*load_iris(return_X_y=True))


def test_without_axes_it_is_a_canonical_correlation_forest():
    X, y = make_rotated_halfspace(300, 4, angle=45, random_state=0)
    canonical = small(n_estimators=5, geometry="canonical", random_state=3, calibrate=False)
    canonical.fit(X, y)
    published = CanonicalCorrelationForestClassifier(5, random_state=3).fit(X, y)
    np.testing.assert_array_equal(canonical.predict_proba(X), published.predict_proba(X))
    with pytest.raises(ValueError, match="axes=False"):
        Geometry("nothing", axes=False)


def test_a_refit_without_a_race_forgets_the_last_one():
    model = small(geometry=["linear"]).fit(X, y)
    assert hasattr(model, "race_")
    model.set_params(geometry="fast").fit(X, y)
    assert not hasattr(model, "race_")


def test_parameters_that_the_forest_does_not_have_are_not_attributes():
    for name in ("bootstrap", "max_samples", "oob_score"):
        assert not hasattr(small(), name)


def test_a_source_more_does_not_change_the_random_numbers_of_the_others():
    table = Table.standardised(X.astype(np.float32), np.ones(len(X)))
    target = ClassTarget(y, 2)

    def gradients(names):
        fitted = fit_sources(names, table, target, 0, "test", 1)
        return fitted["whitened"].gradients(table, target, 1)

    alone = gradients(["whitened"])
    np.testing.assert_array_equal(gradients(["forest", "kernel", "whitened"]), alone)


def test_kernel_and_forest_share_a_forest_that_is_the_same_for_each_alone(monkeypatch):
    table = Table.standardised(X.astype(np.float32), np.ones(len(X)))
    target, grown = ClassTarget(y, 2), []
    original = SOURCES["forest"]

    def fit(*arguments):
        grown.append(1)
        return original(*arguments)

    monkeypatch.setitem(SOURCES, "forest", fit)

    def gradients(names, name):
        fitted = fit_sources(names, table, target, 0, "test", 1)
        assert list(fitted) == names
        return fitted[name].gradients(table, target, 1)

    alone = [gradients([name], name) for name in ("kernel", "forest")]
    both = [gradients(["kernel", "forest"], name) for name in ("kernel", "forest")]
    np.testing.assert_array_equal(both, alone)
    assert len(grown) == 4


def test_a_geometry_more_does_not_change_the_others():
    few = small(geometry=["linear", "sparse"]).fit(X, y).race_
    many = small(geometry=["linear", "sparse", "dense"]).fit(X, y).race_
    first = [
        [row["loss"] for row in race.rows[:3] if row["n_trees"] == sum(ROUNDS)]
        for race in (few, many)
    ]
    assert first[0]
    assert set(first[1]) <= set(first[0])


def test_directions_are_in_units_of_the_table_whatever_rows_are_at_hand(monkeypatch):
    table = Table.standardised(X.astype(np.float32), np.ones(len(X)))
    few = X.astype(np.float32)[np.abs(X[:, 0]) < 0.5]  # rows of another spread
    used = []

    class Engine:
        def __getattr__(self, name):
            return getattr(engine(), name)

        def GradientDraws(self, sources, scale, *counts):
            used.append(scale)
            return engine().GradientDraws(sources, scale, *counts)

    monkeypatch.setattr("jarf.ensemble._jacobian_growth.engine", Engine)
    geometry = Geometry("one", ("forest",))
    columns = table.only(slice(0))
    growth = JacobianGrowth(None, (geometry,), NodeSizes(2, 2, 2), {}, columns)
    none = np.empty((0, 0), np.int32)
    arrays = {"forest": (np.ones(few.shape, np.float32), none, 4, none.ravel())}
    growth.plan_of(few, None, Gradients(arrays, None), 1)
    np.testing.assert_allclose(used, [table.scale], rtol=1e-6)


def test_log_probabilities():
    model = small(geometry="fast").fit(X, y)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))


def test_numbers_may_be_constant_in_the_learning_rows_of_a_split():
    X = np.array([[0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0]] * 2).T
    X[18, 0] = X[12, 1] = -1
    model = JacobianForestClassifier(2, random_state=0).fit(X, np.arange(24) % 3)
    assert model.race_.winner == "axes"


@pytest.mark.parametrize("asked", [CYCLES["mixed"], Geometry("s", symmetric=True), None])
def test_symmetric_trees_are_refused(asked):
    asked = asked or ["axes", Geometry("s", symmetric=True)]
    with pytest.raises(ValueError, match="symmetric trees, which only boosting has"):
        JacobianForestRegressor(5, geometry=asked).fit(np.eye(30), np.arange(30.0))
