"""The result of a comparison, computed from stored rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from jarf.bench._comparison_tables import curve_table, pair_table, score_table, time_table
from jarf.bench._errors import TableError
from jarf.bench._findings import METRICS, advice, answer, deciding_metric, paired_methods
from jarf.bench._methods import get_method
from jarf.bench._own_table import OwnTable
from jarf.bench._protocol import numeric_columns
from jarf.bench._recipes import example_code
from jarf.bench._rows import ResultRow
from jarf.bench.experiments import Results, ResultTable
from jarf.pages import comparison_markdown, comparison_page, write_text

__all__ = ["Comparison", "compare_rows"]


class Comparison:
    """The result of `compare`.

    A notebook displays it as a page; ``print`` shows the answer.

    Parameters
    ----------
    summary : dict
        All results, as plain values.

    Attributes
    ----------
    summary : dict
    answer : list of str
        The finding in sentences.
    scores : dict of str to float
        Mean of the deciding metric over the splits, by method, the best first.

    Examples
    --------
    >>> from jarf.bench import compare
    >>> from sklearn.datasets import load_iris
    >>> table = load_iris(as_frame=True).frame
    >>> found = compare(table, "target", methods=["RF"], cv=2, repeats=1, n_trees=5)
    >>> list(found.scores), found.html().startswith("<!doctype html>")
    (['RF'], True)
    """

    def __init__(self, summary: dict[str, Any]):
        self.summary = summary
        self.answer: list[str] = summary["answer"]
        self.scores: dict[str, float] = summary["scores"]
        self._page = ""

    def json(self) -> str:
        """Return all results as JSON."""
        return json.dumps(self.summary, indent=1, allow_nan=False) + "\n"

    def markdown(self) -> str:
        """Return the answer and the tables as Markdown."""
        return comparison_markdown(self.summary)

    def html(self) -> str:
        """Return a self-contained page."""
        self._page = self._page or comparison_page(self.summary)
        return self._page

    def save(self, folder: Any) -> Path:
        """Write ``index.html``, ``comparison.json`` and ``comparison.md``; return the page."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        page = target / "index.html"
        write_text(target / "comparison.json", self.json())
        write_text(target / "comparison.md", self.markdown())
        write_text(page, self.html())
        return page

    def __repr__(self) -> str:
        return "\n".join(self.answer)

    def _repr_html_(self) -> str:
        """Return the page in an iframe, so that its style does not affect the notebook."""
        page = escape(self.html())
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 46rem; border: 0"></iframe>'


def compare_rows(
    rows: Sequence[ResultRow],
    geometry: dict[str, Any],
    table: OwnTable,
    facts: dict[str, Any],
    left_out: Sequence[str] = (),
    metric: str | None = None,
) -> Comparison:
    """Summarise the stored rows of one table.

    Parameters
    ----------
    rows : sequence of ResultRow
        All fits, including those of the learning curve and the grid searches.
    geometry : dict
        As made by `directions_of`.
    table : OwnTable
    facts : dict
        Settings and environment, passed through.
    left_out : sequence of str
        Notes about methods that did not take part.
    metric : str or None
        The one that decides; None: kappa, or R2 in regression.
    """
    metric = deciding_metric(table.task, metric)
    whole = Results([row for row in rows if row.cap == 0])
    name = rows[0].dataset
    methods = [m for m in whole.methods([name]) if len(whole.splits(name, m, metric))]
    if not methods:
        reasons = sorted({row.error for row in rows if not row.ok})
        raise TableError("every fit failed: " + "; ".join(reasons)[:500])
    scores = {m: float(whole.splits(name, m, metric).mean()) for m in methods}
    good = METRICS[metric][1] == "high"
    order = sorted(methods, key=lambda m: -scores[m] if good else scores[m])
    pairs = paired_methods(whole, name, order, metric)
    found = {method: whole.extras(name, method, "geometry") for method in order}
    races = {method: winners for method, winners in found.items() if winners}
    curve = curve_table(rows, name, order, metric)
    times = time_table(whole, name, order)
    summary = {
        "table": _table_facts(table),
        "metric": metric,
        "metric_label": METRICS[metric][0],
        "answer": answer(order, scores, pairs, metric, races),
        "advice": advice(order, scores, pairs, metric, _seconds(times)),
        "code": _code(order[0], table, facts),
        "scores": {m: scores[m] for m in order},
        "splits": {m: _values(whole, name, m, metric) for m in order},
        "pairs": [pair.as_dict() for pair in pairs],
        "tables": [
            score_table(whole, name, order, table.task, metric).as_dict(),
            pair_table(pairs, whole, metric).as_dict(),
            times.as_dict(),
            *([] if curve is None else [curve.as_dict()]),
        ],
        "races": {m: dict(Counter(winners).most_common()) for m, winners in races.items()},
        "directions": geometry,
        "methods": [{"name": m, "note": get_method(m).note} for m in order],
        "left_out": list(left_out),
        "notes": table.notes,
        "warnings": table.warnings,
        "errors": _errors(rows),
        "settings": facts,
    }
    return Comparison(summary)


def _seconds(times: ResultTable) -> dict[str, float]:
    """Return the seconds of a fit by method, including the parameter search."""
    found: dict[str, float] = {}
    for (method, column), cell in times.cells.items():
        if column in ("cpu", "tuning"):
            found[method] = found.get(method, 0.0) + cell.value
    return found


def _code(method: str, table: OwnTable, facts: dict[str, Any]) -> str:
    """Return code that fits the best method; empty for a method registered by the user."""
    recipe = get_method(method).recipe
    if recipe is None:
        return ""
    n_trees = facts.get("budget", {}).get("n_trees", 200)
    return example_code(recipe, table.recipe, table.task, n_trees)


def _values(results: Results, name: str, method: str, metric: str) -> list[float]:
    return [round(float(value), 6) for value in results.splits(name, method, metric)]


def _table_facts(table: OwnTable) -> dict[str, Any]:
    n_numbers = len(numeric_columns(table.X))
    facts: dict[str, Any] = {
        "label": table.label,
        "target": table.target,
        "task": table.task,
        "n_rows": table.n_rows,
        "n_columns": table.n_columns,
        "rows_used": len(table.y),
        "columns_used": table.X.shape[1],
        "numbers": n_numbers,
        "categories": table.X.shape[1] - n_numbers,
    }
    if table.task == "classification":
        counted = Counter(map(str, table.y.tolist())).most_common()
        facts["classes"] = dict(counted[:12])
        facts["n_classes"] = len(counted)
    return facts


def _errors(rows: Sequence[ResultRow]) -> list[dict[str, Any]]:
    counted = Counter((row.method, row.error) for row in rows if not row.ok)
    return [{"method": m, "error": e, "fits": n} for (m, e), n in counted.items()]
