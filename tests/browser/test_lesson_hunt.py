"""Lesson 6 in a browser: predict, drag the ball, draw fresh data, climb."""

import numpy as np
from playwright.sync_api import expect

from tests.browser.driving import settled
from validation_core.lessons import LESSONS, hunt
from validation_core.store import Store


def test_what_is_said_follows_the_ball(visit):
    seen = LESSONS["hunt"].load(Store.usual())
    page = visit("lessons?lesson=hunt", reduced_motion="reduce")
    expect(page.get_by_role("button", name="Show me")).to_be_visible()
    settled(page)
    guess = page.get_by_role("slider", name="same ball on fresh data")
    guess.fill("5")
    page.get_by_role("button", name="Show me").click()
    share = 100 * seen.rejected[hunt.NOTHING] / hunt.TRIALS
    expect(page.locator(".lesson .answer")).to_contain_text(
        f"rejects in {share[0]:.1f}% of {hunt.TRIALS} hunts"
    )
    expect(page.locator(".lesson .answer")).to_contain_text(f"in {share[1]:.1f}% on fresh data")
    page.get_by_role("button", name="Break it: hunt").first.click()
    figure = page.locator("figure", has_text="Drag the ball")
    page.get_by_role("slider", name="Fresh batches").fill(str(hunt.FRESH))
    box = figure.locator(".hit").bounding_box()
    assert box is not None
    place = int(np.argmin(np.hypot(*(hunt.CENTRES - [0.9, -0.9]).T)))
    across, up = hunt.CENTRES[place] / (2 * hunt.AXIS_LIMIT) + 0.5
    page.mouse.click(box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"])
    words = page.locator(".lesson")
    expect(words).to_contain_text(
        f"It holds {hunt.share_with_interval(seen.inside[0, place], hunt.N)}"
    )
    fresh = int(seen.fresh_inside[0, :, place].sum())
    expect(words).to_contain_text(
        f"of fresh ones {hunt.share_with_interval(fresh, hunt.FRESH * hunt.N)}"
    )
    page.get_by_role("button", name="Break it: climb").first.click()
    page.get_by_role("slider", name="Steps uphill").fill(str(hunt.STEPS))
    last = hunt.share_with_interval(seen.path_inside[0, -1], hunt.N)
    expect(words).to_contain_text(f"At step {hunt.STEPS}: {last}")
