"""
A custom surrogate
==================

The surrogate is the model that is differentiated. By default it is a small forest. This example
replaces it by other scikit-learn models, in JARF and in the Jacobian forest.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from jarf import JacobianForestClassifier, JacobianPreconditioner, JARFClassifier
from jarf.ensemble import Geometry, ModelSource

# Two moons in a plane that is oblique to all six columns.
rng = np.random.default_rng(0)
moons, y = make_moons(1600, noise=0.25, random_state=0)
turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
X = np.hstack([moons, rng.normal(0, 0.5, (1600, 4))]) @ turn
X_train, X_test, y_train, y_test = X[:600], X[600:], y[:600], y[600:]

network = MLPClassifier((8,), solver="lbfgs", alpha=0.1, max_iter=3000, random_state=0)


# %%
# If a model has a method ``input_gradients``, its own gradients are used. They have the shape
# ``(n_samples, n_features)``, optionally with a last axis of classes. All other models are
# differentiated by finite differences, which are exact and fast for scikit-learn's trees.


class Logistic(ClassifierMixin, BaseEstimator):
    """Logistic regression with gradients in closed form."""

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)

    def input_gradients(self, X):
        p = self.predict_proba(X)[:, 1]
        slope = (p * (1 - p))[:, None] * self.model_.coef_
        return np.stack([-slope, slope], axis=2)


# %%
# JARF
# ----
# The surrogate is a parameter of the preconditioner. It is either an unfitted model, which is
# cloned and fitted on standardised columns, or a fitted model wrapped in ``FrozenEstimator``.

fitted = MLPClassifier((8,), solver="lbfgs", alpha=0.1, max_iter=3000, random_state=1)
surrogates = {
    "forest (default)": None,
    "network": network,
    "network, frozen": FrozenEstimator(fitted.fit(X_train, y_train)),
    "logistic": Logistic(),
}
true_plane = turn[:2].T  # columns
for name, surrogate in surrogates.items():
    preconditioner = JacobianPreconditioner(surrogate)
    model = JARFClassifier(preconditioner=preconditioner, n_estimators=100, random_state=0)
    model.fit(X_train, y_train)
    top = np.linalg.qr(model.preconditioner_.eigenvectors_[:, :2])[0]
    inside = np.linalg.norm(true_plane.T @ top) ** 2 / 2
    print(
        f"JARF, {name:18} accuracy {model.score(X_test, y_test):.3f}, "
        f"top two directions in the plane: {inside:.2f}"
    )

# %%
# A linear surrogate finds only one direction. Apart from the contribution of ``gamma``, its H hides
# the other direction from the trees. The paper finds that the surrogate matters little. In our runs
# it matters more than anything else (:doc:`/research-log`).

# %%
# The Jacobian forest
# -------------------
# A :class:`~jarf.ensemble.ModelSource` turns a model into a source of directions, and a
# :class:`~jarf.ensemble.Geometry` defines how they are used. The geometries of a list are compared
# with plain axes on held-out rows that the surrogate has not seen, so a surrogate cannot win by
# overfitting.

mine = Geometry("network", sources=(ModelSource(network),))
both = Geometry("network + forest", sources=(ModelSource(network), "forest"), n_loadings=3)
model = JacobianForestClassifier(100, geometry=[mine, both, "sparse"], random_state=0)
model.fit(X_train, y_train)
plain = JacobianForestClassifier(100, geometry="axes", random_state=0).fit(X_train, y_train)
print(model.race_)
print(f"accuracy {model.score(X_test, y_test):.3f}, plain axes {plain.score(X_test, y_test):.3f}")
print(f"the network itself {network.fit(X_train, y_train).score(X_test, y_test):.3f}")

# %%
# If the surrogate is the better model, use the surrogate. A forest on its gradients is useful if it
# scores higher, or if you need trees for other reasons.
