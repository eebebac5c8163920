"""Errors about a user's table, and hints quoted for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

__all__ = ["TableError", "drop_hint"]


class TableError(ValueError):
    """A table cannot be read or cannot be used for a comparison.

    Examples
    --------
    >>> import pandas as pd
    >>> from jarf.bench import TableError, compare
    >>> try:
    ...     compare(pd.DataFrame({"a": [1, 2]}), "b")
    ... except TableError as error:
    ...     "no column 'b'" in str(error)
    True
    """


def drop_hint(names: Iterable[str]) -> str:
    """The option that leaves columns out, quoted for a shell.

    Examples
    --------
    >>> from jarf.bench._errors import drop_hint
    >>> print(drop_hint(["id", "Unnamed: 0"]))
    --drop id 'Unnamed: 0'
    """
    return "--drop " + " ".join(map(_shell_word, names))


def _shell_word(name: str) -> str:
    """Quote a name; control characters are written as escapes."""
    if name.isprintable():
        return shlex.quote(name)
    escaped = name.encode("unicode_escape").decode().replace("'", "\\'")
    return f"$'{escaped}'"
