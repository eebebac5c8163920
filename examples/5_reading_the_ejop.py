"""
Reading the EJOP
================

The expected Jacobian outer product says along which directions a model's prediction changes. Its
pictures are worth a look before anything is trained on them; so is the question whether two halves
of the data agree on what they show.
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
# The spectrum: how many directions matter. A steep one means that a few do; a flat one, that the
# map has nothing to say.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
spectrum = EJOPSpectrumDisplay.from_estimator(model, ax=axes[0])
SensitivityDisplay.from_estimator(model, ax=axes[1])
print(f"effective rank {spectrum.effective_rank:.1f} of {X.shape[1]}")

# %%
# Beside it, the root mean square derivative along each column, per standard deviation. A column of
# no sensitivity may still be known to another one: a surrogate that can use either of two
# correlated columns shares its gradient between them as it happens.

# %%
# What the leading directions are made of. Their signs are arbitrary; compare signs within a
# direction only.

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
EJOPLoadingsDisplay.from_estimator(model, ax=ax, n_components=3)

# %%
# Can it be trusted? Learn from two halves of the rows and compare the cosines between what they
# find, 1 for the same directions. A simulated table with one true direction beside it.


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
# Two columns matter in the simulated table, and the halves agree on the plane of the two; what
# comes after it is noise. On the real table they agree in part: radius, perimeter and area are
# nearly copies of each other, and a forest uses now one, now another. Read such loadings as "size",
# not as a weight for each of the three, and where halves disagree do not read them at all.

# %%
# The data in the plane of the two strongest directions, with the model's regions. Away from the
# data these show what the model would say of rows that do not exist.

figure, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
TopPlaneDisplay.from_estimator(model, X, y, grid_resolution=40, ax=ax)

# %%
# How far the forest's cuts lie in the leading directions, against random cuts. JARF cuts along
# columns of H, so that this is no evidence that the directions are right, only that they are used.

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
AlignmentDisplay.from_estimator(model, ax=ax)
