"""Where a user's table comes from: a csv or parquet file, read in parts if big, or memory."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

__all__ = ["Source", "TableError", "open_source"]

_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_PARQUET = (".parquet", ".pq")
_CHUNK = 100_000  # rows of a file in memory at once while some of them are picked
_MISSING = ["?"]  # besides what pandas takes for missing


class TableError(ValueError):
    """A table cannot be read or cannot be compared on."""


class Source(Protocol):
    """A table whose columns are known and whose rows are read on demand."""

    label: str
    columns: list[str]

    def column(self, name: str) -> Any:
        """One column of all rows, as a Series."""

    def rows(self, places: np.ndarray | None, columns: Sequence[str]) -> Any:
        """The columns of some rows, in rising order, or of all, as a DataFrame."""


def open_source(table: Any, label: str | None = None) -> Source:
    """A source of a path, a DataFrame of pandas or polars, or an array."""
    if not isinstance(table, str | os.PathLike):
        return _Frame(table, label or "table")
    path = Path(table)
    if not path.is_file():
        raise TableError(f"there is no file {path}")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty")
    ending = path.name.lower()
    kinds: dict[Any, tuple[str, ...]] = {_Csv: _CSV, _Parquet: _PARQUET}
    for kind, endings in kinds.items():
        if ending.endswith(endings):
            try:
                return kind(path, label or path.name)
            except (OSError, ValueError, ImportError) as error:
                raise _unreadable(path, error) from error
    raise TableError(f"{path.name}: only csv ({', '.join(_CSV)}) and parquet files can be read")


def _unreadable(path: Path, error: Exception) -> TableError:
    if isinstance(error, TableError):
        return error
    if isinstance(error, UnicodeDecodeError):
        return TableError(f"{path} is not UTF-8 text; save it as UTF-8 and try again")
    return TableError(f"{path} cannot be read: {' '.join(str(error).split())[:300]}")


def check_names(label: str, names: Sequence[str]) -> list[str]:
    """Column names as text; a name that occurs twice is an error."""
    found = list(map(str, names))
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        raise TableError(f"{label}: {', '.join(map(repr, twice))} names more than one column")
    return found


class _Frame:
    def __init__(self, table: Any, label: str):
        import pandas as pd

        if hasattr(table, "to_pandas"):  # polars, pyarrow
            table = table.to_pandas()
        if not isinstance(table, pd.DataFrame):
            values = np.asarray(table)
            if values.ndim != 2:
                raise TableError(f"X must have two dimensions, not {values.ndim}")
            names = [f"x{j}" for j in range(values.shape[1])]
            table = pd.DataFrame(values, columns=names).infer_objects()
        self.label = label
        self.columns = check_names(label, list(table.columns))
        self._frame = table.set_axis(self.columns, axis=1).reset_index(drop=True)

    def column(self, name: str) -> Any:
        return self._frame[name]

    def rows(self, places: np.ndarray | None, columns: Sequence[str]) -> Any:
        part = self._frame[list(columns)]
        return part if places is None else part.iloc[places].reset_index(drop=True)


class _Csv:
    """The header first, then what is asked for. Types are inferred from the rows that are kept."""

    def __init__(self, path: Path, label: str):
        self.path, self.label = path, label
        self._options: dict[str, Any] = {"encoding": "utf-8-sig", "na_values": _MISSING}
        first = self._read(header=None, nrows=1, sep="\x1f", dtype=str)
        line = str(first.iloc[0, 0]) if len(first) else ""
        self._options["sep"] = max(",;\t|", key=line.count)
        header = self._read(header=None, nrows=1, dtype=str, na_values=[], keep_default_na=False)
        raw = [name for name in header.iloc[0].tolist() if name]
        check_names(label, raw)
        self.columns = check_names(label, list(self._read(nrows=0).columns))

    def _read(self, **options: Any) -> Any:
        import pandas as pd

        try:
            return pd.read_csv(self.path, **{**self._options, **options})
        except (OSError, ValueError) as error:
            raise _unreadable(self.path, error) from error

    def column(self, name: str) -> Any:
        return self._in_parts(None, [name])[name]

    def rows(self, places: np.ndarray | None, columns: Sequence[str]) -> Any:
        if places is not None:
            return self._in_parts(places, list(columns))
        return self._whole_lines(self._read(low_memory=False))[list(columns)]

    def _in_parts(self, places: np.ndarray | None, columns: list[str]) -> Any:
        """Some rows as text, then read again, so that pandas infers types from all of them."""
        import pandas as pd

        kept = []
        try:
            for chunk in self._read(dtype=str, chunksize=_CHUNK):
                start = int(self._whole_lines(chunk).index[0])
                here = slice(None) if places is None else _inside(places, start, len(chunk))
                kept.append(chunk[columns].iloc[here])
        except ValueError as error:
            raise _unreadable(self.path, error) from error
        text = pd.concat(kept).to_csv(index=False)
        return pd.read_csv(io.StringIO(text), low_memory=False, skip_blank_lines=False)

    def _whole_lines(self, frame: Any) -> Any:
        """Refuse what pandas takes for an index: lines with more fields than names."""
        import pandas as pd

        if not isinstance(frame.index, pd.RangeIndex):
            raise TableError(f"{self.path} cannot be read: lines have more fields than the header")
        return frame


def _inside(places: np.ndarray, start: int, size: int) -> np.ndarray:
    return places[(places >= start) & (places < start + size)] - start


class _Parquet:
    def __init__(self, path: Path, label: str):
        import pyarrow.parquet as parquet

        self.label = label
        self._file = parquet.ParquetFile(path)
        names = [n for n in self._file.schema_arrow.names if not n.startswith("__index_level_")]
        self.columns = check_names(label, names)

    def column(self, name: str) -> Any:
        return self._file.read(columns=[name]).to_pandas(ignore_metadata=True)[name]

    def rows(self, places: np.ndarray | None, columns: Sequence[str]) -> Any:
        if places is None:
            found = self._file.read(columns=list(columns))
        else:
            found = self._pick(places, list(columns))
        return found.to_pandas(ignore_metadata=True)[list(columns)]

    def _pick(self, places: np.ndarray, columns: list[str]) -> Any:
        import pyarrow as arrow

        kept, start = [], 0
        for batch in self._file.iter_batches(batch_size=_CHUNK, columns=columns):
            here = _inside(places, start, len(batch))
            kept.append(arrow.Table.from_batches([batch]).take(here))
            start += len(batch)
        return arrow.concat_tables(kept).unify_dictionaries()
