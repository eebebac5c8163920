"""The table as a float matrix, and the mapping from encoded to original columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from jarf.table._columns import Column, as_numbers, choose_categories
from jarf.table._copies import row_groups
from jarf.table._filling import LinearFill, make_filling
from jarf.table._parts import (
    MAX_ONE_HOT,
    Levels,
    Numbers,
    OneHot,
    Ordered,
    Part,
    TargetMeans,
    median_of,
    thinned,
)

BLOCK_COLUMNS = 256


@dataclass(frozen=True)
class TableState:
    """Everything that a fitted encoder has learned; :meth:`TableEncoder.of_state` restores it.

    Parameters
    ----------
    categorical_features : as in :class:`TableEncoder`
    fill_values : ndarray of shape (n_columns,)
    parts : list of Numbers, OneHot, Ordered and TargetMeans, or None
        One per column; None where every column is a number that was never missing.
    filling : LinearFill, ForestFill or None
        Fills missing numbers from the others of their row.
    classes : ndarray or None
        Class labels of the target that target means were learned from.
    seed : int or None
        Seed of their folds.
    """

    categorical_features: Any
    fill_values: np.ndarray
    parts: list[Part] | None
    filling: LinearFill | None
    classes: np.ndarray | None = None
    seed: int | None = None


class TableEncoder:
    """Encodes columns as a float matrix and records the origin of every encoded column.

    Numbers are unchanged. Missing numbers are imputed from the row's other numbers: by a small
    forest if the column had missing values in training; by linear regression if only new rows have
    them, and in tables of more than 50 numeric columns; by the median in tables of fewer than 20
    rows or more than 500 numeric columns. If the column had missing values in training, a second
    encoded column, never mixed into directions, is a copy with missing values set below all others.
    A category of at most 50 levels becomes one column per level (a missing value is a level, an
    unknown value a row of zeros); one of more levels becomes smoothed target means, cross-fitted
    for the training rows (in a table with numbers, copies of a row share a fold). An ordered
    category (ordered in pandas, Enum in polars) becomes one column, the position of its level; -1
    if it is missing or unknown. Imputed values, levels and means do not use sample weights.

    Parameters
    ----------
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Which columns are categories: those of text or category type, none, or names, indices
        or a mask. An ordered category that is named loses its order.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds of the target means; unused if there are none.

    Attributes
    ----------
    encoded_columns_ : ndarray of shape (n_encoded,)
        The original column of every encoded column.
    encoded_kinds_ : ndarray of shape (n_encoded,)
        "number", "level" (0 or 1: one-hot columns and booleans), "ordered", "target" or
        "missing".
    fill_values_ : ndarray of shape (n_columns,)
        Medians, NaN for categories: the last resort for missing numbers.
    levels_ : dict
        The levels of each category, by column index; None stands for missing.
    is_identity_ : bool
        Whether encoded columns are the original ones.
    filling_ : LinearFill, ForestFill or None
        Imputes missing numbers from the others of their row; None: by ``fill_values_``.
    number_columns_ : ndarray of int
        The columns that ``filling_`` reads and fills.
    """

    def __init__(self, categorical_features="from_dtype", random_state=None):
        self.categorical_features = categorical_features
        self.random_state = random_state

    # --- fit ----------------------------------------------------------------------------------

    @classmethod
    def identity(cls, n_columns: int) -> TableEncoder:
        """Return the encoder of a matrix that is used unchanged; nothing is learned.

        Parameters
        ----------
        n_columns : int

        Returns
        -------
        TableEncoder
            Missing values are replaced by 0.
        """
        return cls().fit_identity(np.zeros((1, n_columns)))  # one row teaches no filling

    def fit_identity(self, X: np.ndarray, used: np.ndarray | None = None) -> TableEncoder:
        """Learn from an array of numbers without missing values: only values for later imputation.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_columns)
        used : ndarray of shape (n_rows,) of bool, default=None
            The rows that are learned from; None: all.

        Returns
        -------
        self
        """
        rows = np.arange(len(X)) if used is None else np.flatnonzero(used)
        rows = thinned(rows)
        n_columns = X.shape[1]
        self.fill_values_ = np.empty(n_columns)
        for start in range(0, n_columns, BLOCK_COLUMNS):
            part = slice(start, start + BLOCK_COLUMNS)
            self.fill_values_[part] = median_of(X[rows, part])
        self._parts: list[Part] | None = None
        self._classes: Any = None
        self._seed: int | None = None
        self.filling_ = make_filling(lambda: X[rows].astype(np.float64), len(rows), n_columns)
        self._describe()
        return self

    def fit(
        self, columns: list[Column], y=None, names=None, classifies=False, dtype=np.float64
    ) -> TableEncoder:
        """Learn levels, fill values and target means.

        Parameters
        ----------
        columns : list of Column
        y : ndarray of shape (n_rows,) or (n_rows, n_responses), default=None
            Needed only if a category has many levels.
        names : list of str, default=None
        classifies : bool, default=False
            Whether ``y`` holds classes.
        dtype : dtype, default=float64
            In which numbers are read.

        Returns
        -------
        self
        """
        if not columns:
            raise ValueError("Found array with 0 feature(s): a table needs at least one column.")
        chosen = choose_categories(columns, self.categorical_features, names)
        self._classes = np.unique(y) if classifies and y is not None else None
        self._seed = None
        targets = None
        parts: list[Part] = []
        for column, is_category in zip(columns, chosen.tolist(), strict=True):
            if not is_category:
                ordered = column.order is not None
                parts.append(Ordered.fit(column) if ordered else Numbers.fit(column, dtype))
                continue
            levels = Levels.fit(column)
            if len(levels) <= MAX_ONE_HOT or y is None:
                parts.append(OneHot(levels))
                continue
            targets = self._targets(y) if targets is None else targets
            means = TargetMeans(levels, self._suffixes(len(targets)), self._fold_seed())
            parts.append(means.fit(column, targets))
        self._parts = parts
        self.fill_values_ = np.array([getattr(part, "fill", np.nan) for part in parts])
        self._describe()
        self._fit_filling(columns, dtype)
        return self

    def _fit_filling(self, columns: list[Column], dtype) -> None:
        """Learn to impute numbers from each other; a complete table is learned from few rows."""
        rows = np.arange(len(columns[0]))
        if not any(len(self.part(j).kinds) > 1 for j in self.number_columns_.tolist()):
            rows = thinned(rows)
        self.filling_ = make_filling(
            lambda: self.numbers_of(columns, dtype)[rows], len(rows), len(self.number_columns_)
        )

    def numbers_of(self, columns: list[Column], dtype) -> np.ndarray:
        """Return the numbers that ``filling_`` uses, NaN if missing.

        Parameters
        ----------
        columns : list of Column
        dtype : dtype
            In which numbers are read.

        Returns
        -------
        ndarray of shape (n_rows, len(number_columns_)), float64
        """
        values = [as_numbers(columns[j], dtype) for j in self.number_columns_]
        return np.column_stack(values).astype(np.float64, copy=False)

    def _describe(self) -> None:
        """Set the encoded columns from the parts."""
        n_columns, parts = len(self.fill_values_), self._parts
        if parts is None:
            self.encoded_columns_ = self.number_columns_ = np.arange(n_columns)
            self.encoded_kinds_ = np.full(n_columns, "number")
            self.levels_: dict[int, list] = {}
            self.is_identity_ = True
            return
        sizes = [len(part.kinds) for part in parts]
        self.encoded_columns_ = np.repeat(np.arange(n_columns), sizes)
        self.encoded_kinds_ = np.array([kind for part in parts for kind in part.kinds])
        self.levels_ = {
            j: list(part.levels.codes)
            for j, part in enumerate(parts)
            if not isinstance(part, Numbers)
        }
        numbers = [
            j
            for j, part in enumerate(parts)
            if isinstance(part, Numbers) and part.kind == "number" and not part.is_empty
        ]
        self.number_columns_ = np.array(numbers, dtype=np.intp)
        self.is_identity_ = len(numbers) == n_columns == self.n_encoded

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Return one row per target: the response, or one indicator per class (one for two)."""
        if self._classes is None:
            return np.atleast_2d(np.asarray(y, dtype=np.float64).T)
        classes = self._classes if len(self._classes) > 2 else self._classes[-1:]
        return np.array([(y == label).astype(np.float64) for label in classes])

    def _suffixes(self, n_targets: int) -> list[str]:
        if n_targets == 1:
            return [""]
        labels = range(n_targets) if self._classes is None else self._classes
        return [f"_{label}" for label in labels]

    def _fold_seed(self) -> int:
        if self._seed is None:
            self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return self._seed

    # --- encode -------------------------------------------------------------------------------

    def encode(
        self, columns: list[Column], dtype=np.float64, order="C", y=None, used=None
    ) -> np.ndarray:
        """Encode a table.

        Parameters
        ----------
        columns : list of Column
        dtype, order : of the result
        y : ndarray of shape (n_rows,), default=None
            The target of training rows: their target means are then cross-fitted.
        used : ndarray of shape (n_rows,) of bool, default=None
            The training rows that are learned from; None: all.

        Returns
        -------
        ndarray of shape (n_rows, n_encoded)
        """
        out = np.empty((len(columns[0]), self.n_encoded), dtype=dtype, order=order)
        start = 0
        for part, column in zip(self.parts(), columns, strict=True):
            block = out[:, start : start + len(part.kinds)]
            start += len(part.kinds)
            part.write(block, column)
        if self.filling_ is not None:
            self.refill(out, self.numbers_of(columns, dtype))
        if y is not None and "target" in self.encoded_kinds_:
            self._cross_fit(out, columns, y, used)
        return out

    def refill(self, out: np.ndarray, values: np.ndarray) -> None:
        """Impute the numbers of ``out`` from each other where ``values`` has missing ones."""
        rows = np.flatnonzero(np.isnan(values).any(axis=1))
        if self.filling_ is not None and len(rows):
            first = np.searchsorted(self.encoded_columns_, self.number_columns_)
            out[np.ix_(rows, first)] = self.filling_.fill(values[rows])

    def _cross_fit(self, out: np.ndarray, columns: list[Column], y, used) -> None:
        """Replace the target means of training rows by means of other rows.

        In a table with numbers, identical rows are copies and share a fold. Rows of categories
        alone are often identical by chance, and each counts as an observation.
        """
        used = np.ones(len(out), dtype=bool) if used is None else used
        rows = np.flatnonzero(used)
        means = {j: p for j, p in enumerate(self.parts()) if isinstance(p, TargetMeans)}
        groups = None
        if self.is_number.any():
            codes = [part.levels.encode(columns[j])[rows] for j, part in means.items()]
            groups = row_groups(np.column_stack([out[rows].astype(np.float64), *codes]))
        targets = self._targets(y[rows])
        for j, part in means.items():
            found = np.empty((len(rows), len(part.kinds)))
            part.cross_fit(found, columns[j].only(used), targets, groups)
            out[np.ix_(rows, np.flatnonzero(self.encoded_columns_ == j))] = found

    def fill(self, X: np.ndarray) -> np.ndarray:
        """Impute the missing values of an array of numbers; return a copy if there are any."""
        missing = np.isnan(X)
        if not missing.any():
            return X
        if self.filling_ is None:
            return np.where(missing, self.fill_values_.astype(X.dtype), X)
        filled = X.copy(order="K")
        rows = np.flatnonzero(missing.any(axis=1))
        filled[rows] = self.filling_.fill(X[rows].astype(np.float64))
        return filled

    # --- what was learned ---------------------------------------------------------------------

    def part(self, column: int) -> Part:
        """Return how one column is encoded: numbers, one-hot, ordered or target means."""
        if self._parts is None:
            return Numbers(float(self.fill_values_[column]), False, False)
        return self._parts[column]

    def parts(self) -> list[Part]:
        """Return how each column is encoded, in the order of the columns."""
        return [self.part(column) for column in range(len(self.fill_values_))]

    def state(self) -> TableState:
        """Return everything that was learned, for a model file."""
        return TableState(
            self.categorical_features,
            self.fill_values_,
            self._parts,
            self.filling_,
            self._classes,
            self._seed,
        )

    @classmethod
    def of_state(cls, state: TableState) -> TableEncoder:
        """Restore a fitted encoder."""
        made = cls(state.categorical_features)
        made.fill_values_, made._parts = state.fill_values, state.parts
        made.filling_, made._classes, made._seed = state.filling, state.classes, state.seed
        made._describe()
        return made

    # --- encoded columns ---------------------------------------------------------------------

    @property
    def n_encoded(self) -> int:
        return len(self.encoded_columns_)

    @property
    def is_number(self) -> np.ndarray:
        """Encoded columns that may be mixed into directions; all others stay plain axes."""
        return self.encoded_kinds_ == "number"

    @property
    def is_level(self) -> np.ndarray:
        """Encoded columns that are 0 or 1: a probe toggles them."""
        return self.encoded_kinds_ == "level"

    def get_feature_names_out(self, names=None) -> np.ndarray:
        """Return the names of the encoded columns.

        Parameters
        ----------
        names : array-like of str, default=None
            Names of the columns; by default x0, x1, ...

        Returns
        -------
        ndarray of str
        """
        n_columns = len(self.fill_values_)
        names = [f"x{j}" for j in range(n_columns)] if names is None else list(names)
        if self.is_identity_:
            return np.asarray(names, dtype=object)
        made = [part.names(name) for part, name in zip(self.parts(), names, strict=True)]
        return np.asarray([name for group in made for name in group], dtype=object)

    def per_column(self, values: np.ndarray) -> np.ndarray:
        """Sum values of the encoded columns of each original column, along the last axis."""
        if self.is_identity_:
            return values
        return values @ self.selector()

    def selector(self):
        """Return the sparse 0-1 matrix (n_encoded, n_columns) from encoded to original columns."""
        n = self.n_encoded
        shape = (n, len(self.fill_values_))
        return csr_array((np.ones(n), self.encoded_columns_, np.arange(n + 1)), shape=shape)

    def per_encoded(self, values, other: float = 0.0) -> np.ndarray:
        """Assign values of columns to their numeric encoded columns; the rest gets ``other``."""
        values = np.asarray(values)[self.encoded_columns_]
        return np.where(self.is_number, values, other)
