"""Rows as lines of text: JSON with a checksum, read back whole or not at all."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from numbers import Real
from pathlib import Path
from typing import Any

__all__ = ["StoreError", "parse_lines", "read_json", "row_key", "row_line", "unpacked"]

KEY = ("dataset", "method", "variant", "repeat", "fold", "cap", "seed")
_TEXTS = ("dataset", "method", "variant", "status", "error", "task", "source", "when")
_COUNTS = ("repeat", "fold", "cap", "seed")
_MEASURES = ("metrics", "times")
# A packed file may not hold more than this: it would fill the memory.
MAX_UNPACKED = 2**30
_TAIL = re.compile(rb',"crc":"([0-9a-f]{8})"}\Z')


class StoreError(RuntimeError):
    """The results folder cannot be read or written, or belongs to another run."""


def row_key(row: dict[str, Any]) -> tuple[Any, ...]:
    """Identity of a row: the same as ``Job.key``."""
    return tuple(row[name] for name in KEY)


def row_line(row: dict[str, Any]) -> str:
    """A row as its line, the checksum of all before it at the end.

    Examples
    --------
    >>> from jarf.bench._rows import row_line
    >>> row_line({"dataset": "iris", "fold": 0})
    '{"dataset":"iris","fold":0,"crc":"f8a4b26b"}\\n'
    """
    plain = {name: value for name, value in row.items() if name != "crc"}
    text = json.dumps(plain, separators=(",", ":"), default=_plain)[:-1]
    return f'{text},"crc":"{zlib.crc32(text.encode()):08x}"}}\n'


def parse_lines(content: bytes, where: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows by key; what follows the last line break was half-written and is left out.

    A damaged line is an error, for if it were skipped, tables would change without a word. Every
    line must end in its checksum; no published version wrote lines without. Of two rows with the
    same key the first counts.
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        row = _parse(line)
        if row is None:
            raise StoreError(
                f"{where}, line {number} is damaged or is not a row of a run: its checksum is "
                f"missing or does not fit{_line_ends(line)}. Delete the line and run the same "
                "command again to have its fit repeated"
            )
        rows.setdefault(row_key(row), row)
    return rows


def _line_ends(line: bytes) -> str:
    return " (the file has Windows line ends; restore it as it was)" if line[-1:] == b"\r" else ""


def _parse(line: bytes) -> dict[str, Any] | None:
    tail = _TAIL.search(line)
    if tail is None or zlib.crc32(line[: tail.start()]) != int(tail[1], 16):
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not all(name in row for name in KEY) or not _fits(row):
        return None
    row.pop("crc", None)
    return row


def _fits(row: dict[str, Any]) -> bool:
    """Whether the fields that tables and pages use are of their types."""
    return (
        all(isinstance(row.get(name, ""), str) for name in _TEXTS)
        and all(type(row[name]) is int for name in _COUNTS)
        and all(_is_measures(row.get(name, {})) for name in _MEASURES)
        and isinstance(row.get("extra", {}), dict)
    )


def _is_measures(values: Any) -> bool:
    return isinstance(values, dict) and all(isinstance(v, Real) for v in values.values())


def unpacked(path: Path) -> bytes:
    """The content of a packed file of rows."""
    try:
        with gzip.open(path) as stream:
            content = stream.read(MAX_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise StoreError(f"{path} is damaged ({error}). Restore or delete it") from error
    if len(content) > MAX_UNPACKED:
        raise StoreError(f"{path} unpacks to more than {MAX_UNPACKED} bytes; it is no file of rows")
    return content


def read_json(path: Path, kind: type, empty: Any) -> Any:
    """The value in a file, which must be of that kind; ``empty`` where there is no file."""
    if not path.is_file():
        return empty
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is damaged ({error}). Restore or delete it") from error
    if not isinstance(value, kind):
        raise StoreError(f"{path} is damaged (not a {kind.__name__}). Restore or delete it")
    return value


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as plain JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be stored in a row")
