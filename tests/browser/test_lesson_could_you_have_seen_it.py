"""Lesson 9 as a student sees it: predicts, runs trials, changes the test, spends a budget."""

import re

from playwright.sync_api import expect

from tests.browser.driving import settled
from validation_core.lessons import LESSONS
from validation_core.lessons.could_you_have_seen_it import (
    BUDGETS,
    GAMMAS,
    TESTS,
    TRIALS,
    rows_tested,
    simulations_needed,
)
from validation_core.store import SHIPPED, Store


def test_a_student_goes_through_it(visit):
    study = LESSONS["could-you-have-seen-it"]
    rejected = study.load(Store(SHIPPED)).rejected
    hits = rejected.sum(-1)
    share, asked = hits / TRIALS, GAMMAS.index(0.2)
    need = simulations_needed(share)
    page = visit("lessons?lesson=could-you-have-seen-it", reduced_motion="reduce")
    spoken = page.locator(".lesson .spoken")
    expect(page.locator(".lesson h2")).to_be_visible()
    settled(page)
    page.get_by_role("slider", name=re.compile("Simulations to find")).press("ArrowLeft")
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".lesson .answer")).to_contain_text(
        f"You said 490; {TESTS[0]}, takes about {need[0, asked]:.0f}."
    )
    budget = page.get_by_role("slider", name="Simulations, n")
    trials = page.get_by_role("slider", name="Trials")
    budget.press("Home")
    expect(spoken).to_contain_text(f"{hits[0, asked, 0]} reject")
    trials.press("ArrowLeft")
    first = rejected[0, asked, 0, : TRIALS - 20].sum()
    expect(spoken).to_contain_text(f"of {TRIALS - 20} checks of a q that is 0.2 sd off, {first}")
    trials.press("Home")
    expect(spoken).to_contain_text(
        "0 reject. That share estimates the power: –, 95% interval 0% to 100%"
    )
    page.get_by_role("button", name="Break it").first.click()
    test = page.get_by_role("slider", name="Test", exact=True)
    test.press("End")
    budget.press("End")
    expect(spoken).to_contain_text(
        f"{TESTS[-1]} turns {BUDGETS[-1]:,} simulations into {rows_tested(BUDGETS[-1])[-1]:,} rows"
    )
    expect(spoken).to_contain_text(f"found in {share[-1, asked, -1]:.1%} of checks")
    page.get_by_role("button", name="Spend").first.click()
    budget.press("End")
    third = GAMMAS.index(0.3)
    expect(spoken).to_contain_text(
        f"Enough, but {BUDGETS[-1] - need[0, third]:,.0f} are wasted: about "
        f"{need[0, third]:,.0f} would"
    )
    budget.press("Home")
    expect(spoken).to_contain_text(f"Too few: about {need[0, third]:,.0f} reach 80%")
    page.get_by_role("button", name="Why").first.click()
    expect(page.locator('[data-value="need"]')).to_have_text(f"= {need[0, asked]:,.0f}")
