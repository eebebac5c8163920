"""Every estimator accepts raw tables."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from jarf import (
    AxisForestClassifier,
    AxisForestRegressor,
    CanonicalCorrelationForestClassifier,
    CanonicalCorrelationForestRegressor,
    JacobianBoostingClassifier,
    JacobianBoostingRegressor,
    JacobianForestClassifier,
    JacobianForestRegressor,
    JacobianPreconditioner,
    JARFClassifier,
    JARFRegressor,
    RotationForestClassifier,
    RotationForestRegressor,
    SPORFClassifier,
    SPORFRegressor,
)
from jarf.ensemble import TreeEnsemble
from jarf.table import read_columns

FORESTS = [
    AxisForestClassifier(10, random_state=0),
    AxisForestRegressor(10, random_state=0),
    CanonicalCorrelationForestClassifier(10, random_state=0),
    CanonicalCorrelationForestRegressor(10, random_state=0),
    RotationForestClassifier(10, random_state=0),
    RotationForestRegressor(10, random_state=0),
    SPORFClassifier(10, random_state=0),
    SPORFRegressor(10, random_state=0),
    JacobianForestClassifier(10, geometry="dense", random_state=0),
    JacobianForestRegressor(10, geometry="sparse", random_state=0),
]
BOOSTED = {"max_iter": 30, "learning_rate": 0.2, "early_stopping": False, "random_state": 0}
FORESTS += [
    JacobianBoostingClassifier(geometry="mixed", **BOOSTED),
    JacobianBoostingRegressor(geometry="mixed", **BOOSTED),
]
SURROGATES = RandomForestClassifier(5), RandomForestRegressor(5)
MAPS = [
    JacobianPreconditioner(SURROGATES[0]),
    JacobianPreconditioner(SURROGATES[0], categorical="toggle"),
    JacobianPreconditioner(SURROGATES[0], n_components=2),
]
JARFS = [
    *(JARFClassifier(preconditioner=made, n_estimators=10, random_state=0) for made in MAPS),
    JARFClassifier(preconditioner=MAPS[0], n_estimators=10, random_state=0, share="per-tree"),
    JARFRegressor(
        preconditioner=JacobianPreconditioner(SURROGATES[1]), n_estimators=10, random_state=0
    ),
]


def name(model):
    return repr(model).replace(" ", "").replace("\n", "")


every = pytest.mark.parametrize("model", FORESTS + JARFS, ids=name)
forests = pytest.mark.parametrize("model", FORESTS, ids=name)


def make(n=300, seed=0):
    """Two oblique numbers, a category that flips the sign, an id of many levels, and holes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    kind = rng.choice(["a", "b", "c"], n)
    town = rng.integers(0, 80, n)
    flag = rng.random(n) < 0.5
    signal = (x[:, 0] + x[:, 1]) * np.where(kind == "a", -1, 1) + np.sin(town) + flag
    table = {
        "x0": np.where(rng.random(n) < 0.1, None, x[:, 0]).tolist(),
        "kind": np.where(rng.random(n) < 0.1, None, kind).tolist(),
        "x1": x[:, 1].tolist(),
        "town": [f"t{t}" for t in town],
        "flag": flag.tolist(),
        "x2": x[:, 2].astype(np.float32).tolist(),
        "count": rng.integers(0, 5, n).tolist(),
    }
    return pd.DataFrame(table).astype({"x0": float}), signal


FRAME, SIGNAL = make()
NEW, NEW_SIGNAL = make(200, seed=1)
LABELS = np.where(SIGNAL > 0.5, "yes", "no")


def fit(model, X=FRAME, **params):
    return clone(model).fit(X, LABELS if is_classifier(model) else SIGNAL, **params)


def answers(model, X):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


@every
def test_a_mixed_table_is_learned(model):
    more = {"n_estimators": 30} if hasattr(model, "n_estimators") else {}
    fitted = fit(clone(model).set_params(**more))
    truth = np.where(NEW_SIGNAL > 0.5, "yes", "no") if is_classifier(model) else NEW_SIGNAL
    assert fitted.score(NEW, truth) > (0.65 if is_classifier(model) else 0.2)
    assert fitted.n_features_in_ == 7
    assert fitted.feature_names_in_.tolist() == list(FRAME.columns)
    importances = fitted.feature_importances_
    assert importances.shape == (7,)
    np.testing.assert_allclose(importances.sum(), 1)
    assert np.isfinite(answers(fitted, NEW)).all()


@every
def test_pandas_and_polars_give_the_same_bits(model):
    polars, new = pl.from_pandas(FRAME), pl.from_pandas(NEW)
    one, two = fit(model), fit(model, polars)
    np.testing.assert_array_equal(answers(one, NEW), answers(two, new))
    np.testing.assert_array_equal(answers(one, new), answers(two, NEW))
    np.testing.assert_array_equal(one.feature_importances_, two.feature_importances_)


@every
def test_columns_are_checked_by_name(model):
    fitted = fit(model)
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(NEW[NEW.columns[::-1]])
    with pytest.raises(ValueError, match="town"):
        fitted.predict(NEW.drop(columns="town"))


@every
def test_frames_and_arrays_of_numbers_give_the_same_bits(model):
    numbers = FRAME[["x1", "x2", "count"]]
    X = numbers.to_numpy(dtype=float)
    one, two = fit(model, numbers), fit(model, X)
    assert one.table_.is_identity_
    assert two.table_.is_identity_
    np.testing.assert_array_equal(answers(one, numbers), answers(two, X))
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    np.testing.assert_allclose(two.table_.fill_values_, np.median(X, axis=0), rtol=1e-6)
    seen = holes if hasattr(two, "preconditioner_") else holes.astype(np.float32)
    np.testing.assert_array_equal(answers(two, holes), answers(two, two.table_.fill(seen)))
    np.testing.assert_array_equal(
        answers(two, holes), answers(one, pd.DataFrame(holes, columns=numbers.columns))
    )
    framed = pd.DataFrame(holes, columns=numbers.columns)
    np.testing.assert_array_equal(
        answers(fit(model, holes), holes), answers(fit(model, framed), framed)
    )


@every
@pytest.mark.parametrize("make_sparse", [sparse.csr_matrix, sparse.coo_array])
def test_sparse_matrices_give_the_bits_of_dense_ones(model, make_sparse):
    X = FRAME[["x1", "x2", "count"]].to_numpy(dtype=float)
    X[np.abs(X) < 0.5] = 0
    one, two = fit(model, X), fit(model, make_sparse(X))
    np.testing.assert_array_equal(answers(one, X), answers(two, make_sparse(X)))
    np.testing.assert_array_equal(answers(one, X), answers(two, X))


@every
def test_unknown_levels_and_missing_values_at_prediction(model):
    odd = NEW.copy()
    odd["kind"] = "never seen"
    odd["town"] = None
    odd["x1"] = np.nan
    odd["flag"] = None
    assert np.isfinite(answers(fit(model), odd)).all()


@every
def test_rows_of_weight_zero_are_ignored(model):
    weights = np.ones(len(FRAME))
    weights[250:] = 0
    table = fit(model, sample_weight=weights).table_
    fewer = clone(model).fit(FRAME[:250], (LABELS if is_classifier(model) else SIGNAL)[:250])
    assert table.levels_ == fewer.table_.levels_
    np.testing.assert_array_equal(table.fill_values_, fewer.table_.fill_values_)


@every
def test_unsupported_options_explain_the_fix(model):
    y = LABELS if is_classifier(model) else SIGNAL
    with pytest.raises(ValueError, match="SelectKBest"):
        clone(model).fit(sparse.csr_array((len(y), 10**6)), y)
    if is_classifier(model) or not isinstance(model, TreeEnsemble):
        with pytest.raises(ValueError, match="MultiOutput"):
            clone(model).fit(FRAME, np.column_stack([y, y]))
    dated = FRAME.assign(day=pd.Timestamp("2020-01-01"))
    with pytest.raises(ValueError, match="column 'day' holds dates"):
        clone(model).fit(dated, y)
    with pytest.raises(ValueError, match="column 'x1' holds infinity"):
        clone(model).fit(FRAME.assign(x1=np.inf), y)
    fitted = fit(model)
    with pytest.raises(ValueError, match="column 'x1' held numbers in fit"):
        fitted.predict(NEW.assign(x1="a"))
    with pytest.raises(ValueError, match="column 'kind' held text"):
        fitted.predict(NEW.assign(kind=1.0))


@forests
def test_directions_mix_numbers_only(model):
    fitted = fit(model)
    forest, number = fitted.forest_, fitted.table_.is_number
    inner, directions = forest.directions()
    sizes = np.diff(directions.indptr)
    mixed = np.repeat(sizes > 1, sizes)
    assert number[directions.indices[mixed]].all()
    axes = directions.indices[~mixed]
    assert not number[axes].all()  # categories are cut by plain axes
    if not isinstance(model, AxisForestClassifier | AxisForestRegressor):
        assert mixed.any()
    cuts = fitted.split_normals()
    assert cuts.normals.shape == (len(inner), 7)
    np.testing.assert_allclose(np.sqrt(cuts.normals.power(2).sum(axis=1)), 1, rtol=1e-6)


@forests
def test_only_categories(model):
    fitted = fit(model, FRAME[["kind", "flag", "town"]])
    assert np.isfinite(answers(fitted, NEW[["kind", "flag", "town"]])).all()


def test_warm_start_keeps_the_table():
    model = SPORFClassifier(5, random_state=0, warm_start=True).fit(FRAME, LABELS)
    table = model.table_
    model.set_params(n_estimators=10).fit(FRAME, LABELS)
    assert model.table_ is table
    np.testing.assert_array_equal(model.predict_proba(NEW), fit(FORESTS[6]).predict_proba(NEW))


def test_a_plain_array_is_not_copied():
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(50, 3)), dtype=np.float32)
    from jarf.table import fit_table, read_table

    model = AxisForestClassifier()
    seen, _ = fit_table(model, X, X[:, 0] > 0, classifies=True, dtype=np.float32, order="F")
    assert seen is X or np.shares_memory(seen, X)
    assert np.shares_memory(read_table(model, X, dtype=np.float32, order="F"), X)


# --- the map


def pre(**params):
    surrogate = RandomForestClassifier(10)
    model = JacobianPreconditioner(surrogate, random_state=0, **params)
    return model.fit(FRAME.drop(columns="town"), LABELS)


def test_categories_pass_through_the_map():
    model = pre()
    plain = ~model.table_.is_number
    mapped = model.transform(NEW.drop(columns="town"))
    level = model.table_.is_level
    assert set(np.unique(mapped[:, level])) == {0.0, 1.0}
    encoded = model.table_.encode(read_columns(NEW.drop(columns="town")))
    np.testing.assert_array_equal(mapped[:, plain], encoded[:, plain])
    np.testing.assert_array_equal(model.ejop_.matrix[plain], 0)
    block = model.preconditioner_[np.ix_(~plain, ~plain)]
    np.testing.assert_allclose(np.trace(block), (~plain).sum())
    assert model.feature_sensitivities_.shape == (6,)
    assert model.feature_sensitivities_[1] == 0
    with pytest.raises(ValueError, match="cannot be decoded"):
        model.inverse_transform(mapped)


def test_toggled_categories_enter_the_map():
    model = pre(categorical="toggle")
    assert model.feature_sensitivities_[1] > 0
    assert model.feature_sensitivities_[4] > 0
    level = model.table_.is_level
    np.testing.assert_array_equal(model.steps_[level], 1)
    for boundary in ("clip", "none"):
        same = pre(categorical="toggle", boundary=boundary)
        np.testing.assert_allclose(
            np.diag(same.ejop_.matrix)[level], np.diag(model.ejop_.matrix)[level], rtol=1e-12
        )


def test_the_toggled_difference_of_a_known_model():
    """The EJOP entry of a 0/1 column is the mean square of f(1) - f(0)."""

    class Known(RandomForestRegressor):  # a subclass is probed like any model
        def fit(self, X, y):
            self.n_features_in_ = X.shape[1]
            return self

        def predict(self, X):
            return 3.0 * X[:, 1] + X[:, 0]

    frame = pd.DataFrame({"x": SIGNAL, "flag": FRAME["flag"]})
    model = JacobianPreconditioner(Known(), standardize=False, categorical="toggle")
    ejop = model.fit(frame, SIGNAL).ejop_.matrix
    np.testing.assert_allclose(ejop, [[1, 3], [3, 9]], rtol=1e-8)


def test_components_come_before_columns_that_pass_through():
    model = pre(n_components=2)
    n_plain = (~model.table_.is_number).sum()
    assert model.transform(NEW.drop(columns="town")).shape[1] == 2 + n_plain
    with pytest.raises(ValueError, match="n_components=7 is more than the 4"):
        pre(n_components=7)


def test_steps_are_those_of_the_columns():
    steps = [0.1, 9.0, 0.2, 9.0, 0.3, 0.4]
    model = pre(step_rule=steps)
    np.testing.assert_allclose(model.steps_[model.table_.is_number], [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(ValueError, match="must hold 6"):
        pre(step_rule=[1.0])
    assert (pre(step_rule="global").steps_[~model.table_.is_number] == 0).all()


def test_a_frozen_surrogate_needs_plain_numbers():
    frozen = FrozenEstimator(LogisticRegression().fit(np.eye(7), np.arange(7) % 2))
    with pytest.raises(ValueError, match="frozen"):
        JacobianPreconditioner(frozen).fit(FRAME.to_numpy(dtype=object), LABELS)


def test_class_weight_reaches_surrogate_map_and_forest():
    model = JARFS[0]
    balanced = clone(model).set_params(class_weight={"yes": 3.0, "no": 1.0}).fit(FRAME, LABELS)
    weighed = fit(model, sample_weight=np.where(LABELS == "yes", 3.0, 1.0))
    np.testing.assert_array_equal(balanced.predict_proba(NEW), weighed.predict_proba(NEW))


def test_lists_and_object_arrays():
    rows = FRAME.to_numpy(dtype=object)
    one, two = fit(FORESTS[6], rows), fit(FORESTS[6], rows.tolist())
    np.testing.assert_array_equal(answers(one, rows), answers(two, rows.tolist()))
    np.testing.assert_array_equal(answers(one, rows), answers(fit(FORESTS[6]), FRAME))


def test_chosen_columns_of_an_array():
    X, y = load_iris(return_X_y=True)
    model = AxisForestClassifier(5, categorical_features=[3], random_state=0).fit(X, y)
    assert model.table_.levels_[3] == np.unique(X[:, 3]).tolist()
    assert model.predict(X).shape == y.shape


def test_lazy_frames_are_to_be_collected():
    with pytest.raises(ValueError, match="collect"):
        AxisForestClassifier().fit(pl.from_pandas(FRAME).lazy(), LABELS)


def test_frames_of_numbers_need_no_narwhals(monkeypatch):
    numbers = FRAME[["x1", "x2", "count"]]
    expected = answers(fit(FORESTS[0], numbers), numbers)
    monkeypatch.setattr("jarf.table._input._without_narwhals", lambda: True)
    np.testing.assert_array_equal(answers(fit(FORESTS[0], numbers), numbers), expected)
    with pytest.raises(ValueError, match="could not convert"):
        fit(FORESTS[0], FRAME)
