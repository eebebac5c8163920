"""Packages that a sub-command needs beyond the library's own."""

from __future__ import annotations

from importlib.util import find_spec


def require(command: str, *packages: str) -> None:
    """Say in one line what is missing and how to get it."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise ValueError(f"{command} needs {', '.join(missing)}: pip install 'jarf[bench]'")
