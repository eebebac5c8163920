"""Identical rows, which must not be divided between learning and held-out rows."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

# If at most this share of the rows are copies of others, splits ignore copies.
FEW_COPIES = 0.02


def row_groups(X: np.ndarray) -> np.ndarray | None:
    """Number the distinct rows of a matrix; None if few rows have a copy.

    Rows are compared by a 64-bit hash of their values.
    """
    values = np.ascontiguousarray(X) + X.dtype.type(0)  # -0 equals 0
    hashes = _wide_hashes(values) if values.shape[1] > len(values) else _hashes(values)
    distinct, groups = np.unique(hashes, return_inverse=True)
    if len(X) - len(distinct) <= FEW_COPIES * len(X):
        return None
    return groups.reshape(-1)


def _hashes(values: np.ndarray) -> np.ndarray:
    """Hash all rows together, column after column."""
    words: np.ndarray = values.view(np.uint32 if values.dtype == np.float32 else np.uint64)
    hashes = np.zeros(len(values), np.uint64)
    for j in range(words.shape[1]):
        hashes = (hashes ^ words[:, j].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _wide_hashes(values: np.ndarray) -> np.ndarray:
    """Hash row after row: faster where there are more columns than rows."""
    digests = b"".join(blake2b(row, digest_size=8).digest() for row in values)
    return np.frombuffer(digests, np.uint64)
