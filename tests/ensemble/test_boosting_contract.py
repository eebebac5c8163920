"""scikit-learn's estimator contract, for Jacobian boosting."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from jarf import JacobianBoostingClassifier, JacobianBoostingRegressor

BOTH = (JacobianBoostingClassifier, JacobianBoostingRegressor)
DATA = ("dense", "sparse")
QUICK = {"max_iter": 5, "learning_rate": 0.5}
EXACT = {"geometry": "axes", "early_stopping": False, "subsample": 1.0, "min_samples_leaf": 1}


def not_exact(estimator):
    """Weights and repeated rows: tests/ensemble/test_jacobian_boosting.py compares them."""
    if estimator.subsample < 1.0:
        reason = "folds and trees draw rows"
    elif isinstance(estimator, JacobianBoostingClassifier):
        reason = "splits of the check's 15 rows tie, and the last digit of a sum decides"
    else:
        return {}
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in DATA}


@parametrize_with_checks(
    [kind(**QUICK, geometry="fast") for kind in BOTH]
    + [kind(**QUICK, **EXACT, max_depth=1) for kind in BOTH],
    expected_failed_checks=not_exact,
)
def test_estimator_contract(estimator, check):
    check(estimator)
