"""Dask collections as a list of partitions whose rows have numbers.

Rows are numbered through all partitions, and all random draws use these numbers on the client. So
results do not depend on the boundaries of partitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask import delayed
from dask.base import is_dask_collection
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from jarf._sklearn import class_weights
from jarf.dask._cluster import compute


class Block(NamedTuple):
    """Rows of a partition with positive weight."""

    X: Any  # ndarray or DataFrame
    y: np.ndarray
    weights: np.ndarray | None

    def only(self, rows: np.ndarray) -> Block:
        """Take some rows."""
        X = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
        return Block(X, self.y[rows], None if self.weights is None else self.weights[rows])


class Facts(NamedTuple):
    """Facts about a partition, collected in one pass over the targets."""

    n_rows: int
    is_continuous: bool
    classes: np.ndarray
    first_rows: np.ndarray
    counts: np.ndarray


@dataclass
class Partitions:
    """A training table, its targets and weights, partition by partition.

    Parameters
    ----------
    X : dask array or DataFrame
    y : dask array, Series or DataFrame of one column
    sample_weight : dask array or Series, default=None
    classifies : bool, default=None
        Whether ``y`` holds classes; None: :func:`sklearn.utils.multiclass.type_of_target` decides.

    Attributes
    ----------
    classes : ndarray
    first_rows, counts : ndarray of shape (n_classes,)
        The number of the first row of each class, and how many there are.
    starts : ndarray of shape (n_partitions + 1,)
        Numbers of the partitions' first rows; the last is the number of rows.
    """

    X: Any
    y: Any
    sample_weight: Any = None
    classifies: bool | None = None
    class_weight: dict[Any, float] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.meta = check_table(self.X)
        columns = {"y": self.y, "sample_weight": self.sample_weight}
        self._X = split(self.X)
        self._columns = {name: self._aligned(name, value) for name, value in columns.items()}
        describe = delayed(_describe, pure=False)
        tasks = [
            describe(index, y, weights, self.classifies)
            for index, (y, weights) in enumerate(self._targets())
        ]
        self._keep(compute(tasks))

    def _keep(self, facts: list[Facts]) -> None:
        sizes = [fact.n_rows for fact in facts]
        self.starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        if self.n_rows < 2:
            raise ValueError(
                f"X holds {self.n_rows} rows in {len(facts)} partitions (rows of weight zero not "
                "counted), but at least 2 are needed."
            )
        if self.classifies is None:
            self.classifies = not any(fact.is_continuous for fact in facts)
        if not self.classifies:
            self.classes, self.first_rows = np.empty(0), np.empty(0, np.int64)
            return
        seen = np.concatenate([fact.classes for fact in facts if fact.n_rows])
        rows = np.concatenate(
            [fact.first_rows + start for fact, start in zip(facts, self.starts, strict=False)]
        )
        counts = np.concatenate([fact.counts for fact in facts])
        self.classes, first, place = np.unique(seen, return_index=True, return_inverse=True)
        self.first_rows = rows[first].astype(np.int64)
        self.counts = np.bincount(place, counts)

    @property
    def n_rows(self) -> int:
        return int(self.starts[-1])

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.starts)

    def weigh_classes(self, class_weight) -> None:
        """Multiply the weight of every row by that of its class."""
        if class_weight is None:
            return
        if class_weight == "balanced":
            balance = self.n_rows / (len(self.classes) * self.counts)
        else:
            balance = class_weights(class_weight, self.classes, self.classes)
        self.class_weight = dict(zip(self.classes.tolist(), balance.tolist(), strict=True))

    def blocks(self) -> list[Any]:
        """Return the delayed blocks, in order; some may be empty."""
        load = delayed(_load, pure=False)
        return [
            load(index, X, y, weights, self.meta, self.class_weight)
            for index, (X, (y, weights)) in enumerate(zip(self._X, self._targets(), strict=True))
        ]

    def places(self, rows: np.ndarray | None) -> list[Any]:
        """Convert ascending row numbers to positions within each partition; None: all."""
        if rows is None:
            return [None] * len(self._X)
        cuts = np.searchsorted(rows, self.starts)
        return [
            rows[low:high] - start
            for low, high, start in zip(cuts[:-1], cuts[1:], self.starts, strict=False)
        ]

    def take(self, rows: np.ndarray | None) -> Block:
        """Collect some rows on the client; None: all. Callers limit their number."""
        take = delayed(_take, pure=False)
        parts = zip(self.blocks(), self.places(rows), self.sizes, strict=True)
        tasks = [
            take(block, places)
            for block, places, size in parts
            if size and (places is None or len(places))
        ]
        return joined(compute(tasks))

    def _targets(self):
        return zip(self._columns["y"], self._columns["sample_weight"], strict=True)

    def _aligned(self, name: str, value: Any) -> list[Any]:
        """Return targets or weights in the partitions of the table."""
        n = len(self._X)
        if value is None:
            if name == "y":
                raise ValueError("y is None, but the target is needed.")
            return [None] * n
        chunks = self.X.chunks[0] if isinstance(self.X, da.Array) else (np.nan,)
        if isinstance(value, np.ndarray | list) and not np.isnan(chunks).any():
            value = da.from_array(np.asarray(value), chunks=(chunks,))
        if not is_dask_collection(value):
            raise TypeError(
                f"{name} must be a Dask array or Series with the partitions of X, got "
                f"{type(value).__name__}."
            )
        if isinstance(value, da.Array) and not np.isnan([*value.chunks[0], *chunks]).any():
            if value.shape[0] != self.X.shape[0]:
                raise ValueError(f"X has {self.X.shape[0]} rows, but {name} has {value.shape[0]}.")
            value = value.rechunk({0: chunks})
        parts = split(value)
        if len(parts) != n:
            raise ValueError(
                f"X has {n} partitions, but {name} has {len(parts)}. Take both from one DataFrame, "
                "or give both the same chunks."
            )
        return parts


def check_table(X: Any) -> Any:
    """Reject anything but a Dask table; return an empty table with the same columns."""
    if not is_dask_collection(X) or not hasattr(X, "to_delayed"):
        raise TypeError(
            f"X must be a Dask array or DataFrame, got {type(X).__name__}. For data in memory use "
            "the estimator of the same name in jarf."
        )
    if len(X.shape) != 2 or (isinstance(X, da.Array) and np.isnan(X.shape[1])):
        raise ValueError(
            f"X must have two dimensions and a known number of columns, got shape {X.shape}."
        )
    if isinstance(X, da.Array):
        return np.empty((0, X.shape[1]), dtype=X.dtype)
    from dask.dataframe.dispatch import make_meta  # an array needs no pandas

    return make_meta(X)


def split(collection: Any) -> list[Any]:
    """Return one delayed object per partition, with all columns."""
    if isinstance(collection, da.Array) and collection.ndim == 2:
        collection = collection.rechunk({1: -1})
    return np.ravel(np.array(collection.to_delayed(), dtype=object)).tolist()


def joined(blocks: list[Block]) -> Block:
    """Concatenate blocks."""
    if len(blocks) == 1:
        return blocks[0]
    parts = [block.X for block in blocks]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        X = pd.concat(parts, ignore_index=True)
    else:
        X = np.concatenate(parts)
    return Block(X, *joined_columns(blocks))


def joined_columns(blocks: list[Block]) -> tuple[np.ndarray, np.ndarray | None]:
    """Concatenate the targets and weights of blocks."""
    weights = [block.weights for block in blocks if block.weights is not None]
    y = np.concatenate([block.y for block in blocks])
    return y, np.concatenate(weights) if weights else None


def _take(block: Block, places: np.ndarray | None) -> Block:
    return block if places is None else block.only(places)


# --- what runs where a partition is -----------------------------------------------------------


def _vector(index: int, name: str, values: Any) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim > 2 or (values.ndim == 2 and values.shape[1] != 1):
        hint = " Several outputs are not supported on Dask: fit one model per output."
        raise ValueError(
            f"{name} should be a 1d array, got shape {values.shape}.{hint if name == 'y' else ''}"
        )
    values = values.ravel()
    kind = values.dtype.kind
    bad = not np.isfinite(values).all() if kind == "f" else kind == "O" and _has_none(values)
    if bad:
        raise ValueError(f"Partition {index}: {name} contains missing or infinite values.")
    if kind == "O":  # one kind of label, whatever pandas made of it
        values = np.array(values.tolist())
    return values


def _has_none(values: np.ndarray) -> bool:
    return any(value is None or value != value for value in values)


def _describe(index: int, y: Any, weights: Any, classifies: bool | None) -> Facts:
    y = _vector(index, "y", y)
    used = _used(index, len(y), weights)
    y = y if used is None else y[used]
    nothing = np.empty(0, np.int64)
    if len(y) == 0:
        return Facts(0, False, y, nothing, nothing)
    if classifies is False or (classifies is None and type_of_target(y).startswith("continuous")):
        return Facts(len(y), True, y[:0], nothing, nothing)
    check_classification_targets(y)
    classes, first, counts = np.unique(y, return_index=True, return_counts=True)
    return Facts(len(y), False, classes, first, counts)


def _used(index: int, n_rows: int, weights: Any) -> np.ndarray | None:
    """Return the rows of positive weight; None if all are positive."""
    if weights is None:
        return None
    weights = _vector(index, "sample_weight", weights)
    if len(weights) != n_rows:
        raise ValueError(
            f"Partition {index} holds {n_rows} targets, but {len(weights)} sample weights."
        )
    if (weights < 0).any():
        raise ValueError(f"Partition {index}: negative sample weights are not allowed.")
    return None if weights.all() else np.flatnonzero(weights)


def _load(index: int, X: Any, y: Any, weights: Any, meta: Any, class_weight: Any) -> Block:
    X = read_rows(index, X, meta)
    y = _vector(index, "y", y)
    if len(X) != len(y):
        raise ValueError(
            f"Partition {index} holds {len(X)} rows of X, but {len(y)} of y. Give both the same "
            "partitions."
        )
    used = _used(index, len(y), weights)
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64).ravel()
    if class_weight is not None:
        balance = np.array([class_weight[label] for label in y.tolist()], dtype=np.float64)
        weights = balance if weights is None else weights * balance
    block = Block(X, y, weights)
    return block if used is None else block.only(used)


def read_rows(index: int, X: Any, meta: Any) -> Any:
    """Check that a partition matches the metadata of its collection.

    Parameters
    ----------
    index : int
        Number of the partition, for messages.
    X : array or DataFrame
    meta : ndarray or DataFrame
        Of no rows: columns and types.

    Returns
    -------
    ndarray or DataFrame
    """
    if not hasattr(meta, "columns"):
        return _read_array(index, X, meta)
    if list(X.columns) != list(meta.columns):
        raise ValueError(
            f"Partition {index} has the columns {list(X.columns)}, but the DataFrame's metadata "
            "has "
            f"{list(meta.columns)}."
        )
    wrong = {
        name: kind
        for name, kind in meta.dtypes.items()
        if X.dtypes[name] != kind and getattr(kind, "kind", "O") in "fiub"
    }
    try:
        return X.astype(wrong) if wrong else X
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Partition {index} does not have the types of the DataFrame's metadata: {error}"
        ) from error


def _read_array(index: int, X: Any, meta: np.ndarray) -> np.ndarray:
    if hasattr(X, "toarray"):
        raise TypeError("Sparse partitions are not supported: make them dense by .toarray().")
    if np.ndim(X) != 2 or X.shape[1] != meta.shape[1]:
        raise ValueError(
            f"Partition {index} has shape {np.shape(X)}, but {meta.shape[1]} columns are expected."
        )
    try:
        return np.asarray(X, dtype=meta.dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Partition {index} cannot be read as {meta.dtype}, the type of the array: {error}"
        ) from error
