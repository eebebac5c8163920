"""A claim, its verdict, and the words for verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jarf.bench import Results, ResultTable

__all__ = ["HOLDS", "NOT_HERE", "PART", "UNTESTED", "Claim", "Tables", "Verdict", "graded"]

HOLDS, PART, NOT_HERE, UNTESTED = "holds", "holds in part", "does not hold here", "not tested"

Verdict = tuple[str, str]
Tables = dict[str, ResultTable]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, its place there, and the function that evaluates it."""

    text: str
    where: str
    experiment: str
    judge: Callable[[Results, Tables], Verdict]


def graded(good: int, total: int, enough: float = 0.5) -> str:
    """Return "holds" if all, "in part" if more than a share, else "does not hold"."""
    if total == 0:
        raise KeyError("nothing to count")
    return HOLDS if good == total else PART if good > enough * total else NOT_HERE
