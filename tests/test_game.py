"""Name that defect: its rounds can be solved, its plots draw what they say, its score adds up."""

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from PIL import Image
from scipy import stats
from sklearn.ensemble import ExtraTreesClassifier

from tests.conftest import in_turn
from validation_core.drawing.marks import Line, Note
from validation_core.game import plot_power, plots, points, share_card
from validation_core.game.deal import ANSWERS, deal
from validation_core.game.plots import PLOTS
from validation_core.game.points import BEST, LIVES
from validation_core.game.rounds import DEFECTS, LEVELS, ROUNDS, Round
from validation_core.game.tells import TELLS, alike

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
    hidden = Round("missed", "middle", 4, 2)
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
    once = [deal(7, "easy", i + 1) for i in range(ROUNDS)]
    deal.cache_clear()
    assert once == [deal(7, "easy", i + 1) for i in range(ROUNDS)]
    with pytest.raises(ValueError, match="rounds 1 to 10"):
        deal(0, "easy", 11)


DEALT = [deal(seed, "easy", number) for seed in range(12) for number in (1, 2, 3)]


def test_a_round_asks_for_one_of_four_that_its_plot_tells_apart():
    assert {one.round.defect for one in DEALT} == set(DEFECTS)
    for one in DEALT:
        truth = one.round.defect
        assert len(set(one.answers)) == ANSWERS
        assert truth in one.answers
        assert one.tell == TELLS[one.plot][truth]
        assert not any(alike(one.plot, truth, other) for other in one.answers if other != truth)


def test_a_round_shows_its_defect_and_a_correct_q_shows_none():
    for one in DEALT:
        rejected = plots.simulate_plots(one.round).pvalues[one.plot] <= 0.05
        assert rejected == (one.round.defect != "none")


@pytest.mark.parametrize("level", LEVELS)
def test_hard_rounds_show_their_defect_too(level):
    """Where no simulation of a plot is rejected, another plot takes its turn."""
    for dealt in (deal(seed, level, number) for seed in range(3) for number in (3, 6, 9)):
        p = plots.simulate_plots(dealt.round).pvalues[dealt.plot]
        assert (p <= 0.05) == (dealt.round.defect != "none")


def test_a_dealt_round_says_what_its_pvalue_was_dealt_for():
    """It is no draw of chance: rounds are dealt until their test speaks, or for q = p does not."""
    for dealt in DEALT:
        correct = dealt.round.defect == "none"
        assert dealt.chosen_text.endswith("p was above 5%" if correct else "p was at most 5%")


@pytest.mark.parametrize("plot", TELLS)
def test_every_defect_of_a_plot_can_be_asked_beside_three_others(plot):
    for defect in TELLS[plot]:
        others = [d for d in DEFECTS if d != defect and not alike(plot, d, defect)]
        assert len(others) >= ANSWERS - 1


@pytest.mark.parametrize(("level", "least"), [("easy", 0.95), ("middle", 0.85)])
def test_one_plot_tells_the_four_answers_apart(level, least):
    """By nearest mean numbers, a simple eye."""
    known = {
        d: [plots.simulate_plots(Round(d, level, 70_000 + i, 1, bool(i % 2))) for i in range(12)]
        for d in DEFECTS
    }
    right, asked = 0, 0
    for seed in range(6):
        for number in (1, 2, 3, 4, 5):
            one = deal(seed, level, number)
            seen = np.ravel(plots.simulate_plots(one.round).numbers[one.plot])
            far = {
                d: min(np.linalg.norm(np.ravel(k.numbers[one.plot]) - seen) for k in known[d])
                for d in one.answers
            }
            right += min(far, key=far.__getitem__) == one.round.defect
            asked += 1
    print(f"{level}: {right} of {asked}")
    assert right >= least * asked


def moved(drawn):
    """Share of the lowest quarter, the middle half and the highest quarter, less an even one."""
    parts = np.split(drawn / drawn.sum(), [5, 15])
    return [part.sum() - even for part, even in zip(parts, (0.25, 0.5, 0.25), strict=True)]


def test_tells_of_ranks_are_what_the_bars_do():
    def mean(defect, **up):
        made = [Round(defect, "easy", 80_000 + i, 1, **up) for i in range(6)]
        return np.mean([plots.simulate_plots(one).numbers["ranks"] for one in made], axis=0)

    left, middle, right = moved(mean("narrow"))
    assert min(left, right) > 0.03 > 0 > middle
    left, middle, right = moved(mean("wide"))
    assert max(left, right) < 0 < 0.03 < middle
    for up, sign in ((True, 1), (False, -1)):
        left, _, right = moved(mean("biased", up=up))
        assert sign * left > 0.05 > -0.05 > sign * right
    missed, extra, tails = mean("missed"), mean("extra"), mean("tails")
    assert missed[0] > 3 * missed[1:].mean()
    assert extra[0] < 0.3 * extra[2:].mean()
    assert max(tails[0], tails[-1]) < 0.4 * tails[2:-2].mean()


def test_a_right_answer_is_worth_its_streak_and_three_wrong_ones_end_the_game():
    truths = [deal(0, "easy", i + 1).round.defect for i in range(ROUNDS)]
    wrong = [next(d for d in DEFECTS if d != truth) for truth in truths]
    best = points.score(tuple(truths), 0, "easy")
    assert (best.points, best.longest, best.lives, best.over) == (BEST, ROUNDS, LIVES, True)
    part = points.score((*truths[:3], wrong[3], truths[4]), 0, "easy")
    assert (part.points, part.streak, part.longest, part.lives) == (1 + 2 + 3 + 1, 1, 3, 2)
    assert not part.over
    lost = points.score((*wrong[:3], *truths[3:]), 0, "easy")
    assert (lost.points, lost.lives, lost.over, len(lost.right)) == (0, 0, True, LIVES)


def test_the_card_says_the_score():
    played = tuple(deal(0, "easy", i + 1).round.defect for i in range(ROUNDS))
    score = points.score(played, 0, "easy")
    words = share_card.sentence(score, 0, "easy")
    assert "easy game 0: 55 of 55 points, 10 of 10 right, 10 in a row ●●●●●●●●●●" in words
    image = Image.open(BytesIO(share_card.png(score, 0, "easy")))
    assert image.size == (1200, 630)


def test_labels_stand_within_their_axes():
    for defect in DEFECTS:
        drawn = plots.simulate_plots(Round(defect, "easy", 3, 1))
        made = plots.panel("ecdf", drawn)
        low, high = made.y.limits
        (note,) = [mark for mark in made.marks if isinstance(mark, Note)]
        assert low < 0.9 * note.y < high or low < note.y < 0.9 * high
        shown = plots.panel("draws", drawn, Round(defect, "easy", 3, 1))
        for line in shown.marks:
            if isinstance(line, Line):
                assert np.max(line.y) <= shown.y.limits[1]
        assert {key[0] for key in shown.legend} >= {"q", "q's draws", "true value"}


@given(some.lists(some.sampled_from(list(DEFECTS)), max_size=ROUNDS).map(tuple))
def test_a_link_holds_the_game(played):
    assert points.read(points.written(played)) == played


@given(some.text(max_size=24) | some.text("bncwimet-1", max_size=24))
def test_any_text_is_a_game_or_none(text):
    read = points.read(text)
    assert read is None or (len(read) <= ROUNDS and points.read(points.written(read)) == read)


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
