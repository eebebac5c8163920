from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression

from jarf import (
    CanonicalCorrelationForestClassifier,
    JacobianBoostingClassifier,
    JacobianBoostingRegressor,
    JacobianForestClassifier,
    JacobianPreconditioner,
    JARFClassifier,
    JARFRegressor,
    SPORFRegressor,
)
from jarf.inspection import shapley_values
from jarf.inspection._models import MixedRows, encode


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    return X, X[:, 0] - 2 * X[:, 1] + X[:, 2] * X[:, 3]


def linear_jarf(X, y):
    """JARF on a linear model is a linear function of the columns."""
    return JARFRegressor(
        LinearRegression(), preconditioner=JacobianPreconditioner(n_probes=20), random_state=0
    ).fit(X, y)


@pytest.mark.parametrize("exact", [True, False])
def test_a_linear_model_credits_weight_times_distance(data, exact):
    X, _ = data
    y = X @ [1.0, -2.0, 0.5, 0.0]
    found = shapley_values(linear_jarf(X, y), X[:6], X[50:80], exact=exact, random_state=0)
    known = (X[:6] - X[50:80].mean(axis=0)) * [1.0, -2.0, 0.5, 0.0]
    np.testing.assert_allclose(found.values, known, atol=1e-9)
    np.testing.assert_allclose(found.standard_errors, 0, atol=1e-9)


def test_exact_values_are_the_mean_over_all_orders(data):
    X, y = data
    model = SPORFRegressor(5, random_state=0).fit(X, y)
    x, others = X[3], X[10:13]
    known = np.zeros(4)
    for order in permutations(range(4)):
        rows = others.copy()
        before = model.predict(rows)
        for j in order:
            rows[:, j] = x[j]
            after = model.predict(rows)
            known[j] += (after - before).mean() / 24
            before = after
    found = shapley_values(model, X[3:4], others)
    assert found.exact
    np.testing.assert_allclose(found.values[0], known)


MODELS = [
    JARFRegressor(ExtraTreesRegressor(5), random_state=0),
    JARFClassifier(n_estimators=5, random_state=0),
    JARFClassifier(n_estimators=4, share="per-tree", random_state=0),
    CanonicalCorrelationForestClassifier(5, random_state=0),
    JacobianForestClassifier(5, geometry="sparse", random_state=0),
    JacobianBoostingClassifier(max_iter=5, geometry="mixed", random_state=0),
    JacobianBoostingRegressor(max_iter=5, geometry="mixed", random_state=0),
]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_values_add_up_to_the_prediction(data, model, exact):
    X, y = data
    classifies = is_classifier(model)
    model = clone(model).fit(X, np.digitize(y, [-1, 1]) if classifies else y)
    predict = model.predict_proba if classifies else model.predict
    found = shapley_values(model, X[:5], X[20:30], exact=exact, random_state=0)
    np.testing.assert_allclose(
        found.values.sum(axis=1) + found.base_values, predict(X[:5]), atol=1e-12
    )
    np.testing.assert_allclose(found.base_values, predict(X[20:30]).mean(axis=0), atol=1e-12)
    assert found.values.shape[:2] == (5, 4)
    assert found.importances.shape == (4,)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("task", ["two classes", "three classes", "poisson"])
def test_raw_values_add_up_to_the_sums_of_the_trees(data, task, exact):
    """shap explains log-odds and logarithms of means."""
    X, y = data
    rounds = {"max_iter": 8, "geometry": "mixed", "random_state": 0, "early_stopping": False}
    if task == "poisson":
        model = JacobianBoostingRegressor("poisson", **rounds).fit(X, np.exp(y))
        known = np.log(model.predict(X))
    else:
        model = JacobianBoostingClassifier(**rounds)
        model.fit(X, np.digitize(y, [0] if task == "two classes" else [-1, 1]))
        known = model.decision_function(X)
    found = shapley_values(model, X[:5], X[20:30], exact=exact, random_state=0, output="raw")
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, known[:5], atol=1e-12)
    np.testing.assert_allclose(found.base_values, known[20:30].mean(axis=0), atol=1e-12)
    assert found.values.shape == ((5, 4, 3) if task == "three classes" else (5, 4))


def test_raw_values_differ_from_probabilities(data):
    X, y = data
    with pytest.raises(ValueError, match="output must be 'prediction' or 'raw', got 'odds'"):
        shapley_values(SPORFRegressor(1).fit(X, y), X[:1], X[:2], output="odds")
    with pytest.raises(ValueError, match="output='raw' needs a forest or a booster"):
        shapley_values(linear_jarf(X, y), X[:1], X[:2], output="raw")


def test_sampled_values_lie_within_their_errors(data):
    X, y = data
    model = SPORFRegressor(10, random_state=0).fit(X, y)
    exact = shapley_values(model, X[:10], X[20:40])
    sampled = shapley_values(model, X[:10], X[20:40], exact=False, n_permutations=3, random_state=1)
    errors = (sampled.values - exact.values) / sampled.standard_errors
    assert not sampled.exact
    assert 0.8 < np.sqrt(np.mean(errors**2)) < 1.3


def test_columns_of_a_mixed_table_are_one_player_each(mixed_table):
    X, y = mixed_table(300, 0)
    model = JARFRegressor(n_estimators=5, random_state=0).fit(X, y)
    assert model.table_.filling_ is not None
    for exact in (True, False):
        found = shapley_values(model, X[:4], X[10:18], exact=exact, random_state=0)
        assert found.feature_names.tolist() == list(X.columns)
        np.testing.assert_allclose(
            found.values.sum(axis=1) + found.base_values, model.predict(X[:4]), atol=1e-9
        )


@pytest.mark.parametrize("taken", ["colour", "savings"])
def test_mixed_rows_are_filled_as_the_model_does(mixed_table, taken):
    X, y = mixed_table(300, 0)
    model = SPORFRegressor(5, random_state=0).fit(X, y)
    gone = X["income"].isna() & X["savings"].notna()
    first, other = np.flatnonzero(gone)[0], np.flatnonzero(X.notna().all(axis=1))[0]
    rows = MixedRows(model, X.iloc[[first]], X.iloc[[other]])
    zero = np.zeros(1, dtype=int)
    found = rows.mix(zero, zero, np.array([[name != taken for name in X.columns]]))
    mixed = X.iloc[[first]].copy()
    mixed[taken] = X.iloc[other][taken]
    np.testing.assert_array_equal(found, encode(model, mixed))


def test_the_same_seed_draws_the_same_orders(data):
    X, y = data
    model = SPORFRegressor(3, random_state=0).fit(X, y)
    one, two = (shapley_values(model, X[:3], X[5:9], exact=False, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)


def test_invalid_arguments_are_refused(data):
    X, y = data
    model = SPORFRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="at least 2"):
        shapley_values(model, X[:1], X[1:3], exact=False, n_permutations=1)
    with pytest.raises(TypeError, match="got LinearRegression"):
        shapley_values(LinearRegression().fit(X, y), X[:1], X[1:3])
    wide = np.random.default_rng(0).normal(size=(40, 17))
    model = SPORFRegressor(2, random_state=0).fit(wide, wide[:, 0])
    assert not shapley_values(model, wide[:1], wide[1:3], random_state=0).exact
    with pytest.raises(ValueError, match="exact=False"):
        shapley_values(model, wide[:1], wide[1:3], exact=True)
