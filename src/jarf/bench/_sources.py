"""The source of a user's table: a CSV or Parquet file, read in parts if large, or memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from jarf.bench import _csv
from jarf.bench._csv import CsvFile, CsvFormat, check_names, inside, unreadable
from jarf.bench._errors import TableError

__all__ = ["Source", "open_source"]

_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_PARQUET = (".parquet", ".pq")


class Source(Protocol):
    """A table whose columns are known and whose rows are read on demand."""

    label: str
    columns: list[str]

    def column(self, name: str) -> Any:
        """One column of all rows, as a Series."""

    def rows(self, places: np.ndarray | None, columns: Sequence[str]) -> Any:
        """The columns of some rows, in rising order, or of all, as a DataFrame."""


def open_source(table: Any, label: str | None = None, form: CsvFormat | None = None) -> Source:
    """Open a path, a DataFrame or an array; ``form`` is the format of a CSV file."""
    if not isinstance(table, str | os.PathLike):
        return _Frame(table, label or "table")
    path = Path(table)
    if not path.is_file():
        raise TableError(f"there is no file {path}")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty")
    ending, label = path.name.lower(), label or path.name
    try:
        if ending.endswith(_CSV):
            return CsvFile(path, label, form)
        if ending.endswith(_PARQUET):
            return _Parquet(path, label)
    except (OSError, ValueError, ImportError) as error:
        raise unreadable(path, error) from error
    raise TableError(f"{path.name}: only CSV ({', '.join(_CSV)}) and parquet files can be read")


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
        for batch in self._file.iter_batches(batch_size=_csv.CHUNK, columns=columns):
            here = inside(places, start, len(batch))
            kept.append(arrow.Table.from_batches([batch]).take(here))
            start += len(batch)
        return arrow.concat_tables(kept).unify_dictionaries()
