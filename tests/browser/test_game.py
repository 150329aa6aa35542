"""Name that defect as a student plays it: a plot, a guess, the truth, the next round."""

import re

from playwright.sync_api import expect

from tests.browser.driving import settled
from validation_core.game import plots, rounds
from validation_core.game.plots import PLOTS
from validation_core.game.rounds import DEFECTS
from validation_core.text import equals


def test_a_student_plays_two_rounds(visit):
    first, second = (rounds.deal(11, "easy", at) for at in (1, 2))
    page = visit("name-that-defect?seed=11")
    charts = page.locator(".js-plotly-plot")
    expect(charts).to_have_count(1)
    page.get_by_role("button", name="SBC ranks").click()
    expect(charts).to_have_count(2)
    expect(page).to_have_url(re.compile("plots=ranks"))
    page.get_by_role("button", name=DEFECTS[first.defect].title, exact=True).click()
    expect(page.get_by_text("90 points.")).to_be_visible()
    expect(charts).to_have_count(len(PLOTS))
    pvalue = plots.simulate_plots(first).pvalues["ecdf"]
    words = f"{PLOTS['ecdf'].test}: p {equals(pvalue)} in this round."
    expect(page.get_by_text(words)).to_be_visible()
    page.get_by_role("button", name="Next round").click()
    expect(charts).to_have_count(1)
    expect(page.get_by_text("Round 2 of 10")).to_be_visible()
    page.get_by_role("button", name=DEFECTS[second.defect].title, exact=True).click()
    expect(page.get_by_text("190 points")).to_be_visible()
    settled(page)
    expect(page.get_by_role("button", name="beat my 190 of 1000")).to_be_visible()
