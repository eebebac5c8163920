"""The one door to the engine: the compiled kernels, or the plain Python reference.

Both have the same names. The environment variable ``JARF_NO_NATIVE=1`` sends the whole library down
the reference path.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType


def is_native() -> bool:
    """Return whether the compiled kernels are used: ``JARF_NO_NATIVE`` is unset, empty or ``0``."""
    return os.environ.get("JARF_NO_NATIVE", "0") in ("", "0")


def engine() -> ModuleType:
    """Return the compiled module, or the reference with the same names.

    Returns
    -------
    module
        ``jarf._kernels``; ``jarf.trees.reference`` if the environment variable ``JARF_NO_NATIVE``
        is set to anything but an empty string or ``0``.
    """
    if not is_native():
        return importlib.import_module("jarf.trees.reference")
    known = sys.modules.get("jarf._kernels")
    if known is not None:
        return known
    try:
        return importlib.import_module("jarf._kernels")
    except ImportError as error:
        raise ImportError(
            "jarf's compiled module could not be loaded. Reinstall jarf where a C++17 compiler is "
            "available, or set JARF_NO_NATIVE=1 to run the (much slower) NumPy reference path."
        ) from error
