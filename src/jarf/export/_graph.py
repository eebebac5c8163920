"""A small builder of ONNX graphs: constants, nodes and their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

OPSET, ML_OPSET = 17, 3
IR_VERSION = 8


def import_onnx() -> Any:
    """Import onnx, or raise an error that explains how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("Export needs the onnx package: pip install 'jarf[onnx]'.") from error
    return onnx


class Graph:
    """Nodes, constants and inputs of a graph under construction.

    Every method that adds a node returns the name of its output.
    """

    def __init__(self) -> None:
        self.onnx = import_onnx()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self._count = 0

    def name(self, stem: str) -> str:
        """Return a name that is not taken."""
        self._count += 1
        return f"jarf/{stem}_{self._count}"

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add a constant tensor; strings are allowed."""
        array = np.asarray(values, dtype=dtype)
        name = self.name("constant")
        if array.dtype.kind in "UO":
            tensor = self.onnx.helper.make_tensor(
                name,
                self.onnx.TensorProto.STRING,
                array.shape,
                [str(value).encode() for value in array.ravel()],
            )
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self.constants.append(tensor)
        return name

    def input(self, name: str, kind: str, width: int) -> str:
        """Add an input of any number of rows, once; ``kind`` is "double" or "string"."""
        if any(known.name == name for known in self.inputs):
            return name
        element = getattr(self.onnx.TensorProto, kind.upper())
        info = self.onnx.helper.make_tensor_value_info(name, element, [None, width])
        self.inputs.append(info)
        return name

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node with one output."""
        output = self.name(operator) if name is None else name
        # Nodes need names: optimizers of onnxruntime derive new names from them.
        self.nodes.append(
            self.onnx.helper.make_node(operator, list(inputs), [output], name=output, **attributes)
        )
        return output

    def add_ml(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of the ai.onnx.ml operators."""
        return self.add(operator, *inputs, domain="ai.onnx.ml", **attributes)

    def cast(self, value: str, kind: str) -> str:
        """Convert to "float", "double", "int64" or "bool"."""
        return self.add("Cast", value, to=getattr(self.onnx.TensorProto, kind.upper()))

    def columns(self, value: str, places: Any) -> str:
        """Pick columns."""
        return self.add("Gather", value, self.constant(places, np.int64), axis=1)

    @contextmanager
    def _inside(self) -> Iterator[list[Any]]:
        """Collect the nodes added inside the block, for the body of a loop or a branch."""
        outer, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = outer

    def _info(self, name: str, element: int) -> Any:
        return self.onnx.helper.make_tensor_value_info(name, element, None)

    def scan(self, start: str, kind: str, sliced: list[str], step: Callable[..., str]) -> str:
        """Add a loop over the slices of constants along their first axis.

        Parameters
        ----------
        start : str
            A value before the first step.
        kind : str
            Its element type.
        sliced : list of str
            Constants.
        step : callable
            ``step(before, *slices) -> after``: adds the nodes of one step and returns the new
            value's name. It may use any value of the outer graph.

        Returns
        -------
        str
            The value after the last step.
        """
        known = {tensor.name: tensor.data_type for tensor in self.constants}
        before, parts = self.name("before"), [self.name("slice") for _ in sliced]
        with self._inside() as body:
            after = step(before, *parts)
        element = getattr(self.onnx.TensorProto, kind.upper())
        inputs = [self._info(before, element)]
        inputs += [
            self._info(part, known[whole]) for part, whole in zip(parts, sliced, strict=True)
        ]
        make = self.onnx.helper.make_graph
        graph = make(body, self.name("step"), inputs, [self._info(after, element)])
        return self.add("Scan", start, *sliced, num_scan_inputs=len(sliced), body=graph)

    def when(self, condition: str, then: Callable[[], str], otherwise: str, kind: str) -> str:
        """Add a branch: the nodes that ``then()`` adds, or the value ``otherwise``."""
        element = getattr(self.onnx.TensorProto, kind.upper())
        branches = {}
        for name, make in (
            ("then_branch", then),
            ("else_branch", lambda: self.add("Identity", otherwise)),
        ):
            with self._inside() as body:
                output = self._info(make(), element)
            branches[name] = self.onnx.helper.make_graph(body, self.name(name), [], [output])
        return self.add("If", condition, **branches)

    def model(self, outputs: list[tuple[str, int, list[Any]]]) -> Any:
        """Finish: a checked ModelProto with the given outputs (name, element type, shape)."""
        helper = self.onnx.helper
        infos = [helper.make_tensor_value_info(*output) for output in outputs]
        graph = helper.make_graph(self.nodes, "jarf", self.inputs, infos, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="jarf"
        )
        if model.ByteSize() >= 2**31:
            raise ValueError("The model is larger than the 2 GB that an ONNX file may have.")
        self.onnx.checker.check_model(model, full_check=False)
        return model
