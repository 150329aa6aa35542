"""The ball that ranks point at and the distance behind them: intervals cover, quotes are fair."""

import numpy as np
import pytest
from scipy.special import betainc

from validation_core import statistics
from validation_core.rng import stream
from validation_core.statistics.uniformity import ks_location

REPEATS = 4000
SHAPES = {"uniform": (1, 1), "centred": (1.5, 1.0), "edge": (1, 2.5), "two sided": (2.0, 2.0)}
"""Beta laws of ranks: uniform where q is right, none of the others."""


def _distance(shape):
    """sup |F - u| of a beta law, on a grid far finer than any interval here."""
    u = np.linspace(0, 1, 200_001)
    return np.abs(betainc(*shape, u) - u).max()


def _ranks(shape, n, *names):
    return stream(0, *names, n, *shape).beta(*shape, size=(REPEATS, n))


@pytest.mark.parametrize("n", [10, 100])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_distance_lies_in_its_interval(shape, n):
    """At least 95 of 100 times; under uniform ranks exactly as often."""
    result = statistics.kolmogorov(_ranks(shape, n, "coverage"))
    truth = _distance(shape)
    covered = int(((result.low <= truth) & (truth <= result.high)).sum())
    low, high = statistics.binomial_bounds(REPEATS, 0.95, 0.999)
    assert covered >= low
    if shape == (1, 1):
        assert covered <= high


def test_interval_is_the_statistic_and_as_far_as_its_law_reaches():
    u = _ranks((1, 2), 30, "interval")[:5]
    result = statistics.kolmogorov(u, 0.9)
    np.testing.assert_array_equal(result.estimate, statistics.ks(u).statistic)
    np.testing.assert_allclose(result.high - result.estimate, (result.high - result.estimate)[0])
    wider = statistics.kolmogorov(u, 0.99)
    assert (wider.low <= result.low).all()
    assert (wider.high > result.high).all()
    assert ((result.low >= 0) & (result.high <= 1)).all()


def test_rejecting_and_an_interval_without_0_are_the_same_thing():
    u = _ranks((1, 1.3), 60, "same")
    rejected = statistics.ks(u).pvalue < 0.05
    assert 0.1 < rejected.mean() < 0.9
    np.testing.assert_array_equal(rejected, statistics.kolmogorov(u).low > 0)


def _split(shape, n):
    u = _ranks(shape, 2 * n, "ball")
    choose, quote = u[:, :n], u[:, n:]
    return choose, statistics.ball_mass(choose, quote)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_quoting_half_is_fair_where_the_choosing_half_exaggerates(shape):
    """F(u*) - u* is the truth about the ball that was chosen, whatever chose it."""
    choose, ball = _split(shape, 50)
    actual = betainc(*shape, ball.u_star)
    error = ball.inside - actual
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(REPEATS)
    # Exaggeration: how much farther from 0, on the side that each choice took.
    _, chosen = ks_location(choose)
    side = np.sign(chosen)
    own = np.abs(chosen) - side * (actual - ball.u_star)
    again = side * (ball.difference - (actual - ball.u_star))
    assert own.mean() > 6 * own.std() / np.sqrt(REPEATS)
    assert own.mean() > 0.02
    assert abs(again.mean()) < 4 * again.std() / np.sqrt(REPEATS)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_mass_lies_in_its_interval(shape):
    """Wilson's is about right on average over where the ball happens to be."""
    _, ball = _split(shape, 100)
    actual = betainc(*shape, ball.u_star)
    covered = ((ball.low <= actual) & (actual <= ball.high)).mean()
    assert 0.93 <= covered <= 0.975


@pytest.mark.parametrize(("shape", "sign"), [((1, 3), 1), ((3, 1), -1)], ids=["inside", "outside"])
def test_sign(shape, sign):
    """Truths near the centre: q misses mass in the ball, positive; far out: it puts too much."""
    _, ball = _split(shape, 60)
    assert (np.sign(ball.difference) == sign).mean() > 0.99
    actual = betainc(*shape, ball.u_star) - ball.u_star
    assert np.sign(actual.mean()) == sign


@pytest.mark.parametrize(("mass", "sign"), [(0.1, 1), (0.4, 1), (0.1, -1), (0.4, -1)])
def test_it_points_at_the_place(mass, sign):
    """The truth has 1.8 or 0.2 times q's mass in the ball, evenly inside and outside."""
    rng = stream(1, mass, sign)
    inside = rng.random((50, 2000)) < mass * (1 + 0.8 * sign)
    u = np.where(inside, mass * rng.random(inside.shape),
                 mass + (1 - mass) * rng.random(inside.shape))  # fmt: skip
    ball = statistics.ball_mass(u[:, :1000], u[:, 1000:])
    assert np.abs(np.median(ball.u_star) - mass) < 0.03
    assert ball.difference.mean() == pytest.approx(0.8 * sign * mass, abs=0.02)


def test_trials_are_an_axis():
    u = _ranks((1, 2), 40, "axes")[:6].reshape(2, 3, 40)
    whole, distances = statistics.ball_mass(u[..., :20], u[..., 20:]), statistics.kolmogorov(u)
    for i, j in np.ndindex(2, 3):
        one = statistics.ball_mass(u[i, j, :20], u[i, j, 20:])
        np.testing.assert_allclose([a[i, j] for a in whole], one, rtol=1e-15)
        np.testing.assert_allclose(
            [a[i, j] for a in distances], statistics.kolmogorov(u[i, j]), rtol=1e-15
        )


def test_a_ball_may_be_quoted_by_more_ranks_than_chose_it():
    u = _ranks((1, 2), 60, "sizes")[:4]
    ball = statistics.ball_mass(u[:, :10], u[:, 10:])
    np.testing.assert_allclose(ball.inside * 50, np.round(ball.inside * 50))
    assert ((ball.low <= ball.inside) & (ball.inside <= ball.high)).all()


def test_one_rank_has_no_distance():
    for bad in ([0.5], 0.5):
        with pytest.raises(ValueError, match="at least two ranks"):
            statistics.kolmogorov(bad)
    with pytest.raises(ValueError, match="at least two ranks"):
        statistics.ball_mass([0.5], [0.2, 0.3])
    with pytest.raises(ValueError, match=r"ranks lie in \[0, 1\]"):
        statistics.kolmogorov([0.2, 1.5])
