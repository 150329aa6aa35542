"""The Compare page as a visitor uses it: choose, run, watch curves refine, look inside, ask."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.driving import (
    LONG,
    WAIT,
    download_from,
    expect_no_overflow,
    no_exception,
    settled,
    shown,
)

# One gamma, tests that train nothing: seconds.
CHEAP = (
    "compare?comparison=A+comparison+of+my+own&methods=SBC&methods=MMD-FUSE"
    "&perturbation=Blind+prior&dims=%281%2C+1%29&n=100&k=10&option-mmd_fuse-points=20"
    "&option-mmd_fuse-permutations=39&trials-own=50&seed=7"
)


def _button(page, name):
    return page.get_by_role("button", name=name)


def _legend(page):
    return page.locator(".live").first


@pytest.fixture(scope="module")
def ran(lent, server):
    """The cheap comparison, run with its button."""
    page = lent.visit(CHEAP)
    _button(page, "Run 50 trials a point").click(timeout=WAIT)
    shown(page.get_by_text("The numbers, and the command"))
    expect(_button(page, "Cancel")).to_have_count(0, timeout=LONG)
    lent.leave()
    return server.kept("results")


def test_it_opens_with_the_price(visit):
    page = visit("compare?comparison=A+comparison+of+my+own&seed=9")
    expect(page.get_by_text("Not computed yet")).to_be_visible()
    expect(_button(page, "Run 200 trials a point")).to_be_visible()
    no_exception(page)


def test_a_comparison_runs_and_is_drawn(ran, visit):
    assert len(ran) >= 4  # two tests, two parts each
    page = visit(CHEAP)
    expect(_legend(page)).to_contain_text("SBC")
    expect(_legend(page)).to_contain_text("MMD-FUSE")
    expect(page.get_by_text(re.compile("q is rejected in"))).to_be_visible()
    no_exception(page)
    for view in ("Power per draw", "Power per second"):
        page.get_by_text(view, exact=True).click()
        settled(page)
        expect(page.locator(".live svg").first).to_be_visible()
        no_exception(page)


def test_what_is_found_can_be_taken_away(ran, visit):
    page = visit(CHEAP)
    page.get_by_text("The numbers, and the command that makes them").click()
    button = page.locator("[data-testid=stDownloadButton] button").first
    text = download_from(page, button).path().read_text()
    assert text.startswith("benchmark,method,options")
    assert text.count("\n") == 3
    expect(page.get_by_text("power --benchmark gaussian")).to_be_visible()


def test_a_test_can_be_opened(ran, visit):
    page = visit(CHEAP)
    _button(page, "Open one test").click()
    shown(page.locator("[data-testid=stPlotlyChart]").first)
    no_exception(page)


def test_advice_follows_the_answers(visit):
    page = visit("compare?compare-view=Which+test%3F")
    expect(page.get_by_role("heading", name="Within x")).to_be_visible()
    page.get_by_text("where in theta and x it is wrong").click()
    expect(page.get_by_role("heading", name=re.compile("CoLT"))).to_be_visible()
    no_exception(page)


def test_nothing_is_wider_than_the_window(ran, visit):
    page = visit(CHEAP)
    for width in (400, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        expect_no_overflow(page)
