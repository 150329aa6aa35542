"""Areas under the curve and their oracle values: closed forms, quadrature, coverage."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from validation_core import statistics
from validation_core.rng import stream
from validation_core.statistics import areas

SHIFT = 0.7
"""p = N(0, 1), q = N(SHIFT, 1): log p - log q = SHIFT (SHIFT / 2 - x)."""


def _log_ratio(x):
    return SHIFT * (SHIFT / 2 - x)


def _draws(n, *names):
    rng = stream(0, "areas", *names)
    return rng.standard_normal(n), SHIFT + rng.standard_normal(n)


def test_closed_forms_of_a_gaussian_shift():
    """AUC = Phi(d / sqrt 2), TV = 2 Phi(d / 2) - 1, and 1 - AUC <= 1/2 - TV / 2 (Lemma 3.3)."""
    p, q = _draws(40_000, "closed")
    auc = areas.placements(_log_ratio(p), _log_ratio(q)).auc
    ratio = np.exp(_log_ratio(q))
    rank, variation = (
        areas.oracle_mean_rank(_log_ratio(p), _log_ratio(q)),
        areas.total_variation(ratio),
    )
    best = norm.cdf(SHIFT / np.sqrt(2))
    apart = 2 * norm.cdf(SHIFT / 2) - 1
    assert auc.value == pytest.approx(best, abs=4 * auc.error)
    assert rank.value == pytest.approx(1 - best, abs=4 * rank.error)
    assert variation.value == pytest.approx(apart, abs=4 * variation.error)
    assert max(auc.error, rank.error, variation.error) < 0.005
    assert 1 - best <= 0.5 - apart / 2


def test_lemma_a4_by_quadrature():
    """E|r - r'| = 2 int F (1 - F) dr over the law F of r under q."""

    def spread(level):  # r <= level: x at least as large as where the ratio is the level
        below = norm.sf(SHIFT / 2 - np.log(level) / SHIFT - SHIFT)
        return 2 * below * (1 - below)

    total = quad(spread, 0, 1)[0] + quad(spread, 1, np.inf)[0]
    assert 0.5 - total / 4 == pytest.approx(norm.sf(SHIFT / np.sqrt(2)), abs=1e-7)


def test_total_variation_by_quadrature():
    half = quad(lambda x: abs(norm.pdf(x) - norm.pdf(x, SHIFT)), -8, 9)[0] / 2
    assert half == pytest.approx(2 * norm.cdf(SHIFT / 2) - 1, abs=1e-7)


def test_spread_is_the_mean_over_pairs():
    """Both forms of it; for two laws of three places both are exact."""
    a, b = (stream(0, "pairs", side).standard_normal(n) for side, n in (("p", 50), ("q", 40)))
    bounded = np.maximum(1 - np.exp(b - a[:, None]), 0).mean()
    assert areas.oracle_mean_rank(a, b).value == pytest.approx(0.5 - bounded / 2)
    p, q = np.array([2, 3, 5]) / 10, np.array([5, 3, 2]) / 10
    ratio = p / q
    rows = [np.repeat(np.log(ratio), np.round(10 * law).astype(int)) for law in (p, q)]
    apart = q @ np.abs(ratio[:, None] - ratio) @ q
    assert areas.oracle_mean_rank(*rows).value == pytest.approx(0.5 - apart / 4)
    assert areas.placements(*rows).auc.value == pytest.approx(0.5 + apart / 4)


def test_no_difference_is_exactly_nothing():
    rank, variation = areas.oracle_mean_rank(*np.zeros((2, 9))), areas.total_variation(np.ones(9))
    assert (rank.value, rank.error) == (0.5, 0)
    assert (variation.value, variation.error) == (0, 0)


def test_placements_count_ties_as_half():
    rng = stream(0, "ties")
    p, q = rng.integers(0, 5, 40), rng.integers(0, 4, 30)
    placed = areas.placements(p, q)
    assert placed.auc.value == pytest.approx(float(statistics.auc(p, q)))
    assert placed.q.mean() == pytest.approx(1 - placed.auc.value)


@pytest.mark.parametrize("of", ["auc", "difference", "rank", "variation"])
def test_intervals_cover(of):
    """19 of 20 times, within the chance of 400 repeats."""
    covered, best = 0, norm.cdf(SHIFT / np.sqrt(2))
    noise = norm.cdf(SHIFT / np.sqrt(4))  # of x + an independent standard normal
    truth = {
        "auc": best,
        "difference": best - noise,
        "rank": 1 - best,
        "variation": 2 * norm.cdf(SHIFT / 2) - 1,
    }[of]
    for repeat in range(400):
        p, q = _draws(400, of, repeat)
        jitter = stream(0, "jitter", repeat).standard_normal((2, 400))
        placed = areas.placements(-p, -q)
        found = {
            "auc": lambda placed=placed: placed.auc,
            "difference": lambda placed=placed, p=p, q=q, jitter=jitter: placed.above(
                areas.placements(jitter[0] - p, jitter[1] - q)
            ),
            "rank": lambda p=p, q=q: areas.oracle_mean_rank(_log_ratio(p), _log_ratio(q)),
            "variation": lambda q=q: areas.total_variation(np.exp(_log_ratio(q))),
        }[of]()
        low, high = found.interval()
        covered += low <= truth <= high
    low, high = statistics.binomial_bounds(400, 0.95, 0.999)
    assert low <= covered <= high


def test_what_is_no_ratio_is_refused():
    for wrong in ([1.0], [-1.0, 2.0], np.ones((2, 2))):
        with pytest.raises(ValueError, match="density ratio"):
            areas.total_variation(wrong)
