"""Budgets of the study: sizes, repeats and trees of each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from jarf.bench._catalog import CLASSIFICATION, EMBEDDED, REGRESSION

__all__ = ["BUDGETS", "Budget", "get_budget"]


@dataclass(frozen=True)
class Budget:
    """The sizes of a run. Everything here is stored with the results.

    Attributes
    ----------
    train_cap, test_cap : int or None
        Most rows used of a training or test half.
    repeats, ablation_repeats : int
        Repeats of the split into folds, for the main tables and for everything about variants of
        JARF (ablations, surrogates, sharing, probes).
    simulated_rows, simulated_test_rows, simulated_repeats : int
        Rows drawn for one simulated split, and how often.
    n_trees : int
        Trees of every forest and rounds of XGBoost. Other boosters have a number of their own.
    tune_rows, tune_folds : int or None, int
        Rows and folds of the grid search inside a training half.
    tune_each_split : bool
        Tune on every training half, or once per dataset on the training half of the first
        split.
    slow_probes : int
        Probes for surrogates without the tree kernel, which need 2 d predictions per probe.
    folds : int
        Folds of a repeat; the study has two.
    max_levels : int or None
        Most one-hot columns of a category; rarer levels share one. None means no limit.
    public_cap, public_repeats : int or None, int
        Most training and test rows, and most splits, of a table with a published protocol; None
        means as the protocol says.
    sizes, size_folds : tuple of int, int
        Training rows of the experiment on sizes, and how many halves of a split it fits.
    theory_rows : int
        Most training rows of the experiment on theory.
    experiments : tuple of str
        What is run unless other experiments are named; empty for the paper's study.

    Examples
    --------
    >>> from jarf.bench import get_budget
    >>> budget = get_budget("standard")
    >>> budget.repeats, budget.folds, budget.train_cap
    (5, 2, 5000)
    """

    name: str
    datasets: tuple[str, ...]
    train_cap: int | None
    test_cap: int | None
    repeats: int = 5
    ablation_repeats: int = 5
    simulated_rows: int = 2000
    simulated_test_rows: int = 10_000
    simulated_repeats: int = 5
    n_trees: int = 200
    tune_rows: int | None = None
    tune_folds: int = 3
    tune_each_split: bool = False
    slow_probes: int = 10_000
    folds: int = 2
    max_levels: int | None = None
    public_cap: int | None = None
    public_repeats: int = 10
    sizes: tuple[int, ...] = (1000, 5000)
    size_folds: int = 2
    theory_rows: int = 4000
    experiments: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """A plain dict for JSON."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


_ALL = CLASSIFICATION + REGRESSION

BUDGETS = {
    "quick": Budget(
        "quick",
        EMBEDDED,
        train_cap=500,
        test_cap=2000,
        repeats=1,
        ablation_repeats=1,
        simulated_rows=500,
        simulated_test_rows=2000,
        simulated_repeats=1,
        n_trees=100,
        tune_rows=200,
        tune_folds=2,
        slow_probes=100,
        public_cap=500,
        public_repeats=1,
        sizes=(100, 500),
        theory_rows=500,
    ),
    "standard": Budget(
        "standard",
        _ALL,
        train_cap=5000,
        test_cap=10_000,
        tune_rows=2000,
        tune_folds=2,
        slow_probes=500,
    ),
    "full": Budget("full", _ALL, train_cap=None, test_cap=None, tune_each_split=True),
    "large": Budget(
        "large",
        _ALL,
        train_cap=50_000,
        test_cap=10_000,
        repeats=1,
        ablation_repeats=1,
        tune_rows=5000,
        tune_folds=2,
        sizes=(1000, 5000, 20_000, 50_000),
        size_folds=1,
        experiments=("sizes",),
    ),
}


def get_budget(name: str) -> Budget:
    """Look a budget up by name."""
    if name not in BUDGETS:
        raise KeyError(f"unknown budget {name!r}; known: {', '.join(BUDGETS)}")
    return BUDGETS[name]
