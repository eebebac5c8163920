"""Who grows and walks trees: the compiled kernels, or the plain Python reference."""

from __future__ import annotations

from typing import Any

from jarf._native import kernels


def backend() -> Any:
    """Return the compiled module, or the reference with the same names under JARF_NO_NATIVE."""
    native = kernels()
    if native is not None:
        return native
    from jarf.ensemble import _reference

    return _reference
