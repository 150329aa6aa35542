"""Exact laws of Multiple and C2ST where a side is small, and p-values that are never 0."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy import stats

from tests.conftest import in_turn
from validation_core import statistics as st
from validation_core.rng import stream
from validation_core.statistics import sign_flips, two_sample_laws

SIDES = [(12, 12), (12, 40), (40, 12), (30, 150), (5, 8)]


def rejected_as_often_as_said(pvalue, level):
    """No more rejections than 99.9% of binomial counts allow."""
    _, high = st.binomial_bounds(len(pvalue), level, 0.999)
    return (pvalue <= level).sum() <= high


@pytest.mark.parametrize(("n_p", "n_q"), SIDES)
def test_multiple_is_the_exact_mann_whitney_test(n_p, n_q):
    p, q = stream(0, "p").standard_normal((6, n_p)) + 0.3, stream(0).standard_normal((6, n_q))
    result = st.multiple(p, q, stream(1))
    for i in range(6):
        want = stats.mannwhitneyu(p[i], q[i], alternative="greater", method="exact").pvalue
        assert result.pvalue[i] == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(("n_p", "n_q"), SIDES)
def test_small_sides_keep_every_level(n_p, n_q):
    trials = 20_000
    p = stream(2, n_p, n_q).standard_normal((trials, n_p))
    q = stream(3, n_p, n_q).standard_normal((trials, n_q))
    pvalues = [st.multiple(p, q, stream(4)).pvalue]
    for threshold in (0.0, 0.8, -1.5):
        result = st.c2st(p, q, threshold)
        pvalues += [result.pvalue, result.pvalue_per_class]
    for level in (0.001, 0.01, 0.05):
        assert all(rejected_as_often_as_said(pvalue, level) for pvalue in pvalues), level


def test_the_normal_limit_did_not():
    """What the exact law is for: at 12 a side 0.1% was 0.33%."""
    p, q = stream(5).standard_normal((2, 40_000, 12))
    result = st.multiple(p, q, stream(6))
    before = stats.norm.sf(result.statistic)
    assert not rejected_as_often_as_said(before, 0.001)
    assert rejected_as_often_as_said(result.pvalue, 0.001)
    # and it is no weaker than the counts allow
    assert (result.pvalue <= 0.05).mean() > 0.04


def test_full_separation_is_one_arrangement():
    p, q = np.arange(12) + 20.0, np.arange(12.0)
    result = st.multiple(p, q, stream(7))
    assert result.pvalue == pytest.approx(1 / comb(24, 12), rel=1e-12)
    assert st.c2st(p, q, 15.0).pvalue == pytest.approx(2.0**-24, rel=1e-9)
    assert st.c2st(p, q, 15.0).pvalue_per_class == pytest.approx(1 / comb(24, 12), rel=1e-9)


@in_turn(500, 1000)
@pytest.mark.parametrize(("n_p", "n_q"), [(6, 7), (40, 30), (12, 200)])
@pytest.mark.parametrize("score", [np.round, np.sign, lambda s: np.round(s, 1)])
def test_ties_keep_their_level(n_p, n_q, score, trials):
    p = score(stream(8, n_p).standard_normal((trials, n_p)))
    q = score(stream(9, n_q).standard_normal((trials, n_q)))
    pvalue = st.multiple(p, q, stream(10)).pvalue
    for level in (0.01, 0.05):
        assert rejected_as_often_as_said(pvalue, level)


def test_ties_go_through_all_label_sets_where_these_are_few():
    p, q = np.array([2.0, 2, 1]), np.array([0.0, 1, 2, 0, 0])
    pool = np.concatenate([p, q])
    by_hand = []
    for chosen in combinations(range(8), 3):
        is_p = np.isin(np.arange(8), chosen)
        by_hand.append(st.auc(pool[is_p], pool[~is_p]))
    seen = st.auc(p, q)
    want = np.mean(np.array(by_hand) >= seen - 1e-12)
    assert st.multiple(p, q, stream(11)).pvalue == pytest.approx(want, rel=1e-12)


def test_relabelling_agrees_with_the_law_of_all_arrangements():
    """One pair of equal scores hardly changes the law."""
    p, q = stream(12).standard_normal(30) + 0.4, stream(13).standard_normal(30)
    pvalue = st.multiple(p, q, stream(14)).pvalue
    q[1] = q[0]
    tied = st.multiple(p, q, stream(14)).pvalue
    assert tied == pytest.approx(
        pvalue, abs=4 * np.sqrt(pvalue / two_sample_laws.PERMUTATIONS) + 0.02
    )


@pytest.mark.parametrize(("n_p", "n_q"), [(20, 30), (3, 50)])
def test_accuracy_takes_the_worst_rate(n_p, n_q):
    x, y = np.arange(n_p + 1), np.arange(n_q + 1)
    table = two_sample_laws.accuracy(
        *np.meshgrid(x.astype(float), y.astype(float), indexing="ij"), n_p, n_q
    )
    for rate in (0.03, 0.2, 0.5, 0.77):
        law = np.outer(stats.binom.pmf(x, n_p, rate), stats.binom.pmf(y, n_q, rate))
        for level in (0.001, 0.01, 0.05, 0.2):
            assert law[table <= level].sum() <= level * 1.02
    assert (np.diff(table, axis=0) <= 1e-12).all()


@pytest.mark.parametrize(("n_p", "n_q"), [(9, 14), (14, 9)])
def test_the_conditional_law_is_fishers(n_p, n_q):
    for x, y in [(7, 2), (3, 3), (9, 0), (0, 9), (9, 9)]:
        want = stats.fisher_exact([[x, n_p - x], [y, n_q - y]], alternative="greater").pvalue
        law = two_sample_laws.conditional(np.array(float(x)), np.array(float(y)), n_p, n_q)
        assert law == pytest.approx(want, rel=1e-9)


@in_turn(4000, 8000)
def test_a_small_side_beside_a_very_large_one(trials):
    """Beyond what is counted: the law of a smaller side, which must not be too sure."""
    n_p, n_q = 40, 1000
    p, q = stream(15).standard_normal((trials, n_p)), stream(16).standard_normal((trials, n_q))
    result = st.multiple(p, q, stream(17))
    for level in (0.001, 0.01, 0.05):
        assert rejected_as_often_as_said(result.pvalue, level)
    assert (result.pvalue <= 0.05).mean() > 0.045


def test_two_scores_beside_very_many():
    """P(a + b >= u) of two ranks among n, counted; the normal law is 8% and more too sure."""
    n = 60_000
    for level in (0.1, 0.05, 0.01, 0.001):
        u = int((2 - np.sqrt(2 * level)) * n)
        first = np.arange(n + 1)
        want = np.clip(n + 1 - np.maximum(first, u - first), 0, None).sum() / comb(n + 2, 2)
        q = np.arange(1.0, n + 1)
        p = np.array([u // 2, u - u // 2]) + 0.5
        got = st.multiple(p + np.array([0, 1e-3]), q, stream(27)).pvalue
        assert got == pytest.approx(want, rel=1e-3)


def test_trials_do_not_meet():
    p, q = stream(18).standard_normal((2, 1, 20)).round(1), stream(19).standard_normal((3, 30))
    assert st.multiple(p, q, stream(20)).pvalue.shape == (2, 3)
    scores = stream(21).standard_normal((2, 1, 20))
    whole = st.multiple(scores, q, stream(22)).pvalue
    assert whole[1, 2] == st.multiple(scores[1, 0], q[2], stream(23)).pvalue


@pytest.mark.parametrize("n", [12, 99, 100, 5000])
def test_no_p_value_is_zero(n):
    p, q = np.ones(n) + stream(24).random(n), -stream(25).random(n)
    result = st.multiple(p, q, stream(26))
    assert result.pvalue > 0
    assert result.pvalue >= min(1 / comb(2 * n, n), 1) * (1 - 1e-9)
    for one in (st.c2st(p, q).pvalue, st.c2st(p, q).pvalue_per_class):
        assert one > 0
    stuck = np.full(n, 1e-9)
    for test in (st.ks, st.anderson_darling, st.cramer_von_mises):
        assert test(stuck).pvalue > 0
        assert test(np.zeros(n)).pvalue > 0


@pytest.mark.parametrize("counts", [(0, 0), (5, 0), (13, 4), (20, 20)])
def test_signs_of_counts_of_0_and_1_are_mcnemars_exact_test(counts):
    d = np.repeat([1, -1, 0], [*counts, 7])
    want = stats.binomtest(counts[0], sum(counts)).pvalue if sum(counts) else 1.0
    assert sign_flips.count_pvalue(d) == pytest.approx(want, rel=1e-12)
    assert sign_flips.count_pvalue(-d) == sign_flips.count_pvalue(d)


def test_signs_of_counts_have_the_law_of_all_signs():
    d = np.array([3, -1, 2, 2, 0, 1, -3])
    sums = np.array(list(product((-1, 1), repeat=len(d)))) @ d
    want = (np.abs(sums) >= abs(d.sum())).mean()
    assert sign_flips.count_pvalue(d) == pytest.approx(want, rel=1e-12)
    with pytest.raises(ValueError, match="whole numbers"):
        sign_flips.count_pvalue(d / 2)
