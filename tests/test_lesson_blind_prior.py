"""Lesson 7, What SBC and TARP cannot see: what it says against closed forms and bounds."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kstest, norm

from tests.test_lessons import drawn, opened, state
from validation_core import sampling, statistics
from validation_core.lessons import LESSONS
from validation_core.lessons import blind_prior as seven
from validation_core.rng import stream
from validation_core.store import SHIPPED, Store

STUDY = LESSONS["blind-prior"]
SBC, RANDOM, FOLLOWS, COLT, C2ST = range(5)


@pytest.fixture(scope="module")
def seen():
    return STUDY.load(Store(SHIPPED))


@pytest.fixture(scope="module")
def draws():
    return seven.BlindDraws.of(STUDY.seed)


def _within(hits, level=0.9999):
    low, high = statistics.binomial_bounds(seven.TRIALS, seven.ALPHA, level)
    return low <= hits.min() and hits.max() <= high


def test_every_test_keeps_its_level_where_q_is_correct(seen):
    hits = seven.rejection_rates(seen)[:, :, :, 0] * seven.TRIALS
    assert _within(hits[:C2ST])
    _, most = statistics.binomial_bounds(seven.TRIALS, seven.ALPHA, 0.9999)
    assert hits[C2ST].max() <= most  # conservative: class counts are fixed (methods 0.4)


def test_sbc_and_random_references_pass_a_q_that_is_blind_at_whole_x(seen):
    """Whatever alpha: a batch is exchangeable, row by row."""
    assert _within(seen.ranked.hits[:2, 0])
    assert _within(seen.ranked.hits[:2, 1, -1])


def test_a_centre_that_stands_still_sees_nothing(seen):
    assert _within(seen.colt.hits[0, 0])


def test_power_grows_with_n_and_with_what_the_centre_knows(seen):
    share = seven.rejection_rates(seen)
    for test in (FOLLOWS, COLT, C2ST):
        assert share[test, -1, 0, -1, -1] > 0.9
    assert share[COLT, -1, 0, -1, 3] > share[COLT, 1, 0, -1, 3] + 0.3


def test_sbc_sees_a_q_that_is_blind_in_half_of_its_draws(seen):
    share = seven.rejection_rates(seen)[SBC, -1, 1, :, -1]
    _, most = statistics.binomial_bounds(seven.TRIALS, seven.ALPHA, 0.9999)
    assert share[5] > 2 * most / seven.TRIALS
    assert share[[0, -1]].max() * seven.TRIALS <= most


def test_the_distance_of_colt_is_the_integral_over_x(seen):
    """p's mass in the interval that holds a mass u of the prior, less u; by quadrature."""
    w1, w2 = (
        float(np.ravel(w)[0])
        for w in (seven.blind_prior_benchmark().fixed.w1, seven.blind_prior_benchmark().fixed.w2)
    )
    x = np.linspace(-4, 6, 801)
    weight = norm.pdf(x, 1) * (x[1] - x[0])
    sd = np.sqrt(np.maximum(np.abs(w2 * x), 1e-12))

    def prior(theta):
        return (ndtr((theta - w1 * x) / sd) * weight).sum()

    gaps = []
    for u in np.linspace(0.05, 0.95, 19):
        inside = 0.0
        for i in range(0, len(x), 8):
            low, high = 0.0, 40.0
            for _ in range(30):
                radius = (low + high) / 2
                mass = prior(w1 * x[i] + radius) - prior(w1 * x[i] - radius)
                low, high = (radius, high) if mass < u else (low, radius)
            inside += 8 * weight[i] * (2 * ndtr(radius / sd[i]) - 1)
        gaps.append(inside - u)
    # Ranks are among K draws, randomised: their law is the integral smoothed by 1 / (K + 1).
    assert seen.colt.distance[-1, 0, -1] == pytest.approx(max(gaps), abs=0.015)
    assert seen.ranked.distance[0, 0, -1] < statistics.dkw(seven.TRIALS * seven.SIZES[-1], 0.9999)


def test_ranks_of_the_first_batch_by_counting(seen, draws):
    table, n = draws.table(1.0, 0), seven.SIZES[1]
    xi = stream(STUDY.seed, "ties").random(seven.TRIALS * seven.SIZES[-1])[:n]
    u = [
        (sum(q < t for q in row) + v) / (seven.K + 1)
        for t, row, v in zip(table.theta[:n, 0], table.q[:n, :, 0], xi, strict=True)
    ]
    counts, _ = np.histogram(u, np.linspace(0, 1, 11))
    np.testing.assert_array_equal(seen.ranked.counts[0, 0, -1, 1, 0], counts)
    assert seen.ranked.pvalues[0, 0, -1, 1, 0] == pytest.approx(
        kstest(u, "uniform").pvalue, rel=1e-6
    )


def test_a_table_is_a_mixture_as_it_says(draws):
    for alpha in (0.3, 0.7):
        whole, parts = draws.table(alpha, 0), draws.table(alpha, 1)
        blind = (whole.q == draws.blind).all((1, 2))
        assert blind.mean() == pytest.approx(alpha, abs=0.01)
        assert (whole.q[~blind] == draws.seeing[~blind]).all()
        assert (parts.q == draws.blind).mean() == pytest.approx(alpha, abs=0.01)


def test_the_centre_is_the_posterior_s_mean():
    own, rng = seven.blind_prior_benchmark(), np.random.default_rng(0)
    x = np.full((100_000, 1), 0.4)
    theta = own.theta(x, 1.0, rng)
    assert seven.interpolated_mean(x[:1], 1.0)[0, 0] == pytest.approx(
        theta.mean(), abs=4 * theta.std() / 316
    )
    pairs = sampling.pairs(own, 1.0, 100_000, rng)
    still = seven.interpolated_mean(x[:1], 0.0)[0, 0]
    assert still == pytest.approx(pairs.theta.mean(), abs=4 * pairs.theta.std() / 316)


def test_a_link_opens_the_stage_that_it_names():
    name, at = state(opened({"lesson": "blind-prior", "stage": "2", "alpha": "0.3", "n": "100"}))
    assert name == "blind-prior"
    assert (at["stage"], at["alpha"], at["n"]) == (2, 0.3, 100)


def test_the_bars_are_the_computed_rates(seen):
    share = seven.rejection_rates(seen)
    truths = [bar.truth for bar in drawn("blind-prior").prediction.asked]
    expected = 100 * share[[SBC, RANDOM, COLT, C2ST], -1, 0, -1, seven.SIZES.index(50)]
    np.testing.assert_allclose(truths, expected)
