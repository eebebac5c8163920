"""
Reading the EJOP
================

The expected Jacobian outer product (EJOP) shows along which directions a model's predictions
change. This example plots it and checks whether two halves of the data agree on it. Do both before
you train a model on its directions.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from jarf import JacobianPreconditioner, JARFClassifier
from jarf.datasets import make_rotated_halfspace
from jarf.geometry import eigenvector_alignment
from jarf.inspection import (
    AlignmentDisplay,
    EJOPLoadingsDisplay,
    EJOPSpectrumDisplay,
    SensitivityDisplay,
    TopPlaneDisplay,
)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.filter(like="mean ")  # ten columns
X.columns = X.columns.str.removeprefix("mean ")
model = JARFClassifier(n_estimators=100, random_state=0).fit(X, y)

# %%
# The spectrum shows how many directions matter. If it is steep, a few directions matter; if it is
# flat, no direction stands out.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
spectrum = EJOPSpectrumDisplay.from_estimator(model, ax=axes[0])
SensitivityDisplay.from_estimator(model, ax=axes[1])
print(f"effective rank {spectrum.effective_rank:.1f} of {X.shape[1]}")

# %%
# The right panel shows the root mean square derivative along each column, per standard deviation. A
# column with low sensitivity can still be informative: if two columns are correlated, a surrogate
# can use either of them, and how it divides its gradient between them is arbitrary.

# %%
# The loadings show the weights of the columns in the leading directions. The overall sign of a
# direction is arbitrary, so compare signs only within a direction.

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
EJOPLoadingsDisplay.from_estimator(model, ax=ax, n_components=3)

# %%
# To check whether the directions are reliable, we estimate them on two halves of the rows and
# compute the cosines between the two estimates; 1 means that they agree. For comparison, we do the
# same on synthetic data with one true direction.


def agreement(X, y, k):
    """Mean cosine of the principal angles between the leading directions of two halves."""
    first, second = (
        JacobianPreconditioner(random_state=0).fit(X[start::2], y[start::2]).eigenvectors_
        for start in (0, 1)
    )
    return eigenvector_alignment(first, second, k)[1]


simulated = make_rotated_halfspace(len(X), 10, random_state=0)
for k in (1, 2, 3):
    print(
        f"leading {k}: breast cancer {agreement(X.to_numpy(), y.to_numpy(), k):.2f}, "
        f"simulated {agreement(*simulated, k):.2f}"
    )

# %%
# In the synthetic data two columns matter, and the halves agree on the plane of these two columns;
# the directions after that are noise. On the real table the halves agree only in part: radius,
# perimeter and area are almost copies of each other, and a forest uses any of them. Interpret such
# loadings as "size", not as separate weights of the three columns. If the halves disagree, do not
# interpret the loadings at all.

# %%
# The data in the plane of the two strongest directions, with the model's decision regions. Far from
# the data, the regions show predictions for rows that do not occur.

figure, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
TopPlaneDisplay.from_estimator(model, X, y, grid_resolution=40, ax=ax)

# %%
# The alignment of the forest's cuts with the leading directions, compared with random cuts. JARF
# cuts along the columns of H, so a high alignment shows that the directions are used, not that they
# are right.

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
AlignmentDisplay.from_estimator(model, ax=ax)
