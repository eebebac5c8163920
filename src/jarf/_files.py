"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal


@contextmanager
def atomic_write(
    path: Any,
    mode: Literal["w", "wb"] = "wb",
    *,
    encoding: str | None = "utf-8",
    newline: str | None = None,
    follow_links: bool = True,
) -> Iterator[IO[Any]]:
    """Open a file that takes the place of ``path`` once it is written completely.

    The content goes to a temporary file beside ``path``, which replaces it at the end. If anything
    fails before (a full disk, an exception, Ctrl-C), the temporary file is removed and ``path`` is
    as it was. Writing to a read-only file is an error, and an existing file keeps its permissions.
    A path that is not a regular file (a pipe, a device) is written directly.

    Parameters
    ----------
    path : str or Path
    mode : {"wb", "w"}, default="wb"
        Bytes or text.
    encoding, newline : str, default="utf-8", None
        As in :func:`open`; for text only.
    follow_links : bool, default=True
        True keeps a symbolic link and replaces the file it points to; False replaces the link
        itself.

    Yields
    ------
    file object

    Examples
    --------
    >>> import os, tempfile
    >>> from jarf._files import atomic_write
    >>> path = os.path.join(tempfile.mkdtemp(), "notes.txt")
    >>> with atomic_write(path, "w") as stream:
    ...     _ = stream.write("hello")
    >>> os.listdir(os.path.dirname(path))
    ['notes.txt']
    """
    options: dict[str, Any] = {} if "b" in mode else {"encoding": encoding, "newline": newline}
    target = Path(os.path.realpath(path) if follow_links else path)
    before = _status(target)
    if before is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if before is not None and not (stat.S_ISREG(before.st_mode) or stat.S_ISLNK(before.st_mode)):
        with open(target, mode, **options) as stream:
            yield stream
        return
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    # Created with the default permissions of a new file: the umask applies.
    number = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(number, mode, **options) as stream:
            if before is not None and stat.S_ISREG(before.st_mode):
                os.chmod(part, stat.S_IMODE(before.st_mode))
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
    _sync_folder(target.parent)


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    """Make the new name of a file last through a power failure, where the system can."""
    if os.name != "posix":
        return
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
