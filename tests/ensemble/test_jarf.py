import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from jarf import (
    AxisForestClassifier,
    AxisForestRegressor,
    JacobianPreconditioner,
    JARFClassifier,
    JARFRegressor,
)
from jarf.datasets import make_rotated_halfspace
from jarf.table import fit_table as fit

X, y = make_rotated_halfspace(300, 4, angle=45, random_state=0)
IRIS, SPECIES = load_iris(return_X_y=True)
BODY, DISEASE = load_diabetes(return_X_y=True)


MAPPING = set(JacobianPreconditioner().get_params(deep=False)) - set(JARFClassifier().get_params())


def small(cls=JARFClassifier, estimator=None, **params):
    """A small model; parameters of the preconditioner go there."""
    nested = {name: params.pop(name) for name in MAPPING & set(params)}
    made = JacobianPreconditioner(**nested) if nested else None
    settings = {"n_estimators": 15, "random_state": 0, **params}
    return cls(estimator, preconditioner=made, **settings)


def test_paper_defaults():
    forest = JARFClassifier(random_state=0).fit(X, y).estimator_
    assert isinstance(forest, AxisForestClassifier)
    assert (forest.n_estimators, forest.criterion, forest.max_features) == (200, "gini", "sqrt")
    model = small(JARFRegressor).fit(BODY, DISEASE)
    assert isinstance(model.estimator_, AxisForestRegressor)
    assert model.estimator_.max_features == 1.0
    surrogate = model.preconditioner_.surrogate_
    assert (surrogate.n_estimators, surrogate.max_features) == (50, "sqrt")


def test_it_is_the_preconditioner_and_the_forest():
    surrogate = FrozenEstimator(RandomForestClassifier(20, random_state=3).fit(X, y))
    model = small(estimator=RandomForestClassifier(15), surrogate=surrogate).fit(X, y)
    mapped = JacobianPreconditioner(surrogate).fit_transform(X, y)
    by_hand = RandomForestClassifier(15, random_state=model.estimator_.random_state).fit(mapped, y)
    np.testing.assert_array_equal(model.predict_proba(X), by_hand.predict_proba(mapped))


def test_it_beats_the_plain_forest_on_a_rotated_boundary():
    data, labels = make_rotated_halfspace(6000, 10, angle=45, random_state=1)
    train, test = slice(1000), slice(1000, None)
    kappas = []
    for model in (RandomForestClassifier(100, random_state=0), small(n_estimators=100)):
        model.fit(data[train], labels[train])
        kappas.append(cohen_kappa_score(labels[test], model.predict(data[test])))
    assert kappas[1] > kappas[0] + 0.005


def test_trees_do_not_see_the_trace_normalisation():
    scaled, plain = (small(normalize=choice).fit(IRIS, SPECIES) for choice in (True, False))
    np.testing.assert_allclose(scaled.predict_proba(IRIS), plain.predict_proba(IRIS), atol=1e-12)
    for word in ("feature", "left", "right"):
        ours, theirs = (model.estimator_.forest_.nodes[word] for model in (scaled, plain))
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("share", ["global", "per-tree"])
@pytest.mark.parametrize("cls", [JARFClassifier, JARFRegressor])
def test_same_bits_for_any_n_jobs_and_after_pickling(cls, share):
    data, target = (IRIS, SPECIES) if cls is JARFClassifier else (BODY, DISEASE)
    one = small(cls, share=share, n_jobs=1).fit(data, target)
    method = "predict_proba" if cls is JARFClassifier else "predict"
    expected = getattr(one, method)(data)
    for n_jobs in (2, 4):
        many = small(cls, share=share, n_jobs=n_jobs).fit(data, target)
        np.testing.assert_array_equal(getattr(many, method)(data), expected)
    back = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(getattr(back, method)(data), expected)
    np.testing.assert_array_equal(getattr(clone(one).fit(data, target), method)(data), expected)


def test_string_labels_and_probabilities():
    names = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    model = small().fit(IRIS, names)
    assert model.classes_.tolist() == sorted(set(names))
    assert set(model.predict(IRIS)) <= set(names)
    np.testing.assert_allclose(model.predict_proba(IRIS).sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(IRIS)), model.predict_proba(IRIS))
    numbers = small().fit(IRIS, SPECIES)
    np.testing.assert_array_equal(numbers.predict_proba(IRIS), model.predict_proba(IRIS))


@pytest.mark.parametrize("share", ["global", "per-tree"])
def test_importances_are_of_original_features(share):
    model = small(share=share, n_estimators=40).fit(X, y)
    importances = model.feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1)
    assert set(np.argsort(importances)[-2:]) == {0, 1}


def test_importances_do_not_depend_on_units():
    model, other = (small(standardize=False, gamma=0.0).fit(X * unit, y) for unit in (1.0, 128.0))
    np.testing.assert_allclose(model.feature_importances_, other.feature_importances_)


@pytest.mark.parametrize(
    "estimator", [ExtraTreesClassifier(10), LogisticRegression(), RidgeClassifier()]
)
def test_any_final_estimator(estimator):
    model = small(estimator=estimator).fit(X, y)
    assert model.score(X, y) > 0.8
    assert hasattr(model, "predict_proba") == hasattr(estimator, "predict_proba")
    assert hasattr(small(estimator=estimator), "predict_proba") == hasattr(
        estimator, "predict_proba"
    )


@pytest.mark.parametrize("cls", [JARFClassifier, JARFRegressor])
def test_jarf_xgb(cls):
    xgboost = pytest.importorskip("xgboost")
    if cls is JARFClassifier:
        booster, data, target = xgboost.XGBClassifier(n_estimators=10), IRIS, SPECIES.astype(str)
    else:
        booster, data, target = xgboost.XGBRegressor(n_estimators=10), BODY, DISEASE
    model = small(cls, estimator=booster).fit(data, target)
    assert isinstance(model.estimator_, type(booster))
    assert model.score(data, target) > 0.7
    assert model.feature_importances_.sum() == pytest.approx(1, rel=1e-5)
    as_surrogate = small(cls, surrogate=booster, n_probes=40).fit(data, target)
    assert as_surrogate.score(data, target) > 0.7


def test_search_pipeline_and_frames():
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), small(n_estimators=5, step=0.3)),
        {
            "jarfclassifier__preconditioner__step": [0.1, 0.2],
            "jarfclassifier__preconditioner__surrogate": [None, RandomForestClassifier(5)],
        },
        cv=2,
    ).fit(frame, SPECIES)
    assert search.best_score_ > 0.8
    best = search.best_estimator_[-1]
    step = search.best_params_["jarfclassifier__preconditioner__step"]
    assert best.preconditioner_.step == best.preconditioner.step == step
    assert not hasattr(best.preconditioner, "ejop_")
    model = small().fit(frame, SPECIES)
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])


def test_stages_are_timed_and_shown(capsys):
    model = small(verbose=1).fit(X, y)
    assert set(model.stage_times_) == {"surrogate", "gradients", "fit"}
    shown = capsys.readouterr().err
    assert "[JARFClassifier] fit:" in shown
    small().fit(X, y)
    assert capsys.readouterr().err == ""


def test_weights_are_used_everywhere():
    weights = np.where(X[:, 2] > 0, 1.0, 0.0)
    for share in ("global", "per-tree"):
        flipped = np.where(X[:, 2] > 0, y, 1 - y)  # rows of weight zero have the opposite labels
        model = small(share=share).fit(X, flipped, sample_weight=weights)
        assert model.score(X, y) > 0.85


def test_per_tree_maps_differ_and_gradients_are_not_kept():
    model = small(share="per-tree").fit(X, y)
    maps = [linear.matrix for linear in model.estimator_.maps_]
    assert len(maps) == 15
    assert not np.allclose(maps[0], maps[1])
    np.testing.assert_allclose(
        np.mean(maps, axis=0), model.preconditioner_.preconditioner_, atol=0.2
    )
    assert model.preconditioner_.ejop_.gradients is None


def test_per_tree_projection_and_few_probes():
    model = small(share="per-tree", n_components=2, n_probes=1).fit(X, y)
    assert all(linear.matrix.shape == (4, 2) for linear in model.estimator_.maps_)
    assert model.predict(X).shape == (300,)


@pytest.mark.parametrize(
    ("params", "data", "target", "message"),
    [
        ({}, X, np.zeros(300), "only one class"),
        ({}, X, y[:-1], "inconsistent"),
        ({}, X, X[:, 0], "label type"),
        ({}, np.where(X > 2, np.inf, X), y, "infinity"),
        ({}, pd.DataFrame({"a": [["x"], ["y"]] * 150, "b": X[:, 0]}), y, "column 'a' holds"),
        ({"step": -0.1}, X, y, "step"),
        ({"surrogate": LinearSVC()}, X, y, "predict_proba"),
        ({"surrogate": LinearRegression()}, X, y, "predict_proba"),
        ({"estimator": LinearRegression()}, X, y, "must be a classifier"),
        ({"estimator": LogisticRegression(), "share": "per-tree"}, X, y, "random forest"),
        ({"n_estimators": 0}, X, y, "n_estimators"),
    ],
)
def test_bad_input_is_named(params, data, target, message):
    with pytest.raises(ValueError, match=message):
        small(**params).fit(data, target)


def test_a_classifier_cannot_be_a_regressors_surrogate():
    with pytest.raises(ValueError, match="must be a regressor"):
        small(JARFRegressor, surrogate=LogisticRegression()).fit(BODY, DISEASE)


def test_very_wide_table():
    wide = np.random.default_rng(0).normal(size=(40, 2000))
    labels = (wide[:, 0] > 0).astype(int)
    model = small(surrogate=RandomForestClassifier(5)).fit(wide, labels)
    assert model.predict(wide).shape == (40,)


@pytest.mark.parametrize("name", ["surrogate", "step", "n_probes", "gamma", "categorical"])
def test_parameters_of_the_preconditioner_are_set_there(name):
    with pytest.raises(TypeError, match="unexpected keyword"):
        JARFClassifier(**{name: None})


def test_unset_preconditioner_parameters_come_from_jarf(capsys):
    one = small(n_jobs=2, verbose=1, step=0.2).fit(X, y)
    assert (one.preconditioner_.n_jobs, one.preconditioner_.verbose) == (2, 1)
    assert "[JacobianPreconditioner] gradients:" in capsys.readouterr().err
    nested = JacobianPreconditioner(step=0.2, n_jobs=1, random_state=5)
    two = JARFClassifier(preconditioner=nested, n_estimators=15, n_jobs=2, random_state=0)
    two.fit(X, y)
    assert two.preconditioner_.n_jobs == 1
    alone = clone(nested).fit(X, y)
    np.testing.assert_array_equal(alone.ejop_.matrix, two.preconditioner_.ejop_.matrix)
    assert not np.array_equal(one.preconditioner_.ejop_.matrix, alone.ejop_.matrix)
    assert not hasattr(nested, "ejop_")


def test_jarf_decides_which_columns_are_categories():
    codes = np.column_stack([X, np.arange(300) % 3])
    nested = JacobianPreconditioner(categorical_features=[4])
    agreed = small(categorical_features=[4]).set_params(preconditioner=nested).fit(codes, y)
    assert agreed.table_.levels_.keys() == {4}
    for own in ("from_dtype", None, [3]):
        model = small(categorical_features=own).set_params(preconditioner=nested)
        with pytest.raises(ValueError, match="Set categorical_features of JARFClassifier"):
            model.fit(codes, y)


def test_nested_parameters_are_checked_before_any_work():
    with pytest.raises(ValueError, match="'gamma' parameter of JacobianPreconditioner"):
        small(gamma=-1.0).fit(None, None)
    with pytest.raises(ValueError, match="'preconditioner' parameter of JARFClassifier"):
        JARFClassifier(preconditioner=RandomForestClassifier()).fit(X, y)


@pytest.mark.parametrize("share", ["global", "per-tree"])
def test_labels_are_encoded_and_the_table_is_read_once(monkeypatch, share):
    calls = []
    for place in ("_jarf", "_bagged"):

        def counted(*args, _place=place, **options):
            calls.append(_place)
            return fit(*args, **options)

        monkeypatch.setattr(f"jarf.ensemble.{place}.fit_table", counted)
    checked = "jarf.table._target.check_classification_targets"
    monkeypatch.setattr(checked, lambda labels: calls.append("labels"))
    model = small(share=share, n_estimators=3).fit(X, y)
    assert calls == ["_jarf", "labels"]
    assert model.score(X, y) > 0.7


def test_the_final_forest_answers_alone():
    model = small().fit(IRIS, SPECIES.astype(str))
    mapped = model.preconditioner_.transform(IRIS)
    answers = model.estimator_.predict_proba(mapped)
    np.testing.assert_array_equal(answers, model.predict_proba(IRIS))
    assert model.estimator_.classes_.tolist() == [0, 1, 2]
    assert model.estimator_.n_features_in_ == 4


def test_a_map_beyond_float32_is_named():
    huge = small(estimator=AxisForestClassifier(2), standardize=False, normalize=False, gamma=1e30)
    with pytest.raises(ValueError, match="too large for float32"):
        huge.fit(X * 1e20, y)
