"""Name that defect as a student plays it: a plot, an answer, the tell, the next round."""

import re

from playwright.sync_api import expect

from tests.browser.driving import settled
from validation_core.game.deal import deal
from validation_core.game.rounds import DEFECTS

# The least opacity of what was drawn before, while a script runs; 2 where none stood.
_FADED = """async () => {
  const running = () => document.querySelector('[data-test-script-state=running]')
  const frame = () => new Promise(requestAnimationFrame)
  let least = 2
  while (!running()) await frame()
  while (running()) {
    for (const node of document.querySelectorAll('[data-stale=true]'))
      least = Math.min(least, Number(getComputedStyle(node).opacity))
    await frame()
  }
  return least
}"""


def test_a_student_plays_two_rounds(visit):
    first, second = (deal(11, "easy", at) for at in (1, 2))
    page = visit("name-that-defect?seed=11")
    charts = page.locator(".js-plotly-plot")
    expect(charts).to_have_count(1)
    right = DEFECTS[first.round.defect]
    page.get_by_role("button", name=right.title, exact=True).click()
    expect(page.get_by_text(first.tell)).to_be_visible()
    expect(charts).to_have_count(2)
    expect(page).to_have_url(re.compile(f"played={right.letter}"))
    page.get_by_role("button", name="Next round").click()
    expect(charts).to_have_count(1)
    expect(page.get_by_text("Round 2 of 10")).to_be_visible()
    page.get_by_role("button", name=DEFECTS[second.round.defect].title, exact=True).click()
    expect(page.get_by_text("3 points · 2 in a row")).to_be_visible()
    settled(page)


def test_what_is_not_drawn_anew_yet_stays_readable(visit):
    """While rounds are simulated, words keep a contrast of 4.5."""
    page = visit("name-that-defect?seed=12&level=hard")
    answer = page.locator(".st-key-answers button").first
    page.evaluate(f"() => {{ window.faded = ({_FADED})() }}")
    answer.click()
    expect(page.get_by_role("button", name="Next round")).to_be_visible()
    assert 0.8 <= page.evaluate("window.faded") <= 1
