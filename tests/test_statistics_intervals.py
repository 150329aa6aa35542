"""Intervals, adjusted p-values and bounds."""

import numpy as np
import pytest
from scipy import stats

from validation_core import statistics as st


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 200), (10, 200), (200, 200)])
def test_wilson_is_scipys(k, n, level):
    low, high = st.wilson(k, n, level)
    exact = stats.binomtest(k, n).proportion_ci(level, "wilson")
    assert low == pytest.approx(exact.low, abs=1e-12)
    assert high == pytest.approx(exact.high, abs=1e-12)


def test_wilson_works_on_arrays_and_ends_exactly():
    low, high = st.wilson([0, 5, 10], 10)
    assert low[0] == 0
    assert high[2] == 1
    assert (low <= np.array([0, 0.5, 1])).all()
    assert (high >= np.array([0, 0.5, 1])).all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [((1, 0), "at least one trial"), ((3, 2), "got 3.0 of 2.0"), ((1, 2, 1.0), "within")],
)
def test_wilson_refuses(arguments, says):
    with pytest.raises(ValueError, match=says):
        st.wilson(*arguments)


@pytest.mark.parametrize("trials", [50, 200, 1000])
@pytest.mark.parametrize("rate", [0.005, 0.05, 0.3, 0.5, 0.97])
def test_a_higher_rate_is_told_at_its_level(trials, rate):
    """By the exact law of both counts, at the share of 5% that four comparisons leave each."""
    count = np.arange(trials + 1)
    chance = stats.binom.pmf(count, trials, rate)
    pvalues = st.higher_rate_pvalue(count[:, None] / trials, count / trials, trials)
    assert (chance[:, None] * chance)[pvalues <= 0.05 / 4].sum() <= 1.2 * 0.05 / 4
    np.testing.assert_allclose(pvalues + pvalues.T, 1)


def test_holm_steps_down():
    np.testing.assert_allclose(st.holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(st.holm([[0.6, 0.7], [0.5, 0.001]]), [[1, 1], [0.5, 0.002]])
    assert st.holm([0.2]).tolist() == [0.2]
    assert st.holm([]).tolist() == []


@pytest.mark.parametrize("level", [0.9, 0.99, 0.999])
def test_binomial_bounds_hold_their_level_tightly(level):
    low, high = st.binomial_bounds(2000, 0.05, level)
    law = stats.binom(2000, 0.05)
    assert law.cdf(high) - law.cdf(low - 1) >= level
    assert law.cdf(high - 1) - law.cdf(low) < level
    with pytest.raises(ValueError, match="within"):
        st.binomial_bounds(10, 0.5, 95)


def test_dkw_is_massarts():
    assert st.dkw(200_000) == pytest.approx(0.003037, abs=1e-6)
    with pytest.raises(ValueError, match="at least one draw"):
        st.dkw(0)


def test_total_variation_bounds_hold_and_are_reached():
    shift = np.array([0.0, 0.3, 1.0, 3.0])
    auc = stats.norm.cdf(shift / np.sqrt(2))
    truth = (
        2 * stats.norm.cdf(shift / 2) - 1
    )  # of N(0, 1) and N(shift, 1): the score is the oracle
    low, high = st.total_variation_bounds(auc)
    assert (low <= truth + 1e-12).all()
    assert (truth <= high + 1e-12).all()
    # A curve along a line of slope one and then along the top: the lower bound is its distance.
    apart = 0.3
    low, _ = st.total_variation_bounds(1 - (1 - apart) ** 2 / 2)
    assert low == pytest.approx(apart)
    low, high = st.total_variation_bounds([0.5, 0.2, 1.0])
    assert low.tolist() == high.tolist() == [0, 0, 1]


def test_parts_of_a_count_have_the_ends_of_the_beta_law():
    """A row may be worth less than one; Clopper and Pearson's ends are quantiles of beta laws."""
    counts, n = np.array([0.0, 0.4, 3.7, 9.6, 10.0]), 10.0
    low, high = st.clopper_pearson(counts, n)
    inside = counts[1:-1]
    np.testing.assert_allclose(low[1:-1], stats.beta.ppf(0.025, inside, n - inside + 1), rtol=1e-9)
    np.testing.assert_allclose(
        high[1:-1], stats.beta.ppf(0.975, inside + 1, n - inside), rtol=1e-9
    )
    assert (low[0], high[-1]) == (0, 1)
