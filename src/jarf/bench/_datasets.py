"""The registry of datasets: a name, a source and the facts that a file must match."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = [
    "Dataset",
    "Protocol",
    "Table",
    "dataset_names",
    "get_dataset",
    "in_collection",
    "is_registered",
    "register_dataset",
]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Table:
    """One dataset in memory.

    Attributes
    ----------
    X : DataFrame of shape (n, d)
        The input columns. Text and category columns are categorical.
    y : ndarray of shape (n,)
        Labels, or numbers in regression.
    source : str
        Where the rows came from, for the record.
    partial : bool
        Whether only a part of the registered rows was found.

    Examples
    --------
    >>> from jarf.bench import get_dataset, load_table
    >>> table = load_table(get_dataset("iris"))
    >>> table.X.shape, table.y.shape
    ((150, 4), (150,))
    """

    X: Any
    y: np.ndarray
    source: str = "memory"
    partial: bool = False


@dataclass(frozen=True)
class Protocol:
    """A published way to split a table, used in place of repeated two-fold splits.

    Every column counts as a number and is standardised on the training rows.

    Attributes
    ----------
    seeds : tuple of int
        ``random_state`` of each split.
    train_size : float
        Share of the rows that are training rows.
    max_rows : int
        Of a table with more rows than this, that many training rows are drawn with replacement.

    Examples
    --------
    >>> from jarf.bench import Protocol
    >>> Protocol(seeds=(0, 1), train_size=0.75, max_rows=10_000).train_size
    0.75
    """

    seeds: tuple[int, ...]
    train_size: float
    max_rows: int

    def rows(self, n_rows: int, repeat: int) -> tuple[np.ndarray, np.ndarray]:
        """Training and test rows of a split."""
        from sklearn.model_selection import train_test_split

        seed = self.seeds[repeat]
        train, test = train_test_split(
            np.arange(n_rows),
            train_size=self.train_size,
            test_size=1.0 - self.train_size,
            random_state=seed,
        )
        if n_rows > self.max_rows:
            train = train[np.random.RandomState(seed).choice(len(train), size=self.max_rows)]
        return train, test


@dataclass(frozen=True)
class Dataset:
    """A name, a source and expected facts.

    Parameters
    ----------
    name : str
        Letters, digits, dot, dash and underscore only: it is also a file name.
    task : {"classification", "regression"}
        What is predicted.
    n_rows, n_features : int or None
        The expected shape. None accepts any.
    class_counts : mapping of str to int or None
        Expected number of rows of each class. Only the counts are compared, since copies of a
        dataset spell its classes differently.
    openml_id : int or None
        Dataset to download if no file is found.
    licence, note : str
        Shown by ``jarf reproduce --list`` and on the page.
    load : callable or None
        ``load() -> Table`` for data that need no file.
    draw : callable or None
        ``draw(seed, n_train, n_test) -> (train, test)`` for a simulation: every split is a new
        draw, so nothing is shared between splits.
    truth : callable or None
        ``truth(X) -> labels`` of the best possible classifier, for a simulation.
    facts : mapping
        Numbers an experiment may need, such as the angle of a simulated boundary.
    split_key : str
        What the splits depend on in addition to the seed; empty: the name.
    collection : str
        The set of tables it belongs to; an experiment runs on the tables of one collection.
    file : str
        Path of its file below the data folder, without ending; an empty text means the name.
    url, sha256 : str
        Where else to download a ``.tsv.gz`` file, and the checksum of the registered one.
    protocol : Protocol or None
        How a public benchmark splits it; None means repeated two-fold splits.

    Examples
    --------
    >>> from jarf.bench import get_dataset
    >>> iris = get_dataset("iris")
    >>> iris.task, iris.n_rows
    ('classification', 150)
    """

    name: str
    task: str
    n_rows: int | None = None
    n_features: int | None = None
    class_counts: Mapping[str, int] | None = None
    openml_id: int | None = None
    licence: str = "not stated"
    note: str = ""
    load: Callable[[], Table] | None = None
    draw: Callable[[int, int, int], tuple[Table, Table]] | None = None
    truth: Callable[[Any], np.ndarray] | None = None
    facts: Mapping[str, float] = field(default_factory=dict)
    split_key: str = ""
    collection: str = "study"
    file: str = ""
    url: str = ""
    sha256: str = ""
    protocol: Protocol | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"a dataset name may hold letters, digits, '.', '-' and '_' only: {self.name!r}"
            )
        if self.task not in ("classification", "regression"):
            raise ValueError(f"task must be 'classification' or 'regression', not {self.task!r}")

    def split_seed(self, seed: int, repeat: int, fold: int) -> int:
        """One seed per split, the same for every method, unrelated between splits."""
        return split_seed(seed, self.split_key or self.name, repeat, fold)

    @property
    def label(self) -> str:
        """The name inside its collection."""
        return self.file.rpartition("/")[2] or self.name

    @property
    def simulated(self) -> bool:
        """Whether every split is a new draw."""
        return self.draw is not None


def split_seed(seed: int, key: str, repeat: int, fold: int) -> int:
    """One seed per split, the same for every method, unrelated between splits."""
    words = [seed, zlib.crc32(key.encode()), repeat, fold]
    return int(np.random.SeedSequence(words).generate_state(1)[0] >> 1)


_REGISTRY: dict[str, Dataset] = {}
_BUILT_IN: dict[str, Dataset] = {}


def register_dataset(name: str, task: str, **facts: Any) -> Dataset:
    """Add a dataset to the benchmark.

    Parameters
    ----------
    name, task : str
        See `Dataset`.
    **facts
        The other fields of `Dataset`.

    Returns
    -------
    Dataset
        The registered entry; an entry of the same name is replaced.

    Examples
    --------
    >>> from jarf.bench import register_dataset
    >>> register_dataset("my-table", "regression", note="a file my-table.csv in --data").task
    'regression'
    """
    dataset = Dataset(name=name, task=task, **facts)
    _REGISTRY[name] = dataset
    return dataset


def get_dataset(name: str) -> Dataset:
    """Look a dataset up by name; an unknown name is an error that lists the known ones."""
    _fill()
    if name not in _REGISTRY:
        known = sorted(n for n, d in _REGISTRY.items() if d.collection == "study")
        raise KeyError(
            f"unknown dataset {name!r}; known: {', '.join(known)}; and the tables of other "
            "collections, which jarf reproduce --list shows"
        )
    return _REGISTRY[name]


def dataset_names() -> list[str]:
    """All registered names, in the order of registration."""
    _fill()
    return list(_REGISTRY)


def is_registered(name: str) -> bool:
    """Whether there is an entry of that name."""
    _fill()
    return name in _REGISTRY


def in_collection(collection: str) -> list[str]:
    """Names of the registered datasets of a collection."""
    return [name for name in dataset_names() if _REGISTRY[name].collection == collection]


def custom_datasets() -> list[str]:
    """Return the names of datasets that the user registered or replaced."""
    _fill()
    return [name for name, dataset in _REGISTRY.items() if _BUILT_IN.get(name) is not dataset]


def add_datasets(datasets: Sequence[Dataset]) -> None:
    """Add entries that another process registered."""
    _fill()
    _REGISTRY.update({dataset.name: dataset for dataset in datasets})


@contextmanager
def temporary_dataset(dataset: Dataset) -> Iterator[None]:
    """Register a dataset for the duration of a block."""
    _fill()
    _REGISTRY[dataset.name] = dataset
    try:
        yield
    finally:
        del _REGISTRY[dataset.name]


def _fill() -> None:
    if not _BUILT_IN:
        from jarf.bench._catalog import study_datasets
        from jarf.bench._pmlb import pmlb_datasets
        from jarf.bench._theory import theory_datasets

        every = (*study_datasets(), *pmlb_datasets(), *theory_datasets())
        _BUILT_IN.update({dataset.name: dataset for dataset in every})
        users = dict(_REGISTRY)
        _REGISTRY.clear()
        _REGISTRY.update(_BUILT_IN | users)
