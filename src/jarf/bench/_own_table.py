"""A user's table made ready for a comparison: checked, cut to size, named by what it holds."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jarf.bench._jobs import versions
from jarf.bench._own_columns import clean_columns, target_copies
from jarf.bench._protocol import cap_rows
from jarf.bench._sources import Source, TableError, open_source

__all__ = ["MAX_CELLS", "MAX_COLUMNS", "MAX_ROWS", "OwnTable", "guess_task", "own_table"]

MAX_ROWS = 10_000
MAX_COLUMNS = 1000
MAX_CELLS = 2_000_000  # fewer rows of a wide table
_FEW = 20  # so many different numbers are still classes
_LEAST_ROWS = 20


@dataclass(frozen=True)
class OwnTable:
    """What is compared on, and what a reader must know about it.

    Attributes
    ----------
    label, target, task : str
    X : DataFrame
    y : ndarray
    n_rows, n_columns : int
        Of the whole table, before limits; the target is not counted.
    notes, warnings : list of str
        What was decided, and what may spoil the comparison.
    """

    label: str
    target: str
    task: str
    X: Any
    y: np.ndarray
    n_rows: int
    n_columns: int
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def name(self, settings: Mapping[str, Any]) -> str:
        """A name for stored rows: that of the table, and a fingerprint of values and settings.

        Versions count as settings: rows of different ones are no comparison.
        """
        import pandas as pd

        digest = hashlib.sha256()
        facts = {
            "columns": [(name, str(kind)) for name, kind in self.X.dtypes.items()],
            "target": [self.target, self.task, str(self.y.dtype)],
            "settings": dict(settings),
            "versions": versions(),
        }
        digest.update(json.dumps(facts, sort_keys=True).encode())
        for values in (self.X, pd.Series(self.y)):
            digest.update(pd.util.hash_pandas_object(values, index=False).to_numpy().tobytes())
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", self.label.split(".")[0]).strip("-_")[:40]
        return f"{stem or 'table'}-{digest.hexdigest()[:10]}"


def own_table(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    rows: int | None = None,
    drop: Sequence[str] = (),
    folds: int = 5,
    seed: int = 0,
    label: str | None = None,
) -> OwnTable:
    """Read, check and sample a table.

    Parameters
    ----------
    X : path, DataFrame or array
    y : str or array-like
        Name of the target column of ``X``, or the target itself.
    task : {"classification", "regression"} or None
        None guesses, see `guess_task`.
    rows : int or None
        Most rows used, 0 for all. None: 10,000, fewer if there are more than 200 columns.
    drop : sequence of str
        Columns to leave out.
    folds : int
        A class needs as many rows to count for the check of the target.
    seed : int
        Of the sample of rows.
    label : str or None
        Shown; None means the file's name.
    """
    source = open_source(X, label)
    target, values = _target(source, y)
    notes: list[str] = []
    if task is None:
        task, why = guess_task(values)
        notes.append(f"Task: {task}, because {why}; --task says otherwise.")
    labels = _labels(values, task, target, folds)
    wanted = _wanted(source, target if isinstance(y, str) else None, drop)
    columns = _cut_columns(wanted, notes)
    places = _sample(labels, task, rows, len(columns), seed, notes)
    frame = source.rows(places, columns)
    if places is not None:
        labels = labels[places]
    cleaned = clean_columns(frame)
    if not cleaned.X.shape[1]:
        raise TableError(f"{source.label}: no column is left to predict from")
    copies = target_copies(cleaned.X, labels, task)
    if copies:
        raise TableError(
            f"{', '.join(map(repr, copies))} tells the target {target!r} exactly, as a copy or a "
            f"renaming of it; leave it out: --drop {' '.join(copies)}"
        )
    found = (cleaned.X, labels, len(values), len(wanted))
    return OwnTable(
        *(source.label, target, task, *found), [*notes, *cleaned.notes], cleaned.warnings
    )


def _target(source: Source, y: Any) -> tuple[str, Any]:
    import pandas as pd

    if not isinstance(y, str):
        target = str(getattr(y, "name", None) or "target")
        values = pd.Series(np.asarray(y)) if not isinstance(y, pd.Series) else y
        n = len(source.column(source.columns[0]))
        if n != len(values):
            raise TableError(f"X has {n} rows, but y has {len(values)}")
        return target, _checked_target(source, target, values.reset_index(drop=True))
    if y not in source.columns:
        close = difflib.get_close_matches(y.lower(), [c.lower() for c in source.columns], n=3)
        near = [name for name in source.columns if name.lower() in close] or source.columns[:10]
        raise TableError(
            f"{source.label} has no column {y!r}. Did you mean {', '.join(map(repr, near))}?"
        )
    return y, _checked_target(source, y, source.column(y))


def _checked_target(source: Source, target: str, values: Any) -> Any:
    if not len(values):
        raise TableError(f"{source.label} has no rows")
    if len(values) < _LEAST_ROWS:
        raise TableError(f"{source.label} has {len(values)} rows; {_LEAST_ROWS} are needed")
    missing = int(values.isna().sum())
    if missing:
        raise TableError(
            f"the target {target!r} is missing in {missing} of {len(values):,} rows; remove them"
        )
    return values


def guess_task(values: Any) -> tuple[str, str]:
    """What a target asks for, and why: numbers of more than 20 values are regression.

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


def _labels(values: Any, task: str, target: str, folds: int) -> np.ndarray:
    if task not in ("classification", "regression"):
        raise TableError(f"the task is 'classification' or 'regression', not {task!r}")
    if task == "regression":
        return _numbers(values, target)
    counts = values.astype(str).value_counts()
    if len(counts) < 2:
        raise TableError(f"the target {target!r} holds only one class, {counts.index[0]!r}")
    if counts.iloc[1] < folds:
        raise TableError(
            f"the target {target!r} has {len(counts)} classes, and only {counts.index[0]!r} has "
            f"at least {folds} rows: too few for {folds} folds. Numbers? Then --task regression"
        )
    whole = getattr(values.dtype, "kind", "O") in "iu"
    return values.to_numpy() if whole else values.astype(str).to_numpy(dtype=object).astype(str)


def _numbers(values: Any, target: str) -> np.ndarray:
    try:
        found = values.to_numpy(dtype=float)
    except (TypeError, ValueError) as error:
        raise TableError(f"the target {target!r} holds text; regression needs numbers") from error
    if not np.isfinite(found).all():
        raise TableError(f"the target {target!r} holds infinite numbers; remove their rows")
    if np.ptp(found) == 0:
        raise TableError(f"the target {target!r} is the same number in every row")
    return found


def _wanted(source: Source, target: str | None, drop: Sequence[str]) -> list[str]:
    unknown = [name for name in drop if name not in source.columns]
    if unknown:
        raise TableError(f"{source.label} has no column {unknown[0]!r} to drop")
    return [name for name in source.columns if name != target and name not in set(drop)]


def _cut_columns(columns: list[str], notes: list[str]) -> list[str]:
    if len(columns) > MAX_COLUMNS:
        notes.append(
            f"Limit: the first {MAX_COLUMNS:,} of {len(columns):,} columns are used; choose with "
            "--drop."
        )
    return columns[:MAX_COLUMNS]


def _sample(
    y: np.ndarray, task: str, rows: int | None, n_columns: int, seed: int, notes: list[str]
) -> np.ndarray | None:
    """Places of the rows to use, or None for all."""
    if rows is not None and rows < 0:
        raise TableError("rows must be at least 0, where 0 means all")
    cap = rows
    if rows is None:
        cap = min(MAX_ROWS, max(MAX_CELLS // max(n_columns, 1), 1000))
    if not cap or len(y) <= cap:
        return None
    notes.append(
        f"Limit: a random sample of {cap:,} of {len(y):,} rows is used"
        f"{', with the shares of the classes' if task == 'classification' else ''}; --rows 0 "
        "takes all."
    )
    return cap_rows(np.arange(len(y)), y, cap, task, seed)
