"""Public tables: 172 of PMLB, among them 117 of SRBench, and SRBench's published medians."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from jarf.bench._datasets import Dataset, Protocol

__all__ = ["PMLB", "SRBENCH", "Published", "pmlb_datasets", "published", "table_name"]

PMLB, SRBENCH = "pmlb-classification", "srbench"
_URL = "https://github.com/EpistasisLab/pmlb/raw/master/datasets/{name}/{name}.tsv.gz"
_SEEDS = (23654, 15795, 860, 5390, 16850, 29910, 4426, 21962, 14423, 28020)
_PROTOCOL = Protocol(_SEEDS, train_size=0.75, max_rows=10_000)


def table_name(name: str) -> str:
    """The registered name of a table of PMLB."""
    return f"pmlb-{name}"


def pmlb_datasets() -> Iterator[Dataset]:
    """The entries of the registry."""
    friedman = published().friedman
    for name, task, rows, columns, classes, newest, sha256 in _facts("pmlb.json")["tables"]:
        regression = task == "regression"
        note = "" if newest else "the file of this table has changed in PMLB over time"
        yield Dataset(
            table_name(name),
            task,
            n_rows=rows,
            n_features=columns,
            licence="MIT (PMLB)",
            note=note,
            facts={"newest": newest, "friedman": name in friedman, "classes": classes},
            collection=SRBENCH if regression else PMLB,
            file=f"pmlb/{task}/{name}",
            url=_URL.format(name=name),
            sha256=sha256,
            protocol=_PROTOCOL if regression else None,
        )


@dataclass(frozen=True)
class Published:
    """Medians over ten seeds that SRBench publishes.

    Attributes
    ----------
    source : str
    methods, symbolic : tuple of str
        All methods, and those of them that search for a formula.
    friedman : frozenset of str
        Tables drawn from Friedman's functions.
    r2, seconds : dict of str to dict
        Test R2 and training time, by table and method; a method without a result is left out.

    Examples
    --------
    >>> from jarf.bench import published
    >>> "Operon" in published().methods
    True
    """

    source: str
    methods: tuple[str, ...]
    symbolic: tuple[str, ...]
    friedman: frozenset[str]
    r2: dict[str, dict[str, float]]
    seconds: dict[str, dict[str, float]]


@lru_cache(maxsize=1)
def published() -> Published:
    """SRBench's figures.

    Examples
    --------
    >>> from jarf.bench import published
    >>> published().r2["1027_ESL"]["AFP"]
    0.83093
    """
    facts = _facts("srbench.json")
    methods = tuple(facts["methods"])

    def by_method(values: dict[str, list[float | None]]) -> dict[str, dict[str, float]]:
        return {
            table: {m: v for m, v in zip(methods, line, strict=True) if v is not None}
            for table, line in values.items()
        }

    return Published(
        facts["source"],
        methods,
        tuple(facts["symbolic"]),
        frozenset(facts["friedman"]),
        by_method(facts["r2"]),
        by_method(facts["seconds"]),
    )


def _facts(name: str) -> dict[str, Any]:
    return json.loads(files("jarf.bench").joinpath(name).read_text(encoding="utf-8"))
