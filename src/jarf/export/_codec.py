"""Python values as JSON and raw arrays, and back: only data can result.

Scalars, texts and lists are JSON's own. Everything else is an object with one entry whose key is
its type; ``{"object": name, "state": ...}`` can only be one of the given classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from jarf.export._members import Budget, UnsoundFile

DTYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "float64")
# Maximum memory of a list, a dictionary or a tuple, and of each entry.
_CONTAINER, _ENTRY = 80, 100
# Maximum size of any dimension of an array without values.
_WIDEST_EMPTY = 2**20
_ODD_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class CannotWrite(TypeError):
    """A value that a model file cannot represent."""


class Writer:
    """Converts values to JSON and collects the arrays they contain.

    Parameters
    ----------
    describe : callable
        ``describe(value) -> (name, state)`` of an object of a known class, or None.
    """

    def __init__(self, describe: Callable[[Any], tuple[str, dict] | None]):
        self.describe = describe
        self.members: dict[str, bytes] = {}
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []

    def encode(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, list):
            return [self.encode(item) for item in value]
        if isinstance(value, tuple):
            return {"tuple": [self.encode(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[self.encode(k), self.encode(v)] for k, v in value.items()]}
        if isinstance(value, bytes):
            return {"bytes": self._member(value, value)}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, csr_array):
            parts = [self.encode(part) for part in (value.data, value.indices, value.indptr)]
            return {"csr": [*parts, list(value.shape)]}
        return self._object(value)

    def _array(self, array: np.ndarray) -> dict[str, Any]:
        if array.dtype.kind in "OU":
            texts = [self.encode(item) for item in array.ravel().tolist()]
            kind = "objects" if array.dtype.kind == "O" else "texts"
            return {kind: texts, "shape": list(array.shape)}
        if array.dtype.name not in DTYPES:
            raise CannotWrite(f"an array of {array.dtype}")
        # The memory order is kept: matrix products round differently otherwise.
        columns_first = array.ndim == 2 and abs(array.strides[0]) < abs(array.strides[1])
        order: Literal["F", "C"] = "F" if columns_first else "C"
        plain = array.astype(array.dtype.newbyteorder("<"), copy=False)
        name = self._member(array, plain.tobytes(order))
        facts = {"dtype": array.dtype.name, "shape": list(array.shape), "order": order}
        return {"array": name, **facts}

    def _member(self, owner: Any, content: bytes) -> str:
        if id(owner) not in self._names:
            self._kept.append(owner)  # so that its id stays its own
            name = f"data/{len(self.members)}"
            self._names[id(owner)] = name
            self.members[name] = content
        return self._names[id(owner)]

    def _object(self, value: Any) -> dict[str, Any]:
        found = self.describe(value)
        if found is None:
            raise CannotWrite(f"an object of class {type(value).__name__}")
        name, state = found
        return {"object": name, "state": {k: self.encode(v) for k, v in state.items()}}


class Reader:
    """Converts JSON and members back to values.

    Parameters
    ----------
    members : dict of str to bytes
    build : callable
        ``build(name, state, budget) -> object`` of a known class; rejects any other.
    budget : Budget, default=None
        Charged for everything that is built, each time that it is built.
    """

    def __init__(
        self,
        members: dict[str, bytes],
        build: Callable[[str, dict, Budget], Any],
        budget: Budget | None = None,
    ):
        self.members, self.build = members, build
        self.budget = Budget() if budget is None else budget
        self._made: dict[tuple, np.ndarray] = {}

    def decode(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list):
            self._hold(value)
            return [self.decode(item) for item in value]
        kind = next(iter(value))
        if kind == "float":
            return _ODD_FLOATS[value[kind]]
        if kind in ("tuple", "dict"):
            self._hold(value[kind])
        if kind == "tuple":
            return tuple(self.decode(item) for item in value[kind])
        if kind == "dict":
            return {self.decode(k): self.decode(v) for k, v in value[kind]}
        if kind == "bytes":  # JSON of other libraries, parsed by whoever asked for it
            self.budget.spend_json(self.members[value[kind]])
            return self.members[value[kind]]
        if kind == "array":
            return self._array(*(value[key] for key in ("array", "dtype", "shape", "order")))
        if kind in ("objects", "texts"):
            return self._texts(kind, value)
        if kind == "csr":
            return self._sparse(value[kind])
        if kind == "object":
            self._hold(value["state"])
            state = {name: self.decode(part) for name, part in value["state"].items()}
            return self.build(value[kind], state, self.budget)
        raise UnsoundFile(f"it holds an unknown kind of value, {kind!r}")

    def _hold(self, values: list | dict) -> None:
        self.budget.spend(_CONTAINER + _ENTRY * len(values))

    def _array(self, name: str, dtype: str, shape: list[int], order: Any) -> np.ndarray:
        key = (name, dtype, tuple(shape), order)
        if key not in self._made:
            if dtype not in DTYPES:
                raise UnsoundFile(f"it holds an array of dtype {dtype!r}")
            content, kind = self.members[name], np.dtype(dtype)
            if min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize != len(content):
                raise UnsoundFile(f"its array {name!r} does not have the shape {shape}")
            if not content and max(shape) > _WIDEST_EMPTY:
                raise UnsoundFile(f"its array {name!r} is empty and of the shape {shape}")
            self.budget.spend(len(content))
            flat = np.frombuffer(content, kind.newbyteorder("<")).astype(kind)
            self._made[key] = flat.reshape(shape, order=order)
        return self._made[key]

    def _texts(self, kind: str, value: dict) -> np.ndarray:
        self._hold(value[kind])
        items = [self.decode(item) for item in value[kind]]
        if not all(item is None or isinstance(item, bool | int | float | str) for item in items):
            raise UnsoundFile("an array of objects holds more than scalars")
        if kind == "texts":  # every item is as wide as the widest
            widest = max((len(str(item)) for item in items), default=1)
            self.budget.spend(np.dtype("U1").itemsize * widest * len(items))
            return np.array(items, dtype=str).reshape(value["shape"])
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(value["shape"])

    def _sparse(self, value: list) -> csr_array:
        data, indices, indptr = (self.decode(part) for part in value[:3])
        n_rows, n_columns = value[3]
        fine = (
            all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr))
            and indices.dtype.kind == indptr.dtype.kind == "i"
            and len(indptr) == n_rows + 1
            and indptr[0] == 0
            and indptr[-1] == len(data) == len(indices)
            and (indptr[1:] >= indptr[:-1]).all()  # a difference could overflow
            and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < n_columns))
        )
        if not fine:
            raise UnsoundFile("it holds a sparse matrix that points outside itself")
        self.budget.spend(data.nbytes + indices.nbytes + indptr.nbytes)
        return csr_array((data, indices, indptr), shape=(n_rows, n_columns))
