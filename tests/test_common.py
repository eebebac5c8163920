"""scikit-learn's estimator contract, for every estimator."""

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from jarf import JacobianPreconditioner, JARFClassifier, JARFRegressor

SMALL = {
    "classifier": JacobianPreconditioner(RandomForestClassifier(n_estimators=5)),
    "regressor": JacobianPreconditioner(RandomForestRegressor(n_estimators=5)),
}
ESTIMATORS = [
    JacobianPreconditioner(random_state=0),
    JARFClassifier(preconditioner=SMALL["classifier"], n_estimators=5, random_state=0),
    JARFRegressor(preconditioner=SMALL["regressor"], n_estimators=5, random_state=0),
]


def bootstrap_cannot_weigh(estimator):
    """A bootstrap draws rows: a row of weight 2 and the same row twice are drawn differently."""
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": "the forest draws a bootstrap"
        for kind in ("dense", "sparse")
    }


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=bootstrap_cannot_weigh)
def test_estimator_contract(estimator, check):
    check(estimator)
