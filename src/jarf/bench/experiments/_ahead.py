"""Which other methods stay ahead of our best one, how often, and on what kind of table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jarf.bench._statistics import mean_ranks
from jarf.bench.experiments._base import Cell, Column, Results, ResultTable, Row

__all__ = ["ahead_of_ours", "ahead_table", "kinds_of_tables"]

_OURS = ("JF", "JB", "JE")  # our recommended methods
_CLOSE = 0.01
_FEW_ROWS = 1000


def ahead_table(
    name: str,
    title: str,
    methods: Sequence[str],
    scores: np.ndarray,
    groups: Mapping[str, np.ndarray],
    labels: Mapping[str, str] | None = None,
) -> ResultTable | None:
    """Count the tables on which other methods are ahead of our best method.

    Parameters
    ----------
    name, title : str
        Of the table that is returned.
    methods : sequence of str
        Columns of ``scores``; a method ranks the higher the larger its scores are.
    scores : ndarray of shape (n_tables, n_methods)
        NaN where a method has no result.
    groups : mapping of str to ndarray of bool
        Kinds of tables, as masks.
    labels : mapping of str to str or None
        What rows are called, if not by the method's name.

    Returns
    -------
    ResultTable or None
        None without a method of ours, or without others.
    """
    ours = [m for m in methods if m in _OURS]
    others = [m for m in methods if m not in _OURS]
    if not ours or not others or not len(scores):
        return None
    ranks = mean_ranks(np.where(np.isnan(scores), -np.inf, scores))
    best = min(ours, key=lambda m: ranks[methods.index(m)])
    own = scores[:, methods.index(best)]
    leads = {m: scores[:, methods.index(m)] - own for m in others}
    shown = {label: mask for label, mask in groups.items() if mask.any()}
    columns = [Column("behind", label=f"behind, all (of {len(scores)})", digits=0)]
    columns += [
        Column(k, label=f"ahead, {k} (of {mask.sum()})", digits=0) for k, mask in shown.items()
    ]
    cells = {}
    for method, lead in leads.items():
        cells[method, "behind"] = Cell(float((lead < -_CLOSE).sum()))
        for label, mask in shown.items():
            cells[method, label] = Cell(float((lead[mask] > _CLOSE).sum()))
    order = sorted(others, key=lambda m: -(leads[m] > _CLOSE).sum())
    rows = [Row(m, "method", (labels or {}).get(m, m)) for m in order]
    notes = [
        f"Compared with {best}, our method with the best mean rank here: tables on which the other "
        f"method's score is lower (behind) or higher (ahead) by more than {_CLOSE}."
    ]
    return ResultTable(name, title.format(best), rows, columns, cells, notes, "method")


def kinds_of_tables(results: Results, datasets: Sequence[str]) -> dict[str, np.ndarray]:
    """Masks of datasets by rows, classes and kind of columns, from the stored rows."""
    first = {dataset: row for (dataset, _), row in results.examples.items()}
    rows = [first[d] for d in datasets]
    size = np.array([row.n_rows or 0 for row in rows])
    classes = np.array([row.n_classes or 0 for row in rows])
    numbers = np.array([(row.d_numeric or 0) / max(row.d or 0, 1) for row in rows])
    kinds = {
        "all": np.ones(len(rows), dtype=bool),
        f"below {_FEW_ROWS:,} rows": size < _FEW_ROWS,
        f"from {_FEW_ROWS:,} rows": size >= _FEW_ROWS,
    }
    if classes.any():
        kinds |= {"two classes": classes == 2, "more classes": classes > 2}
        kinds["mostly categories"] = numbers < 0.5
    return kinds


def ahead_of_ours(
    results: Results, datasets: Sequence[str], metric: str, name: str, title: str
) -> list[ResultTable]:
    """The table for datasets on which every method that was run has a result, if there is one."""
    methods = results.methods(datasets)
    scores = results.matrix(datasets, methods, metric)
    whole = ~np.isnan(scores).any(axis=1)
    kept = [d for d, has_all in zip(datasets, whole, strict=True) if has_all]
    kinds = kinds_of_tables(results, kept)
    table = ahead_table(name, title, methods, scores[whole], kinds)
    return [] if table is None else [table]
