"""What is named beside another error: no shape of a shift, no rounding of a discrete parameter."""

import numpy as np
import pytest
from scipy import stats

from validation_core.diagnosis.verdict import reading_of_ranks
from validation_core.relabelling import relabelled
from validation_core.relabelling.claims import Claims
from validation_core.statistics import binomial_bounds, contraction
from validation_core.types import PosteriorTable

N, K, TABLES = 300, 50, 40


def uniform(rng, size):
    return np.sqrt(12) * (rng.random(size) - 0.5)


def exponential(rng, size):
    return rng.exponential(1, size) - 1


def named(truth, draws, seed):
    """The families that may be named of a parameter whose true values and draws have these laws,
    around x."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((N, 1))
    theta, q = x + truth(rng, (N, 1)), x[:, None] + draws(rng, (N, K, 1))
    claims = Claims(relabelled(PosteriorTable(theta, x, q), seed, relabelings=199), 0.05)
    return claims.named_of_parameter(0)


@pytest.mark.parametrize("law", [uniform, exponential])
def test_a_shift_of_a_hard_edge_has_no_wrong_shape(law):
    """Removed a little too far, it puts true values beyond q's draws: named in 40% of tables."""
    each = [named(law, lambda rng, size: law(rng, size) + 0.3, seed) for seed in range(TABLES)]
    most = binomial_bounds(TABLES, 0.05, 0.999)[1]
    assert sum("means" in one for one in each) > 0.9 * TABLES
    for family in ("widths", "shapes", "outliers", "spacing", "support"):
        assert sum(family in one for one in each) <= most, family


def test_a_wrong_shape_beside_a_shift_is_named():
    each = [
        named(exponential, lambda rng, size: rng.standard_normal(size) + 0.3, seed)
        for seed in range(20)
    ]
    assert sum("shapes" in one for one in each) > 15


@pytest.mark.parametrize(
    ("truth", "draws"),
    [
        (lambda rng, size: rng.poisson(3.0, size), lambda rng, size: rng.poisson(2.0, size)),
        (lambda rng, size: rng.random(size) < 0.6, lambda rng, size: rng.random(size) < 0.2),
        (
            lambda rng, size: np.round(3 * rng.standard_normal(size)),
            lambda rng, size: np.round(1.8 * rng.standard_normal(size)),
        ),
    ],
    ids=["counts", "yes or no", "whole numbers"],
)
def test_wrong_shares_of_discrete_values_are_no_rounding(truth, draws):
    rng = np.random.default_rng(0)
    theta, q = truth(rng, (N, 1)), draws(rng, (N, K, 1))
    table = PosteriorTable(theta.astype(float), rng.standard_normal((N, 1)), q.astype(float))
    claims = Claims(relabelled(table, 0), 0.05)
    assert claims.found
    assert not {"spacing", "outliers"} & claims.named_of_parameter(0)
    assert not [text for text in claims.sentences() if "rounded" in text or "tails" in text]


def test_draws_that_are_rounded_are_named():
    each = [
        named(
            lambda rng, size: rng.standard_normal(size),
            lambda rng, size: np.round(rng.standard_normal(size), 1),
            seed,
        )
        for seed in range(10)
    ]
    assert all("spacing" in one for one in each)


def test_ranks_of_a_shifted_skewed_law_are_not_read_as_a_width():
    readings = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        theta, draws = exponential(rng, 300), exponential(rng, (300, 50)) + 0.3
        below = (draws < theta[:, None]).sum(1)
        readings.append(reading_of_ranks((below + rng.random(300)) / 51))
    assert not any("narrow" in one or "wide" in one for one in readings)


@pytest.mark.parametrize("law", [stats.norm(), stats.lognorm(1.5), stats.t(2.5)])
def test_a_q_that_is_the_prior_is_not_wider_than_it(law):
    """Whatever the prior's tails: by variances alone in 20 to 40% of small tables."""
    rejected = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        draws, theta = (law.rvs(size, random_state=rng) for size in ((50, 5, 1), (50, 1)))
        rejected += contraction.wider_pvalue(draws, theta, rng)[0] <= 0.05
    assert rejected <= binomial_bounds(400, 0.05, 0.999)[1]
    rng = np.random.default_rng(0)
    draws, theta = (law.rvs(size, random_state=rng) for size in ((1000, 2, 1), (1000, 1)))
    assert contraction.wider_pvalue(2 * draws, theta, rng)[0] < 1e-3
