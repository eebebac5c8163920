"""
When it helps and when it does not
==================================

This example compares the forests on two kinds of data: synthetic data whose boundary is rotated
away from the axes step by step, and real tables from scikit-learn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import cohen_kappa_score, make_scorer
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, cross_val_score

from jarf import (
    JacobianForestClassifier,
    JacobianForestRegressor,
    JARFClassifier,
    JARFRegressor,
)
from jarf.datasets import halfspace_bayes_kappa, make_rotated_halfspace

N_TREES = 40

# %%
# Angle of the boundary
# ---------------------
# The data have 30 columns and 400 training rows, and the boundary depends on two of the columns. At
# 0 degrees it is parallel to an axis, which suits a plain forest best.

classifiers = {
    "random forest": RandomForestClassifier(N_TREES, random_state=0),
    "JARF": JARFClassifier(n_estimators=N_TREES, random_state=0),
    "Jacobian forest": JacobianForestClassifier(N_TREES, random_state=0),
}
angles = [0, 15, 30, 45]
curves = {name: [] for name in classifiers}
for angle in angles:
    X, y = make_rotated_halfspace(2400, 30, angle=angle, random_state=angle)
    for name, model in classifiers.items():
        predicted = model.fit(X[:400], y[:400]).predict(X[400:])
        curves[name].append(cohen_kappa_score(y[400:], predicted))

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for (name, curve), marker in zip(curves.items(), "os^", strict=True):
    ax.plot(angles, curve, marker=marker, label=name)
ax.axhline(halfspace_bayes_kappa(), color="grey", ls="--", label="best possible")
ax.set(xlabel="angle of the boundary, degrees", ylabel="Cohen's kappa", xticks=angles)
ax.legend()

# %%
# There is only one draw of the data per angle, so differences of 0.01 are noise. Replacing the
# columns (JARF) sometimes wins and sometimes loses here; adding directions (Jacobian forest) is
# safer.

# %%
# Real tables
# -----------
# The table shows kappa (R2 for diabetes) minus that of a random forest on the same four random
# splits into halves, with the standard error of the mean difference. The splits overlap, so this
# error is too small.

regressors = {
    "random forest": RandomForestRegressor(N_TREES, random_state=0),
    "JARF": JARFRegressor(n_estimators=N_TREES, random_state=0),
    "Jacobian forest": JacobianForestRegressor(N_TREES, random_state=0),
}
digits = load_digits()
tables = {
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
    "digits (600)": (digits.data[:600], digits.target[:600]),
    "diabetes": load_diabetes(return_X_y=True),
}
print(f"{'':14} {'RF':>6}   {'JARF - RF':>16}   {'Jacobian - RF':>16}")
for name, (X, y) in tables.items():
    is_number = name == "diabetes"
    models = regressors if is_number else classifiers
    splitter = ShuffleSplit if is_number else StratifiedShuffleSplit
    scores = [
        cross_val_score(
            model,
            X,
            y,
            cv=splitter(4, test_size=0.5, random_state=0),
            scoring="r2" if is_number else make_scorer(cohen_kappa_score),
        )
        for model in models.values()
    ]
    line = f"{name:14} {scores[0].mean():6.3f}"
    for other in scores[1:]:
        gain = other - scores[0]
        line += f"   {gain.mean():+.3f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.3f}   "
    print(line)

# %%
# What to expect on your data
# ---------------------------
# Directions help if few of them matter and if they combine several columns. They do not help if the
# target is a sum over single columns, if most columns are categories, or if there are too few rows
# to estimate a direction. These tables are small and easy and say little about yours. Run ``jarf
# compare my.csv --target y`` on your own table; see :doc:`/compare`.
