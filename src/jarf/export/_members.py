"""The container of a model file: a zip archive whose members are listed, measured and hashed."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import Any

from jarf._files import atomic_write

MANIFEST = "manifest.json"
FORMAT, VERSION = "jarf model", 2
MAX_MEMBERS = 10_000
# Limit of all members unpacked, and separately of everything built from them.
MAX_BYTES = 2**31


class UnsoundFile(ValueError):
    """A file that is damaged, was changed, or is not a model file."""


class Budget:
    """The memory that a file may use, charged before it is allocated.

    Parameters
    ----------
    max_bytes : int
    """

    def __init__(self, max_bytes: int = MAX_BYTES):
        self.max_bytes, self.left = max_bytes, max_bytes

    def spend(self, n_bytes: int) -> None:
        """Reject the file if it needs more than is left."""
        self.left -= n_bytes
        if self.left < 0:
            raise UnsoundFile(
                f"it would take more than max_bytes={self.max_bytes} of memory; raise that if you "
                "trust the file"
            )

    def spend_json(self, text: bytes) -> None:
        """Charge the maximum memory of the Python objects of a JSON text."""
        costs = {b",": 40, b"[": 112, b"{": 240, b'"': 32}
        self.spend(len(text) + sum(cost * text.count(sign) for sign, cost in costs.items()))


def write_members(path: Any, manifest: dict[str, Any], members: dict[str, bytes]) -> str:
    """Write an archive; return the SHA-256 of the whole file.

    Parameters
    ----------
    path : str or Path
    manifest : dict
        Any JSON value.
    members : dict of str to bytes

    Returns
    -------
    str
        In hexadecimal.
    """
    listed = {
        name: {"bytes": len(content), "sha256": _digest(content)}
        for name, content in members.items()
    }
    whole = {"format": FORMAT, "version": VERSION, "members": listed, **manifest}
    text = json.dumps(whole, allow_nan=False, indent=1).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = _digest(text).encode()
        for name, content in ((MANIFEST, text), *members.items()):
            # A fixed date: the same model gives the same file.
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    with atomic_write(path) as stream:
        stream.write(packed.getbuffer())
    return _digest(packed.getbuffer())


def read_members(stream: Any, budget: Budget, sha256: str | None = None):
    """Read an archive that :func:`write_members` wrote, and reject any other.

    Parameters
    ----------
    stream : binary file; without ``sha256``, a path will do
    budget : Budget
        Limits the total size of the unpacked members; the manifest's values are charged to it.
    sha256 : str or None, default=None
        What the whole file must hash to.

    Returns
    -------
    manifest : dict
    members : dict of str to bytes
    """
    if sha256 is not None:
        if hashlib.file_digest(stream, "sha256").hexdigest() != sha256.lower():
            raise UnsoundFile("its SHA-256 does not match the one that was passed")
        stream.seek(0)
    with zipfile.ZipFile(stream) as archive:
        infos = archive.infolist()
        if len(infos) > MAX_MEMBERS:
            raise UnsoundFile(f"it has {len(infos)} members, more than {MAX_MEMBERS}")
        packed = {info.compress_type for info in infos}
        if not packed <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise UnsoundFile("it uses a compression that model files do not have")
        total = sum(info.file_size for info in infos)
        if total > budget.max_bytes:
            raise UnsoundFile(
                f"it would unpack to {total} bytes, more than max_bytes={budget.max_bytes}; raise "
                "that if you trust the file"
            )
        names = [info.filename for info in infos]
        if len(set(names)) < len(names) or MANIFEST not in names:
            raise UnsoundFile("it has no manifest, or two members with the same name")
        text = _read(archive, MANIFEST, archive.getinfo(MANIFEST).file_size)
        if _digest(text).encode() != archive.comment:
            raise UnsoundFile("its manifest was changed")
        budget.spend_json(text)
        manifest = json.loads(text)
        _check_header(manifest, set(names) - {MANIFEST})
        members = {}
        for name, facts in manifest["members"].items():
            content = _read(archive, name, int(facts["bytes"]))
            if _digest(content) != facts["sha256"]:
                raise UnsoundFile(f"its member {name!r} was changed")
            members[name] = content
    return manifest, members


def _check_header(manifest: Any, names: set[str]) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise UnsoundFile("it is not a model file of this library")
    if manifest.get("version") != VERSION:
        raise UnsoundFile(
            f"its format is version {manifest.get('version')}, this library reads {VERSION}"
        )
    if set(manifest["members"]) != names:
        raise UnsoundFile("its members do not match its manifest")


def _read(archive: zipfile.ZipFile, name: str, size: int) -> bytes:
    """Unpack exactly ``size`` bytes, whatever the archive declares."""
    with archive.open(name) as stream:
        content = stream.read(size + 1)
    if len(content) != size:
        raise UnsoundFile(f"its member {name!r} does not have the size that the archive declares")
    return content


def _digest(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()
