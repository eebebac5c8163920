import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from jarf import EJOP, expected_jacobian_outer_product
from jarf.gradients import difference_steps

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
LABELS = np.where(X @ [2.0, -1.0, 0.5, 0.0] + rng.logistic(size=300) > 0, "up", "down")


def analytic_logistic(model, X):
    """Mean of p(1-p) w w' p(1-p): both classes of a binary logistic model have this gradient."""
    p = model.predict_proba(X)[:, 1]
    w = model.coef_[0]
    return np.mean((p * (1 - p)) ** 2) * np.outer(w, w)


def test_logistic_model_has_its_analytic_ejop_and_the_error_falls_as_the_step_squared():
    model = LogisticRegression().fit(X, LABELS)
    exact = analytic_logistic(model, X)
    errors = []
    for eps in (0.8, 0.4, 0.2):
        estimate = expected_jacobian_outer_product(
            model, X, LABELS, step_rule=np.full(4, eps), boundary="none"
        )
        errors.append(np.linalg.norm(estimate.matrix - exact, 2))
    ratios = np.array(errors[:-1]) / errors[1:]
    np.testing.assert_allclose(ratios, 4.0, atol=0.3)  # Lemma A.4: half the step, a quarter


def test_all_classes_of_a_binary_model_count_twice():
    model = LogisticRegression().fit(X, LABELS)
    observed = expected_jacobian_outer_product(model, X, LABELS)
    everything = expected_jacobian_outer_product(model, X, outputs="all")
    np.testing.assert_allclose(everything.matrix, 2 * observed.matrix, rtol=1e-8)


@pytest.mark.parametrize("boundary", ["none", "clip"])
def test_quadratic_model_is_differentiated_without_error(boundary):
    # A centred difference has no error on a quadratic, so "none" is exact; clipping is not.
    target = X[:, 0] ** 2 + X[:, 0] * X[:, 1] - 3 * X[:, 2]
    model = make_pipeline(PolynomialFeatures(2), LinearRegression()).fit(X, target)
    J = np.column_stack([2 * X[:, 0] + X[:, 1], X[:, 0], np.full(300, -3.0), np.zeros(300)])
    estimate = expected_jacobian_outer_product(model, X, boundary=boundary, step=0.3)
    difference = np.abs(estimate.matrix - J.T @ J / 300).max()
    assert (difference < 1e-9) == (boundary == "none")


def test_ridge_function_subspace_is_recovered_better_with_more_rows():
    d, r = 20, 2
    U = np.linalg.qr(np.random.default_rng(1).normal(size=(d, r)))[0]

    def worst_angle(n):
        rows = np.random.default_rng(2).normal(size=(n, d))
        z = rows @ U
        model = KernelRidge(kernel="rbf", gamma=1 / 60, alpha=1e-2)
        model.fit(rows, np.sin(z[:, 0]) + z[:, 1] ** 2 / 2)
        ejop = expected_jacobian_outer_product(model, rows[:200], boundary="none")
        top = np.linalg.eigh(ejop.matrix)[1][:, -r:]
        return np.degrees(np.arccos(np.clip(np.linalg.svd(U.T @ top)[1].min(), 0, 1)))

    angles = [worst_angle(n) for n in (200, 600, 1800)]
    assert angles == sorted(angles, reverse=True)
    assert angles[-1] < 15


def test_pieces_add_up_to_the_whole():
    model = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, LABELS)
    steps, ranges = difference_steps(X), (X.min(axis=0), X.max(axis=0))
    options = {"step_rule": steps, "feature_range": ranges, "return_gradients": True}
    whole = expected_jacobian_outer_product(model, X, LABELS, **options)
    pieces = [
        expected_jacobian_outer_product(model, X[part], LABELS[part], **options)
        for part in (slice(0, 10), slice(10, 170), slice(170, None))
    ]
    merged = pieces[0] + pieces[1] + pieces[2]
    assert merged.n_probes == whole.n_probes == 300
    np.testing.assert_allclose(merged.matrix, whole.matrix, rtol=1e-12)
    np.testing.assert_array_equal(merged.gradients, whole.gradients)


def test_weights_count_rows():
    model = LogisticRegression().fit(X, LABELS)
    counts = np.arange(300) % 3
    options = {"step_rule": np.full(4, 0.1), "feature_range": (X.min(axis=0), X.max(axis=0))}
    weighted = expected_jacobian_outer_product(model, X, LABELS, sample_weight=counts, **options)
    repeated = expected_jacobian_outer_product(
        model, np.repeat(X, counts, axis=0), np.repeat(LABELS, counts), **options
    )
    np.testing.assert_allclose(weighted.matrix, repeated.matrix)
    with pytest.raises(ValueError, match="zero"):
        expected_jacobian_outer_product(model, X, LABELS, sample_weight=np.zeros(300))


def test_constant_column_has_no_gradient():
    flat = np.column_stack([X, np.full(300, 7.0)])
    model = HistGradientBoostingClassifier(max_iter=10).fit(flat, LABELS)
    matrix = expected_jacobian_outer_product(model, flat, LABELS).matrix
    assert not matrix[4].any()
    assert matrix[0, 0] > 0


def test_frozen_models_and_pipelines_are_looked_through():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, LABELS)
    plain = expected_jacobian_outer_product(model, X, LABELS)
    frozen = expected_jacobian_outer_product(FrozenEstimator(model), X, LABELS)
    np.testing.assert_array_equal(plain.matrix, frozen.matrix)


def test_float32_rows():
    model = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, LABELS)
    wide = expected_jacobian_outer_product(model, X, LABELS, step=0.5)
    narrow = expected_jacobian_outer_product(model, X.astype(np.float32), LABELS, step=0.5)
    np.testing.assert_allclose(narrow.matrix, wide.matrix, rtol=0.05)


def test_result_is_an_array_and_refuses_other_shapes():
    a = EJOP(np.eye(2), 2.0, 2)
    np.testing.assert_array_equal(np.asarray(a), np.eye(2) / 2)
    with pytest.raises(ValueError, match="2 and 3 features"):
        a + EJOP(np.eye(3), 1.0, 1)
    with pytest.raises(TypeError):
        a + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": None}, "needs y"),
        ({"y": LABELS[:5]}, "inconsistent"),
        ({"step": 0.0}, "step must be positive"),
        ({"scheme": "backward"}, "scheme"),
        ({"boundary": "wrap"}, "boundary"),
        ({"outputs": "some"}, "outputs"),
        ({"X": np.where(X > 2, np.nan, X)}, "NaN"),
    ],
)
def test_bad_input_is_named(options, message):
    model = LogisticRegression().fit(X, LABELS)
    arguments = {"X": X, "y": LABELS, **options}
    with pytest.raises(ValueError, match=message):
        expected_jacobian_outer_product(model, arguments.pop("X"), **arguments)


def test_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        expected_jacobian_outer_product(LogisticRegression(), X, LABELS)
