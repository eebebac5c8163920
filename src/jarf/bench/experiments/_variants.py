"""Variants of JARF: how they are planned, and which fits represent them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from jarf.bench._jobs import Job
from jarf.bench.experiments._base import Plan, Results

__all__ = ["PER_TREE", "plan_variants", "rows_of", "variant_differences"]

PER_TREE = "per-tree H"


def _same_as_default(n_train: int, one_hot: bool, variant: str) -> bool:
    """Return whether a variant equals the default by construction on such data."""
    if variant == "categorical toggles":
        return not one_hot
    if variant.startswith("m = ") and variant[4:].isdigit():
        return int(variant[4:]) >= min(n_train, 10_000)
    return variant == "m = n" and n_train <= 10_000


def plan_variants(plan: Plan, variants: Sequence[str], task: str | None = None) -> Iterator[Job]:
    repeats = plan.budget.ablation_repeats
    for dataset in plan.datasets(task):
        for method in ("RF", "JARF"):
            yield from plan.jobs(dataset, method, repeats=repeats)
        for variant in variants:
            one_hot = plan.facts[dataset].one_hot
            if variant == PER_TREE and one_hot:
                continue
            if not _same_as_default(plan.n_train(dataset), one_hot, variant):
                yield from plan.jobs(dataset, "JARF", variant, repeats)


def rows_of(results: Results, dataset: str, method: str, variant: str) -> tuple[str, str]:
    """Return the rows of a variant: its own, or the default's if both are the same."""
    facts = results.examples.get((dataset, "JARF"))
    if method == "JARF" and variant and facts is not None:
        one_hot = (facts.d_numeric or 0) < (facts.d or 0)
        if _same_as_default(facts.n_train or 0, one_hot, variant):
            return "JARF", ""
    return method, variant


def variant_differences(
    results: Results, dataset: str, row: tuple[str, str], column: str
) -> np.ndarray:
    return results.paired(dataset, rows_of(results, dataset, *row), ("JARF", ""), column)
