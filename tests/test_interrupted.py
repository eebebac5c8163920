"""A fit that does not end leaves nothing behind."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import jarf
from jarf.surrogate import KernelSurrogateClassifier, KernelSurrogateRegressor

X, Y = load_iris(return_X_y=True)
FORESTS = ("AxisForest", "SPORF", "CanonicalCorrelationForest", "RotationForest", "JacobianForest")
MODELS = [
    *(getattr(jarf, kind + "Classifier")(3, random_state=0) for kind in FORESTS),
    *(getattr(jarf, kind + "Regressor")(3, random_state=0) for kind in FORESTS),
    jarf.JacobianBoostingClassifier(max_iter=3, geometry=["linear"], random_state=0),
    jarf.JacobianBoostingRegressor(max_iter=3, geometry=["linear"], random_state=0),
    jarf.JacobianKernelClassifier(random_state=0),
    jarf.JacobianKernelRegressor(random_state=0),
    jarf.JacobianEnsembleClassifier(["kernel"], random_state=0),
    jarf.JacobianEnsembleRegressor(["kernel"], random_state=0),
    jarf.JARFClassifier(
        n_estimators=3, preconditioner=jarf.JacobianPreconditioner(RandomForestClassifier(3))
    ),
    jarf.JARFRegressor(
        n_estimators=3, preconditioner=jarf.JacobianPreconditioner(RandomForestRegressor(3))
    ),
    jarf.JacobianPreconditioner(RandomForestClassifier(3)),
    jarf.JacobianFeatures(2, sources=("forest",), switch="on"),
    KernelSurrogateClassifier(20),
    KernelSurrogateRegressor(20),
]


def watched(model):
    """Give a model of the same kind that notes what is set, and is stopped once `last` was."""

    class Watched(type(model)):
        names, last = [], None

        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            self.names.append(name)
            if name == self.last:
                raise KeyboardInterrupt

    return Watched(**clone(model).get_params(deep=False))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_an_interrupted_fit_leaves_the_model_as_it_was(model):
    fitted = watched(model).fit(X, Y)
    last_set, before = fitted.names[-1], dict(vars(fitted))
    unfitted = clone(fitted)
    type(fitted).last = last_set
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X[:100], Y[:100])
    assert vars(fitted) == before
    with pytest.raises(KeyboardInterrupt):
        unfitted.fit(X, Y)
    assert vars(unfitted).keys() == unfitted.get_params(deep=False).keys()
    with pytest.raises(NotFittedError):
        check_is_fitted(unfitted)


def test_a_warm_start_that_fails_keeps_the_trees():
    model = jarf.AxisForestClassifier(4, warm_start=True, random_state=0).fit(X, Y)
    expected = model.predict_proba(X)
    with pytest.raises(ValueError, match="less than the 4 trees"):
        model.set_params(n_estimators=2).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    model.set_params(n_estimators=6).fit(X, Y)
    whole = jarf.AxisForestClassifier(6, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
