"""
On a DataFrame
==============

Every estimator takes a table as it comes: numbers, text, categories, booleans, missing values.
Directions are made of numbers only; everything else stays a plain axis. What is reported afterwards
is in the columns of the table.

The table is made up: a loan is paid back if income exceeds debt by enough, unless the town says
otherwise, with little enough noise that oblique cuts win the race and can be shown. With more
noise, more holes and fewer rows the race chose plain axes.
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
# ``fit`` and ``predict`` take the DataFrame. Columns of text are found by their type; columns of
# codes that look like numbers are named with ``categorical_features=["code"]``.

train, test = slice(0, 1200), slice(1200, n)
model = JacobianForestClassifier(100, random_state=0).fit(table[train], paid[train])
score = balanced_accuracy_score(paid[test], model.predict(table[test]))
print(f"balanced accuracy {score:.3f}, geometry {model.geometry_.name!r}")

# %%
# The encoder says what became of each column: one output a level, and for a number that was missing
# in training both a filled column and one that sets the missing values apart.

names = model.table_.get_feature_names_out(table.columns)
for name, kind in zip(names, model.table_.output_kinds_, strict=True):
    print(f"{name:14} {kind}")

# %%
# Importances belong to the five columns, not to the outputs.

pd.Series(model.feature_importances_, table.columns).sort_values(ascending=False).round(3)

# %%
# Cuts are put in words, in the units of the columns. A direction that mixes income and debt with
# opposite signs is what the table was made with.

for tree in range(4):
    print(explain_split(model, tree=tree, node=0, max_terms=3))
print()
print(*explain_path(model, table[test].iloc[:1], tree=0, max_terms=3), sep="\n")

# %%
# A town that was never seen and a missing age are no error.

stranger = table[test].iloc[:1].assign(town="east", age=np.nan)
model.predict_proba(stranger).round(2)
