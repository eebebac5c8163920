"""How one column is encoded: numbers, one column per level, or target means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from jarf.table._columns import Column, as_levels, as_numbers

# A category of more levels is encoded by target means, not by one column per level.
MAX_ONE_HOT = 50
# A fill value is the median of at most this many observed values, spread over the table.
MEDIAN_VALUES = 1_000
# Folds of the cross-fitted target means.
N_FOLDS = 5


def thinned(values: np.ndarray) -> np.ndarray:
    """At most as many values as a median needs, evenly spaced."""
    return values[:: max(1, -(-len(values) // MEDIAN_VALUES))]


def fill_value(observed: np.ndarray) -> float:
    """Median of evenly spaced observed values; 0 where there are none."""
    return float(median_of(thinned(observed))) if len(observed) else 0.0


def median_of(values: np.ndarray) -> Any:
    """Median along the first axis; the two middle values are averaged in double precision."""
    return np.median(values.astype(np.float64, copy=False), axis=0)


def _below(observed: np.ndarray) -> float:
    """Return a value as far below the lowest as the highest is above it."""
    if len(observed) == 0:
        return np.nan
    low, high = float(observed.min()), float(observed.max())
    gap = high - low if high > low else max(1.0, abs(low))
    return max(low - gap, float(np.finfo(observed.dtype).min))


@dataclass
class Numbers:
    """A numeric column, imputed.

    If there were missing values in training, a second encoded column has missing values set below
    all others: a cut there separates these rows.
    """

    fill: float
    has_apart: bool
    is_empty: bool
    kind: str = "number"
    apart: float = np.nan
    low: float = np.nan  # the lowest number of training

    @classmethod
    def fit(cls, column: Column, dtype=np.float64) -> Numbers:
        values = as_numbers(column, dtype)
        missing = np.isnan(values)
        fill = fill_value(values[~missing])
        is_flag = column.kind == "flag"
        if is_flag:
            fill = float(np.rint(fill))
        return cls(
            fill=fill,
            apart=_below(values[~missing]),
            low=float(np.min(values[~missing], initial=np.inf)),
            has_apart=bool(missing.any() and not missing.all()),
            is_empty=bool(missing.all()),
            kind="level" if is_flag else "number",
        )

    @property
    def kinds(self) -> list[str]:
        return [self.kind, "missing"] if self.has_apart else [self.kind]

    def names(self, name: str) -> list[str]:
        return [name, f"{name}_or_missing"] if self.has_apart else [name]

    def write(self, out: np.ndarray, column: Column) -> None:
        if self.is_empty:  # values that never occurred carry no information
            out[:] = 0.0
            return
        if column.kind == "category":
            self._refuse_text(column)
        values = as_numbers(column, out.dtype)
        missing = np.isnan(values)
        out[:, 0] = np.where(missing, self.fill, values)
        if self.has_apart:
            out[:, 1] = np.where(missing, self.apart, values)

    def _refuse_text(self, column: Column) -> None:
        known = "booleans" if self.kind == "level" else "numbers"
        shown = next((value for value in column.values if value is not None), None)
        raise ValueError(
            f"The {column.label} held {known} in fit and holds text or categories now (for "
            f"example {shown!r}). Convert it back to {known}."
        )


@dataclass
class Levels:
    """The levels of a category in order; a missing value is a level if training had any."""

    codes: dict[Any, int]
    label: str
    text: bool = field(init=False)

    def __post_init__(self) -> None:
        known = [level for level in self.codes if level is not None]
        self.text = any(isinstance(level, str) for level in known)

    @classmethod
    def in_order(cls, column: Column) -> Levels:
        """Take the levels of an ordered category, whether they occur or not."""
        levels = column.order or ()
        return cls({level: code for code, level in enumerate(levels)}, column.label)

    @classmethod
    def fit(cls, column: Column) -> Levels:
        found = set(as_levels(column))
        known = found - {None}
        try:
            ordered = sorted(known)
        except TypeError:
            ordered = sorted(known, key=lambda level: (type(level).__name__, repr(level)))
        if None in found:
            ordered.append(None)
        return cls({level: code for code, level in enumerate(ordered)}, column.label)

    def __len__(self) -> int:
        return len(self.codes)

    def encode(self, column: Column) -> np.ndarray:
        """Return codes of the levels, -1 for an unknown one."""
        if self.text and column.kind in ("number", "flag") and not np.isnan(column.values).all():
            now = "booleans" if column.kind == "flag" else "numbers"
            raise ValueError(
                f"The {column.label} held text in fit and holds {now} now. Convert it back to text."
            )
        codes = self.codes
        found = [codes.get(level, -1) for level in as_levels(column)]
        return np.array(found, dtype=np.int64)

    def names(self, name: str) -> list[str]:
        return [f"{name}_{'missing' if level is None else level}" for level in self.codes]


@dataclass
class OneHot:
    """One column per level; a level that did not occur in training is a row of zeros."""

    levels: Levels

    @property
    def kinds(self) -> list[str]:
        return ["level"] * len(self.levels)

    def names(self, name: str) -> list[str]:
        return self.levels.names(name)

    def write(self, out: np.ndarray, column: Column) -> None:
        codes = self.levels.encode(column)
        out[:] = 0.0
        rows = np.flatnonzero(codes >= 0)
        out[rows, codes[rows]] = 1.0


@dataclass
class Ordered:
    """Positions of the levels of an ordered category, from 0; -1 if missing or unknown."""

    levels: Levels
    has_missing: bool  # whether training had missing values

    @classmethod
    def fit(cls, column: Column) -> Ordered:
        return cls(Levels.in_order(column), any(value is None for value in column.values))

    @property
    def kinds(self) -> list[str]:
        return ["ordered"]

    def names(self, name: str) -> list[str]:
        return [name]

    def write(self, out: np.ndarray, column: Column) -> None:
        out[:, 0] = self.levels.encode(column)


@dataclass
class TargetMeans:
    """Smoothed means of the target (one column, or one per class if there are more than two).

    Training rows get means from the other folds; an unknown level gets the overall mean.
    """

    levels: Levels
    class_names: list[str]
    seed: int
    means: np.ndarray = field(default_factory=lambda: np.empty((1, 0)))  # an unknown level last

    def fit(self, column: Column, targets: np.ndarray) -> TargetMeans:
        codes = self.levels.encode(column)[:, None]
        known = np.append(np.arange(len(self.levels)), -1)[:, None]
        self.means = np.hstack([self._encoder(codes, t).transform(known) for t in targets])
        return self

    def _encoder(self, codes: np.ndarray, target: np.ndarray) -> TargetEncoder:
        encoder = TargetEncoder(categories=[np.arange(len(self.levels))], target_type="continuous")
        return encoder.fit(codes, target)

    @property
    def kinds(self) -> list[str]:
        return ["target"] * self.means.shape[1]

    def names(self, name: str) -> list[str]:
        return [f"{name}_mean{suffix}" for suffix in self.class_names]

    def write(self, out: np.ndarray, column: Column) -> None:
        out[:] = self.means[self.levels.encode(column)]

    def cross_fit(
        self,
        out: np.ndarray,
        column: Column,
        targets: np.ndarray,
        groups: np.ndarray | None = None,
    ) -> None:
        """Write means that do not include the target of a row or of its copies.

        Parameters
        ----------
        out : ndarray of shape (n_rows, n_targets)
        column : Column
        targets : ndarray of shape (n_targets, n_rows)
        groups : ndarray of shape (n_rows,) of int, default=None
            Identical rows have the same number and share a fold; None: few rows have a copy.
        """
        codes = self.levels.encode(column)[:, None]
        if groups is None:
            groups = np.arange(len(codes))
        n_groups = groups.max() + 1
        folds = KFold(min(N_FOLDS, n_groups), shuffle=True, random_state=self.seed)
        for _, chosen in folds.split(np.arange(n_groups)):
            held = np.isin(groups, chosen)
            others, rows = np.flatnonzero(~held), np.flatnonzero(held)
            for output, target in enumerate(targets):
                encoder = self._encoder(codes[others], target[others])
                out[rows, output] = encoder.transform(codes[rows])[:, 0]


# How one column is encoded.
Part = Numbers | OneHot | Ordered | TargetMeans
