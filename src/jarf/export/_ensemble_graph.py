"""Kernel machines, temperatures and ensembles as ONNX operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.ensemble import JacobianKernelClassifier, JacobianKernelRegressor, TreeEnsemble
from jarf.export._graph import Graph
from jarf.export._table_graph import table_graph
from jarf.export._trees_graph import trees_graph
from jarf.inspection import trees_of
from jarf.surrogate import KernelMachine

KERNELS = (JacobianKernelClassifier, JacobianKernelRegressor)
# Probabilities of a kernel machine are cut to this before they are scaled.
LEAST = 1e-9


def answer_graph(graph: Graph, model: Any, encoded: str) -> str:
    """Add what comes after the table stage, before any temperature: (n_rows, n_outputs).

    Two classes have two columns.
    """
    if isinstance(model, KERNELS):
        return kernel_graph(graph, model, encoded)
    answer = trees_graph(graph, trees_of(model), encoded, not hasattr(model, "classes_"))
    boosted = isinstance(model, TreeEnsemble) and getattr(model, "n_classes_", 0) == 2
    if boosted and trees_of(model).n_outputs == 1:
        other = graph.add("Sub", graph.constant([1.0], np.float64), answer)
        answer = graph.add("Concat", other, answer, axis=1)
    return answer


def kernel_graph(graph: Graph, model: Any, encoded: str) -> str:
    """Add a kernel machine in doubles."""
    machine = model.machine_
    centred = graph.add("Sub", encoded, graph.constant(model.mean_, np.float64))
    seen = graph.add("Div", centred, graph.constant(model.scale_, np.float64))
    if machine.root is not None:
        seen = graph.add("MatMul", seen, graph.constant(machine.root, np.float64))
    anchors = np.ascontiguousarray(machine.anchors)
    own = graph.add("ReduceSumSquare", seen, axes=[1], keepdims=1)
    theirs = graph.constant((anchors**2).sum(axis=1)[None, :], np.float64)
    product = graph.add("MatMul", seen, graph.constant(-2.0 * anchors.T, np.float64))
    squared = graph.add("Add", graph.add("Add", own, theirs), product)
    apart = graph.add("Sqrt", graph.add("Max", squared, graph.constant([0.0], np.float64)))
    kernel = similarity_graph(graph, machine, apart)
    sums = graph.add("MatMul", kernel, graph.constant(machine.coefficients, np.float64))
    answer = graph.add("Add", sums, graph.constant(machine.centre, np.float64))
    if not hasattr(model, "classes_"):
        return answer
    cut = graph.add("Max", answer, graph.constant([LEAST], np.float64))
    total = graph.add("ReduceSum", cut, graph.constant([1], np.int64), keepdims=1)
    return graph.add("Div", cut, total)


def similarity_graph(graph: Graph, machine: KernelMachine, apart: str) -> str:
    """Add the kernel of a machine at these distances."""
    smooth = machine.kernel == "matern"
    scale = (np.sqrt(3.0) if smooth else 1.0) / machine.bandwidth
    steps = graph.add("Mul", apart, graph.constant([scale], np.float64))
    decayed = graph.add("Exp", graph.add("Neg", steps))
    if not smooth:
        return decayed
    return graph.add("Mul", graph.add("Add", steps, graph.constant([1.0], np.float64)), decayed)


def temperature_graph(graph: Graph, model: Any, answer: str) -> str:
    """Add the temperature of a classifier that has one."""
    calibration = getattr(model, "calibration_", None)
    if calibration is None or calibration.reason:
        return answer
    raised = graph.add("Add", answer, graph.constant([calibration.floor], np.float64))
    power = graph.constant([1.0 / calibration.temperature], np.float64)
    return graph.add("Softmax", graph.add("Mul", graph.add("Log", raised), power), axis=1)


def ensemble_graph(graph: Graph, model: Any) -> str:
    """Add the members of an ensemble and their weighted mean."""
    parts = []
    for name, member in model.members_.items():
        if not isinstance(member, (TreeEnsemble, *KERNELS)):
            raise TypeError(
                f"The member {name!r} of the ensemble, {type(member).__name__}, cannot be "
                "exported. Fit the ensemble with members of this library only."
            )
        answer = answer_graph(graph, member, table_graph(graph, member))
        answer = temperature_graph(graph, member, answer)
        weight = graph.constant([model.weights_[name]], np.float64)
        parts.append(graph.add("Mul", answer, weight))
    return graph.add("Sum", *parts)
