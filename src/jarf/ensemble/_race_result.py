"""The result of a race between geometries, as data, as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from jarf.ensemble._geometries import PLAIN
from jarf.ensemble._holdout import CLEAR_OF_SEVERAL, MIN_ROWS

KAPPA, SQUARED_ERROR = "kappa", "squared error"
# By measure: the head of the column of gains, and the loss that chooses min_samples_split. Model
# files of earlier versions do not name the measure.
_HEADS = {KAPPA: "gain in kappa", SQUARED_ERROR: "decrease of squared error", "": "gain"}
_LOSSES = {KAPPA: "Brier score", SQUARED_ERROR: "squared error", "": "loss"}
_NO_REASON = f"there were fewer than {MIN_ROWS} training rows, or all of them were identical"
_EARLY = "Geometries eliminated early were scored with fewer trees; their gains are less precise."
_KAPPA = "Kappa is a smooth form of Cohen's kappa: 0 is chance level, 1 is perfect."


@dataclass(frozen=True)
class RaceResult:
    """The result of the race. Print it for a summary in words and a table.

    Parameters
    ----------
    winners : tuple of str
        The geometries that share the trees, best first.
    rows : list of dict
        One per geometry: ``geometry``, ``loss`` (Brier score, or the loss), ``gain`` over plain
        axes in the ``measure`` of the race with its ``standard_error``, ``n_trees`` of its pilot,
        ``seconds``. Geometries that were eliminated early were scored with fewer trees. Empty if
        no race was held.
    sizes : dict of int to float, default={}
        Loss of the winners together for each value of ``min_samples_split`` that was tried.
    min_samples_split : int, default=2
        The value that was chosen.
    measure : str, default=""
        What ``gain`` measures: "kappa", the increase of a smooth form of Cohen's kappa, or the
        decrease of a loss: "squared error", "log loss" and so on. Empty if unknown.
    reason : str, default=""
        Why no race was held.
    threshold : float, default=2.5
        Standard errors by which plain axes had to be beaten.
    plain : str, default="axes"
        The geometry of plain axes that the others are compared with.

    Examples
    --------
    >>> from jarf.ensemble import RaceResult
    >>> axes = {"geometry": "axes", "gain": 0.0, "standard_error": 0.0, "n_trees": 32}
    >>> dense = {"geometry": "dense", "gain": 0.04, "standard_error": 0.01, "n_trees": 32}
    >>> print(RaceResult(("dense",), [axes, dense], measure="kappa"))
    'dense' won: kappa 0.0400 higher than plain axes on held-out rows, standard error 0.0100.
    That is more than 2.5 standard errors, so more than noise.
    All trees use 'dense'.
    <BLANKLINE>
    geometry  gain in kappa  standard error  outcome
    dense           +0.0400          0.0100  used
    axes           baseline                  not used
    <BLANKLINE>
    Kappa is a smooth form of Cohen's kappa: 0 is chance level, 1 is perfect.
    """

    winners: tuple[str, ...]
    rows: list[dict[str, Any]]
    sizes: dict[int, float] = field(default_factory=dict)
    min_samples_split: int = 2
    measure: str = ""
    reason: str = ""
    threshold: float = CLEAR_OF_SEVERAL
    plain: str = PLAIN.name

    @property
    def winner(self) -> str:
        """The first of the winners."""
        return self.winners[0]

    def __str__(self) -> str:
        lines = _sentences(self)
        if self.rows:
            notes = _notes(self)
            lines += ["", *_aligned(_table(self)), *[""][: len(notes)], *notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same sentences and the same table, for notebooks."""
        parts = [f"<p>{'<br>'.join(escape(line) for line in _sentences(self))}</p>"]
        if self.rows:
            head, *body = _table(self)
            lines = "".join(_html_row(row, "td") for row in body)
            parts.append(
                f"<table><thead>{_html_row(head, 'th')}</thead><tbody>{lines}</tbody></table>"
            )
        parts += [f"<p>{escape(line)}</p>" for line in _notes(self)]
        return "".join(parts)


def _sentences(result: RaceResult) -> list[str]:
    """Return the winner, whether its lead is more than noise, and what the trees use, in words."""
    if not result.rows:
        return [
            f"No race was held: {result.reason or _NO_REASON}.",
            f"All trees use {_listed(result.winners)}, as in a random forest; "
            "min_samples_split was not tuned.",
        ]
    lines = [*_outcome(result), _use(result.winners)]
    if result.sizes:
        tried = _listed(result.sizes, quoted=False)
        lines.append(
            f"min_samples_split = {result.min_samples_split}, chosen from {tried} by the "
            f"{_LOSSES.get(result.measure, 'loss')} on the same rows."
        )
    return lines


def _outcome(result: RaceResult) -> list[str]:
    """Name the winner and its lead, or the best competitor of plain axes."""
    if result.winner != result.plain:
        first = next(row for row in result.rows if row["geometry"] == result.winner)
        return [
            f"'{result.winner}' won: {_gain_text(result, first)} than plain axes on held-out rows, "
            f"standard error {_number(result, first['standard_error'])}.",
            _certainty(result, first),
        ]
    rivals = [row for row in _finalists(result) if row["geometry"] != result.plain]
    if not rivals and len(result.rows) > 1:
        return [f"Plain axes ('{result.plain}') won: all other geometries were eliminated early."]
    if not rivals:
        return [f"Only plain axes ('{result.plain}') took part."]
    best = max(rivals, key=lambda row: row["gain"])
    found = (
        f"{_gain_text(result, best)} on held-out rows, standard error "
        f"{_number(result, best['standard_error'])}"
    )
    verdict = (
        f"That is not more than {result.threshold:g} standard errors, so it may be noise."
        if best["gain"] > 0
        else "No finalist was better than plain axes."
    )
    return [
        f"Plain axes ('{result.plain}') won. Best other finalist: '{best['geometry']}', {found}.",
        verdict,
    ]


def _certainty(result: RaceResult, first: dict[str, Any]) -> str:
    """Say whether the winner's lead is more than noise."""
    if first["gain"] > CLEAR_OF_SEVERAL * first["standard_error"]:
        return f"That is more than {CLEAR_OF_SEVERAL:g} standard errors, so more than noise."
    return (
        f"That is more than {result.threshold:g} but not more than {CLEAR_OF_SEVERAL:g} standard "
        "errors: the better bet, but it may be noise."
    )


def _finalists(result: RaceResult) -> list[dict[str, Any]]:
    """Return the rows of those that raced to the end."""
    last = max((row["n_trees"] for row in result.rows), default=0)
    return [row for row in result.rows if row.get("finalist", row["n_trees"] == last)]


def _use(winners: Sequence[str]) -> str:
    if len(winners) == 1:
        return f"All trees use '{winners[0]}'."
    others = "the other is" if len(winners) == 2 else "the others are"
    return (
        f"The trees are shared by {_listed(winners)}: {others} within two standard errors of "
        f"'{winners[0]}'."
    )


def _table(result: RaceResult) -> list[list[str]]:
    """Head and rows: winners first, then by how far they came, then by gain."""
    places = {name: place for place, name in enumerate(result.winners)}
    finalists = _finalists(result)
    rows = sorted(
        result.rows,
        key=lambda row: (
            places.get(row["geometry"], len(places)),
            row not in finalists,
            -row["n_trees"] * (row not in finalists),
            -row["gain"],
        ),
    )
    table = [
        [
            "geometry",
            _HEADS.get(result.measure, f"decrease of {result.measure}"),
            "standard error",
            "outcome",
        ]
    ]
    for row in rows:
        if row["geometry"] in places:
            outcome = "used"
        elif row["geometry"] == result.plain:
            outcome = "not used"
        elif row in finalists:
            outcome = "finalist, not used"
        else:
            outcome = f"eliminated after {row['n_trees']} trees"
        gain, error = "baseline", ""
        if row["geometry"] != result.plain:
            gain = _number(result, row["gain"], sign="+")
            error = _number(result, row["standard_error"])
        table.append([row["geometry"], gain, error, outcome])
    return table


def _notes(result: RaceResult) -> list[str]:
    early = len(_finalists(result)) < len(result.rows)
    return [_KAPPA] * (result.measure == KAPPA) + [_EARLY] * early


def _gain_text(result: RaceResult, row: dict[str, Any]) -> str:
    """Put the gain of a row into words."""
    size, better = _number(result, abs(row["gain"])), row["gain"] >= 0
    if result.measure not in (KAPPA, ""):
        return f"{result.measure} {size} {'lower' if better else 'higher'}"
    return f"{result.measure or 'score'} {size} {'higher' if better else 'lower'}"


def _number(result: RaceResult, value: float, sign: str = "") -> str:
    """Write a kappa with four decimals, a loss in percent of that of plain axes."""
    if result.measure in (KAPPA, ""):
        return f"{value:{sign}.4f}"
    losses = [row["loss"] for row in result.rows if row["geometry"] == result.plain]
    if losses and losses[0] > 0:
        return f"{100 * value / losses[0]:{sign}.2f} %"
    return f"{value:{sign}.4g}"


def _listed(items: Any, *, quoted: bool = True) -> str:
    """Write "'a', 'b' and 'c'"."""
    texts = [f"'{item}'" if quoted else str(item) for item in items]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _aligned(table: list[list[str]]) -> list[str]:
    """Pad the cells; numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for name, gain, error, outcome in table:
        cells = [name.ljust(widths[0]), gain.rjust(widths[1]), error.rjust(widths[2]), outcome]
        lines.append("  ".join(cells))
    return lines


def _html_row(cells: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
