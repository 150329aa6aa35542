"""Name that defect, on its page: a round, a whole game, a challenge, and links."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests import page_links
from validation_core.game import plot_power, plots, points, rounds
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
    kinds = ("markdown", "success", "info", "caption")
    return "\n".join(one.value for kind in kinds for one in page.get(kind))


def asked(page, name):
    value = page.query_params.get(name, [])
    return [value] if isinstance(value, str) else list(value)


def test_first_visit_shows_round_one_and_its_first_plot():
    page = opened()
    assert not page.exception
    assert "**Round 1 of 10**" in words(page)
    assert len(page.get("plotly_chart")) == 1
    assert [page.button(key=f"guess-{name}").label for name in DEFECTS]
    assert dict(page.query_params) == {}


def test_a_round():
    page, hidden = opened(seed="3"), rounds.deal(3, "easy", 1)
    press(page, "open-ranks")
    press(page, "open-units")
    assert len(page.get("plotly_chart")) == 3
    assert "A correct answer now gives 80 points" in words(page)
    assert asked(page, "plots") == ["ranks", "units"]
    press(page, f"guess-{hidden.defect}")
    title = DEFECTS[hidden.defect].title
    assert f"Correct: **{title}**. 80 points." in words(page)
    assert len(page.get("plotly_chart")) == len(PLOTS)
    drawn = plots.simulate_plots(hidden)
    for plot, about in PLOTS.items():
        said = f"{about.test}: p {said_equals(drawn.pvalues[plot])} in this round."
        assert said in words(page)
    assert asked(page, "played") == [DEFECTS[hidden.defect].letter + "3"]
    pressed(page, "Next round")
    assert "**Round 2 of 10** · 80 points" in words(page)
    assert asked(page, "round") == ["2"]
    assert len(page.get("plotly_chart")) == 1


def test_a_wrong_answer_gives_nothing_and_says_what_it_was():
    page, hidden = opened(), rounds.deal(0, "easy", 1)
    wrong = next(name for name in DEFECTS if name != hidden.defect)
    press(page, f"guess-{wrong}")
    assert f"The answer is **{DEFECTS[hidden.defect].title}**" in words(page)
    assert "**Round 1 of 10** · 0 points" in words(page)


def test_a_whole_game_and_its_challenge():
    page = opened(seed="5", level="middle")
    for at in range(1, ROUNDS + 1):
        hidden = rounds.deal(5, "middle", at)
        assert f"**Round {at} of 10**" in words(page)
        if at == 4:
            press(page, "open-tarp")
        press(page, f"guess-{hidden.defect}")
        if at < ROUNDS:
            pressed(page, "Next round")
    assert "990 points · 10 correct in a row" in words(page)
    assert "Next round" not in [one.label for one in page.button]
    (code,) = asked(page, "played")
    assert points.total(points.read(code), 5, "middle") == 990

    again = opened(**{name: asked(page, name) for name in page.query_params})
    assert "**Round 10 of 10** · 990 points" in words(again)
    assert again.table[0].value.equals(page.table[0].value)
    assert asked(again, "played") == [code]

    other = opened(seed="5", level="middle", against=code)
    assert "**Round 1 of 10** · 0 points · beat 990 of 1000" in words(other)
    assert set(other.table[0].value["Challenger"]) == {"answered"}
    press(other, f"guess-{rounds.deal(5, 'middle', 1).defect}")
    title = DEFECTS[rounds.deal(5, "middle", 1).defect].title
    assert other.table[0].value["Challenger"][0] == f"100 ({title})"
    assert "**You: 100. Challenger: 990.**" in words(other)
    pressed(other, "New game")
    assert "beat" not in words(other).split("\n")[0]
    assert asked(other, "against") == []


def test_the_link_restores_plots_that_were_opened():
    page = opened(seed="9", round="4", plots=["tarp", "ecdf"])
    assert len(page.get("plotly_chart")) == 3
    assert "**Round 4 of 10**" in words(page)


def test_changing_the_game_starts_it_anew():
    page = opened(played="b1", plots="tarp")
    page.number_input(key="seed").set_value(7).run()
    assert not page.exception
    assert set(page.query_params) == {"seed"}
    assert asked(page, "seed") == ["7"]


NAMES = ("seed", "level", "round", "played", "against", "plots", "x", "")
TEXTS = (
    "", " ", "-1", "0", "1", "7", "10", "11", "1e999", "nan", "easy", "HARD", "b1", "b9", "b0",
    "--", "-", "b1" * 10, "b1" * 11, "b１", "B1", "b1\n", "tarp", "TARP", "draws", "<b>", "\x00",
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
