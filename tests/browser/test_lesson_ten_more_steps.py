"""Lesson 2 as a student sees it: predicts, is shown, trains, breaks it, drags a test point."""

import re

from playwright.sync_api import expect

from tests.browser.driving import press, settled
from validation_core.lessons import LESSONS, ten_more_steps
from validation_core.lessons.ten_more_steps import STEPS, TRIALS
from validation_core.store import SHIPPED, Store


def test_a_student_goes_through_it(visit):
    study = LESSONS["ten-more-steps"]
    seen = study.load(Store(SHIPPED))
    share = seen.looks.uniform / TRIALS
    page = visit("lessons?lesson=ten-more-steps", reduced_motion="reduce")
    spoken = page.locator(".lesson .spoken")
    expect(page.locator(".lesson h2")).to_be_visible()
    settled(page)
    page.get_by_role("slider", name=re.compile("untrained")).press("ArrowLeft")
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".lesson .answer")).to_contain_text(
        f"You said 49% and 50%. The untrained network rejects a correct q in {share[0, 0, 1]:.1%}"
    )
    expect(spoken).to_contain_text(f"After 300 steps, test points from q: Uniform rejects "
                                   f"{share[0, -1, 0]:.1%}")  # fmt: skip
    for _ in range(3):
        page.get_by_role("slider", name="Training steps").press("ArrowLeft")
    expect(spoken).to_contain_text(f"After {STEPS[-4]} steps, test points from q: Uniform rejects "
                                   f"{share[0, -4, 0]:.1%}")  # fmt: skip
    page.get_by_role("button", name="Break it").first.click()
    for _ in range(2):
        page.get_by_role("slider", name="Score").press("ArrowRight")
    expect(spoken).to_contain_text("Score: shifted by 2 sd. Test points from p: Uniform rejects "
                                   f"{share[2, -1, 1]:.1%}, C2ST 0.0%")  # fmt: skip
    page.get_by_role("button", name="Why").first.click()
    _, _, u = ten_more_steps.rank_among_beads(seen)
    line = page.locator("figure:visible rect.hit")
    press(line, 0.999, 0.5)
    expect(page.locator('[data-value="u"]')).to_have_text(f"{u[0, -1]:.3f}")
    press(line, 0.001, 0.5)
    expect(page.locator('[data-value="u"]')).to_have_text(f"{u[0, 0]:.3f}")
    page.get_by_role("button", name="Draw ξ again").click()
    expect(page.locator('[data-value="u"]')).to_have_text(f"{u[1, 0]:.3f}")
