"""Parameter texts that the classifier and the regressor of a method share."""

from __future__ import annotations

import inspect

from jarf.geometry import JacobianPreconditioner

_OWN = """
n_estimators : int, default=200
    Trees of the default final forest; not used where ``estimator`` is given.
min_weight_fraction_leaf : float, default=0.0
    Least share of the weight in a leaf of the default final forest; not used where
    ``estimator`` is given.
share : {"global", "per-tree"}, default="global"
    One H for all trees, or one for each: the EJOP of tree b then averages the gradients
    over tree b's bootstrap sample (one surrogate serves all). "per-tree" needs a final
    ensemble of bootstrapped trees: a random forest, scikit-learn's or ours.
"""

_ATTRIBUTES = """
preconditioner_ : JacobianPreconditioner
    Fitted: the EJOP, H, its spectrum and the surrogate are its attributes.
estimator_ : estimator
    The fitted final ensemble, in the coordinates of ``X H``.
feature_importances_ : ndarray of shape (n_features,)
    Importances of the original features.
table_ : TableEncoder
    How the columns became a float matrix, and which of its outputs belongs to which.
stage_times_ : dict
    Seconds spent on "surrogate", "gradients" and "fit".
n_features_in_ : int
feature_names_in_ : ndarray
"""


def _section(doc: str, name: str, following: str) -> str:
    lines = doc.split(f"{name}\n{'-' * len(name)}\n", 1)[1]
    return lines.split(f"{following}\n{'-' * len(following)}\n", 1)[0].strip("\n")


def with_parameters(cls):
    """Fill ``%(parameters)s`` and ``%(attributes)s`` of a class docstring."""
    if cls.__doc__ is None:  # python -OO
        return cls
    inherited = _section(inspect.getdoc(JacobianPreconditioner) or "", "Parameters", "Attributes")
    texts = {"parameters": _OWN.strip("\n") + "\n" + inherited, "attributes": _ATTRIBUTES}
    doc = inspect.cleandoc(cls.__doc__)
    for name, text in texts.items():
        doc = doc.replace(f"%({name})s", text.strip("\n"))
    cls.__doc__ = doc
    return cls
