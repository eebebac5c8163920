"""Report on the members of an ensemble, as data, text and HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

_HEAD = ["member", "{loss}", "weight", "seconds", "outcome"]


@dataclass(frozen=True)
class EnsembleReport:
    """Held-out loss, weight and time of an ensemble's members. Print it for a table.

    Parameters
    ----------
    rows : list of dict
        One per member: ``member``, ``loss`` at held-out rows (nan if it was not scored),
        ``weight``, ``seconds`` spent on it, and ``outcome`` in words.
    measure : {"log loss", "squared error"}
    loss : float
        Loss of the weighted mean of the members on the same rows; nan if none were held out.
    n_rows : int
        Number of these rows.

    Examples
    --------
    >>> from jarf.ensemble import EnsembleReport
    >>> rows = [{"member": "forest", "loss": 0.21, "weight": 1.0, "seconds": 2.0,
    ...          "outcome": "used"}]
    >>> print(EnsembleReport(rows, "log loss", 0.21, 500))
    log loss of the ensemble on 500 held-out rows: 0.21
    <BLANKLINE>
    member  log loss  weight  seconds  outcome
    forest      0.21    1.00      2.0  used
    """

    rows: list[dict[str, Any]]
    measure: str
    loss: float
    n_rows: int

    def __str__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [self._sentence(), ""]
        for name, *numbers, outcome in table:
            cells = [cell.rjust(width) for cell, width in zip(numbers, widths[1:-1], strict=True)]
            lines.append("  ".join([name.ljust(widths[0]), *cells, outcome]))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the report as HTML, for notebooks."""
        head, *body = self._table()
        lines = "".join(_html_row(row, "td") for row in body)
        return (
            f"<p>{escape(self._sentence())}</p><table><thead>{_html_row(head, 'th')}</thead>"
            f"<tbody>{lines}</tbody></table>"
        )

    def _sentence(self) -> str:
        if not self.n_rows:
            return "No rows were held out: members were not scored."
        return f"{self.measure} of the ensemble on {self.n_rows} held-out rows: {self.loss:.4g}"

    def _table(self) -> list[list[str]]:
        table = [[name.format(loss=self.measure) for name in _HEAD]]
        for row in sorted(self.rows, key=lambda row: -row["weight"]):
            loss = "" if np.isnan(row["loss"]) else f"{row['loss']:.4g}"
            numbers = [loss, f"{row['weight']:.2f}", f"{row['seconds']:.1f}"]
            table.append([row["member"], *numbers, row["outcome"]])
        return table


def _html_row(cells: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
