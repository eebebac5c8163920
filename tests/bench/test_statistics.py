import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from jarf.bench import (
    best_or_close,
    corrected_t_test,
    holm,
    mean_ranks,
    wilcoxon_p,
    worse_by_se,
)
from jarf.bench._statistics import standard_error

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@given(P_VALUES)
def test_holm_lies_between_the_raw_values_and_bonferroni(p):
    p = np.array(p)
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(len(p) * p, 1) + 1e-12).all()
    # a smaller p never gets a larger adjusted value
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


def test_holm_known_answer():
    # Holm 1979 by hand: 3 * 0.01, 2 * 0.02, max(0.04, 0.04)
    np.testing.assert_allclose(holm([0.04, 0.01, 0.02]), [0.04, 0.03, 0.04])


def test_wilcoxon_is_scipys_without_zeros():
    values = np.array([0.3, -0.1, 0.2, 0.5, 0.4, 0.0])
    assert wilcoxon_p(values) == stats.wilcoxon(values[values != 0]).pvalue
    assert wilcoxon_p(np.zeros(5)) == 1.0
    assert wilcoxon_p([]) == 1.0


def test_ranks_and_close_calls():
    scores = [[0.9, 0.895, 0.5], [0.4, 0.6, 0.6]]
    np.testing.assert_allclose(mean_ranks(scores), [2.0, 1.75, 2.25])
    assert best_or_close(scores).tolist() == [1, 2, 1]


def test_worse_by_more_than_one_standard_error():
    assert worse_by_se([-0.02, -0.01, -0.015])
    assert not worse_by_se([-0.02, 0.03, -0.015])
    assert not worse_by_se([0.0])
    assert worse_by_se([-0.1])
    for lost in (0.017, 0.0031, 0.3):  # one split of ten: exactly one standard error
        assert not worse_by_se([-lost] + [0.0] * 9)


def test_standard_error():
    assert standard_error([1.0, 3.0]) == pytest.approx(1.0)
    assert np.isnan(standard_error([1.0]))


def test_corrected_t_is_the_plain_t_test_without_shared_rows():
    gaps = np.random.default_rng(0).normal(0.3, 1, size=12)
    plain = stats.ttest_1samp(gaps, 0)
    ours = corrected_t_test(gaps, test_share=0.0)
    assert ours.p == pytest.approx(plain.pvalue)
    assert (ours.low, ours.high) == pytest.approx(tuple(plain.confidence_interval(0.95)))


def test_corrected_t_of_a_worked_example():
    # ten splits of ten folds: the variance of the mean grows from 1/10 to 1/10 + 1/9
    gaps = np.array([0.01, 0.03, 0.02, 0.0, 0.02, 0.04, 0.01, 0.02, 0.03, 0.02])
    ours = corrected_t_test(gaps, test_share=1 / 9)
    t = gaps.mean() / (gaps.std(ddof=1) * np.sqrt(0.1 + 1 / 9))
    assert ours.p == pytest.approx(2 * stats.t.sf(t, 9))
    assert ours.p > corrected_t_test(gaps, 0.0).p


def test_corrected_t_keeps_its_level_where_the_plain_test_does_not():
    # two methods that are equally good: differences by row are noise, folds average them
    rng = np.random.default_rng(0)
    found = {"plain": 0, "corrected": 0}
    for _ in range(200):
        rows = rng.normal(size=100)
        folds = [rng.permutation(rows).reshape(5, 20).mean(axis=1) for _ in range(4)]
        gaps = np.concatenate(folds)
        found["plain"] += stats.ttest_1samp(gaps, 0).pvalue < 0.05
        found["corrected"] += corrected_t_test(gaps, test_share=1 / 4).p < 0.05
    assert found["plain"] > 30
    assert found["corrected"] <= 10


def test_corrected_t_without_spread_or_splits():
    assert corrected_t_test([0.0, 0.0, 0.0], 0.25).p == 1.0
    assert corrected_t_test([0.1, 0.1, 0.1], 0.25).p == 0.0
    alone = corrected_t_test([0.1], 0.25)
    assert alone.mean == 0.1
    assert np.isnan(alone.p)
