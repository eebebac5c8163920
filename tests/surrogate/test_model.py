import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from jarf.surrogate import (
    check_columns,
    check_surrogate,
    fit_copy,
    output_index,
    outputs_of,
    thaw,
)

X = np.random.default_rng(0).normal(size=(40, 3))
y = np.where(X[:, 0] > 0, "yes", "no")


def test_outputs_are_a_column_in_regression_and_probabilities_in_classification():
    assert outputs_of(LinearRegression().fit(X, X[:, 0]), X).shape == (40, 1)
    probabilities = outputs_of(LogisticRegression().fit(X, y), X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_frozen_model_is_not_fitted_again():
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    assert fit_copy(frozen, -X, y) is frozen
    assert thaw(FrozenEstimator(frozen)) is frozen.estimator


def test_fit_copy_leaves_the_given_model_alone_and_seeds_the_copy():
    forest = RandomForestClassifier(n_estimators=3)
    a, b = (fit_copy(forest, X, y, random_state=np.random.RandomState(1)) for _ in range(2))
    assert not hasattr(forest, "estimators_")
    assert a.random_state == b.random_state
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


@pytest.mark.parametrize(("own", "expected"), [(None, 2), (1, 1)])
def test_n_jobs_is_handed_on_where_none_is_set(own, expected):
    forest = RandomForestClassifier(n_estimators=3, n_jobs=own)
    assert fit_copy(forest, X, y, n_jobs=2).n_jobs == expected


def test_weights_for_a_model_that_takes_none_are_refused():
    with pytest.raises(ValueError, match="KNeighborsClassifier does not take it"):
        fit_copy(KNeighborsClassifier(), X, y, sample_weight=np.ones(40))


def test_surrogate_without_probabilities_is_refused():
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        check_surrogate(LinearSVC(), classification=True)


def test_output_index_follows_the_order_of_classes():
    model = LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(output_index(model, ["yes", "no"]), [1, 0])
    with pytest.raises(ValueError, match="maybe"):
        output_index(model, ["maybe"])


def test_columns_of_a_frozen_model_are_compared():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = FrozenEstimator(LogisticRegression().fit(frame, y))
    check_columns(model, 3, ["a", "b", "c"])
    with pytest.raises(ValueError, match="fitted on 3"):
        check_columns(model, 2)
    with pytest.raises(ValueError, match="same order"):
        check_columns(model, 3, ["b", "a", "c"])
    np.testing.assert_allclose(outputs_of(model, X), model.predict_proba(frame))
