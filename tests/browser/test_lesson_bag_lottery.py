"""Lesson 3 in a browser: a picture is picked and answered, bags are drawn one by one."""

import re

from playwright.sync_api import expect

from tests.browser.driving import settled
from validation_core.lessons import LESSONS, bag_lottery
from validation_core.store import Store


def test_a_picture_is_picked_and_bags_are_drawn(visit):
    page = visit("lessons?lesson=bag-lottery", reduced_motion="reduce")
    expect(page.locator(".lesson h2")).to_be_visible()
    settled(page)
    page.locator(".lesson .picture").first.click()
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".lesson .answer")).to_contain_text("2 times the right width")
    seen = LESSONS["bag-lottery"].load(Store.usual())
    bags = page.get_by_role("slider", name="Bags")
    bags.press("Home")
    for count in (1, 2, 3):
        bags.press("ArrowRight")
        rank = seen.ranks[count - 1, 2, 2]
        expect(page.locator("h4", has_text=f"the true one ranks {rank}")).to_be_visible()
        expect(page.locator(".lesson .spoken")).to_contain_text(f"Bags so far: {count}.")
    page.wait_for_url(re.compile("trials=3"))
    page.get_by_role("button", name="Why", exact=True).click()
    chance = seen.chances[bag_lottery.TRIALS - 1, 2, 2, 0]
    expect(page.locator(".lesson .formula [data-value=chance]")).to_have_text(f"{chance:.3f}")
