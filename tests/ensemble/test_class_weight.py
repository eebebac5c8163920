"""Class weights: those that would silently drop a class are rejected."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from jarf import (
    AxisForestClassifier,
    CanonicalCorrelationForestClassifier,
    JacobianBoostingClassifier,
    JacobianForestClassifier,
    JARFClassifier,
    RotationForestClassifier,
    SPORFClassifier,
)

CLASSIFIERS = [
    AxisForestClassifier,
    CanonicalCorrelationForestClassifier,
    JacobianBoostingClassifier,
    JacobianForestClassifier,
    JARFClassifier,
    RotationForestClassifier,
    SPORFClassifier,
]
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = np.array(["a", "b"])[(X[:, 0] > 0).astype(int)]


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, "2", None])
def test_weights_that_are_negative_or_not_finite_numbers_are_rejected(cls, weight):
    with pytest.raises(ValueError, match=r"class_weight gives class 'b' the weight .* finite"):
        cls(class_weight={"a": 1.0, "b": weight}).fit(X, y)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_weights_that_are_all_zero_are_rejected(cls):
    with pytest.raises(ValueError, match="every class weight 0"):
        cls(class_weight={"a": 0, "b": 0}).fit(X, y)
    with pytest.raises(ValueError, match="leave no row"):
        cls(class_weight={"a": 0, "b": 1}).fit(X, y, sample_weight=(y == "a").astype(float))


@pytest.mark.parametrize("cls", [AxisForestClassifier, RandomForestClassifier])
def test_unknown_classes_are_treated_as_scikit_learn_treats_them(cls):
    extra = cls(n_estimators=3, class_weight={"a": 1, "b": 2, "c": 3}, random_state=0).fit(X, y)
    plain = cls(n_estimators=3, class_weight={"a": 1, "b": 2}, random_state=0).fit(X, y)
    np.testing.assert_array_equal(extra.predict_proba(X), plain.predict_proba(X))
    with pytest.raises(ValueError, match="are not in class_weight"):
        cls(n_estimators=3, class_weight={"a": 1, "c": 3}).fit(X, y)


def test_a_class_may_be_left_out_by_weight_zero():
    model = AxisForestClassifier(3, class_weight={"a": 0, "b": 1}, random_state=0).fit(X, y)
    assert (model.predict(X) == "b").all()
    assert model.classes_.tolist() == ["a", "b"]
