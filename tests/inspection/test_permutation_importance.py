"""Permutation importances are scikit-learn's own: our estimators take part as they are."""

import numpy as np
import pytest
from sklearn.inspection import permutation_importance

from jarf import JARFRegressor, SPORFRegressor


@pytest.mark.parametrize(
    "model", [JARFRegressor(n_estimators=10, random_state=0), SPORFRegressor(10, random_state=0)]
)
def test_of_the_columns_of_a_frame(mixed_table, model):
    X, y = mixed_table(400, 0)
    found = permutation_importance(model.fit(X, y), X, y, n_repeats=2, random_state=0)
    assert found.importances_mean.shape == (X.shape[1],)
    names = X.columns[np.argsort(-found.importances_mean)][:2]
    assert "debt" in names
    assert found.importances_mean[list(X.columns).index("city")] < found.importances_mean.max() / 5
