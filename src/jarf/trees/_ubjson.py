"""Reader of Universal Binary JSON (UBJSON), the binary form of XGBoost's models.

Arrays of one type, which hold nearly everything, become NumPy arrays without being copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.trees._unreadable import UnreadableTrees

_NUMBERS = {
    ord(marker): np.dtype(kind)
    for marker, kind in {
        "i": "i1",
        "U": "u1",
        "I": ">i2",
        "l": ">i4",
        "L": ">i8",
        "d": ">f4",
        "D": ">f8",
    }.items()
}
_CONSTANTS = {ord("T"): True, ord("F"): False, ord("Z"): None}
_ARRAY, _TEXT, _OBJECT, _END, _LONG = (ord(marker) for marker in "[S{}L")


def read_ubjson(content: bytes) -> Any:
    """Return the value that the bytes hold, with typed arrays as NumPy arrays."""
    return _Reader(content).value()


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def value(self) -> Any:
        marker = self._marker()
        if marker == _ARRAY:
            return self._array()
        if marker == _TEXT:
            return self._text()
        if marker == _OBJECT:
            return self._object()
        if marker in _NUMBERS:
            return self._number(marker)
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        raise UnreadableTrees(f"XGBoost's model has the unknown marker {chr(marker)!r}.")

    def _marker(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def _follows(self, marker: str) -> bool:
        """Step over a marker if it is the next one."""
        found = self.content[self.at] == ord(marker)
        self.at += found
        return found

    def _number(self, marker: int) -> Any:
        kind, start = _NUMBERS[marker], self.at
        self.at += kind.itemsize
        if kind.kind == "f":
            return float(np.frombuffer(self.content, kind, 1, start)[0])
        return int.from_bytes(self.content[start : self.at], "big", signed=kind.kind == "i")

    def _length(self) -> int:
        at = self.at
        if self.content[at] == _LONG:  # as XGBoost writes them all
            self.at = at + 9
            return int.from_bytes(self.content[at + 1 : at + 9], "big")
        return self._number(self._marker())

    def _text(self) -> str:
        length = self._length()
        start, self.at = self.at, self.at + length
        return self.content[start : self.at].decode()

    def _object(self) -> dict[str, Any]:
        found = {}
        while self.content[self.at] != _END:
            key = self._text()
            found[key] = self.value()
        self.at += 1
        return found

    def _array(self) -> Any:
        kind = _NUMBERS[self._marker()] if self._follows("$") else None
        if self._follows("#"):
            length = self._length()
            if kind is None:
                return [self.value() for _ in range(length)]
            self.at += length * kind.itemsize
            return np.frombuffer(self.content, kind, length, self.at - length * kind.itemsize)
        found = []
        while not self._follows("]"):
            found.append(self.value())
        return found
