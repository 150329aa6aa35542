"""Lesson 5 as a student sees it: predicts, is shown, and counts trials of each way."""

import re

from playwright.sync_api import expect

from tests.browser.driving import settled
from validation_core.lessons import LESSONS, four_ways
from validation_core.lessons.four_ways import ALPHA, TRIALS, TRIALS_SHOWN, WAYS
from validation_core.store import SHIPPED, Store


def test_a_student_goes_through_it(visit):
    study = LESSONS["four-ways"]
    seen = study.load(Store(SHIPPED))
    share = (seen.pvalues <= ALPHA).mean(-1)
    page = visit("lessons?lesson=four-ways", reduced_motion="reduce")
    spoken = page.locator(".lesson .spoken")
    expect(page.locator(".lesson h2")).to_be_visible()
    settled(page)
    page.get_by_role("slider", name=re.compile("One calibration set")).press("ArrowRight")
    page.get_by_role("button", name="Show me").click()
    measured = ", ".join(f"{share[w, 0, way.at]:.1%}" for w, way in enumerate(WAYS))
    expect(page.locator(".lesson .answer")).to_contain_text(
        f"You said 5%, 5%, 5%, 6%; measured on {TRIALS} trials: {measured}."
    )
    counts = four_ways.cumulative_rejections(seen)
    for w, way in enumerate(WAYS):
        page.get_by_role("button", name=f"Break {w + 1}: {way.short}", exact=True).first.click()
        page.get_by_role("slider", name=way.slider.label).press("End")
        page.get_by_role("slider", name="Trials").press("ArrowLeft")
        wrong, right = counts[w, :, -1, -2]
        expect(spoken).to_contain_text(f"{way.wrong}: {wrong} of {TRIALS_SHOWN[-2]} rejected")
        expect(spoken).to_contain_text(f"{way.right}: {right} of {TRIALS_SHOWN[-2]} rejected")
    page.get_by_role("button", name="Why", exact=True).first.click()
    page.get_by_role("slider", name=re.compile("True sd")).press("End")
    size = float(four_ways.actual_size(2.0))
    expect(page.locator('[data-value="size"]')).to_have_text(f"{size:.1%}")
