"""A fitted model as an ONNX file of standard operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jarf._files import atomic_write
from jarf.ensemble import (
    JacobianEnsembleClassifier,
    JacobianEnsembleRegressor,
    JacobianFeatures,
    JacobianKernelClassifier,
    TreeEnsemble,
)
from jarf.export._ensemble_graph import answer_graph, ensemble_graph, temperature_graph
from jarf.export._graph import Graph
from jarf.export._kinds import refuse_wrapper
from jarf.export._table_graph import MISSING_TEXT, has_text, table_graph
from jarf.export._trees_graph import map_graph
from jarf.geometry import JacobianPreconditioner, LinearMap
from jarf.inspection import check_model, column_names, raw_columns, trees_of
from jarf.table import as_levels, as_numbers

LABEL, PROBABILITIES = "output_label", "output_probabilities"
PREDICTION, TRANSFORMED = "output_prediction", "output_transformed"


def export_onnx(model, path=None):
    """Write a fitted model with the standard operators of ONNX (ai.onnx 17, ai.onnx.ml 3).

    The graph accepts the raw table, as the model does: it imputes missing values, encodes
    categories, multiplies by H and evaluates the trees. Rows reach the same leaves, because cuts
    decide as if projections were rounded to float32, as they are in the model; sums of leaf values
    are float32, probabilities agree to about 1e-7 and responses to about 1e-7 of their spread.

    Parameters
    ----------
    model : estimator
        Fitted: an oblique or Jacobian forest; Jacobian boosting; a kernel machine; an ensemble
        whose members can all be exported; JARF on one of our forests, on scikit-learn's random
        forests and extra trees, or on XGBoost (gbtree); JacobianPreconditioner or
        JacobianFeatures.
    path : str or Path, default=None
        Where to write the file, if anywhere.

    Returns
    -------
    onnx.ModelProto
        Inputs: one double matrix "X"; or, where the table has text columns, one input of shape
        (n_rows, 1) per column, with its name: strings for text, doubles for the rest. A missing
        number is NaN, a missing text the empty string; booleans are 0 and 1. See
        :func:`onnx_inputs`. Outputs: "output_label" and "output_probabilities"; "output_prediction"
        of a regressor; "output_transformed".

    Notes
    -----
    An oblique forest is slower in ONNX than here: ONNX has no oblique trees, so *all* directions of
    some trees are computed for every row, by a matrix product in double precision, before the trees
    are walked. The larger the trees and the more columns they mix, the slower; see the guide's page
    on serving.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import SPORFClassifier
    >>> from jarf.export import export_onnx
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> model = SPORFClassifier(10, random_state=0).fit(X, X[:, 0] > X[:, 1])
    >>> exported = export_onnx(model)
    >>> [output.name for output in exported.graph.output]
    ['output_label', 'output_probabilities']
    """
    transforms = isinstance(model, JacobianPreconditioner | JacobianFeatures)
    blends = isinstance(model, JacobianEnsembleClassifier | JacobianEnsembleRegressor)
    refuse_wrapper(model, "exported")
    if transforms or blends:
        check_is_fitted(model)
    else:
        check_model(model)
    graph = Graph()
    _check_names(model)
    if transforms:
        outputs = _transformer(graph, model, table_graph(graph, model))
    elif blends:
        outputs = _predictor(graph, model, ensemble_graph(graph, model))
    else:
        answer = answer_graph(graph, model, table_graph(graph, model))
        outputs = _predictor(graph, model, answer)
    made = graph.model(outputs)
    if path is not None:
        with atomic_write(path) as stream:
            stream.write(made.SerializeToString())
    return made


def _check_names(model: Any) -> None:
    taken = {LABEL, PROBABILITIES, PREDICTION, TRANSFORMED}
    if not has_text(model.table_):
        return
    for name in map(str, column_names(model)):
        if name in taken or name.startswith("jarf/") or not name:
            raise ValueError(
                f"A column named {name!r} cannot be an input of the ONNX graph. Rename it and fit "
                "again."
            )


def _transformer(graph: Graph, model: Any, encoded: str) -> list:
    if isinstance(model, JacobianFeatures):
        extra = map_graph(graph, LinearMap(model.mean_, model.scale_, model.directions_), encoded)
        graph.add("Concat", encoded, extra, axis=1, name=TRANSFORMED)
    else:
        graph.add("Identity", map_graph(graph, model.map_, encoded), name=TRANSFORMED)
    width = len(model.get_feature_names_out())
    return [(TRANSFORMED, graph.onnx.TensorProto.DOUBLE, [None, width])]


def _predictor(graph: Graph, model: Any, answer: str) -> list:
    types = graph.onnx.TensorProto
    if not hasattr(model, "classes_"):
        n_outputs = getattr(model, "n_outputs_", 1)
        if n_outputs > 1:
            graph.add("Identity", answer, name=PREDICTION)
            return [(PREDICTION, types.DOUBLE, [None, n_outputs])]
        flat = graph.add("Reshape", answer, graph.constant([-1], np.int64))
        graph.add("Identity", flat, name=PREDICTION)
        return [(PREDICTION, types.DOUBLE, [None])]
    n_classes = len(model.classes_)
    if n_classes == 2 and not _has_two_columns(model):
        other = graph.add("Sub", graph.constant([1.0], np.float64), answer)
        answer = graph.add("Concat", other, answer, axis=1)
    best = graph.add("ArgMax", answer, axis=1, keepdims=0)
    answer = temperature_graph(graph, model, answer)
    classes, kind = _classes(model.classes_)
    graph.add("Gather", graph.constant(classes), best, axis=0, name=LABEL)
    graph.add("Identity", answer, name=PROBABILITIES)
    return [
        (LABEL, getattr(types, kind), [None]),
        (PROBABILITIES, types.DOUBLE, [None, n_classes]),
    ]


def _has_two_columns(model: Any) -> bool:
    whole = TreeEnsemble | JacobianKernelClassifier | JacobianEnsembleClassifier
    return isinstance(model, whole) or trees_of(model).n_outputs == 2


def _classes(classes: np.ndarray) -> tuple[np.ndarray, str]:
    if classes.dtype.kind == "u" and classes.max() > np.iinfo(np.int64).max:
        raise ValueError(
            f"The class label {classes.max()} does not fit into ONNX's 64-bit integers. Convert "
            "the labels to text before fitting."
        )
    for kinds, name, dtype in (
        ("iu", "INT64", "int64"),
        ("f", "DOUBLE", "float64"),
        ("b", "BOOL", "bool"),
    ):
        if classes.dtype.kind in kinds:
            return classes.astype(dtype), name
    if all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object), "STRING"
    raise ValueError("Class labels must be numbers, booleans or text to be written to ONNX.")


def onnx_inputs(model, X) -> dict[str, np.ndarray]:
    """Make the inputs of an exported model from a table.

    Parameters
    ----------
    model : estimator
        The fitted model that was exported.
    X : array-like or DataFrame of shape (n_samples, n_features)

    Returns
    -------
    dict of str to ndarray
        To hand to ``onnxruntime.InferenceSession.run``.

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import AxisForestRegressor
    >>> from jarf.export import onnx_inputs
    >>> model = AxisForestRegressor(2).fit(np.eye(3), [0, 1, 2])
    >>> onnx_inputs(model, np.eye(3))["X"].shape
    (3, 3)
    """
    check_is_fitted(model)
    columns = raw_columns(X)
    parts = model.table_.parts()
    if len(columns) != len(parts):
        raise ValueError(f"X has {len(columns)} columns, but the model was fitted on {len(parts)}.")
    if not has_text(model.table_):
        return {"X": np.column_stack([_doubles(column) for column in columns])}
    feed = {}
    for name, part, column in zip(column_names(model), parts, columns, strict=True):
        is_text = hasattr(part, "levels") and part.levels.text
        values = _texts(column) if is_text else _doubles(column)
        feed[str(name)] = values[:, None]
    return feed


def _doubles(column) -> np.ndarray:
    if column.kind == "category":  # levels that are numbers
        return np.array([np.nan if v is None else v for v in as_levels(column)], dtype=np.float64)
    return as_numbers(column)


def _texts(column) -> np.ndarray:
    values = [MISSING_TEXT if level is None else level for level in as_levels(column)]
    return np.array(values, dtype=object)
