"""Load a dataset by name: from the data folder, the cache or OpenML, and check it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import time
import warnings
import zlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np

from jarf._files import atomic_write
from jarf.bench._datasets import Dataset, Table

__all__ = ["DatasetError", "data_folder", "load_table"]

_RETRIES = 3
_MAX_BYTES = 2**28  # of a downloaded file; the largest table of PMLB used here has 2**23
# no network, a wrong checksum or a body that is cut off, an answer of another form
_DOWNLOAD_ERRORS = (OSError, ValueError, EOFError, KeyError, HTTPException, zlib.error)


class DatasetError(RuntimeError):
    """A dataset cannot be found or does not match the registry.

    Examples
    --------
    >>> from jarf.bench import Dataset, DatasetError, load_table
    >>> try:
    ...     load_table(Dataset("nowhere", "regression"))
    ... except DatasetError as error:
    ...     print(str(error)[:16])
    nowhere: no file
    """


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder to search first: the argument, else ``JARF_DATA``, else None."""
    chosen = folder or os.environ.get("JARF_DATA")
    if not chosen:
        return None
    path = Path(chosen)
    if not path.is_dir():
        raise DatasetError(f"the data folder {path} does not exist (--data or JARF_DATA)")
    return path


def cache_folder() -> Path:
    """Return the folder for downloads: ``JARF_CACHE``, else the user's cache folder."""
    root = os.environ.get("JARF_CACHE") or Path.home() / ".cache" / "jarf"
    return Path(root)


def load_table(
    dataset: Dataset,
    folder: str | os.PathLike[str] | None = None,
    fetch: Callable[[Dataset, Path], tuple[Any, Any]] | None = None,
) -> Table:
    """Find, read and check one dataset.

    Parameters
    ----------
    dataset : Dataset
        What to look for.
    folder : path or None
        Searched first; None means ``JARF_DATA``.
    fetch : callable or None
        ``fetch(dataset, cache) -> (X, y)``, replaced in tests.

    Returns
    -------
    Table
        With ``partial=True`` when rows are missing but columns and classes agree.

    Raises
    ------
    DatasetError
        If nothing is found or the facts disagree; the message gives the reason.
    """
    if dataset.load is not None:
        return _checked(dataset, dataset.load())
    for place in (data_folder(folder), cache_folder()):
        path = _find(place, dataset)
        if path is not None:
            return _checked(dataset, _read(path))
    if dataset.url:
        return _checked(dataset, _download(dataset, cache_folder(), fetch or _fetch_file))
    if dataset.openml_id is None:
        raise DatasetError(
            f"{dataset.name}: no file {dataset.name}.parquet or .csv in the data folder "
            "(--data or JARF_DATA), and it is not on OpenML in this form"
        )
    return _checked(dataset, _download(dataset, cache_folder(), fetch or _fetch_openml))


def _find(folder: Path | None, dataset: Dataset) -> Path | None:
    """Return the file of a dataset in the folder; links may not lead out of it.

    A table of PMLB may lie at its own path, directly in the folder, or as in PMLB's repository.
    """
    if folder is None:
        return None
    stems = [dataset.name]
    if dataset.file:
        label = dataset.label
        stems += [dataset.file, label, f"{label}/{label}", f"datasets/{label}/{label}"]
    for stem in stems:
        for ending in (".parquet", ".csv", *([".tsv.gz"] if dataset.url else [])):
            path = (folder / (stem + ending)).resolve()
            inside = (folder.resolve() / stem).parent
            if path.is_file() and path.parent == inside:
                return path
    return None


def _read(path: Path) -> Table:
    import pandas as pd

    _verify_checksum(path)
    try:
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
        else:
            frame = pd.read_csv(path, sep="\t" if path.name.endswith(".tsv.gz") else ",")
    except Exception as error:  # readers raise many kinds of errors for malformed files
        raise DatasetError(f"{path} cannot be read: {error}") from error
    if "target" not in frame.columns:
        raise DatasetError(f"{path} has no column named 'target'")
    return _as_table(frame.drop(columns="target"), frame["target"], path.name)


def _as_table(X: Any, y: Any, source: str) -> Table:
    if y.isna().any():
        raise DatasetError(f"{source}: {int(y.isna().sum())} rows have no target")
    values = y.astype(str) if str(y.dtype) in ("category", "object", "str") else y
    return Table(X, np.asarray(values), source)


def _checked(dataset: Dataset, table: Table) -> Table:
    """Reject a table that disagrees with the registry; mark one that is only a part of it."""
    n, d = table.X.shape
    where = f"{dataset.name} ({table.source})"
    if n != len(table.y):
        raise DatasetError(f"{where}: {n} rows but {len(table.y)} targets")
    if dataset.n_features is not None and d != dataset.n_features:
        raise DatasetError(f"{where}: {d} columns where {dataset.n_features} are registered")
    partial = table.partial
    if dataset.n_rows is not None and n != dataset.n_rows:
        if n > dataset.n_rows:
            raise DatasetError(f"{where}: {n} rows where {dataset.n_rows} are registered")
        partial = True
    if dataset.class_counts:
        _check_classes(where, dataset, table, partial)
    return Table(table.X, table.y, table.source, partial)


def _check_classes(where: str, dataset: Dataset, table: Table, partial: bool) -> None:
    expected = sorted((dataset.class_counts or {}).values())
    found = sorted(np.unique(table.y, return_counts=True)[1].tolist())
    if len(found) != len(expected):
        raise DatasetError(f"{where}: {len(found)} classes where {len(expected)} are registered")
    if not partial and found != expected:
        raise DatasetError(f"{where}: class counts {found} where {expected} are registered")


def _download(
    dataset: Dataset, cache: Path, fetch: Callable[[Dataset, Path], tuple[Any, Any]]
) -> Table:
    where = "PMLB" if dataset.url else f"OpenML {dataset.openml_id}"
    for attempt in range(_RETRIES):
        try:
            X, y = fetch(dataset, cache / "openml")
            break
        except _DOWNLOAD_ERRORS as error:
            last = attempt == _RETRIES - 1 or isinstance(error, URLError | TimeoutError)
            if last:  # scikit-learn has tried a network that is down several times
                raise DatasetError(
                    f"{dataset.name}: no local file, and {where} could not be "
                    f"downloaded ({type(error).__name__}: {error}). Offline? Put "
                    f"{dataset.file or dataset.name}.parquet or .csv, with a column 'target', "
                    "into the folder named by --data or JARF_DATA"
                ) from error
            time.sleep(2.0**attempt)
    table = _checked(dataset, _as_table(X, y, where))
    _keep(X, y, cache, dataset.name)
    return table


def _fetch_file(dataset: Dataset, cache: Path) -> tuple[Any, Any]:
    """A table of PMLB. Where the newest copy is the registered file, its checksum must match."""
    import pandas as pd

    with urlopen(dataset.url, timeout=60) as answer:
        content = answer.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"the file is larger than {_MAX_BYTES} bytes")
    found = hashlib.sha256(content).hexdigest()
    if dataset.facts.get("newest") and found != dataset.sha256:
        raise ValueError(f"the file has the sha256 {found}, registered is {dataset.sha256}")
    frame = pd.read_csv(io.BytesIO(gzip.decompress(content)), sep="\t")
    return frame.drop(columns="target"), frame["target"]


def _fetch_openml(dataset: Dataset, cache: Path) -> tuple[Any, Any]:
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings():  # it warns of every retry; what fails at last is an error
        warnings.simplefilter("ignore")
        bunch = fetch_openml(
            data_id=dataset.openml_id, as_frame=True, data_home=str(cache), parser="auto"
        )
    return bunch.data, bunch.target


def _keep(X: Any, y: Any, cache: Path, name: str) -> None:
    """Store a download with its checksum, so that a damaged file is noticed later."""
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"{name}.parquet"
    with atomic_write(path, "wb", follow_links=False) as stream:
        X.assign(target=y).to_parquet(stream)
    with atomic_write(
        path.with_suffix(".sha256"), "w", encoding="ascii", follow_links=False
    ) as stream:
        json.dump({"sha256": _sha256(path)}, stream)


def _verify_checksum(path: Path) -> None:
    """Reject a download that has changed since, before reading it."""
    record = path.with_suffix(".sha256")
    if record.is_file() and _sha256(path).encode() not in record.read_bytes():
        raise DatasetError(f"{path} does not match its checksum; delete it to download it again")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
