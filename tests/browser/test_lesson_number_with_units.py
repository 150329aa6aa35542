"""Lesson 8 as a student sees it: predicts, draws pairs, weighs draws, breaks the interval."""

import re

from playwright.sync_api import expect

from tests.browser.driving import settled
from validation_core.lessons import LESSONS
from validation_core.lessons.number_with_units import GAMMAS, PAIRS, REPEATS, exact_divergence
from validation_core.store import SHIPPED, Store


def test_a_student_goes_through_it(visit):
    study = LESSONS["number-with-units"]
    seen = study.load(Store(SHIPPED))
    means = seen.means[0, 0]
    page = visit("lessons?lesson=number-with-units", reduced_motion="reduce")
    spoken = page.locator(".lesson .spoken")
    expect(page.locator(".lesson h2")).to_be_visible()
    settled(page)
    page.get_by_role("slider", name=re.compile("half a standard")).press("ArrowLeft")
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".lesson .answer")).to_contain_text("You said 0.49 nats; it is 0.25.")
    expect(spoken).to_contain_text(f"over {PAIRS[-1]:,} pairs is {means[5, -1]:.3f} ±")
    pairs = page.get_by_role("slider", name="Pairs of draws")
    pairs.press("ArrowLeft")
    expect(spoken).to_contain_text(f"over {PAIRS[-2]:,} pairs is {means[5, -2]:.3f} ±")
    page.get_by_role("slider", name="Strength, gamma").press("ArrowRight")
    expect(spoken).to_contain_text(f"pairs is {means[6, -2]:.3f} ±")
    expect(spoken).to_contain_text(f"the closed form says {exact_divergence(0, GAMMAS[6]):.3f}")
    page.get_by_role("button", name="What a nat means").first.click()
    page.get_by_role("slider", name="Strength, gamma").press("End")
    expect(spoken).to_contain_text("are 1.000 nats, odds of 2.72 to 1")
    page.get_by_role("button", name="Improve q").first.click()
    for m in (2, 3):
        page.get_by_role("slider", name="Draws weighed").press("ArrowRight")
        expect(spoken).to_contain_text(f"With M = {m} at most")
    page.get_by_role("button", name="Break it").first.click()
    page.get_by_role("slider", name="Degrees of freedom").press("End")
    share = seen.holding[-1] / REPEATS
    expect(spoken).to_contain_text("the variance of d is infinite")
    expect(spoken).to_contain_text(f"they do in {share:.1%}")
    page.get_by_role("button", name="Why").first.click()
    page.get_by_role("slider", name="Pairs of draws").press("Home")
    expect(page.locator('[data-value="n"]')).to_have_text("2")
    expect(page.locator('[data-value="mean"]')).to_have_text(f"{means[5, 0]:.3f}")
