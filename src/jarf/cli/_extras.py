"""Packages that a sub-command needs in addition to the library's dependencies."""

from __future__ import annotations

from importlib.util import find_spec


def require(command: str, *packages: str) -> None:
    """Raise an error that names the missing package and how to install it."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise ValueError(f"{command} needs {', '.join(missing)}: pip install 'jarf[bench]'")
