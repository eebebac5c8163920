"""The target of a user's table: amounts read as numbers, the task guessed, labels checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from jarf.bench._errors import TableError
from jarf.bench._own_columns import is_text
from jarf.bench._own_text import read_text

__all__ = ["class_labels", "guess_task", "read_target", "target_numbers"]

_FEW = 20  # up to this many different numbers are classes


def read_target(values: Any, target: str) -> tuple[Any, list[str], list[str]]:
    """Read amounts as numbers, with a note and the code that does so; refuse dates."""
    notes, code, example = [], [], ""
    if is_text(values):
        read = read_text(values)
        values, example = read.values, read.example
        if read.kind == "number":
            notes.append(f"The target {target!r} is read as numbers: {example!r} is one of them.")
            code.append(f"table[{target!r}] = {read.code.format(column=f'table[{target!r}]')}")
    if values.dtype.kind in "mM":
        example = example or str(values.iloc[0])
        raise TableError(
            f"the target {target!r} holds dates or times ({example!r}); predict a number derived "
            "from them, such as days since a date, or a class, such as the weekday"
        )
    return values, notes, code


def guess_task(values: Any) -> tuple[str, str]:
    """Return the task for a target, and why: more than 20 distinct numbers mean regression.

    Examples
    --------
    >>> import pandas as pd
    >>> from jarf.bench import guess_task
    >>> guess_task(pd.Series(range(100)))[0], guess_task(pd.Series([0, 1] * 50))[0]
    ('regression', 'classification')
    """
    n = values.nunique()
    if getattr(values.dtype, "kind", "O") in "iuf":
        if n > _FEW:
            return "regression", f"the target holds {n:,} different numbers"
        return "classification", f"the target holds only {n} different numbers"
    return "classification", "the target does not hold numbers"


def class_labels(values: Any, target: str, folds: int) -> np.ndarray:
    """Return class labels; reject a target with too many or too small classes."""
    counts = values.astype(str).value_counts()
    if len(counts) < 2:
        raise TableError(f"the target {target!r} holds only one class, {counts.index[0]!r}")
    if counts.iloc[1] < folds:
        raise TableError(
            f"the target {target!r} has {len(counts)} classes, of which "
            f"{int((counts >= folds).sum())} have at least {folds} rows: too few for {folds} "
            "folds. If it holds numbers, use --task regression"
        )
    rare = int((counts < folds).sum())
    if len(counts) > _FEW and rare > len(counts) / 2:
        raise TableError(
            f"the target {target!r} has {len(counts):,} classes in {len(values):,} rows, and "
            f"{rare:,} of them have fewer than {folds} rows, such as {counts.index[-1]!r}. Is it a "
            "number, a name or free text? For numbers, clean the column and use --task regression; "
            "for classes, merge the rare ones"
        )
    whole = getattr(values.dtype, "kind", "O") in "iu"
    return values.to_numpy() if whole else values.astype(str).to_numpy(dtype=object).astype(str)


def target_numbers(values: Any, target: str) -> np.ndarray:
    """Return the numbers of a regression target."""
    try:
        found = values.to_numpy(dtype=float)
    except (TypeError, ValueError) as error:
        first = next((v for v in values.astype(str) if not _is_number(v)), "")
        raise TableError(
            f"the target {target!r} holds text such as {first!r}; regression needs numbers"
        ) from error
    if not np.isfinite(found).all():
        raise TableError(f"the target {target!r} holds infinite numbers; remove their rows")
    if np.ptp(found) == 0:
        raise TableError(f"the target {target!r} is the same number in every row")
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
