"""
Fitting a DataFrame
===================

Every estimator accepts a DataFrame with numbers, text, categories, booleans and missing values.
Directions mix only numeric columns; all other columns are cut one at a time. Importances and
explanations refer to the original columns.

The data are synthetic: a loan is paid back if income exceeds debt by a margin that depends on the
town. There is little noise, so that oblique cuts win the race and can be shown. With more noise,
more missing values and fewer rows, the race chose plain axes.
"""

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score

from jarf import JacobianForestClassifier
from jarf.inspection import explain_path, explain_split

rng = np.random.default_rng(0)
n = 2400
table = pd.DataFrame(
    {
        "income": rng.normal(40, 12, n).round(1),
        "debt": rng.normal(30, 12, n).round(1),
        "age": rng.integers(18, 80, n),
        "town": rng.choice(["north", "south", "west"], n),
        "owner": rng.random(n) < 0.4,
    }
)
margin = table["income"] - table["debt"] - 15 * (table["town"] == "west")
paid = np.where(margin + rng.normal(0, 2, n) > 0, "paid", "late")
table.loc[rng.random(n) < 0.05, "debt"] = np.nan
table.head()

# %%
# ``fit`` and ``predict`` accept the DataFrame. Text columns are recognised by their type. Declare
# numeric codes as categories with ``categorical_features=["code"]``.

train, test = slice(0, 1200), slice(1200, n)
model = JacobianForestClassifier(100, random_state=0).fit(table[train], paid[train])
score = balanced_accuracy_score(paid[test], model.predict(table[test]))
print(f"balanced accuracy {score:.3f}, geometry {model.geometry_.name!r}")

# %%
# The encoder shows how each column was encoded. A category becomes one column per level. A number
# with missing values becomes two columns: an imputed one, and one in which missing values lie below
# all others.

names = model.table_.get_feature_names_out(table.columns)
for name, kind in zip(names, model.table_.encoded_kinds_, strict=True):
    print(f"{name:14} {kind}")

# %%
# Importances refer to the five original columns, not to the encoded ones.

pd.Series(model.feature_importances_, table.columns).sort_values(ascending=False).round(3)

# %%
# ``explain_split`` and ``explain_path`` describe cuts in words, in the units of the columns. The
# data were generated with a direction in which income and debt have opposite signs.

for tree in range(4):
    print(explain_split(model, tree=tree, node=0, max_terms=3))
print()
print(*explain_path(model, table[test].iloc[:1], tree=0, max_terms=3), sep="\n")

# %%
# An unseen town and a missing age do not cause an error.

stranger = table[test].iloc[:1].assign(town="east", age=np.nan)
model.predict_proba(stranger).round(2)
