"""Numbers at the edge, for every estimator: a finite answer or a clear error."""

import numpy as np
import pytest

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4))
SUM = X[:, 0] + X[:, 1]
TOO_LARGE = "infinity or a value too large"
Y_TOO_LARGE = "y is too large"
ONE_CLASS = "only one class"
LIMITS = np.iinfo(np.int64)

# name: (X, y or None for one of the estimator's kind, what an estimator may refuse it with)
CASES = {
    "columns times 1e-30": (X * 1e-30, None, None),
    "columns times 1e30": (X * 1e30, None, None),
    "columns of all units": (X * [1e-30, 1e30, 1.0, 1e10], None, None),
    "columns at the end of float32": (np.clip(X, -1, 1) * 3.4e38, None, None),
    "columns beyond float32": (X * 1e39, None, TOO_LARGE),
    "columns times 1e200": (X * 1e200, None, TOO_LARGE),
    "a far offset": (X + 1e12, None, None),
    "subnormal in float32": (X * 1e-42, None, None),
    "subnormal in float64": (X * 1e-310, None, None),
    "some columns constant": (np.column_stack([X[:, :2], np.ones((40, 2))]), None, None),
    "all columns constant": (np.ones((40, 4)), None, None),
    "duplicated columns": (X[:, [0, 0, 1, 1]], None, None),
    "duplicated rows": (np.repeat(X[:4], 10, axis=0), None, None),
    "near-collinear columns": (X[:, :1] + 1e-9 * X, None, None),
    "two rows": (X[:2], np.array([0, 1]), None),
    "more columns than rows": (rng.normal(size=(8, 120)), np.arange(8) % 2, None),
    "one class a row": (X[:10], np.arange(10), None),
    "one class": (X, np.zeros(40, int), ONE_CLASS),
    "missing values": (np.where(X > 1, np.nan, X), None, None),
    "a column of nothing": (np.column_stack([X, np.full(40, np.nan)]), None, None),
    "infinities": (np.where(X > 1.5, np.inf, X), None, TOO_LARGE),
    "whole numbers of 64 bits": (rng.integers(LIMITS.min, LIMITS.max, (40, 3)), None, None),
    "bytes": ((X * 20 + 100).astype(np.uint8), None, None),
    "labels at the ends of int64": (X, np.where(SUM > 0, LIMITS.max, LIMITS.min), None),
    "labels at the end of uint64": (X, np.where(SUM > 0, np.uint64(2**64 - 1), np.uint64(0)), None),
    "labels of uint8": (X, np.where(SUM > 0, 255, 0).astype(np.uint8), None),
    "labels of int8": (X, np.where(SUM > 0, 127, -128).astype(np.int8), None),
    "labels of two neighbours": (X, np.where(SUM > 0, LIMITS.max, LIMITS.max - 1), None),
}
RESPONSES = {
    "times 1e70": (SUM * 1e70, None),
    "times 1e200": (SUM * 1e200, Y_TOO_LARGE),
    "at the end of float64": (np.sign(SUM) * 1.7e308, Y_TOO_LARGE),
    "subnormal": (SUM * 1e-310, None),
    "missing": (np.where(SUM > 1, np.nan, SUM), "NaN"),
    "infinite": (np.where(SUM > 1, np.inf, SUM), "infinity"),
}


def target(kind, rows):
    """Responses or classes determined by a first column in any unit."""
    if kind.regresses:
        return SUM[: len(rows)]
    first = rows[:, 0].astype(float)
    y = (first > np.nanmedian(first)).astype(int)
    return y if len(set(y)) > 1 else np.arange(len(rows)) % 2


def check_answers(kind, rows, y):
    model = kind.make().fit(rows, y)
    answer = kind.answer(model, rows)
    assert len(answer) == len(rows)
    assert np.isfinite(answer).all()
    if not kind.transforms and not kind.regresses:
        np.testing.assert_allclose(answer.sum(axis=1), 1.0)
        assert model.predict(rows).dtype == y.dtype
        assert set(model.predict(rows)) <= set(y)
    if hasattr(model, "feature_importances_"):
        assert np.isfinite(model.feature_importances_).all()


@pytest.mark.parametrize("case", CASES)
def test_finite_or_refused(kind, case):
    rows, y, refusal = CASES[case]
    y = target(kind, rows) if y is None else y
    refused = ""
    try:
        check_answers(kind, rows, y)
    except ValueError as error:
        if refusal is None:
            raise
        refused = str(error)
    assert refused == "" or refusal in refused


@pytest.mark.parametrize("case", RESPONSES)
def test_responses_are_fitted_or_refused(kind, case):
    y, refusal = RESPONSES[case]
    if kind.regresses and refusal:
        with pytest.raises(ValueError, match=refusal):
            kind.make().fit(X, y)
    elif kind.regresses:
        check_answers(kind, X, y)


@pytest.mark.parametrize("unit", [2.0**100, 2.0**-100])
def test_units_do_not_matter(kind, unit):
    """A power of two changes no digit, so nothing may change but the unit."""
    rows = X.astype(np.float32).astype(float)
    y = target(kind, rows)
    model, scaled = kind.make().fit(rows, y), kind.make().fit(rows * unit, y)
    if not kind.transforms:
        np.testing.assert_array_equal(kind.answer(model, rows), kind.answer(scaled, rows * unit))
