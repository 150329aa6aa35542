"""Evidence over ranks that come one by one: a level at every moment, and power."""

import numpy as np
import pytest
from scipy.special import ndtr

from validation_core import statistics
from validation_core.statistics.betting import anytime_pvalue, log_wealth


def ever(trials, n=1000, *, shifted=0, shift=0.5, scale=1.0):
    count = 0
    for seed in range(trials):
        z = np.random.default_rng(seed).standard_normal((2, n))
        z[0, :shifted] = shift + scale * z[0, :shifted]
        count += anytime_pvalue(log_wealth(ndtr(z))) <= 0.05
    return count


def test_uniform_ranks_are_rejected_ever_at_most_at_the_level():
    trials = 400
    assert ever(trials, 300) <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]


@pytest.mark.slow
def test_of_2000_correct_tables_at_most_5_per_cent_are_ever_rejected():
    assert ever(2000) <= 100


def test_half_a_sd_in_the_nearest_100_is_found():
    assert ever(60, shifted=100) >= 52


def test_half_the_width_in_the_nearest_100_is_found():
    assert ever(40, shifted=100, shift=0.0, scale=0.5) >= 36


def test_the_wealth_is_a_mixture_of_bets():
    wealth = log_wealth(np.array([[0.5]]))
    from scipy.stats import beta

    from validation_core.statistics.betting import BETS

    expected = np.log(np.mean([beta(a, b).pdf(0.5) for a, b in BETS]))
    assert wealth[0] == pytest.approx(expected)
    assert anytime_pvalue(np.array([-1.0, -2.0])) == 1.0
