"""Lesson 7 as a student sees it: predicts, is shown, makes q half blind, stops CoLT's centre."""

import re

from playwright.sync_api import expect

from tests.browser.driving import settled
from validation_core.lessons import LESSONS, blind_prior
from validation_core.lessons.blind_prior import SIZES
from validation_core.store import SHIPPED, Store
from validation_core.text import share_text


def test_a_student_goes_through_it(visit):
    seen = LESSONS["blind-prior"].load(Store(SHIPPED))
    share = blind_prior.rejection_rates(seen)
    n = SIZES.index(100)
    page = visit("lessons?lesson=blind-prior", reduced_motion="reduce")
    spoken = page.locator(".lesson .spoken")
    expect(page.locator(".lesson h2")).to_be_visible()
    settled(page)
    page.get_by_role("slider", name=re.compile("SBC rejects")).press("ArrowLeft")
    page.get_by_role("button", name="Show me").click()
    sbc = 100 * share[0, -1, 0, -1, SIZES.index(50)]
    expect(page.locator(".lesson .answer")).to_contain_text(
        f"SBC rejects {sbc:.0f}% of 400 batches (you said 49%), TARP"
    )
    page.get_by_role("slider", name=re.compile("^Simulations")).press("Home")
    page.get_by_role("slider", name=re.compile("^How blind")).press("Home")
    expect(spoken).to_contain_text(
        f"q is correct. At n = 20 SBC rejects {share_text(share[0, -1, 0, 0, 0])}"
    )
    expect(spoken).to_contain_text(f"CoLT {share_text(share[3, -1, 0, 0, 0])}")
    page.get_by_role("button", name="Break it: half blind").first.click()
    expect(spoken).to_contain_text(
        "blind in a share of the draws, alpha = 0.5. SBC rejects "
        f"{share_text(share[0, -1, 1, 5, -1])}"
    )
    page.get_by_role("slider", name="q ignores x").press("Home")
    expect(spoken).to_contain_text(
        f"blind at a share of all x, alpha = 0.5. SBC rejects {share_text(share[0, -1, 0, 5, -1])}"
    )
    page.get_by_role("button", name="Break it: CoLT").first.click()
    page.get_by_role("slider", name="CoLT's centre").press("Home")
    page.get_by_role("slider", name=re.compile("^Simulations")).press("Home")
    for _ in range(n):
        page.get_by_role("slider", name=re.compile("^Simulations")).press("ArrowRight")
    expect(spoken).to_contain_text(
        f"The centre does not move with x: CoLT rejects {share_text(share[3, 0, 0, -1, n])}"
    )
    page.get_by_role("button", name="Why").first.click()
    expect(page.locator('[data-value="colt"]')).to_have_text(
        f"{seen.colt.distance[-1, 0, -1]:.3f}"
    )
    expect(page.locator('[data-value="sbc"]')).to_have_text(
        f"{seen.ranked.distance[0, 0, -1]:.3f}"
    )
