"""Lesson 6: balls counted again, its law against draws, and what a chosen ball is worth."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from tests.test_lessons import drawn, opened, state
from tests.test_lessons_said import followed, said
from validation_core import statistics
from validation_core.lessons import LESSONS, hunt
from validation_core.lessons.hunt import (
    ALPHA,
    CENTRES,
    FRESH,
    INSIDE,
    MASS,
    NOTHING,
    PRESETS,
    TRIALS,
    K,
    N,
)
from validation_core.store import Store


@pytest.fixture(scope="module")
def seen():
    return LESSONS["hunt"].load(Store.usual())


def test_every_ball_holds_a_fifth_of_q_s_draws():
    place = hunt.BenchmarkAtX.of(PRESETS[0], 0)
    draws = place.draws(K, np.random.default_rng(1))
    radius = hunt.ball_radii(CENTRES, draws)
    apart = np.linalg.norm(CENTRES[:, None] - draws, axis=-1)
    assert ((apart <= radius[:, None] + 1e-12).sum(1) == INSIDE).all()
    assert MASS == 0.2


def test_counts_are_of_points_nearer_than_the_edge(seen):
    for i in range(len(PRESETS)):
        apart = np.linalg.norm(CENTRES[:, None] - seen.truth[i], axis=-1)
        np.testing.assert_array_equal((apart < seen.radius[i][:, None]).sum(1), seen.inside[i])
        apart = np.linalg.norm(CENTRES[:, None] - seen.fresh[i, 3], axis=-1)
        inside = (apart < seen.radius[i][:, None]).sum(1)
        np.testing.assert_array_equal(inside, seen.fresh_inside[i, 3])


def test_the_law_of_a_count_is_a_mixture_of_binomials():
    """By quadrature over the share of p inside the ball, a beta variable."""
    share = beta(INSIDE, K + 1 - INSIDE).ppf((np.arange(20_000) + 0.5) / 20_000)
    for count in (8, 14, 20, 27):
        low = binom.cdf(count, N, share).mean()
        high = binom.sf(count - 1, N, share).mean()
        exact = min(1, 2 * min(low, high))
        assert hunt.pvalues_by_count()[count] == pytest.approx(exact, rel=1e-3)


def test_a_ball_chosen_beforehand_keeps_its_level():
    """Of q = p, another law than the lesson's: it does not matter which."""
    rng, rejected = np.random.default_rng(2), 0
    for _ in range(400):
        draws, truth = rng.exponential(size=(K, 2)), rng.exponential(size=(N, 2))
        centre = np.array([[1.0, 0.3]])
        count = hunt.count_inside(centre, hunt.ball_radii(centre, draws), truth)[0]
        rejected += hunt.pvalues_by_count()[count] <= ALPHA
    assert rejected <= statistics.binomial_bounds(400, ALPHA, 0.999)[1]


def test_where_nothing_is_wrong_a_find_is_luck(seen):
    same, again = seen.rejected[NOTHING]
    assert again <= statistics.binomial_bounds(TRIALS, ALPHA, 0.999)[1]
    assert same > TRIALS / 2
    place = hunt.best_balls(seen)[NOTHING]
    law = hunt.pvalues_by_count()
    assert law[seen.inside[NOTHING, place]] <= ALPHA
    apart = abs(seen.fresh_inside[NOTHING, :, place].mean() / N - MASS)
    assert apart < abs(seen.inside[NOTHING, place] / N - MASS)


def test_an_additional_mode_stays_on_fresh_data(seen):
    place = hunt.best_balls(seen)[0]
    _, high = statistics.wilson(seen.fresh_inside[0, :, place].sum(), FRESH * N)
    assert high < MASS / 2
    assert seen.rejected[0, 1] > 0.9 * TRIALS


def test_the_climb_goes_up(seen):
    assert (seen.distance[:, -1] > seen.distance[:, 0]).all()
    place = hunt.BenchmarkAtX.of(PRESETS[0], 0)
    rng = np.random.default_rng(3)
    draws, truth = place.draws(K, rng), place.truth(N, rng)
    path, height = hunt.climb_objective(truth, draws)
    apart = np.linalg.norm(draws - path[-1], axis=1)
    ranks = [(apart < t).mean() for t in np.sort(np.linalg.norm(truth - path[-1], axis=1))]
    even = (np.arange(N) + 0.5) / N
    assert height[-1] == pytest.approx(np.mean((np.array(ranks) - even) ** 2))


def test_a_link_opens_the_hunt():
    name, at = state(opened({"lesson": "hunt", "stage": "2", "place": "31", "fresh": "4"}))
    assert name == "hunt"
    assert (at["stage"], at["place"], at["fresh"]) == (2, 31, 4)


def test_the_best_ball_of_every_preset_is_told_with_its_count(seen):
    """The ball that is drawn stays where it is."""
    stage = drawn("hunt").stages[1]
    for preset, place in enumerate(hunt.best_balls(seen)):
        words = said(stage.words, {**dict.fromkeys(followed(stage.words), 0), "preset": preset})
        assert f"here it holds {seen.inside[preset, place]} of {N} (" in words


def test_bars_are_what_trials_say(seen):
    bars = drawn("hunt").prediction.asked
    np.testing.assert_allclose([bar.truth for bar in bars], 100 * seen.rejected[NOTHING] / TRIALS)
