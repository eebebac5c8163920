"""Text columns that hold amounts, percentages or dates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["ReadText", "calendar_code", "calendar_columns", "read_text"]

_CURRENCY = r"(?:[$€£¥₹₩₽₺]|US\$|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL|kr|zł)"
_DIGITS = r"\d{1,3}(?:[.,' ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?"
_AMOUNT = re.compile(
    rf"(?P<open>\()?(?P<sign>[+-])?\s*(?P<before>{_CURRENCY})?\s*(?P<sign2>[+-])?"
    rf"(?P<digits>{_DIGITS})\s*(?P<after>{_CURRENCY}|%)?\)?"
)
_GROUPED = re.compile(r"\d{1,3}([.,' ])\d{3}(\1\d{3})*")
_TIME = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AaPp][Mm])?(?:Z|[+-]\d{2}:?\d{2})?)?"
_MONTH = r"[A-Za-z]{3,9}\.?"
# pattern of a date -> values of ``dayfirst`` to try, in this order
_DATES = {
    re.compile(rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}{_TIME}"): (False,),
    re.compile(rf"\d{{1,2}}\.\d{{1,2}}\.(?:\d{{4}}|\d{{2}}){_TIME}"): (True,),
    re.compile(rf"\d{{1,2}}[-/]\d{{1,2}}[-/](?:\d{{4}}|\d{{2}}){_TIME}"): (False, True),
    re.compile(rf"\d{{1,2}}[ -]{_MONTH}[ -]\d{{4}}{_TIME}"): (True,),
    re.compile(rf"{_MONTH} \d{{1,2}},? \d{{4}}{_TIME}"): (False,),
}


@dataclass(frozen=True)
class ReadText:
    """A text column as it was interpreted.

    Attributes
    ----------
    values : Series
        Numbers, times, or the texts themselves.
    kind : {"text", "number", "date"}
    example : str
        One of the texts.
    guess : str
        An assumption that the values do not confirm; empty if there was none.
    code : str
        Pandas code of the conversion; ``{column}`` stands for the column.
    """

    values: Any
    kind: str = "text"
    example: str = ""
    guess: str = ""
    code: str = "{column}"


def read_text(column: Any) -> ReadText:
    """Read a text column as amounts or dates, if all of its texts are.

    Plain digits stay text: they may be codes.

    Examples
    --------
    >>> import pandas as pd
    >>> from jarf.bench._own_text import read_text
    >>> read_text(pd.Series(["$1,200.50", "$80"])).values.tolist()
    [1200.5, 80.0]
    >>> read_text(pd.Series(["2020-01-31", "2020-02-01"])).kind
    'date'
    """
    known = column.dropna()
    if not len(known) or not all(isinstance(value, str) for value in known.tolist()):
        return ReadText(column)
    different = known.str.strip().drop_duplicates()
    example = str(different.iloc[0])
    amounts = _amounts(different.tolist())
    if amounts is not None:
        numbers, code = amounts
        found = dict(zip(different.tolist(), numbers, strict=True))
        values = column.str.strip().map(found).astype(float)
        return ReadText(values, "number", example, code=code)
    dates = _dates(different)
    if dates is not None:
        times, guess, day_first = dates
        found = dict(zip(different.tolist(), times, strict=True))
        values = column.str.strip().map(found).astype("datetime64[ns]")
        return ReadText(values, "date", example, guess, _date_code(day_first))
    return ReadText(column)


# ---- amounts


def _amounts(texts: list[str]) -> tuple[list[float], str] | None:
    """Numbers and code, if all texts are amounts of one unit and some are more than digits."""
    found = [_AMOUNT.fullmatch(text) for text in texts]
    matches = [match for match in found if match is not None]
    if len(matches) < len(texts) or any((m["open"] is None) == m[0].endswith(")") for m in matches):
        return None
    units = {unit for m in matches for unit in (m["before"], m["after"]) if unit}
    digits = [m["digits"] for m in matches]
    plain = not units and all(text.isdigit() for text in digits)
    codes = any(len(text) > 1 and text[0] == "0" and text[1].isdigit() for text in digits)
    if len(units) > 1 or plain or codes:
        return None
    decimal = _decimal_of(digits, money=bool(units - {"%"}))
    values = []
    for match in matches:
        text = re.sub(rf"[^\d{decimal}]", "", match["digits"]).replace(decimal, ".")
        if text.count(".") > 1:
            return None
        negative = match["open"] or "-" in (match["sign"], match["sign2"])
        values.append(-float(text) if negative else float(text))
    return values, _amount_code(decimal, any(match["open"] for match in matches))


def _amount_code(decimal: str, brackets: bool) -> str:
    code = "{column}"
    if brackets:  # (5) is -5
        code += ".str.replace('(', '-', regex=False)"
    code += f".str.replace(r'[^\\d{decimal}-]', '', regex=True)"
    if decimal == ",":
        code += ".str.replace(',', '.')"
    return code + ".astype(float)"


def _decimal_of(digits: list[str], money: bool) -> str:
    """Return the decimal sign: the last of both signs, or the one without groups of three."""
    both = [text for text in digits if "." in text and "," in text]
    if both:
        return max(".,", key=lambda sign: both[0].rfind(sign))
    commas = [text for text in digits if "," in text]
    points = [text for text in digits if "." in text]
    if commas and not all(map(_GROUPED.fullmatch, commas)):
        return ","
    if money and points and not commas and all(map(_GROUPED.fullmatch, points)):
        return ","  # 1.200 EUR: no currency has thousandths
    return "."


# ---- dates


def _date_code(day_first: bool) -> str:
    first = ", dayfirst=True" if day_first else ""
    read = f"pd.to_datetime({{column}}.str.strip(){first}, format='mixed', utc=True)"
    return f"{read}.dt.tz_localize(None)"


def _dates(texts: Any) -> tuple[list[Any], str, bool] | None:
    """Times, what was guessed about them, and whether the day comes first."""
    import pandas as pd

    for pattern, orders in _DATES.items():
        if not all(pattern.fullmatch(text) for text in texts):
            continue
        parsed = [
            pd.to_datetime(texts, dayfirst=first, format="mixed", errors="coerce", utc=True)
            for first in orders
        ]
        if len(orders) == 2:
            return _settled(texts, *parsed)
        whole = parsed[0].notna().all()
        return (_naive(parsed[0]), "", orders[0]) if whole else None
    return None


def _settled(texts: Any, month_first: Any, day_first: Any) -> tuple[list[Any], str, bool] | None:
    """01/02/2020: day or month first, as in the other rows."""
    numbers = texts.str.extract(r"^(\d+)[-/](\d+)").astype(int)
    if not (month_first.notna() & day_first.notna()).all():
        return None
    if (numbers[0] > 12).any():
        return None if (numbers[1] > 12).any() else (_naive(day_first), "", True)
    guess = "" if (numbers[1] > 12).any() else "month first"
    return _naive(month_first), guess, False


def _naive(times: Any) -> list[Any]:
    return times.dt.tz_localize(None).tolist()


# ---- calendars


def calendar_columns(name: str, column: Any) -> dict[str, Any]:
    """Return days since 1970, and the parts of the calendar that recur in the column.

    The month is added if the dates span more than a year, the weekday if they span more than two
    weeks, the hour if there are times of the day. The target is not used.
    """
    import pandas as pd

    if column.dtype.kind == "m":
        return {name: column / pd.Timedelta(days=1)}
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    days = (column - pd.Timestamp(0)) / pd.Timedelta(days=1)
    parts = {name: days}
    span = float(np.nan_to_num(days.max() - days.min()))
    times = column.dt
    if span > 366:
        parts[f"{name} (month)"] = times.month
    if span > 14:
        parts[f"{name} (weekday)"] = times.day_of_week
    if (days.dropna() % 1 != 0).any():
        parts[f"{name} (hour)"] = times.hour + times.minute / 60
    return {part: values for part, values in parts.items() if part == name or values.nunique() > 1}


_PART_CODE = {
    "month": "times.dt.month",
    "weekday": "times.dt.day_of_week",
    "hour": "times.dt.hour + times.dt.minute / 60",
}


def calendar_code(name: str, column: Any, code: str, parts: list[str]) -> list[str]:
    """Lines of pandas that make the columns of `calendar_columns`.

    Parameters
    ----------
    name : str
    column : Series
        Times or durations.
    code : str
        An expression for it.
    parts : list of str
        Names of the columns that were made.
    """
    if column.dtype.kind == "m":
        return [f"table[{name!r}] = {code} / pd.Timedelta(days=1)"]
    if getattr(column.dtype, "tz", None) is not None:
        code += ".dt.tz_convert('UTC').dt.tz_localize(None)"
    lines = [
        f"times = {code}",
        f"table[{name!r}] = (times - pd.Timestamp(0)) / pd.Timedelta(days=1)",
    ]
    made = {f"{name} ({part})": of_times for part, of_times in _PART_CODE.items()}
    return lines + [f"table[{part!r}] = {made[part]}" for part in parts if part != name]
