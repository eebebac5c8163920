import numpy as np
import pandas as pd
import pytest

from jarf.bench._own_columns import clean_columns
from jarf.bench._own_text import calendar_columns, read_text


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["$1,200.50", " $80 ", "-$3"], [1200.5, 80, -3]),
        (["1.200,50 €", "80,00 €"], [1200.5, 80]),
        (["1.200 EUR", "80 EUR"], [1200, 80]),
        (["CHF 1'200", "CHF 80"], [1200, 80]),
        (["(1,200)", "80"], [-1200, 80]),
        (["12 %", "3.5 %"], [12, 3.5]),
        (["1,5", "2,25"], [1.5, 2.25]),
        (["1,200,300", "5"], [1200300, 5]),
    ],
)
def test_amounts_are_numbers(texts, numbers):
    found = read_text(pd.Series([*texts, None]))
    assert found.kind == "number"
    assert found.values.tolist()[:-1] == pytest.approx(numbers)
    assert np.isnan(found.values.iloc[-1])


@pytest.mark.parametrize(
    "texts",
    [
        ["01234", "5678"],  # codes
        ["123", "456"],
        ["$5", "5 €"],
        ["$5", "five"],
        ["(5", "6"],
        ["1.2.3", "4"],
        ["2020-13-45", "2020-01-01"],
        ["13/13/2020", "01/01/2020"],
        ["a", 5],
        [None, None],
    ],
)
def test_other_text_stays_text(texts):
    column = pd.Series(texts, dtype=object)
    found = read_text(column)
    assert found.kind == "text"
    assert found.values is column


@pytest.mark.parametrize(
    "texts",
    [
        ["2020-03-01", "2020-03-25"],
        ["2020/3/1", "2020/3/25"],
        ["01.03.2020", "25.03.2020"],
        ["01/03/2020", "25/03/2020"],
        ["03/01/2020", "03/25/2020"],
        ["1 Mar 2020", "25 March 2020"],
        ["Mar 1, 2020", "March 25, 2020"],
        ["2020-03-01T00:00:00Z", "2020-03-25 00:00:00"],
    ],
)
def test_dates_are_dates(texts):
    found = read_text(pd.Series([*texts, None]))
    assert found.kind == "date"
    assert found.guess == ""
    assert found.values.tolist()[:-1] == [pd.Timestamp("2020-03-01"), pd.Timestamp("2020-03-25")]
    assert found.values.isna().tolist() == [False, False, True]


def test_days_that_may_be_months_are_read_with_a_warning():
    cleaned = clean_columns(pd.DataFrame({"day": ["01/03/2020", "02/04/2021", "01/03/2020"]}))
    assert cleaned.X["day"].iloc[0] == 18264  # the third of January
    assert "are ambiguous between day and month; they are read month first" in cleaned.warnings[0]


def test_parts_of_the_calendar_are_added_where_they_come_back():
    def parts(start, periods, step):
        times = pd.Series(pd.date_range(start, periods=periods, freq=step))
        return list(calendar_columns("t", times))

    assert parts("2020-01-01", 10, "D") == ["t"]
    assert parts("2020-01-01", 60, "D") == ["t", "t (weekday)"]
    assert parts("2020-01-01", 800, "D") == ["t", "t (month)", "t (weekday)"]
    assert parts("2020-01-01", 60, "h") == ["t", "t (hour)"]
    assert parts("2020-01-01", 100, "364D") == ["t", "t (month)"]  # always the same weekday
    zones = pd.Series(pd.date_range("2020-06-01", periods=30, tz="Europe/Berlin"))
    assert calendar_columns("t", zones)["t"].iloc[0] == 18414 - 2 / 24
