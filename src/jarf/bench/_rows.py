"""A stored result as one typed record, and as a line of text with a checksum."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from pathlib import Path
from typing import Any

__all__ = [
    *("KEY", "WHEN", "ResultRow", "StoreError", "parse_lines", "read_json", "row_line"),
    "unpacked",
]

WHEN = "%Y-%m-%dT%H:%M:%SZ"  # UTC
KEY = ("dataset", "method", "variant", "repeat", "fold", "cap", "seed")
# A compressed file may not unpack to more than this, to protect memory.
MAX_UNPACKED = 2**30
_TAIL = re.compile(rb',"crc":"([0-9a-f]{8})"}\Z')


class StoreError(RuntimeError):
    """The results folder cannot be read or written, or belongs to another run.

    Examples
    --------
    >>> from jarf.bench import StoreError, read_rows
    >>> try:
    ...     read_rows("no-such-folder")
    ... except StoreError as error:
    ...     print(error)
    no-such-folder holds no results (no rows.jsonl)
    """


@dataclass(frozen=True)
class ResultRow:
    """One fit of a run: method, data, settings and results.

    Attributes
    ----------
    dataset, method, variant : str
        What was fitted; ``variant`` is empty for the method itself and "tuning" for a grid search.
    repeat, fold, cap, seed : int
        The split; ``cap`` is the maximum number of training rows, 0 for all. The first seven fields
        are the key of a row.
    status : {"ok", "error"}
    error : str
        Message of a fit that failed.
    task : str or None
        "classification" or "regression". This and the following facts are None if the fit failed.
    n_train, n_test : int or None
        Rows of the split.
    d, d_numeric : int or None
        Number of encoded columns, and of numeric ones among them.
    n_classes : int or None
        0 in regression.
    n_rows : int or None
        Rows of the dataset, 0 for a simulation.
    partial : bool or None
        Whether the dataset has fewer rows than registered.
    source : str or None
        Where the dataset came from.
    n_trees : int or None
    params : mapping
        Tuned parameters.
    metrics : mapping of str to float
        Scores on the test rows.
    times : mapping of str to float
        Seconds: ``total``, ``cpu``, ``predict`` and the stages ``surrogate``, ``gradients``,
        ``fit``.
    extra : mapping
        Further findings of the method.
    where : list of str
        The innermost calls of an error.
    seconds : float
        Wall time of the whole job, loading included.
    versions : mapping of str to str
    when : str
        End of the fit, UTC.

    Examples
    --------
    >>> from jarf.bench import ResultRow
    >>> row = ResultRow("iris", "RF", "", 0, 1, 0, 0)
    >>> row.ok, row.key[:2]
    (True, ('iris', 'RF'))
    """

    dataset: str
    method: str
    variant: str
    repeat: int
    fold: int
    cap: int
    seed: int
    status: str = "ok"
    error: str = ""
    task: str | None = None
    n_train: int | None = None
    n_test: int | None = None
    d: int | None = None
    d_numeric: int | None = None
    n_classes: int | None = None
    n_rows: int | None = None
    partial: bool | None = None
    source: str | None = None
    n_trees: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    where: list[str] = field(default_factory=list)
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    when: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """Identity of the row: that of its job."""
        return tuple(getattr(self, name) for name in KEY)

    @property
    def ok(self) -> bool:
        """Whether the fit succeeded."""
        return self.status == "ok"

    def as_dict(self) -> dict[str, Any]:
        """Return the known fields, for JSON."""
        found = {name: getattr(self, name) for name in _FIELDS}
        return {
            name: value
            for name, value in found.items()
            if value is not None and (value or name != "where")
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ResultRow:
        """Build a row from plain values and check their types.

        Raises
        ------
        ValueError
            If a field of the key is missing, a field is unknown or a value is of another type.
        """
        missing = [name for name in KEY if name not in values]
        if missing or not set(values) <= set(_FIELDS):
            raise ValueError(f"not the fields of a row: {sorted(map(str, values))}")
        for name, value in values.items():
            if not _TYPES[name](value):
                raise ValueError(f"the field {name!r} cannot be {value!r}")
        return cls(**values)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _is_measures(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(v, Real) for v in value.values())


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "int": lambda value: type(value) is int,
    "float": lambda value: isinstance(value, Real) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "list[str]": lambda value: isinstance(value, list) and all(isinstance(v, str) for v in value),
    "Mapping[str, float]": _is_measures,
    "Mapping[str, str]": _is_mapping,
    "Mapping[str, Any]": _is_mapping,
}
_FIELDS = [entry.name for entry in fields(ResultRow)]
_TYPES = {
    entry.name: _CHECKS[str(entry.type).removesuffix(" | None")] for entry in fields(ResultRow)
}


def row_line(row: ResultRow) -> str:
    """Return a row as a line of JSON that ends in its checksum.

    Examples
    --------
    >>> from jarf.bench import ResultRow
    >>> from jarf.bench._rows import row_line
    >>> row_line(ResultRow("iris", "RF", "", 0, 0, 0, 0))[-20:-1]
    '","crc":"7edbbbb2"}'
    """
    text = json.dumps(row.as_dict(), separators=(",", ":"), default=_plain)[:-1]
    return f'{text},"crc":"{zlib.crc32(text.encode()):08x}"}}\n'


def parse_lines(content: bytes, where: Path) -> dict[tuple[Any, ...], ResultRow]:
    """Return rows by key; an incomplete last line is ignored.

    A damaged line is an error: if it were skipped, tables would change silently. Every line must
    end in its checksum; no published version wrote lines without one. Of two rows with the same key
    the first counts.
    """
    rows: dict[tuple[Any, ...], ResultRow] = {}
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        row = _parse(line)
        if row is None:
            raise StoreError(
                f"{where}, line {number} is damaged or is not a row of a run: its checksum is "
                f"missing or does not match{_line_ends(line)}. Delete the line and run the same "
                "command again to repeat its fit"
            )
        rows.setdefault(row.key, row)
    return rows


def _line_ends(line: bytes) -> str:
    windows = " (the file has Windows line endings; restore the original)"
    return windows if line[-1:] == b"\r" else ""


def _parse(line: bytes) -> ResultRow | None:
    tail = _TAIL.search(line)
    if tail is None or zlib.crc32(line[: tail.start()]) != int(tail[1], 16):
        return None
    try:
        values = json.loads(line)
        values.pop("crc")
        return ResultRow.from_dict(values)
    except (ValueError, RecursionError, AttributeError, TypeError):
        return None


def unpacked(path: Path) -> bytes:
    """Return the content of a compressed file of rows."""
    try:
        with gzip.open(path) as stream:
            content = stream.read(MAX_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise StoreError(f"{path} is damaged ({error}). Restore or delete it") from error
    if len(content) > MAX_UNPACKED:
        raise StoreError(
            f"{path} unpacks to more than {MAX_UNPACKED} bytes; it is not a file of rows"
        )
    return content


def read_json(path: Path, kind: type, empty: Any) -> Any:
    """Return the value in a JSON file, of the given type; ``empty`` if there is no file."""
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
    """Convert NumPy scalars and arrays to plain JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be stored in a row")
