import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from jarf.gradients import Differences, expected_jacobian_outer_product, gradient_blocks
from jarf.gradients import _input_gradients as module

X, y = load_iris(return_X_y=True)
DIFFERENCES = Differences(np.full(4, 0.3), X.min(axis=0), X.max(axis=0))


class Wrapped(ClassifierMixin, BaseEstimator):
    """Hides a forest, so that it goes the generic way; counts the rows of each call."""

    def __init__(self, model):
        self.model = model
        self.calls = []

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.model.classes_

    def predict_proba(self, X):
        self.calls.append(X.shape)
        return self.model.predict_proba(X)


def gradients(model, **options):
    return np.concatenate(list(gradient_blocks(model, X, y, DIFFERENCES, **options)))


@pytest.mark.parametrize("outputs", ["observed", "all"])
def test_generic_path_equals_the_exact_one(outputs):
    forest = RandomForestClassifier(n_estimators=11, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        gradients(Wrapped(forest), outputs=outputs), gradients(forest, outputs=outputs), atol=1e-12
    )


@pytest.mark.parametrize("outputs", ["observed", "all"])
def test_batches_are_bounded_and_do_not_matter(monkeypatch, outputs):
    model = LogisticRegression(max_iter=500).fit(X, y)
    whole = gradients(model, outputs=outputs)
    monkeypatch.setattr(module, "BATCH_VALUES", 400)
    monkeypatch.setattr(module, "BLOCK_ROWS", 40)
    wrapped = Wrapped(model)
    np.testing.assert_allclose(gradients(wrapped, outputs=outputs), whole, atol=1e-14)
    assert max(rows * columns for rows, columns in wrapped.calls) <= 400
    assert len(wrapped.calls) > 4


def test_default_batch_of_mnist_size_stays_below_64_megabytes():
    rows = module.BLOCK_ROWS
    features_at_once = module.BATCH_VALUES // (2 * rows * 784)
    assert features_at_once >= 1
    assert 2 * features_at_once * rows * 784 * 8 <= 64_000_000


@pytest.mark.parametrize("outputs", ["observed", "all"])
def test_threads_do_not_change_a_bit(monkeypatch, outputs):
    forest = RandomForestClassifier(n_estimators=11, random_state=0).fit(X, y)
    monkeypatch.setattr(module, "BLOCK_ROWS", 16)
    one = gradients(forest, outputs=outputs, n_jobs=1)
    for n_jobs in (2, 4):
        np.testing.assert_array_equal(gradients(forest, outputs=outputs, n_jobs=n_jobs), one)


class Quadratic(RegressorMixin, BaseEstimator):
    """Knows its own gradients."""

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        raise AssertionError("a model with input_gradients must not be probed")

    def input_gradients(self, X):
        return 2 * X


def test_a_model_is_asked_for_its_own_gradients():
    ejop = expected_jacobian_outer_product(Quadratic(), X)
    np.testing.assert_allclose(ejop.matrix, 4 * X.T @ X / len(X))


class PerClass(ClassifierMixin, BaseEstimator):
    classes_ = np.arange(3)

    def fit(self, X, y):
        return self

    def input_gradients(self, X):
        return X[:, :, None] * [1.0, 10.0, 100.0]


def test_own_gradients_per_class():
    observed = X * np.array([1.0, 10, 100])[y][:, None]
    np.testing.assert_allclose(gradients(PerClass())[:, 0], observed)
    np.testing.assert_allclose(gradients(PerClass(), outputs="all")[:, 1], 10 * X)


def test_own_gradients_of_a_wrong_shape_are_refused():
    class Wrong(Quadratic):
        def input_gradients(self, X):
            return X[:, :2]

    with pytest.raises(ValueError, match=r"Wrong\.input_gradients returned shape"):
        gradients(Wrong())
