"""The door to the compiled kernels.

Everything native is reached through :func:`kernels`, so that one environment
variable, ``JARF_NO_NATIVE=1``, sends the whole library down the NumPy reference path.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType


def kernels() -> ModuleType | None:
    """Return the compiled module, or ``None`` where the reference path was asked for.

    Returns
    -------
    module or None
        ``jarf._kernels``; ``None`` if the environment variable ``JARF_NO_NATIVE`` is set
        to anything but an empty string or ``0``.
    """
    if os.environ.get("JARF_NO_NATIVE", "0") not in ("", "0"):
        return None
    try:
        return importlib.import_module("jarf._kernels")
    except ImportError as error:
        raise ImportError(
            "jarf's compiled module could not be loaded. Reinstall jarf with a C++17 compiler "
            "at hand, or set JARF_NO_NATIVE=1 to run the (much slower) NumPy reference path."
        ) from error
