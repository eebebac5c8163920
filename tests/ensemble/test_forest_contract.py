"""scikit-learn's estimator contract, for every forest on the engine."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from jarf.ensemble import (
    AxisForestClassifier,
    AxisForestRegressor,
    CanonicalCorrelationForestClassifier,
    CanonicalCorrelationForestRegressor,
    RotationForestClassifier,
    RotationForestRegressor,
    SPORFClassifier,
    SPORFRegressor,
)

FORESTS = [
    AxisForestClassifier(5),
    AxisForestRegressor(5),
    CanonicalCorrelationForestClassifier(5),
    CanonicalCorrelationForestRegressor(5),
    RotationForestClassifier(5),
    RotationForestRegressor(5),
    SPORFClassifier(5),
    SPORFRegressor(5),
]


def draws_rows(estimator):
    """Rows are drawn: one of weight 2 and the same one twice are drawn differently."""
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": "trees or directions draw a bootstrap"
        for kind in ("dense", "sparse")
    }


@parametrize_with_checks(FORESTS, expected_failed_checks=draws_rows)
def test_estimator_contract(estimator, check):
    check(estimator)
