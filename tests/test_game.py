"""Name that defect: its rounds can be solved, its plots draw what they say, its score adds up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats
from sklearn.ensemble import ExtraTreesClassifier

from tests.conftest import in_turn
from validation_core.game import plot_power, plots, points, rounds
from validation_core.game.plots import PLOTS
from validation_core.game.points import Guess
from validation_core.game.rounds import DEFECTS, LEVELS, ROUNDS, Round

LEAST = {"easy": 0.95, "middle": 0.8, "hard": 0.5}
"""Of rounds that a classifier names; a guess names 1 in 8."""


def vector(drawn):
    return np.concatenate([np.ravel(drawn.numbers[plot]) for plot in PLOTS if plot != "draws"])


@pytest.mark.parametrize(
    ("level", "learning", "asking"),
    [
        ("middle", 20, 10),
        *(pytest.param(level, 30, 15, marks=pytest.mark.slow) for level in LEVELS),
    ],
)
def test_rounds_can_be_solved_from_what_plots_draw(level, learning, asking):
    def rounds(first, count):
        made = [Round(d, level, first + i, 1, bool(i % 2)) for d in DEFECTS for i in range(count)]
        return [vector(plots.simulate_plots(one)) for one in made], [one.defect for one in made]

    trees = ExtraTreesClassifier(200, random_state=0).fit(*rounds(20_000, learning))
    named = trees.score(*rounds(30_000, asking))
    print(f"{level}: {named:.1%} of {asking * len(DEFECTS)} rounds named")
    assert named >= LEAST[level]


def test_plots_draw_the_rounds_own_numbers():
    hidden = rounds.deal(4, "middle", 2)
    table, drawn = hidden.table(), plots.simulate_plots(hidden)
    theta, q = table.theta[:, 0], table.q[:, :, 0]
    u = drawn.ranks["ranks"]
    below = (q < theta[:, None]).sum(1)
    assert ((u >= below / 101) & (u <= (below + 1) / 101)).all()
    assert drawn.true == theta[0]
    assert drawn.numbers["draws"].sum() == q.shape[1]
    np.testing.assert_array_equal(
        drawn.numbers["ranks"], np.histogram(u, np.linspace(0, 1, 21))[0]
    )
    levels = np.linspace(0, 1, 21)
    held = (np.abs(2 * u - 1)[:, None] <= levels).mean(0)
    np.testing.assert_allclose(drawn.numbers["coverage"], held - levels, atol=1e-12)
    np.testing.assert_allclose(drawn.numbers["ecdf"], (u[:, None] <= levels).mean(0) - levels)
    for plot in ("tarp", "region"):
        ranks = drawn.ranks[plot]
        assert len(ranks) == len(theta) // 2
        np.testing.assert_allclose(
            drawn.numbers[plot], (ranks[:, None] <= levels).mean(0) - levels, atol=1e-12
        )
    for plot in ("ecdf", "tarp", "region", "units", "coverage"):
        exact = stats.kstest(drawn.ranks[plot], "uniform", method="exact").pvalue
        assert drawn.pvalues[plot] == pytest.approx(exact, rel=1e-6)
    order = np.argsort(hidden.benchmark.mean(table.x)[:, 0], kind="stable")
    means = [u[rows].mean() for rows in np.array_split(order, 6)]
    np.testing.assert_allclose(drawn.numbers["over-x"], means)
    np.testing.assert_allclose(drawn.numbers["units"].sum(1), 1)


@in_turn(120, 300)
def test_pvalues_are_valid_where_q_is_correct(trials):
    """At most 5% of rounds at level 5%, by a binomial bound of 1 in 10,000 for each plot."""
    rounds = [plots.simulate_plots(Round("none", "easy", i, 1)) for i in range(trials)]
    most = stats.binom.ppf(1 - 1e-4, len(rounds), 0.05)
    for plot in PLOTS:
        assert sum(one.pvalues[plot] <= 0.05 for one in rounds) <= most, plot


def test_the_correct_q_is_p_and_densities_integrate_to_one():
    theta = np.linspace(-40, 40, 8001)
    for defect in DEFECTS:
        hidden = Round(defect, "easy", 1, 1)
        p, q = hidden.densities(theta, hidden.table().x[0])
        step = theta[1] - theta[0]
        assert p.sum() * step == pytest.approx(1, abs=1e-3)
        # t has far tails, and the blind q's marginal is a mean over 4000 draws of x.
        assert q.sum() * step == pytest.approx(1, abs=0.05)
        assert np.allclose(p, q) == (defect == "none")


def test_the_same_link_deals_the_same_rounds():
    once, again = ([rounds.deal(7, "hard", i + 1) for i in range(ROUNDS)] for _ in range(2))
    assert once == again
    dealt = [rounds.deal(seed, "easy", 1).defect for seed in range(800)]
    counts = [dealt.count(defect) for defect in DEFECTS]
    assert stats.chisquare(counts).pvalue > 1e-4
    with pytest.raises(ValueError, match="rounds 1 to 10"):
        rounds.deal(0, "easy", 11)


def test_score():
    right = rounds.deal(0, "easy", 1).defect
    wrong = next(defect for defect in DEFECTS if defect != right)
    assert points.points(Guess(right, 1), 0, "easy", 1) == 100
    assert points.points(Guess(right, len(PLOTS)), 0, "easy", 1) == 30
    assert points.points(Guess(wrong, 1), 0, "easy", 1) == 0
    assert points.points(None, 0, "easy", 1) == 0
    best = tuple(Guess(rounds.deal(0, "easy", i + 1).defect, 1 + i % 2) for i in range(ROUNDS))
    assert points.total(best, 0, "easy") == 950


ANSWERS = some.none() | some.builds(
    Guess, some.sampled_from(list(DEFECTS)), some.integers(1, len(PLOTS))
)


@given(some.tuples(*[ANSWERS] * ROUNDS))
def test_a_link_holds_the_game(played):
    assert points.read(points.written(played)) == played


@given(some.text(max_size=24) | some.text("bncwimet-123456789", max_size=24))
def test_any_text_is_a_game_or_none(text):
    read = points.read(text)
    assert read is None or (len(read) == ROUNDS and points.read(points.written(read)) == read)


def test_what_plots_could_have_told():
    blind, wide = (
        plot_power.estimate_plot_power(Round(defect, "easy", 0, 1)) for defect in ("blind", "wide")
    )
    # A q that ignores x has uniform ranks: SBC's tests reject about as often as by chance.
    assert blind.found["ecdf"] <= stats.binom.ppf(0.9999, plot_power.REPEATS, 0.05)
    assert blind.found["over-x"] == plot_power.REPEATS
    assert wide.found["coverage"] == plot_power.REPEATS
    low, high = wide.interval("coverage")
    assert (low, high) == pytest.approx((0.025 ** (1 / plot_power.REPEATS), 1))
