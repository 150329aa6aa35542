"""Under H0 a test at level 5% rejects in 5% of many trials, whatever the score."""

import numpy as np
import pytest

from validation_core import statistics as st
from validation_core.rng import stream

TRIALS = 3000
ROUNDINGS = {
    "continuous": lambda s: s,
    "rounded": np.round,
    "two_valued": np.sign,
    "constant": np.zeros_like,
}


def rejections(pvalue, alpha=0.05):
    return int((np.asarray(pvalue) <= alpha).sum())


def assert_level(pvalue, alpha=0.05):
    """The rejections lie where 99.9% of binomial counts lie; the seeds are fixed."""
    low, high = st.binomial_bounds(len(pvalue), alpha, 0.999)
    assert low <= rejections(pvalue, alpha) <= high


@pytest.mark.parametrize("test", [st.ks, st.anderson_darling, st.cramer_von_mises])
@pytest.mark.parametrize("n", [10, 100, 200])
def test_uniformity_tests_have_their_level(test, n):
    pvalue = test(stream(1, test.__name__, n).random((10_000, n))).pvalue
    for alpha in (0.01, 0.05, 0.3, 0.8):  # p-values are uniform throughout
        assert_level(pvalue, alpha)


@pytest.mark.parametrize("name", ROUNDINGS)
@pytest.mark.parametrize("m", [1, 10])
def test_uniform_is_exact_for_any_score(name, m):
    rng = stream(2, name, m)
    test = ROUNDINGS[name](rng.standard_normal((TRIALS, 100)))
    calibration = ROUNDINGS[name](rng.standard_normal((TRIALS, 100, m)))
    assert_level(st.ks(st.conformal_ranks(test, calibration, rng)).pvalue)


@pytest.mark.parametrize("name", ROUNDINGS)
def test_uniform_from_a_pool_keeps_its_level(name):
    rng = stream(3, name)
    pool = st.PooledLaw(ROUNDINGS[name](rng.standard_normal(200_000)))
    test = ROUNDINGS[name](rng.standard_normal((TRIALS, 100)))
    below, equal = pool.counts(test, 20, rng)
    assert_level(st.ks(st.randomised_ranks(below, equal, 20, rng)).pvalue)


def test_randomised_ranks_hold_the_level_that_raw_ranks_break():
    """Methods 9.4 at (N, K) = (1000, 20): a guard against "simplifying" U to R/K."""
    rng, n, k = stream(4), 1000, 20
    ranks = rng.integers(0, k + 1, (2000, n))
    good = rejections(st.ks(st.randomised_ranks(ranks, np.zeros_like(ranks), k, rng)).pvalue)
    assert 0.035 <= good / 2000 <= 0.065
    assert rejections(st.ks(ranks / k).pvalue) / 2000 > 0.9


@pytest.mark.parametrize("name", ROUNDINGS)
@pytest.mark.parametrize(("n_p", "n_q"), [(300, 300), (400, 150), (150, 400)])
def test_multiple_has_its_level(name, n_p, n_q):
    rng = stream(5, name, n_p)
    p = ROUNDINGS[name](rng.standard_normal((TRIALS, n_p)))
    q = ROUNDINGS[name](rng.standard_normal((TRIALS, n_q)))
    result = st.multiple(p, q, rng)
    # The variance mixes an estimate and 1/12: asymptotic, 5 to 6% at such sizes.
    low, _ = st.binomial_bounds(TRIALS, 0.05, 0.999)
    _, high = st.binomial_bounds(TRIALS, 0.06, 0.999)
    assert low <= rejections(result.pvalue) <= high
    assert abs(result.statistic.mean()) < 4 / np.sqrt(TRIALS)
    assert 0.95 < result.statistic.std() < 1.06


@pytest.mark.parametrize(("n_p", "n_q"), [(1000, 1000), (1500, 700)])
def test_c2st_has_its_level_with_a_fair_threshold(n_p, n_q):
    rng = stream(6, n_p)
    p, q = rng.standard_normal((TRIALS, n_p)), rng.standard_normal((TRIALS, n_q))
    result = st.c2st(p, q)
    assert_level(result.pvalue)
    assert_level(result.pvalue_per_class)


def test_a_biased_threshold_ruins_the_nominal_level_only():
    """Methods 0.4: at a = Phi(2) the null sd is 0.30 of the nominal one."""
    rng = stream(7)
    p, q = rng.standard_normal((2, TRIALS, 1000))
    result = st.c2st(p, q, threshold=-2.0)
    assert rejections(result.pvalue) == 0
    assert_level(result.pvalue_per_class)
    nominal_sd = 0.5 / np.sqrt(2000)
    assert result.accuracy.std() / nominal_sd == pytest.approx(0.30, abs=0.02)


def test_shared_x_makes_the_tests_conservative():
    """Methods 0.5: why only the sampler splits, and never lets p and q share an x."""
    rng = stream(8)
    shared = rng.standard_normal((2000, 300))
    p, q = (np.sqrt(0.5) * (shared + rng.standard_normal((2000, 300))) for _ in range(2))
    result = st.multiple(p, q, rng)
    assert 0.65 < result.statistic.std() < 0.8
    assert rejections(result.pvalue) / 2000 < 0.025
    assert rejections(st.c2st(p, q).pvalue) / 2000 < 0.04
