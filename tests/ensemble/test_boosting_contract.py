"""scikit-learn's estimator contract, for Jacobian boosting."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from jarf import JacobianBoostingClassifier, JacobianBoostingRegressor

BOTH = (JacobianBoostingClassifier, JacobianBoostingRegressor)
QUICK = {"max_iter": 5, "learning_rate": 0.5}
EXACT = {"geometry": "axes", "early_stopping": False, "subsample": 1.0, "min_samples_leaf": 1}


def draws_rows(estimator):
    """Rows are drawn: one of weight 2 and the same one twice are drawn differently."""
    if estimator.subsample == 1.0:
        return {}
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": "folds and trees draw rows"
        for kind in ("dense", "sparse")
    }


@parametrize_with_checks(
    [kind(**QUICK, geometry="fast") for kind in BOTH]
    + [kind(**QUICK, **EXACT, max_depth=1) for kind in BOTH],
    expected_failed_checks=draws_rows,
)
def test_estimator_contract(estimator, check):
    check(estimator)
