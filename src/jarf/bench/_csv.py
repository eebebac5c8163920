"""CSV files: separators, decimal commas and encodings are detected or requested."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from jarf.bench._errors import TableError

__all__ = ["CsvFile", "CsvFormat", "check_names", "inside", "unreadable"]

CHUNK = 100_000  # rows of a file in memory at once while some of them are picked
_MISSING = ["?"]  # in addition to what pandas reads as missing
_HEAD_BYTES = 2**18
_HEAD_LINES = 300
_SEPARATORS = ",;\t|"
_POINT = re.compile(r"[+-]?\d+\.\d+([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_POINT_GROUPS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
_COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_EITHER = re.compile(r"[+-]?\d{1,3},\d{3}")  # 1,234: a thousand, or a little more than one
_LOCAL_NUMBER = r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?(?:[eE][+-]?\d+)?"
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class CsvFormat:
    """The format of a CSV file; None means: detect it from the file.

    Attributes
    ----------
    sep : str or None
        One character between the fields.
    decimal : {".", ","} or None
    encoding : str or None
        None: UTF-8, or UTF-16 if the file starts with its byte-order mark.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.sep is not None and len(self.sep) != 1:
            raise TableError(f"sep is one character, such as ';' or a tab, not {self.sep!r}")
        if self.decimal not in (None, ".", ","):
            raise TableError(f"decimal is '.' or ',', not {self.decimal!r}")
        if self.decimal is not None and self.decimal == self.sep:
            raise TableError(f"sep and decimal are both {self.sep!r}; they must differ")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except (LookupError, ValueError) as error:
                raise TableError(
                    f"unknown encoding {self.encoding!r}; try utf-8, cp1252 or latin-1"
                ) from error


def unreadable(path: Path, error: Exception) -> TableError:
    """Return the error for a file that cannot be read, with a way to fix it."""
    if isinstance(error, TableError):
        return error
    if isinstance(error, UnicodeError):
        return TableError(
            f"{path} cannot be decoded ({error.__class__.__name__} in "
            f"{getattr(error, 'encoding', 'utf-8')}); name its encoding, for example "
            "--encoding cp1252 (Windows), latin-1 or utf-16"
        )
    return TableError(f"{path} cannot be read: {' '.join(str(error).split())[:300]}")


def check_names(label: str, names: Sequence[str]) -> list[str]:
    """Return column names as text; a repeated name is an error."""
    found = list(map(str, names))
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        raise TableError(f"{label}: {', '.join(map(repr, twice))} names more than one column")
    return found


def inside(places: np.ndarray, start: int, size: int) -> np.ndarray:
    """Return the row numbers that lie in a part of a table, counted from its start."""
    return places[(places >= start) & (places < start + size)] - start


# ---- what the first lines show


def _head(path: Path, encoding: str | None) -> tuple[str, str]:
    """Return the first complete lines of a file, and its encoding."""
    with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as stream:
        raw = stream.read(_HEAD_BYTES)
    whole = len(raw) < _HEAD_BYTES
    found = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), "utf-8")
    encoding = encoding or found
    text = codecs.getincrementaldecoder(encoding)().decode(raw, final=whole)
    return (text if whole else text[: text.rfind("\n") + 1] or text), encoding


def _fields(text: str, sep: str) -> list[list[str]]:
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    try:
        return [line for line, _ in zip(lines, range(_HEAD_LINES), strict=False) if line]
    except csv.Error:  # pandas reports the problem later
        return []


def _guess_separator(text: str, label: str) -> str:
    """Return the separator that splits the most lines into as many fields as the header has."""
    ranks = {}
    for sep in _SEPARATORS:
        lines = _fields(text, sep)
        width = len(lines[0]) if lines else 0
        if width > 1:
            ranks[sep] = (sum(len(line) == width for line in lines) / len(lines), width)
    best = [sep for sep, rank in ranks.items() if rank == max(ranks.values())]
    if len(best) > 1:
        raise TableError(
            f"{label}: {' and '.join(map(repr, best))} separate the fields equally well; choose "
            "one with --sep"
        )
    return best[0] if best else ","


def _guess_decimal(lines: list[list[str]], label: str) -> str:
    """Return the decimal sign of the numeric columns; an ambiguous file is an error."""
    comma, point, either = [], [], []
    for name, *values in zip(*(line for line in lines if len(line) == len(lines[0])), strict=True):
        texts = [v.strip() for v in values if v.strip() and v.strip() != "?"]
        fractions = [v for v in texts if not _WHOLE.fullmatch(v)]
        if not fractions:
            continue
        if all(map(_EITHER.fullmatch, fractions)):
            either.append(name)
        elif all(map(_COMMA.fullmatch, fractions)):
            comma.append(name)
        elif _have_points(fractions):
            point.append(name)
    if comma and point:
        raise TableError(
            f"{label}: column {comma[0]!r} has decimal commas, column {point[0]!r} decimal points; "
            "choose the decimal sign with --decimal"
        )
    if either and not comma and not point:
        raise TableError(
            f"{label}: the comma in column {either[0]!r} may be a decimal comma or a thousands "
            "separator; use --decimal , or --decimal ."
        )
    return "," if comma else "."


def _have_points(fractions: list[str]) -> bool:
    """Return whether numbers have decimal points: 1.5 does; 1.500 may also mean 1,500."""
    numbers = all(_POINT.fullmatch(v) or _COMMA_GROUPS.fullmatch(v) for v in fractions)
    return numbers and not all(map(_POINT_GROUPS.fullmatch, fractions))


# ---- reading


class CsvFile:
    """A CSV file that is read on demand. Types are inferred from the rows that are kept."""

    def __init__(self, path: Path, label: str, form: CsvFormat | None = None):
        self.path, self.label = path, label
        form = form or CsvFormat()
        text, encoding = _head(path, form.encoding)
        sep = form.sep or _guess_separator(text, label)
        lines = _fields(text, sep)
        decimal = form.decimal
        if decimal is None:
            decimal = _guess_decimal(lines, label) if sep != "," and lines else "."
        self.format = replace(form, sep=sep, decimal=decimal, encoding=encoding)
        self._options: dict[str, Any] = {
            "encoding": "utf-8-sig" if encoding == "utf-8" else encoding,
            "na_values": _MISSING,
            "sep": sep,
        }
        header = self._read(header=None, nrows=1, dtype=str, na_values=[], keep_default_na=False)
        check_names(label, [name for name in header.iloc[0].tolist() if name])
        self.columns = check_names(label, list(self._read(nrows=0).columns))

    def _read(self, **options: Any) -> Any:
        import pandas as pd

        try:
            return pd.read_csv(self.path, **{**self._options, **options})
        except (OSError, ValueError) as error:
            raise unreadable(self.path, error) from error

    def column(self, name: str) -> Any:
        """Return one column of all rows, as a Series."""
        return self._in_parts(None, [name])[name]

    def rows(self, places: np.ndarray | None, columns: Sequence[str]) -> Any:
        """Return the columns of some rows, in ascending order, or of all rows, as a DataFrame."""
        if places is not None or self.format.decimal == ",":
            return self._in_parts(places, list(columns))
        return self._whole_lines(self._read(low_memory=False))[list(columns)]

    def _in_parts(self, places: np.ndarray | None, columns: list[str]) -> Any:
        """Read some rows as text, then parse them together, so that types are inferred from all."""
        import pandas as pd

        kept = [self._read(nrows=0, dtype=str)[columns]]
        try:
            for chunk in self._read(dtype=str, chunksize=CHUNK):
                if len(self._whole_lines(chunk)):
                    start = int(chunk.index[0])
                    here = slice(None) if places is None else inside(places, start, len(chunk))
                    kept.append(chunk[columns].iloc[here])
        except ValueError as error:
            raise unreadable(self.path, error) from error
        frame = pd.concat(kept)
        if self.format.decimal == ",":
            frame = frame.apply(_decimal_points)
        text = frame.to_csv(index=False)
        return pd.read_csv(io.StringIO(text), low_memory=False, skip_blank_lines=False)

    def _whole_lines(self, frame: Any) -> Any:
        """Reject lines with more fields than the header, which pandas would read as an index."""
        import pandas as pd

        if not isinstance(frame.index, pd.RangeIndex):
            raise TableError(f"{self.path} cannot be read: lines have more fields than the header")
        return frame


def _decimal_points(column: Any) -> Any:
    """Rewrite numbers with decimal commas and thousands points in the form that pandas reads."""
    known = column.dropna().str.strip()
    if not len(known) or not known.str.fullmatch(_LOCAL_NUMBER).all():
        return column
    return column.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
