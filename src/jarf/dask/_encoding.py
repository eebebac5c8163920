"""Blocks of a table as float matrices, encoded and mapped where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from jarf.dask._partitions import Block, Partitions
from jarf.geometry import LinearMap
from jarf.table import fit_table, read_table, share_table


class Reader(BaseEstimator):
    """The part of an estimator that :func:`jarf.table.read_table` needs."""

    def __init__(self, fitted=None):
        share_table(fitted, self)


@dataclass
class Sample:
    """The bounded sample that is collected on the client, and the encoding learned from it.

    Parameters
    ----------
    estimator : estimator
        ``table_``, ``n_features_in_`` and ``feature_names_in_`` are set on it.
    parts : Partitions
    rows : ndarray or None
        Numbers of the rows of the sample, in rising order; None: all.
    dtype : dtype or list of dtypes
        Of the encoded table.

    Attributes
    ----------
    X : ndarray
        Encoded; target means are cross-fitted.
    y, weights : ndarray
    """

    estimator: Any
    parts: Partitions
    rows: np.ndarray | None
    dtype: Any

    def __post_init__(self) -> None:
        block = self.parts.take(self.rows)
        self.weights = block.weights
        self.X, self.y = fit_table(
            self.estimator,
            block.X,
            block.y,
            classifies=bool(self.parts.classifies),
            dtype=self.dtype,
            order="C",
            ensure_min_samples=2,
        )

    def coded(self) -> tuple[np.ndarray | None, np.ndarray]:
        """Class labels of the table and codes of the sample; None and responses in regression."""
        if not self.parts.classifies:
            return None, self.y
        return self.parts.classes, np.searchsorted(self.parts.classes, self.y)

    def encoding(self, linear: LinearMap | None = None) -> Encoding:
        """Return how a block of the table becomes a matrix, mapped if ``linear`` is given."""
        return Encoding(Reader(self.estimator), self.dtype, linear)

    def corrections(self) -> list[Any]:
        """Target means of the sample's own rows, by partition.

        A mean that includes a row's own target would leak it. Rows of the sample keep their
        cross-fitted means; targets of other rows are not part of any mean.
        """
        columns = np.flatnonzero(self.estimator.table_.encoded_kinds_ == "target")
        if len(columns) == 0:
            return [None] * len(self.parts.sizes)
        rows = np.arange(self.parts.n_rows) if self.rows is None else self.rows
        ends = np.cumsum([len(places) for places in self.parts.places(rows)])[:-1]
        values = np.split(self.X[:, columns], ends)
        return [
            (places, columns, part)
            for places, part in zip(self.parts.places(rows), values, strict=True)
        ]


@dataclass(frozen=True)
class Encoding:
    """A fitted table encoder, followed by a linear map."""

    reader: Reader
    dtype: Any
    linear: LinearMap | None

    def matrix(self, block: Block, correction: Any = None) -> np.ndarray:
        """Encode the rows of a block that is not empty."""
        X = read_table(self.reader, block.X, dtype=self.dtype, order="C")
        if correction is not None:
            places, columns, values = correction
            X[np.ix_(places, columns)] = values
        return X if self.linear is None else self.linear.transform(X)
