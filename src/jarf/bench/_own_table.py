"""Prepare a user's table for a comparison: check it, limit its size, and fingerprint it."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jarf.bench._csv import CsvFormat
from jarf.bench._errors import TableError, drop_hint
from jarf.bench._jobs import versions
from jarf.bench._own_columns import Cleaned, clean_columns
from jarf.bench._own_leaks import near_copies, target_copies
from jarf.bench._own_target import class_labels, guess_task, read_target, target_numbers
from jarf.bench._protocol import cap_rows
from jarf.bench._recipes import TableRecipe
from jarf.bench._sources import Source, open_source

__all__ = ["MAX_CELLS", "MAX_COLUMNS", "MAX_ROWS", "OwnTable", "guess_task", "own_table"]

MAX_ROWS = 10_000
MAX_COLUMNS = 1000
MAX_CELLS = 2_000_000  # fewer rows of a wide table
_LEAST_ROWS = 20


@dataclass(frozen=True)
class OwnTable:
    """The table of a comparison, and notes about it.

    Attributes
    ----------
    label, target, task : str
    X : DataFrame
    y : ndarray
    n_rows, n_columns : int
        Size of the whole table, before limits and without the target.
    notes, warnings : list of str
        Decisions, and possible problems.
    recipe : TableRecipe
        How to read the table again.
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
    recipe: TableRecipe = field(default_factory=TableRecipe)

    @property
    def split_key(self) -> str:
        """A digest of the target: splits depend on it and on the seed only.

        The file's name, the settings and the columns do not matter, so that scores with and without
        a column use the same splits.
        """
        return _digest_values(hashlib.sha256(), self.y).hexdigest()[:16]

    def name(self, settings: Mapping[str, Any]) -> str:
        """The name for stored rows: the table's name and a fingerprint of values and settings.

        Package versions count as settings: results of different versions cannot be compared.
        """
        digest = hashlib.sha256()
        facts = {
            "columns": [(name, str(kind)) for name, kind in self.X.dtypes.items()],
            "target": [self.target, self.task, str(self.y.dtype)],
            "settings": dict(settings),
            "versions": versions(),
        }
        digest.update(json.dumps(facts, sort_keys=True).encode())
        for values in (self.X, self.y):
            _digest_values(digest, values)
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", self.label.split(".")[0]).strip("-_")[:40]
        return f"{stem or 'table'}-{digest.hexdigest()[:10]}"


def _digest_values(digest: Any, values: Any) -> Any:
    import pandas as pd

    held = pd.Series(values) if isinstance(values, np.ndarray) else values
    digest.update(pd.util.hash_pandas_object(held, index=False).to_numpy().tobytes())
    return digest


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
    form: CsvFormat | None = None,
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
        Maximum number of rows, 0 for all. None: 10,000, fewer if there are more than 200 columns.
    drop : sequence of str
        Columns to leave out.
    folds : int
        A class needs at least this many rows to count in the check of the target.
    seed : int
        Of the sample of rows.
    label : str or None
        Shown; None means the file's name.
    form : CsvFormat or None
        Separator, decimal sign and encoding of a CSV file.
    """
    source = open_source(X, label, form)
    target, values = _target(source, y)
    notes = _format_notes(source)
    known = _known_rows(source, target, values, notes)
    values = values[known].reset_index(drop=True)
    values, amounts, conversion = read_target(values, target)
    notes += amounts
    if task is None:
        task, why = guess_task(values)
        notes.append(f"Task: {task}, because {why}; change it with --task.")
    labels = _labels(values, task, target, folds)
    wanted = _wanted(source, target if isinstance(y, str) else None, drop)
    columns = _cut_columns(wanted, notes)
    picked = _sample(labels, task, rows, len(columns), seed, notes)
    places = np.flatnonzero(known)
    if picked is not None:
        labels, places = labels[picked], places[picked]
    frame = source.rows(None if len(places) == len(known) else places, columns)
    cleaned = clean_columns(frame)
    if not cleaned.X.shape[1]:
        raise TableError(f"{source.label}: no column is left to predict from")
    copies = target_copies(cleaned.X, labels, task)
    if copies:
        whole = list(dict.fromkeys(cleaned.origins[name] for name in copies))
        raise TableError(
            f"{', '.join(map(repr, copies))} determines the target {target!r} exactly, as a copy "
            f"or a recoding of it; leave it out: {drop_hint(whole)}"
        )
    warnings = [*cleaned.warnings, *_leaks(cleaned, labels, task, target)]
    found = (cleaned.X, labels, len(known), len(wanted))
    cleaned.converted += conversion
    recipe = _recipe(X, source, target, drop, cleaned)
    notes += cleaned.notes
    return OwnTable(*(source.label, target, task, *found), notes, warnings, recipe)


def _recipe(X: Any, source: Source, target: str, drop: Sequence[str], cleaned: Any) -> TableRecipe:
    form = getattr(source, "format", None)
    usual = {"sep": ",", "decimal": ".", "encoding": "utf-8"}
    options = {} if form is None else {k: getattr(form, k) for k in usual}
    kinds = {column.dtype.kind for _, column in cleaned.X.items()}
    return TableRecipe(
        str(X) if isinstance(X, str | os.PathLike) else "",
        {name: value for name, value in options.items() if value != usual[name]},
        target,
        list(drop),
        cleaned.converted,
        kinds <= set("iuf") and not bool(cleaned.X.isna().any(axis=None)),
    )


def _leaks(cleaned: Cleaned, y: np.ndarray, task: str, target: str) -> list[str]:
    score = "Cohen's kappa" if task == "classification" else "R²"
    return [
        f"{name!r} alone predicts {target!r} almost perfectly ({score} {value:.2f}). If its value "
        "is only known once the target is, it leaks the answer: "
        f"{drop_hint([cleaned.origins[name]])}"
        for name, value in near_copies(cleaned.X, y, task).items()
    ]


def _format_notes(source: Source) -> list[str]:
    """Return a note about the format of a CSV file, if it is unusual."""
    form = getattr(source, "format", None)
    if form is None or (form.sep in ",\t" and form.decimal == "."):
        return []
    signs = f"fields separated by {form.sep!r}, decimal sign {form.decimal!r}"
    return [f"CSV file: {signs}; change this with --sep and --decimal."]


def _target(source: Source, y: Any) -> tuple[str, Any]:
    import pandas as pd

    if not isinstance(y, str):
        target = str(getattr(y, "name", None) or "target")
        values = pd.Series(np.asarray(y)) if not isinstance(y, pd.Series) else y
        n = len(source.column(source.columns[0]))
        if n != len(values):
            raise TableError(f"X has {n} rows, but y has {len(values)}")
        return target, values.reset_index(drop=True)
    if y not in source.columns:
        close = difflib.get_close_matches(y.lower(), [c.lower() for c in source.columns], n=3)
        near = [name for name in source.columns if name.lower() in close]
        lacks = f"{source.label} has no column {y!r}"
        if len(source.columns) == 1 and y in source.columns[0]:
            raise TableError(
                f"{lacks}, only {source.columns[0]!r}: the separator is another one; choose it "
                "with --sep, or leave --sep out to have it detected"
            )
        if near:
            raise TableError(f"{lacks}. Did you mean {' or '.join(map(repr, near))}?")
        shown = ", ".join(map(repr, source.columns[:10]))
        more = f" and {len(source.columns) - 10} more" if len(source.columns) > 10 else ""
        raise TableError(f"{lacks}. Its columns are {shown}{more}.")
    return y, source.column(y)


def _known_rows(source: Source, target: str, values: Any, notes: list[str]) -> np.ndarray:
    """Return which rows have a target; the others are left out, with a note."""
    if not len(values):
        raise TableError(f"{source.label} has no rows")
    known = values.notna().to_numpy()
    n_known = int(known.sum())
    if n_known < len(known):
        notes.append(
            f"Left out: {len(known) - n_known:,} of {len(known):,} rows, whose target {target!r} "
            "is missing."
        )
    if n_known < _LEAST_ROWS:
        which = "rows" if n_known == len(known) else "rows with a target"
        raise TableError(f"{source.label} has {n_known} {which}; {_LEAST_ROWS} are needed")
    return known


def _labels(values: Any, task: str, target: str, folds: int) -> np.ndarray:
    if task not in ("classification", "regression"):
        raise TableError(f"the task is 'classification' or 'regression', not {task!r}")
    if task == "regression":
        return target_numbers(values, target)
    return class_labels(values, target, folds)


def _wanted(source: Source, target: str | None, drop: Sequence[str]) -> list[str]:
    unknown = [name for name in drop if name not in source.columns]
    if unknown:
        raise TableError(f"{source.label} has no column {unknown[0]!r} to drop")
    return [name for name in source.columns if name != target and name not in set(drop)]


def _cut_columns(columns: list[str], notes: list[str]) -> list[str]:
    if len(columns) > MAX_COLUMNS:
        notes.append(
            f"Limit: the first {MAX_COLUMNS:,} of {len(columns):,} columns are used; choose others "
            "with --drop."
        )
    return columns[:MAX_COLUMNS]


def _sample(
    y: np.ndarray, task: str, rows: int | None, n_columns: int, seed: int, notes: list[str]
) -> np.ndarray | None:
    """Return the numbers of the rows to use, or None for all."""
    if rows is not None and rows < 0:
        raise TableError("rows must be at least 0, where 0 means all")
    if rows and rows < _LEAST_ROWS:
        raise TableError(f"rows is {rows}; {_LEAST_ROWS} are needed, or 0 for all")
    cap = rows
    if rows is None:
        cap = min(MAX_ROWS, max(MAX_CELLS // max(n_columns, 1), 1000))
    if not cap or len(y) <= cap:
        return None
    notes.append(
        f"Limit: a random sample of {cap:,} of {len(y):,} rows is used"
        f"{', stratified by class' if task == 'classification' else ''}; use --rows 0 for all."
    )
    return cap_rows(np.arange(len(y)), y, cap, task, seed)
