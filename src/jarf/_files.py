"""Files that are replaced whole: a reader, or a full disk, meets the old file or the new one."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_write"]


@contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: str = "w", **open_options: Any
) -> Iterator[IO[Any]]:
    """Open a temporary file beside ``path`` that takes its place when the block ends well.

    If the block raises, or the disk is full, the temporary file is removed and ``path`` stays as
    it was. A link at ``path`` is replaced, not followed.

    Parameters
    ----------
    path : path
    mode : {"w", "wb"}, default="w"
    **open_options
        Passed to :func:`open`, such as ``encoding``.

    Yields
    ------
    file object

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from jarf._files import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "a.txt", encoding="utf-8") as stream:
    ...         _ = stream.write("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    target = Path(path)
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(scratch, flags, 0o666), mode, **open_options) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(scratch, target)
    except BaseException:
        with contextlib.suppress(OSError):
            scratch.unlink()
        raise
