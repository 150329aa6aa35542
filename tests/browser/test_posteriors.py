"""Two posteriors compared: files in, the words of the difference, another reference, the data."""

import csv

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.driving import (
    LONG,
    download_from,
    expect_no_overflow,
    no_exception,
    npz,
    settled,
    shown,
    until,
)

pytestmark = pytest.mark.timeout(400)


def _right(wrong):
    """The exact posterior's draws at the same simulations."""
    noise = np.random.default_rng(0).standard_normal((100, 20, 2))
    return {**wrong, "theta_q": 0.8 * wrong["x"][:, None] + 0.2**0.5 * noise}


@pytest.fixture(scope="module")
def both(wrong):
    return [npz(wrong, "early.npz"), npz(_right(wrong), "late.npz")]


def _upload(page, files):
    page.locator("input[type=file]").set_input_files(files)


def _done(page):
    """All measures of what was brought are there: the one of the test that takes longest, too.

    The example's headline may stand for a moment beside the new one, which is therefore named.
    """
    expect(page.get_by_text("until you bring tables")).to_have_count(0, timeout=LONG)
    shown(page.get_by_role("heading", name="true posterior: late."), 2 * LONG)
    settled(page)
    page.get_by_text("Every measure").click()
    page.get_by_text("In the order given").click()
    shown(page.get_by_text("learned region").first, 2 * LONG)
    return settled(page)


def test_the_nearer_of_two_is_said_and_taken_away(visit, both):
    page = visit("compare-posteriors")
    _upload(page, both[:1])
    expect(page.get_by_text("add another one of the same simulations")).to_be_visible()
    _upload(page, both[1:])
    _done(page)
    expect(page.get_by_text("late is nearer than early: ")).to_be_visible()
    table = download_from(page, page.get_by_role("button", name="Data (CSV)"))
    rows = list(csv.DictReader(table.path().read_text().splitlines()))
    assert {row["Table"] for row in rows} == {"early", "late"}
    assert any(row["Nearer"] == "yes" for row in rows if row["Table"] == "late")
    no_exception(page)


def test_another_reference_keeps_the_order_of_the_tables(visit, both):
    page = visit("compare-posteriors")
    _upload(page, both)
    _done(page)
    box, late = page.get_by_role("combobox"), page.get_by_role("option", name="late")
    for _ in range(5):  # a run of the page that was still under way closes the list again
        box.click()
        if until(lambda: page.wait_for_timeout(1000) or late.count(), 5):
            break
    late.click()
    expect(page.get_by_text("early is farther than late: ")).to_be_visible()
    ticks = page.locator(".js-plotly-plot").last.locator(".xtick text")
    expect(ticks).to_have_text(["early", "late"])
    no_exception(settled(page))


def test_other_simulations_are_left_out(visit, both, wrong):
    elsewhere = npz({**wrong, "x": wrong["x"] + 1}, "elsewhere.npz")
    page = visit("compare-posteriors", viewport={"width": 400, "height": 800})
    _upload(page, [both[0], elsewhere, both[1]])
    expect(page.get_by_text("elsewhere cannot be compared with early")).to_be_visible()
    _done(page)
    expect(page.get_by_text("late is nearer than early")).to_be_visible()
    expect_no_overflow(page)
    no_exception(page)
