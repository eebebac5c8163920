"""Rows on disk: one JSON line per fit, appended and synced, so that a kill loses one fit."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from typing import Any

__all__ = ["ResultStore", "StoreError", "read_rows"]

KEY = ("dataset", "method", "variant", "repeat", "fold", "cap", "seed")


class StoreError(RuntimeError):
    """The results folder cannot be written, or belongs to another run."""


def row_key(row: dict[str, Any]) -> tuple[Any, ...]:
    """Identity of a row: the same as ``Job.key``."""
    return tuple(row[name] for name in KEY)


def read_rows(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """All whole rows of a results folder; a half-written last line is left out.

    Of two rows with the same key the first counts.
    """
    path = Path(folder) / "rows.jsonl"
    if not path.is_file():
        raise StoreError(f"{folder} holds no results (no rows.jsonl)")
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in path.read_bytes().split(b"\n")[:-1]:
        row = _parse(line)
        if row is not None:
            rows.setdefault(row_key(row), row)
    return list(rows.values())


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and all(name in row for name in KEY) else None


def write_json(path: Path, value: Any) -> None:
    """Replace a file at once: a reader sees the old or the new one, never a part."""
    scratch = path.with_name(path.name + ".part")
    with scratch.open("w", encoding="utf-8") as stream:
        json.dump(value, stream, indent=1, sort_keys=True)
        stream.write("\n")
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(scratch, path)


class ResultStore:
    """The rows of one results folder, open for appending by one process.

    Parameters
    ----------
    folder : path
        Made if it does not exist. It belongs to one budget and seed.
    settings : dict
        Stored as ``run.json`` on the first start; a later start must bring the same, but for
        the numbers of repeats, which only add rows.
    environment : dict or None
        One entry of ``environment.json`` per different environment that added rows.
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
            self._lock = _lock(self.folder / ".lock")
            self._claim(settings)
            self._remember(environment or {})
            self._repair()
            self._stream = self._open()
        except OSError as error:
            self._unlock()
            raise _cannot_write(self.folder, error) from error
        except StoreError:
            self._unlock()
            raise
        self.rows = {row_key(row): row for row in read_rows(self.folder)}

    def _claim(self, settings: dict[str, Any]) -> None:
        path = self.folder / "run.json"
        if not path.is_file():
            write_json(path, settings)
            return
        stored = json.loads(path.read_text(encoding="utf-8"))
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
        known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        if environment not in known:
            write_json(path, [*known, environment])

    def _repair(self) -> None:
        """Cut off a half-written last line, left by a kill or a full disk."""
        if not self.path.is_file():
            self.path.touch()
            return
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with self.path.open("r+b") as stream:
                stream.truncate(whole)

    def _open(self) -> FileIO:
        """Without a buffer: what a failed write left over must not be written later."""
        return FileIO(self.path, "ab")

    def append(self, row: dict[str, Any]) -> None:
        """Add one row; it is on disk when this returns."""
        key = row_key(row)
        if key in self.rows:
            raise ValueError(f"a row for {key} is already stored")
        line = memoryview(_line(row).encode())
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
        """Drop rows, such as failed ones to be tried again, by writing the file anew."""
        drop = set(keys)
        kept = [row for key, row in self.rows.items() if key not in drop]
        scratch = self.path.with_name("rows.jsonl.part")
        self._stream.close()
        with scratch.open("w", encoding="utf-8") as stream:
            for row in kept:
                stream.write(_line(row))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(scratch, self.path)
        self._stream = self._open()
        self.rows = {row_key(row): row for row in kept}

    def close(self) -> None:
        """Close the file and let another process have the folder."""
        self._stream.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> ResultStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _lock(path: Path) -> Any:
    """Keep a second run out of the folder. The system frees the lock when a process dies."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        return None
    stream = path.open("w")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.close()
        raise StoreError(f"another run is writing to {path.parent}") from error
    return stream


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, separators=(",", ":"), default=_plain) + "\n"


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as plain JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be stored in a row")


def _cannot_write(folder: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write results to {folder}: {error.strerror or error}. Finished fits are kept; "
        "free space or choose another folder with --out, then run the same command again"
    )
