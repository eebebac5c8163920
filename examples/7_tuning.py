"""
Tuning
======

This example tunes JARF and the Jacobian forest with scikit-learn's grid search. Usually there is
little to tune. The Jacobian forest chooses its geometry itself. Of JARF's parameters, ``gamma`` and
``n_components`` change the forest, and ``step`` sometimes does; ``normalize`` has no effect,
because trees do not depend on the scale of a column.
"""

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

from jarf import JacobianForestClassifier, JacobianPreconditioner, JARFClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

# %%
# We search over a whole pipeline. Feature selection, the surrogate and the expected Jacobian outer
# product (EJOP) are fitted inside every fold. The parameters of H belong to the nested
# preconditioner. ``gamma`` is the weight of the identity in ``H = EJOP + gamma I``; with a large
# value, JARF is a plain forest.

pipeline = Pipeline(
    [
        ("columns", SelectKBest()),
        (
            "jarf",
            JARFClassifier(
                preconditioner=JacobianPreconditioner(), n_estimators=30, random_state=0
            ),
        ),
    ]
)
grid = {
    "columns__k": [10, "all"],
    "jarf__preconditioner__gamma": [1e-3, 10.0],
    "jarf__preconditioner__n_components": [None, 3],
}
search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_brier_score").fit(X_train, y_train)
print(search.best_params_)
print(f"Brier score of the best: {-search.best_score_:.3f} in the search, ", end="")
print(f"{-search.score(X_test, y_test):.3f} on test rows")

# %%
# The first score is optimistic, because it is the best of eight; the second is an unbiased
# estimate. All eight settings, with the standard deviation over folds:

table = pd.DataFrame(search.cv_results_)
table = table.filter(regex="param_|mean_test|std_test").sort_values("mean_test_score")
table.columns = table.columns.str.replace("param_", "").str.replace("_test_score", "")
table.iloc[::-1].round(3)

# %%
# Ignore differences smaller than this standard deviation. A grid search over the geometries of the
# Jacobian forest is rarely needed: its race is such a search at a fraction of the cost, because the
# pilot forests are small and share their surrogates.

search = GridSearchCV(
    JacobianForestClassifier(30, random_state=0),
    {"geometry": ["axes", "fast", "auto"], "min_samples_leaf": [1, 3]},
    cv=3,
    scoring="neg_brier_score",
).fit(X_train, y_train)
for params, score in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    print(params, f"{-score:.3f}")
print(f"best, on test rows: {-search.score(X_test, y_test):.3f}")
