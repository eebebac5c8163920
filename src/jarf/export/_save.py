"""Model files that hold data only: saved, checked and loaded without running any code."""

from __future__ import annotations

import struct
import zipfile
import zlib
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import jarf
from jarf._sklearn import is_classifier
from jarf.ensemble import (
    JacobianBoostingClassifier,
    JacobianBoostingRegressor,
    JacobianEnsembleClassifier,
    JacobianEnsembleRegressor,
    JacobianFeatures,
    JacobianKernelClassifier,
    JacobianKernelRegressor,
    JARFClassifier,
    JARFRegressor,
    PerTreeForest,
    TreeEnsemble,
)
from jarf.export._checks import check_shares, check_sums, require
from jarf.export._classes import build, describe
from jarf.export._codec import CannotWrite, Reader, Writer
from jarf.export._kinds import refuse_wrapper
from jarf.export._members import (
    MAX_BYTES,
    Budget,
    UnsoundFile,
    read_members,
    write_members,
)
from jarf.geometry import JacobianPreconditioner
from jarf.gradients import EJOP
from jarf.inspection import answers

_DAMAGE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, OSError),
    *(KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError),
    *(MemoryError, RuntimeError, StopIteration),  # manifests too deep are RuntimeErrors
)


def save(model, path) -> str:
    """Write a fitted model to a file that is safe to load from untrusted sources.

    The file is a zip archive of raw arrays and a JSON manifest with the SHA-256 of each. Everything
    needed for prediction is kept bit by bit. Not kept are the surrogate (only ``fit`` needs it),
    ``n_jobs``, and parameters that JSON and arrays cannot represent (a random generator, a
    surrogate of an unlisted class, a function): they have their defaults after loading.

    Parameters
    ----------
    model : estimator
        Fitted: any estimator of this library. JARF's final ensemble may be one of our forests,
        scikit-learn's random forest or extra trees, or XGBoost.
    path : str or Path

    Returns
    -------
    str
        SHA-256 of the file in hexadecimal: store it separately and pass it to :func:`load` to
        verify that it is the same file.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from jarf import SPORFRegressor
    >>> from jarf.export import load, save
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = SPORFRegressor(5, random_state=0).fit(X, X[:, 0])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.jarf")
    >>> digest = save(model, path)
    >>> np.array_equal(load(path, sha256=digest).predict(X), model.predict(X))
    True
    """
    refuse_wrapper(model, "saved")
    check_is_fitted(model)
    if describe(model) is None:
        raise TypeError(
            f"{type(model).__name__} is not an estimator of this library, and a model file holds "
            "only these. Save other models with the tools of their own library, or with skops."
        )
    for name, member in getattr(model, "members_", {}).items():
        if describe(member) is None:
            raise TypeError(
                f"The member {name!r} of the ensemble, {type(member).__name__}, cannot be saved. "
                "Fit the ensemble with members of this library only."
            )
    writer = Writer(describe)
    try:
        content = writer.encode(model)
    except UnsoundFile as error:
        raise ValueError(f"The model cannot be saved: {error}.") from error
    except CannotWrite as error:
        raise TypeError(
            f"The model holds {error}, which a model file cannot hold. JARF is saved on forests of "
            "this library, on scikit-learn's random forests and extra trees, and on XGBoost."
        ) from error
    manifest = {"jarf": jarf.__version__, "model": content}
    return write_members(path, manifest, writer.members)


def load(path, *, sha256=None, max_bytes=MAX_BYTES) -> Any:
    """Read a model that :func:`save` wrote; reject anything else.

    No code in the file is run. Only listed classes are created; every array is checked for type,
    shape and finite values, and every tree for valid children. A damaged, changed or hostile file
    raises ``ValueError``; a file that cannot be opened, ``OSError`` (``FileNotFoundError`` if there
    is none). Only ``sha256`` verifies that the file is the model you expect.

    Parameters
    ----------
    path : str, Path or binary file
    sha256 : str, default=None
        What :func:`save` returned.
    max_bytes : int, default=2**31
        Reject files that unpack to more, or whose objects need more memory; each limit applies
        separately.

    Returns
    -------
    estimator
    """
    budget = Budget(max_bytes)
    with nullcontext(path) if hasattr(path, "read") else open(path, "rb") as stream:
        try:
            manifest, members = read_members(stream, budget, sha256)
            with np.errstate(all="ignore"):
                model = Reader(members, build, budget).decode(manifest["model"])
                _check_sound(model)
        except _DAMAGE as error:
            raise ValueError(f"{path} is not a sound model file: {error}.") from error
    return model


def _check_sound(model: Any) -> None:
    """Check that the parts of a loaded estimator fit together, and predict once."""
    require(hasattr(model, "n_features_in_"), "it holds no fitted estimator")
    table = model.table_
    require(
        len(table.fill_values_) == model.n_features_in_,
        "the table does not match the model's columns",
    )
    if isinstance(model, JacobianEnsembleClassifier | JacobianEnsembleRegressor):
        _check_members(model)
        return
    if isinstance(model, TreeEnsemble):
        _check_forest_model(model)
    elif not isinstance(
        model, JacobianFeatures | JacobianKernelClassifier | JacobianKernelRegressor
    ):
        _check_mapped(model)
    if not isinstance(model, JacobianPreconditioner | JacobianFeatures):
        n_outputs = getattr(model, "n_outputs_", 1)
        n_outputs = len(model.classes_) if hasattr(model, "classes_") else n_outputs
        found = answers(model, np.zeros((1, table.n_encoded)))
        require(found.shape == (1, n_outputs), "its outputs do not match its classes")
        require(np.isfinite(found).all(), "its predictions are not finite")
        if hasattr(model, "classes_"):
            check_shares(found, "its predictions")


def _check_members(model: Any) -> None:
    """Check that an ensemble's members are sound, of its columns and of its classes."""
    classifies = is_classifier(model)
    require(classifies == hasattr(model, "classes_"), "classes are missing, or too many")
    for member in model.members_.values():
        require(hasattr(member, "table_"), "a member is not fitted")
        nested = isinstance(member, JacobianEnsembleClassifier | JacobianEnsembleRegressor)
        require(not nested, "an ensemble within an ensemble")
        require(is_classifier(member) == classifies, "a member belongs to another task")
        require(
            member.n_features_in_ == model.n_features_in_,
            "a member does not match the columns of the table",
        )
        _check_sound(member)
        if classifies:
            codes = np.arange(len(model.classes_))  # members see numbers of classes
            fine = member.classes_.dtype.kind in "iu" and np.isin(member.classes_, codes).all()
            require(fine, "a member does not match the classes")


def _check_forest_model(model: Any) -> None:
    n_outputs = model.table_.n_encoded
    fits = len(model.table_.fill_values_) == model.n_features_in_
    require(fits, "the table does not match the model's columns")
    require(
        model.forest_.n_features == n_outputs == len(model.feature_scales_),
        "the forest does not match the columns of the table",
    )
    require(is_classifier(model) == hasattr(model, "classes_"), "classes are missing, or too many")
    if isinstance(model, JacobianBoostingClassifier | JacobianBoostingRegressor):
        _check_boosted_trees(model)
    else:
        _check_bagged_trees(model)


def _check_boosted_trees(model: Any) -> None:
    forest = model.forest_
    links: tuple[str, ...] = ("identity", "log")
    if is_classifier(model):
        links = ("logit",) if len(model.classes_) == 2 else ("softmax",)
    require(forest.link in links and not forest.averaged, "the trees are not boosted")
    width = len(model.classes_) if is_classifier(model) else model.n_outputs_
    require(forest.n_outputs == width, "the trees do not match the classes")
    check_sums(forest)


def _check_bagged_trees(model: Any) -> None:
    plain = model.forest_.link == "identity" and model.forest_.averaged
    require(plain and not np.any(model.forest_.base), "the forest is not bagged")
    values = model.forest_.values
    width = len(model.classes_) if is_classifier(model) else getattr(model, "n_outputs_", 0)
    require(values.shape[1] == width, "the forest does not match the classes")
    if is_classifier(model):
        check_shares(values, "the forest")


def _check_mapped(model: Any) -> None:
    """JARF, or its preconditioner alone."""
    jarf_model = isinstance(model, JARFClassifier | JARFRegressor)
    mapping = model.preconditioner_ if jarf_model else model
    n_outputs = mapping.table_.n_encoded
    learned, linear = mapping.learned_, mapping.map_
    sizes = {len(learned.mean), len(linear.mean)}
    require(sizes == {n_outputs}, "the map does not match the columns of the table")
    require(linear.matrix is not None, "the map has no matrix")
    ejop = mapping.ejop_.total if isinstance(mapping.ejop_, EJOP) else mapping.ejop_.factor
    require(ejop.shape[1] == n_outputs, "the EJOP does not match the columns of the table")
    require(
        mapping.preconditioner_.shape[0] == n_outputs, "H does not match the columns of the table"
    )
    if not jarf_model:
        return
    require(model.table_.n_encoded == n_outputs, "the map belongs to another table")
    require(is_classifier(model) == hasattr(model, "classes_"), "classes are missing, or too many")
    mapping.table_ = model.table_
    final = model.estimator_
    ensembles = [final]
    widths = {linear.matrix.shape[1]}
    if isinstance(final, PerTreeForest):
        ensembles = final.trees_
        widths |= {own.matrix.shape[1] for own in final.maps_}
        fits = all(len(own.mean) == n_outputs for own in final.maps_)
        require(fits, "a tree's map does not match the columns of the table")
    for ensemble in ensembles:
        require(not isinstance(ensemble, JARFClassifier | JARFRegressor), "JARF within JARF")
        if isinstance(ensemble, TreeEnsemble):
            _check_forest_model(ensemble)
        if is_classifier(model):
            codes = np.arange(len(model.classes_))  # JARF hands its ensemble numbers of classes
            found = getattr(ensemble, "classes_", codes)
            require(np.isin(found, codes).all(), "the final ensemble does not match the classes")
    widths |= {ensemble.n_features_in_ for ensemble in ensembles}
    require(len(widths) == 1, "the final ensemble expects another number of columns")
