"""Name that defect, on its page: a round, a whole game, a challenge, and links."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests import page_links
from validation_core.game import plot_power, plots, points
from validation_core.game.deal import deal
from validation_core.game.plots import PLOTS
from validation_core.game.rounds import DEFECTS, ROUNDS
from validation_core.text import said_equals


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch):
    """Rounds that say what a plot could have told: their number is test_game's."""
    monkeypatch.setattr(plot_power, "REPEATS", 8)


def opened(**query):
    """A new session that opens the page by a link."""
    return page_links.opened("game/page.py", query)


def press(page, key):
    page.button(key=key).click().run()
    assert not page.exception


def pressed(page, label):
    next(one for one in page.button if one.label == label).click().run()
    assert not page.exception


def words(page):
    kinds = ("markdown", "success", "error", "caption")
    return "\n".join(one.value for kind in kinds for one in page.get(kind))


def asked(page, name):
    value = page.query_params.get(name, [])
    return [value] if isinstance(value, str) else list(value)


def wrong(dealt):
    return next(name for name in dealt.answers if name != dealt.round.defect)


def test_first_visit_shows_one_plot_and_four_answers():
    page, dealt = opened(), deal(0, "easy", 1)
    assert not page.exception
    assert "**Round 1 of 10** · ♥♥♥ 3 lives · 0 points" in words(page)
    assert len(page.get("plotly_chart")) == 1
    answers = [one.key for one in page.button if str(one.key).startswith("answer-")]
    assert answers == [f"answer-{name}" for name in dealt.answers]
    assert dict(page.query_params) == {}


def test_a_right_answer_is_followed_by_its_tell():
    page, dealt = opened(seed="3"), deal(3, "easy", 1)
    press(page, f"answer-{dealt.round.defect}")
    assert f"Right: **{DEFECTS[dealt.round.defect].title}**. 1 point." in words(page)
    assert f"**The tell:** {dealt.tell}" in words(page)
    drawn = plots.simulate_plots(dealt.round)
    said = f"{PLOTS[dealt.plot].test}: p {said_equals(drawn.pvalues[dealt.plot])} here"
    assert said in words(page)
    assert len(page.get("plotly_chart")) == 2
    assert asked(page, "played") == [DEFECTS[dealt.round.defect].letter]
    pressed(page, "Next round")
    assert "**Round 2 of 10** · ♥♥♥ 3 lives · 1 point" in words(page)
    assert len(page.get("plotly_chart")) == 1


def test_a_wrong_answer_costs_a_life_and_is_followed_by_the_tell():
    page, dealt = opened(), deal(0, "easy", 1)
    press(page, f"answer-{wrong(dealt)}")
    assert f"No: **{DEFECTS[dealt.round.defect].title}**." in words(page)
    assert f"**The tell:** {dealt.tell}" in words(page)
    assert "♥♥♡ 2 lives · 0 points" in words(page)


def test_three_wrong_answers_end_the_game_with_a_card_and_a_challenge():
    played = points.written([wrong(deal(5, "easy", i)) for i in (1, 2)])
    page = opened(seed="5", played=played)
    pressed(page, "Next round")
    press(page, f"answer-{wrong(deal(5, 'easy', 3))}")
    assert "Out of lives: 0 of 55 points" in [one.value for one in page.subheader]
    assert "Next round" not in [one.label for one in page.button]
    assert [one.proto.label for one in page.get("download_button")] == ["Save the card"]
    assert len(page.table[0].value) == 3
    (code,) = asked(page, "played")
    again = opened(seed="5", played=code)
    assert "Out of lives: 0 of 55 points" in [one.value for one in again.subheader]


def test_two_players_by_link_get_the_same_rounds_and_their_scores_are_compared():
    truths = [deal(5, "middle", i + 1).round.defect for i in range(ROUNDS)]
    theirs = points.written([*truths[:9], wrong(deal(5, "middle", 10))])
    mine = points.written(truths[:9])
    page = opened(seed="5", level="middle", against=theirs, played=mine)
    assert "to beat: 45" in words(page)
    assert "The challenger said:" in words(page)
    pressed(page, "Next round")
    assert "The challenger said:" not in words(page), "not before the player's own answer"
    press(page, f"answer-{truths[9]}")
    assert "**You win.** You: 55 points. Challenger: 45 points." in words(page)
    assert page.table[0].value["Challenger"].tolist()[9] != page.table[0].value["You"].tolist()[9]
    pressed(page, "Play another game")
    assert "**Round 1 of 10** · ♥♥♥ 3 lives · 0 points" in words(page)
    assert set(page.query_params) == {"seed", "level"}


def test_changing_the_game_starts_it_anew():
    page = opened(played="b")
    page.number_input(key="seed").set_value(7).run()
    assert not page.exception
    assert set(page.query_params) == {"seed"}
    assert asked(page, "seed") == ["7"]


NAMES = ("seed", "level", "played", "against", "x", "")
TEXTS = (
    "", " ", "-1", "0", "1", "7", "10", "11", "1e999", "nan", "easy", "HARD", "b", "bn", "x",
    "--", "-", "b" * 10, "b" * 11, "ｂ", "B", "b\n", "<b>", "\x00",
)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    query=some.dictionaries(
        some.sampled_from(NAMES),
        some.lists(some.sampled_from(TEXTS) | some.text(max_size=8), min_size=1, max_size=3),
        max_size=5,
    )
)
def test_no_address_breaks_it(query):
    page = opened(**query)
    assert not page.exception, query
    shown = page.session_state["address"].shown
    linked = opened(**{name: list(texts) for name, texts in shown.items() if texts})
    assert not linked.exception
    assert linked.session_state["address"].shown == shown
    assert "The link says" not in words(linked)
    for name in ("played", "against"):
        text = query.get(name, [""])[-1]
        assert (f"The link says {name} =" in words(page)) == (points.read(text) is None)
