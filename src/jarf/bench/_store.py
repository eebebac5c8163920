"""Rows on disk: one JSON line per fit, appended and synced; a kill loses one fit at most."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from typing import Any

from jarf._files import atomic_write
from jarf.bench._frame import flat_frame
from jarf.bench._rows import (
    ResultRow,
    StoreError,
    parse_lines,
    read_json,
    row_line,
    unpacked,
)

__all__ = ["ResultStore", "StoreError", "load_rows", "read_rows", "read_run"]


_REMAINS = re.compile(r"\.([a-z.]+\.)?[0-9a-f]{16}\.part")  # names of atomic_write


def read_rows(folder: str | os.PathLike[str]) -> Any:
    """Read all rows of a results folder as one flat, typed frame.

    Parameters
    ----------
    folder : path

    Returns
    -------
    DataFrame
        One line per fit: what was fitted (``dataset``, ``method``, ``variant``), the split
        (``repeat``, ``fold``, ``cap``, ``seed``), ``status`` and ``error``, sizes, a column per
        metric (``kappa``, ``r2``, ...) and per stage (``time_cpu``, ...), in seconds.

    Raises
    ------
    StoreError
        Where there are no results, or a line of them is damaged.

    See Also
    --------
    load_rows : The rows as records, with everything that a method reported.
    """
    return flat_frame(load_rows(folder))


def load_rows(folder: str | os.PathLike[str]) -> list[ResultRow]:
    """Read all rows of a results folder as records; a half-written last line is left out.

    Published rows may be compressed: ``rows.jsonl.gz`` is read if there is no ``rows.jsonl``.

    Parameters
    ----------
    folder : path

    Returns
    -------
    list of ResultRow

    Raises
    ------
    StoreError
        Where there are no results, or a line of them is damaged.
    """
    path = Path(folder) / "rows.jsonl"
    packed = path.with_name("rows.jsonl.gz")
    if path.is_file():
        content = path.read_bytes()
    elif packed.is_file():
        content, path = unpacked(packed), packed
    else:
        raise StoreError(f"{folder} holds no results (no rows.jsonl)")
    return list(parse_lines(content, path).values())


def read_run(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings of a results folder, and every environment that added rows to it.

    Parameters
    ----------
    folder : path

    Returns
    -------
    settings : dict
        Empty where the folder has no ``run.json``.
    environments : list of dict
        Empty where the folder has no ``environment.json``.
    """
    place = Path(folder)
    return (
        read_json(place / "run.json", dict, {}),
        read_json(place / "environment.json", list, []),
    )


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file at once."""
    write_whole(path, (json.dumps(value, indent=1, sort_keys=True) + "\n").encode())


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file atomically: a reader sees the old or the new file, never a part."""
    with atomic_write(path, "wb", follow_links=False) as stream:
        stream.write(content)


class ResultStore:
    """The rows of one results folder, open for appending by one process.

    Parameters
    ----------
    folder : path
        Created if it does not exist. It belongs to one budget and seed.
    settings : dict
        Stored as ``run.json`` on the first start; later starts must use the same settings, except
        for the numbers of repeats, which only add rows.
    environment : dict or None
        One entry of ``environment.json`` per different environment that added rows.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from jarf.bench import ResultRow, ResultStore, load_rows
    >>> with TemporaryDirectory() as folder:
    ...     with ResultStore(folder, {}) as store:
    ...         store.append(ResultRow("iris", "RF", "", 0, 0, 0, 0))
    ...     len(load_rows(folder))
    1
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        settings: dict[str, Any],
        environment: dict[str, Any] | None = None,
    ):
        self.folder = Path(folder)
        self.path = self.folder / "rows.jsonl"
        self._lock: Any = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _refuse_links(self.folder)
            self._lock = _lock(self.folder / ".lock")
            _remove_remains(self.folder)
            self._claim(settings)
            self._remember(environment or {})
            self._repair()
            self.rows = parse_lines(self.path.read_bytes(), self.path)
            self._stream = self._open()
        except OSError as error:
            self._unlock()
            raise _cannot_write(self.folder, error) from error
        except StoreError:
            self._unlock()
            raise

    def _claim(self, settings: dict[str, Any]) -> None:
        path = self.folder / "run.json"
        if not path.is_file():
            write_json(path, settings)
            return
        stored = read_json(path, dict, {})
        different = sorted(k for k in settings if stored.get(k) != settings[k])
        fixed = [name for name in different if not name.endswith("repeats")]
        if fixed:
            raise StoreError(
                f"{self.folder} holds a run with another {', '.join(fixed)}; "
                "choose another folder with --out"
            )
        if different:
            write_json(path, {**stored, **settings})

    def _remember(self, environment: dict[str, Any]) -> None:
        path = self.folder / "environment.json"
        known = read_json(path, list, [])
        if environment not in known:
            write_json(path, [*known, environment])

    def _repair(self) -> None:
        """Remove an incomplete last line, left by a kill or a full disk; unpack compressed rows."""
        if not self.path.is_file():
            packed = self.path.with_name("rows.jsonl.gz")
            write_whole(self.path, unpacked(packed) if packed.is_file() else b"")
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with open(self.path, "r+b", opener=_no_links) as stream:
                stream.truncate(whole)

    def _open(self) -> FileIO:
        """Open without a buffer: the rest of a failed write must not be written later."""
        return FileIO(self.path, "ab", opener=_no_links)

    def append(self, row: ResultRow) -> None:
        """Add one row; it is on disk when this returns."""
        key = row.key
        if key in self.rows:
            raise ValueError(f"a row for {key} is already stored")
        line = memoryview(row_line(row).encode())
        end = self._stream.seek(0, os.SEEK_END)
        try:
            while line:  # a disk that fills up takes a part of it before it refuses
                line = line[self._stream.write(line) :]
            os.fsync(self._stream.fileno())
        except OSError as error:
            self._cut(end)
            raise _cannot_write(self.folder, error) from error
        self.rows[key] = row

    def _cut(self, end: int) -> None:
        with contextlib.suppress(OSError):  # if this fails, the next start repairs the tail
            os.truncate(self.path, end)

    def forget(self, keys: Iterable[tuple[Any, ...]]) -> None:
        """Drop rows, such as failed ones to be run again, by rewriting the file."""
        drop = set(keys)
        kept = {key: row for key, row in self.rows.items() if key not in drop}
        try:
            write_whole(self.path, "".join(map(row_line, kept.values())).encode())
            self._stream.close()
            self._stream = self._open()
        except OSError as error:
            raise _cannot_write(self.folder, error) from error
        self.rows = kept

    def close(self) -> None:
        """Close the file and release the folder."""
        self._stream.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> ResultStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _refuse_links(folder: Path) -> None:
    """Reject a folder that contains links: files elsewhere would be overwritten."""
    for name in (".lock", "rows.jsonl", "run.json", "environment.json"):
        if (folder / name).is_symlink():
            raise StoreError(
                f"{folder / name} is a link; results are only written to files of the folder "
                "itself. Replace the link by the file, or choose another folder with --out"
            )


def _remove_remains(folder: Path) -> None:
    """Remove temporary files of a killed run; the lock keeps other runs out."""
    for path in folder.glob(".*.part"):
        if _REMAINS.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _no_links(path: str, flags: int) -> int:
    """Open a file, but not through a link that has replaced it meanwhile."""
    try:
        return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError(f"{path} is a link; results are not written through links") from error
        raise


def _lock(path: Path) -> Any:
    """Keep a second run out of the folder. The system frees the lock when a process dies."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        return None
    stream = FileIO(path, "a", opener=_no_links)
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.close()
        raise StoreError(f"another run is writing to {path.parent}") from error
    return stream


def _cannot_write(folder: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write results to {folder}: {error.strerror or error}. Finished fits are kept; "
        "free space or choose another folder with --out, then run the same command again"
    )
