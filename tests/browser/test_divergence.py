"""The Symmetric divergence page as a visitor uses it: it begins by itself, sliders are live."""

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
    until,
)

PATH = "symmetric-divergence"
# One small model, the quickest inference, few data sets: seconds.
CHEAP = f"{PATH}?models=Heart+transplants&inference=Laplace&iterations=300&datasets=25&seed=3"


def _chart(page):
    return page.locator(".live").first


def _lines(page):
    """What the last panel draws."""
    paths = _chart(page).locator("figure svg").last.locator("path")
    return paths.evaluate_all("all => all.map((one) => one.getAttribute('d'))")


def _slider(page, label):
    return _chart(page).get_by_label(label)


@pytest.fixture(scope="module")
def ran(lent, server):
    """The cheap runs, which the page begins by itself."""
    page = lent.visit(CHEAP)
    expect(_chart(page)).to_contain_text("After 300 iterations", timeout=LONG)
    expect(_chart(page)).to_contain_text(re.compile("has a median of"), timeout=LONG)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=LONG)
    lent.leave()
    return server.kept("results")


def test_a_first_visit_has_every_figure(visit):
    """Without a button: 30,000 iterations, real covariates, nothing missing but of ionosphere."""
    page = settled(visit(PATH))
    for name in ("Iterations", "Importance sampling", "Over M"):
        page.get_by_role("radio", name=name, exact=True).or_(
            page.get_by_role("button", name=name, exact=True)
        ).first.click()
        settled(page)
        expect(_chart(page)).to_contain_text(re.compile("after 30,000 iterations", re.IGNORECASE))
        expect(_chart(page).locator("figure")).to_have_count(5)
        expect(_chart(page)).not_to_contain_text(re.compile("is there yet|stand-in"))
        for figure in _chart(page).locator("figure").all():
            if "Ionosphere" not in figure.inner_text():
                expect(figure).not_to_contain_text("are missing")
    expect(page.get_by_role("button", name=re.compile(r"Run \d+ runs|Run it"))).to_have_count(0)
    expect(page.get_by_text("are drawn at its edge, with an arrow").first).to_be_visible()
    no_exception(page)


def test_captions_move_no_picture_while_sliders_move(visit):
    """Of whatever length they are: all below would be laid out and drawn anew."""
    page = settled(visit(PATH))
    figures = _chart(page).locator("figure")
    expect(figures).to_have_count(5)
    tops = """all => all.map((one) => Math.round(
      one.getBoundingClientRect().top - all[0].getBoundingClientRect().top))"""
    before = figures.evaluate_all(tops)
    for label in ("Draws weighed, M", "Data sets averaged, K"):
        rail = _slider(page, label)
        for step in range(int(rail.get_attribute("max")) + 1):
            rail.evaluate(
                """(it, step) => { it.value = step
                  it.dispatchEvent(new Event('input', { bubbles: true })) }""",
                step,
            )
            page.evaluate(
                "() => new Promise((done) => requestAnimationFrame(() => "
                "requestAnimationFrame(done)))"
            )
            assert figures.evaluate_all(tops) == before


def test_the_first_panel_begins_by_itself(ran, visit):
    assert len(ran) >= 4
    page = visit(CHEAP)
    expect(_chart(page)).to_contain_text("95% interval")
    expect(page.get_by_text("If q were correct").first).to_be_visible()
    no_exception(page)


def test_m_and_k_move_in_the_browser_and_stand_in_the_address(ran, visit):
    page = visit(CHEAP)
    expect(_chart(page)).to_contain_text("95% interval")
    before = _lines(settled(page))
    _slider(page, "Draws weighed, M").fill("3")
    expect(_chart(page)).to_contain_text("M = 10")
    assert until(lambda: _lines(page) != before)
    page.wait_for_url(re.compile("weigh=10"), timeout=WAIT)
    weighed = _lines(settled(page))
    _slider(page, "Data sets averaged, K").fill("0")
    expect(_chart(page)).to_contain_text("10 data sets")
    assert until(lambda: _lines(page) != weighed)
    page.wait_for_url(re.compile("first-k=10"), timeout=WAIT)
    page.reload()
    settled(page)
    expect(_chart(page)).to_contain_text("(M = 10, 10 data sets)")
    no_exception(page)


def test_the_view_over_m_has_a_slider_of_iterations(ran, visit):
    page = visit(f"{CHEAP}&divergence-view=Over+M")
    expect(_chart(page)).to_contain_text("(M = 100, ")
    before = _lines(settled(page))
    _slider(page, "Iterations of inference").fill("0")
    expect(_chart(page)).to_contain_text("After 10 iterations")
    assert until(lambda: _lines(page) != before)
    no_exception(page)


def test_the_numbers_can_be_taken_away(ran, visit):
    page = settled(visit(CHEAP))
    page.get_by_text("The numbers", exact=True).click()
    button = page.locator("[data-testid=stDownloadButton] button").first
    text = download_from(page, button).path().read_text()
    assert text.startswith(
        "model,model_label,inference,inference_label,iterations,trained_m,m,skl,ci_low"
    )
    assert text.count("\n") == 1 + 4 * 7


def test_a_link_that_says_nonsense_is_read_as_none(ran, visit):
    page = visit(f"{CHEAP}&models=Nonsense&weigh=none&first-k=inf&one-model=x&design=y")
    expect(_chart(page)).to_contain_text("95% interval")
    no_exception(page)


def test_what_is_missing_waits_for_a_press(ran, visit):
    page = visit(f"{CHEAP.replace('seed=3', 'seed=4')}&models=Concrete")
    shown(page.get_by_role("button", name=re.compile("Run 4 runs")))
    page.get_by_role("button", name=re.compile("Run 4 runs")).click()
    expect(_chart(page).locator("figure").nth(1)).not_to_contain_text(
        "are missing", timeout=LONG
    )  # fmt: skip
    no_exception(page)


def test_nothing_is_wider_than_the_window(ran, visit):
    page = visit(CHEAP)
    for width in (400, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        expect_no_overflow(page)
