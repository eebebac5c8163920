import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from jarf import JacobianPreconditioner, expected_jacobian_outer_product
from jarf.datasets import make_rotated_halfspace

X, y = make_rotated_halfspace(400, 4, angle=45, random_state=0)


def fitted(**params):
    return JacobianPreconditioner(random_state=0, **params).fit(X, y)


def test_paper_defaults():
    model = fitted()
    forest = model.surrogate_
    assert isinstance(forest, RandomForestClassifier)
    assert (forest.n_estimators, forest.max_features, forest.min_samples_leaf) == (50, "sqrt", 1)
    assert model.ejop_.n_probes == 400
    np.testing.assert_allclose(np.trace(model.preconditioner_), 4)
    H = model.ejop_.matrix + 1e-3 * np.eye(4)
    np.testing.assert_allclose(model.preconditioner_, H / (np.trace(H) / 4))


def test_transform_is_the_standardised_table_times_h():
    model = fitted()
    Z = StandardScaler().fit_transform(X) @ model.preconditioner_
    np.testing.assert_allclose(model.transform(X), Z)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)
    raw = fitted(standardize=False)
    np.testing.assert_allclose(raw.transform(X), X @ raw.preconditioner_)


def test_leading_eigenvector_is_the_normal():
    model = fitted(step=0.5)
    assert abs(model.eigenvectors_[:, 0] @ [0.5**0.5, 0.5**0.5, 0, 0]) > 0.97
    assert (np.diff(model.eigenvalues_) <= 0).all()
    np.testing.assert_allclose(model.feature_sensitivities_, np.sqrt(np.diag(model.ejop_.matrix)))


def test_units_of_the_columns_do_not_matter():
    units = np.array([2.0**-10, 1.0, 2.0**14, 8.0])  # powers of two: no rounding in between
    here = fitted()
    there = JacobianPreconditioner(random_state=0).fit(X * units, y)
    np.testing.assert_allclose(there.preconditioner_, here.preconditioner_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(there.steps_, here.steps_ * units)


def test_surrogate_and_gradients_are_in_original_units():
    frozen = FrozenEstimator(LogisticRegression().fit(X * 10, y))
    model = JacobianPreconditioner(frozen, random_state=0).fit(X * 10, y)
    assert model.surrogate_ is frozen
    by_function = expected_jacobian_outer_product(frozen, X * 10, y).matrix
    scale = model.scale_
    np.testing.assert_allclose(model.ejop_.matrix, by_function * np.outer(scale, scale))


def test_frozen_surrogate_with_string_labels():
    names = np.where(y == 1, "yes", "no")
    unregularised = LogisticRegression(C=1e9, max_iter=1000, tol=1e-8)
    frozen = FrozenEstimator(clone(unregularised).fit(X, names))
    model = JacobianPreconditioner(frozen).fit(X, names)
    fitted_here = JacobianPreconditioner(unregularised).fit(X, y)
    np.testing.assert_allclose(model.ejop_.matrix, fitted_here.ejop_.matrix, atol=1e-4)


@pytest.mark.parametrize(
    "surrogate",
    [
        make_pipeline(StandardScaler(), MLPClassifier(max_iter=40, random_state=0)),
        RandomForestClassifier(n_estimators=5),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_surrogate(surrogate):
    model = fitted(surrogate=surrogate, n_probes=50)
    assert model.ejop_.n_probes == 50
    assert not hasattr(surrogate, "classes_") or not hasattr(surrogate, "estimators_")


@pytest.mark.parametrize(("n_probes", "expected"), [(7, 7), (0.25, 100), (10_000, 400), (400, 400)])
def test_number_of_probes(n_probes, expected):
    assert fitted(n_probes=n_probes).ejop_.n_probes == expected


def test_more_probes_than_rows_is_noted(capsys):
    fitted(n_probes=500, verbose=2)
    shown = capsys.readouterr().err
    assert "n_probes=500 is more than the 400 rows" in shown
    assert "surrogate:" in shown
    assert "gradients:" in shown


@pytest.mark.parametrize("n_components", [1, 3])
def test_components_are_projections_on_leading_eigenvectors(n_components):
    model = fitted(n_components=n_components)
    whole = fitted()
    expected = StandardScaler().fit_transform(X) @ whole.eigenvectors_[:, :n_components]
    np.testing.assert_allclose(model.transform(X), expected)
    with pytest.raises(ValueError, match="cannot be inverted"):
        model.inverse_transform(model.transform(X))


def test_regression_uses_a_regressor():
    data, target = load_diabetes(return_X_y=True)
    model = JacobianPreconditioner(random_state=0).fit(data, target + 0.5)
    assert isinstance(model.surrogate_, RandomForestRegressor)
    assert not hasattr(model, "classes_")


def test_constant_column_passes_through():
    flat = np.column_stack([X, np.full(400, 3.0)])
    model = JacobianPreconditioner(random_state=0).fit(flat, y)
    assert model.steps_[4] == 0
    H = model.preconditioner_
    np.testing.assert_array_equal(H[4] != 0, [False] * 4 + [True])
    np.testing.assert_array_equal(H[:, 4] != 0, [False] * 4 + [True])


DISCRETE = {
    "by fives": lambda rng, n: 5.0 * rng.integers(0, 11, n),
    "counts": lambda rng, n: rng.poisson(3, n).astype(float),
    "few floats": lambda rng, n: rng.choice([0.1, 0.35, 0.6, 0.85], n),
    "mostly zero": lambda rng, n: np.where(rng.random(n) < 0.7, 0.0, 4.0 * rng.integers(1, 6, n)),
    "binary": lambda rng, n: rng.integers(0, 2, n).astype(float),
}


@pytest.mark.parametrize("scheme", ["centered", "forward"])
@pytest.mark.parametrize("kind", DISCRETE)
def test_sensitivity_of_a_discrete_column_is_its_slope(kind, scheme):
    rng = np.random.default_rng(0)
    column = DISCRETE[kind](rng, 600)
    table = np.column_stack([column, rng.normal(size=600), np.full(600, 3.0)])
    surrogate = RandomForestRegressor(20, max_features=1.0)
    settings = {"scheme": scheme, "random_state": 0}
    model = JacobianPreconditioner(surrogate, **settings).fit(table, 2 * column)
    slope, noise, constant = model.feature_sensitivities_
    assert slope == pytest.approx(2 * column.std(), rel=0.02)
    assert noise < 0.2 * slope
    assert constant == 0
    short = JacobianPreconditioner(surrogate, step_rule="mad", **settings).fit(table, 2 * column)
    assert short.feature_sensitivities_[0] < 0.3 * slope  # the paper's step crosses no cut


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_same_bits_for_any_n_jobs(n_jobs):
    one, many = fitted(n_jobs=1), fitted(n_jobs=n_jobs)
    np.testing.assert_array_equal(one.preconditioner_, many.preconditioner_)


def test_other_outputs_schemes_and_boundaries_differ():
    three, labels = load_iris(return_X_y=True)
    base = JacobianPreconditioner(LogisticRegression(max_iter=500), step=0.5)
    seen = []
    for change in (
        {},
        {"outputs": "all"},
        {"scheme": "forward"},
        {"boundary": "clip"},
        {"boundary": "none"},
        {"step_rule": "global"},
        {"step": 1.0},
    ):
        model = clone(base).set_params(**change).fit(three, labels)
        seen.append(model.ejop_.matrix.ravel())
    assert len(np.unique(np.round(seen, 9), axis=0)) == len(seen)


def test_weights_reach_surrogate_and_ejop():
    weights = np.where(X[:, 2] > 0, 1.0, 0.0)
    surrogate = LogisticRegression()
    weighted = JacobianPreconditioner(surrogate).fit(X, y, sample_weight=weights)
    half = X[:, 2] > 0
    alone = JacobianPreconditioner(surrogate).fit(X[half], y[half])
    np.testing.assert_allclose(weighted.preconditioner_, alone.preconditioner_)
    doubled = JacobianPreconditioner(surrogate).fit(X, y, sample_weight=1 + half)
    assert not np.allclose(doubled.ejop_.matrix, fitted(surrogate=surrogate).ejop_.matrix)


def test_frames_and_names():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = JacobianPreconditioner(random_state=0).set_output(transform="pandas").fit(frame, y)
    out = model.transform(frame)
    assert list(out.columns) == [f"jacobianpreconditioner{i}" for i in range(4)]
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(out.to_numpy(), fitted().transform(X))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(400)}, "only one class"),
        ({"y": y[:-1]}, "inconsistent"),
        ({"X": np.where(X > 2, np.inf, X)}, "infinity"),
        ({"X": X.astype("U32"), "categorical_features": None}, "column 0 holds text"),
        ({"X": X[:1], "y": y[:1]}, "minimum of 2"),
        ({"surrogate": LinearSVC()}, "LinearSVC has no predict_proba"),
        ({"step": 0.0}, "step"),
        ({"step_rule": "long"}, "step_rule"),
        ({"n_probes": 0}, "n_probes"),
        ({"gamma": -1.0}, "gamma"),
        ({"n_components": 5}, "n_components=5 is more than the 4"),
        ({"surrogate": FrozenEstimator(LogisticRegression().fit(X[:, :3], y))}, "fitted on 3"),
        ({"surrogate": LogisticRegression(), "y": X[:, 0]}, "label type"),
    ],
)
def test_bad_input_is_named(change, message):
    data, target = change.pop("X", X), change.pop("y", y)
    with pytest.raises(ValueError, match=message):
        JacobianPreconditioner(**change).fit(data, target)
