"""Lesson 4 in a browser: bricks fall, keep their gamma, stop at once, and open."""

import numpy as np
from playwright.sync_api import expect

from tests.browser.driving import settled, until
from validation_core.lessons import LESSONS, rain
from validation_core.store import Store
from validation_core.text import equals


def _bricks(page):
    """How many bricks are drawn, and the heights of the columns."""
    path = page.locator("figure", has_text="a brick for each trial").locator("svg g path").nth(1)
    return path.get_attribute("d").count("M")


def test_bricks_keep_the_gamma_at_which_they_fell(visit):
    page = visit("lessons?lesson=rain&stage=2", reduced_motion="no-preference")
    trials = page.get_by_role("slider", name="Trials")
    expect(trials).to_be_visible()
    settled(page)
    gamma = page.get_by_role("slider", name="Strength, gamma")
    trials.fill("30")
    assert until(lambda: _bricks(page) == 30)
    picture = page.locator("figure", has_text="a brick for each trial").locator("svg")
    path = picture.locator("g path").nth(1)
    before = path.get_attribute("d")
    gamma.fill(str(len(rain.GAMMAS) - 1))
    page.wait_for_timeout(200)
    assert path.get_attribute("d") == before, "bricks that lie stay"
    page.get_by_role("button", name="Play").first.click()
    assert until(lambda: _bricks(page) > 40)
    page.get_by_role("button", name="Pause").click()
    count = int(trials.input_value())
    seen = LESSONS["rain"].load(Store.usual())
    low = np.r_[seen.pvalues[0, :30], seen.pvalues[-1, 30:count]] < 1 / 20
    page.wait_for_timeout(300)
    expected = f"{count} bricks, {low.sum()} of them in the first of 20 bins"
    assert until(lambda: expected in picture.get_attribute("aria-label"))
    still = path.get_attribute("d")
    page.wait_for_timeout(300)
    assert path.get_attribute("d") == still, "paused at once"


def test_a_brick_opens_its_trial(visit):
    page = visit("lessons?lesson=rain&stage=2&trials=50&gamma=0.3", reduced_motion="reduce")
    figure = page.locator("figure", has_text="a brick for each trial")
    expect(figure).to_be_visible()
    settled(page)
    seen = LESSONS["rain"].load(Store.usual())
    g = rain.GAMMAS.index(0.3)
    trial = int(np.flatnonzero(seen.pvalues[g, :50] < 1 / 20)[0])
    box = figure.locator(".hit").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 40, box["y"] + box["height"] - 2)
    p = equals(float(seen.pvalues[g, trial]))
    expect(page.locator("h4", has_text=f"Trial {trial + 1}, gamma 0.3: p {p}")).to_be_visible()


def test_the_line_up_is_answered(visit):
    page = visit("lessons?lesson=rain", reduced_motion="reduce")
    expect(page.locator(".lesson .picture")).to_have_count(rain.SUSPECTS)
    settled(page)
    seen = LESSONS["rain"].load(Store.usual())
    page.get_by_role("button", name="New line-up").click()
    page.locator(".lesson .picture").nth(int(seen.guilty[1]) - 1).click()
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".lesson .answer")).to_contain_text(f"Right: rain {seen.guilty[1]} is")
    expect(page.locator(".lesson .picture.right")).to_have_count(1)
