"""Cuts in words: original columns and units, categories and missing values by name."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import Any

import numpy as np

from jarf.inspection._models import column_names
from jarf.table import Numbers, OneHot, Ordered, Part, TargetMeans

# Weights this much smaller than the largest, in standard deviations, are rounding errors.
NEGLIGIBLE = 1e-9


def number_text(value: float, digits: int, trim: bool = False) -> str:
    """Write a number with this many significant digits, but never round whole units away.

    Examples
    --------
    >>> from jarf.inspection._words import number_text
    >>> number_text(0.7041, 2), number_text(1987.5, 2), number_text(4.2e-7, 2)
    ('0.70', '1988', '4.2e-07')
    """
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    size = floor(log10(abs(value)))
    if not -4 < size < 8:
        return f"{value:.{digits - 1}e}"
    text = f"{value:.{max(digits - 1 - size, 0)}f}"
    return text.rstrip("0").rstrip(".") if trim and "." in text else text


def _place(name: str, part: Ordered, threshold: float, below: bool, closed: bool) -> str:
    """Return the level of an ordered category that a cut follows."""
    last = floor(threshold) if below == closed else ceil(threshold) - 1
    if last < 0:
        return f"{name} is {'' if below else 'not '}missing"
    level = list(part.levels.codes)[min(last, len(part.levels) - 1)]
    if not below:
        return f"{name} > {level}"
    return f"{name} <= {level}" + (f" or {name} is missing" if part.has_missing else "")


class Wording:
    """Describes which rows go left, or right, at a cut.

    Parameters
    ----------
    model : estimator
        Fitted; its table and names are used.
    scales : ndarray of shape (n_outputs,)
        Standard deviations of the encoded columns; terms with larger spread come first.
    digits : int
    max_terms : int or None

    Examples
    --------
    >>> import numpy as np
    >>> from jarf import AxisForestRegressor
    >>> from jarf.inspection import Wording
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = AxisForestRegressor(2, random_state=0).fit(X, X[:, 0])
    >>> Wording(model, np.ones(2), digits=2, max_terms=None).cut(np.array([0.6, -0.8]), 0.5)
    '-0.80 x1 + 0.60 x0 <= 0.5'
    """

    def __init__(self, model: Any, scales: np.ndarray, digits: int, max_terms: int | None):
        self.table, self.names = model.table_, column_names(model)
        self.scales = np.where(scales > 0, scales, 1.0)
        self.digits, self.max_terms = digits, max_terms

    def cut(self, direction: np.ndarray, offset: float, left: bool = True) -> str:
        """Describe the rows with ``direction . x <= offset``, or all others."""
        sizes = np.abs(direction) * self.scales
        used = np.flatnonzero(sizes > NEGLIGIBLE * sizes.max(initial=0.0))
        if len(used) == 0:
            return "always" if (offset >= 0) == left else "never"
        if len(used) == 1:
            weight = direction[used[0]]
            return self._axis(used[0], offset / weight, left == (weight > 0), left)
        used = used[np.argsort(-sizes[used], kind="stable")]
        length = float(np.linalg.norm(direction[used]))
        shown = used[: self.max_terms]
        text = ""
        for output in shown:
            weight = direction[output] / length
            sign = (" - " if text else "-") if weight < 0 else (" + " if text else "")
            text += f"{sign}{number_text(abs(weight), self.digits)} {self._term(output)}"
        if len(shown) < len(used):
            text += f" + {len(used) - len(shown)} smaller terms"
        spread = float(np.linalg.norm(sizes[used])) / length
        return f"{text} {'<=' if left else '>'} {self._offset(offset / length, spread)}"

    def _offset(self, value: float, spread: float) -> str:
        """Write a threshold with as many digits as the spread of its direction requires."""
        decimals = max(0, self.digits + 1 - floor(log10(spread)))
        if decimals > 9 or abs(value) >= 1e9:
            return number_text(value, self.digits + 2)
        text = f"{round(value, decimals) + 0.0:.{decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text

    def _part(self, output: int) -> tuple[str, Part, int]:
        """Return the column of an encoded column, how it was encoded, and its position there."""
        column = int(self.table.encoded_columns_[output])
        within = output - int(np.searchsorted(self.table.encoded_columns_, column))
        return str(self.names[column]), self.table.part(column), within

    def _term(self, output: int) -> str:
        """Name an encoded column as a term of a sum."""
        name, part, within = self._part(output)
        kind = self.table.encoded_kinds_[output]
        if kind == "level":
            return f"[{self._level(name, part, within, True)}]"
        if isinstance(part, TargetMeans):
            suffix = part.class_names[within].removeprefix("_")
            return f"mean target{f' {suffix}' if suffix else ''} of {name}"
        return name

    def _level(self, name: str, part: Part, within: int, holds: bool) -> str:
        if not isinstance(part, OneHot):
            return f"{name} is {'true' if holds else 'false'}"
        level = list(part.levels.codes)[within]
        return f"{name} is {'' if holds else 'not '}{'missing' if level is None else level}"

    def _axis(self, output: int, threshold: float, below: bool, closed: bool) -> str:
        """Describe one side of a cut of an encoded column; ``closed`` includes the threshold."""
        name, part, within = self._part(output)
        kind = self.table.encoded_kinds_[output]
        if kind == "level" and 0 <= threshold < 1:
            return self._level(name, part, within, not below)
        if isinstance(part, Ordered):
            return _place(name, part, threshold, below, closed)
        sign = ("<" if below else ">") + ("=" if closed else "")
        text = f"{self._term(output)} {sign} {self._offset(threshold, self.scales[output])}"
        if kind != "missing" or not isinstance(part, Numbers):
            return text
        if part.apart <= threshold < part.low:  # set apart below all others
            return f"{name} is {'' if below else 'not '}missing"
        return f"{text} or {name} is missing" if below else text
