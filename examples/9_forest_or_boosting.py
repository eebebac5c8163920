"""
Forest or boosting?
===================

This example compares the Jacobian forest and Jacobian boosting on a smooth response, and shows how
the booster finds its number of rounds without an evaluation set. See :doc:`/boosting` for when to
use which.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from jarf import JacobianBoostingRegressor, JacobianForestRegressor

# %%
# A smooth response along two directions
# --------------------------------------
# The response is a wave along one combination of columns and a slope along another, with noise that
# no model can predict. There are 600 training rows and 8 columns.

rng = np.random.default_rng(0)
X = rng.normal(size=(3600, 8))
signal = np.sin(1.5 * (X[:, 0] + X[:, 1] - X[:, 2])) + 0.5 * (X[:, 3] - X[:, 4])
y = signal + rng.normal(scale=0.3, size=len(X))
train, test = slice(600), slice(600, None)

models = {
    "random forest": RandomForestRegressor(random_state=0),
    "histogram boosting": HistGradientBoostingRegressor(random_state=0),
    "Jacobian forest": JacobianForestRegressor(random_state=0),
    "boosting, plain axes": JacobianBoostingRegressor(geometry="axes", random_state=0),
    "Jacobian boosting": JacobianBoostingRegressor(random_state=0),
}
for name, model in models.items():
    print(f"{name:21} R2 {model.fit(X[train], y[train]).score(X[test], y[test]):.3f}")

# %%
# The race
# --------
# Several geometries were compared with plain axes on held-out training rows:

booster = models["Jacobian boosting"]
print(booster.race_)

# %%
# Early stopping inside ``fit``
# -----------------------------
# ``validation_score_`` is the score on the held-out rows, in larger steps than those of the final
# model. The final model is grown on all rows; ``staged_predict`` shows its error on new rows after
# every round.


def error(predicted):
    return np.mean((predicted - y[test]) ** 2)


figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
left.plot(-booster.validation_score_, color="tab:green")
left.axvline(np.argmax(booster.validation_score_), color="grey", ls="--", label="best round")
left.set(xlabel="rounds while rows are held out", ylabel="loss on held-out rows")
left.legend()
for name, colour in (("boosting, plain axes", "tab:blue"), ("Jacobian boosting", "tab:green")):
    curve = [error(predicted) for predicted in models[name].staged_predict(X[test])]
    right.plot(np.arange(1, len(curve) + 1), curve, color=colour, label=name)
for name, colour in (("random forest", "tab:grey"), ("Jacobian forest", "tab:orange")):
    right.axhline(error(models[name].predict(X[test])), color=colour, ls=":", label=name)
right.axhline(0.3**2, color="black", lw=0.8, label="noise")
right.set(xlabel="rounds of the final model", ylabel="squared error on new rows", yscale="log")
right.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))
