"""Train an estimator as a visitor uses it: a film plays at once, and follows slider and press."""

from playwright.sync_api import expect

from tests.browser.driving import no_exception, press, until

MAP = 2
"""The panel that maps x: its regions are pixels, its places do not move with the epoch."""


def _drawn(page, panel):
    """The paths of one of the live panels."""
    return (
        page.locator(".live figure")
        .nth(panel)
        .evaluate("node => [...node.querySelectorAll('svg path')].map(p => p.getAttribute('d'))")
    )


def test_a_first_visit_shows_a_film_that_follows_its_slider_and_a_press(visit, server):
    page = visit("train-an-estimator")
    headline = page.locator(".live .headline").first
    expect(headline).to_contain_text("nats from the exact posterior")
    kept = server.kept("results")

    slider = page.locator(".live input[type=range]").first
    slider.press("End")  # the film, which plays by itself, stops
    expect(headline).to_contain_text("At epoch 150")
    # Panels are drawn after the headline: a timer of the page comes later still.
    page.evaluate("() => new Promise((done) => setTimeout(done, 500))")
    said, before = headline.text_content(), [_drawn(page, panel) for panel in range(6)]
    slider.press("Home")
    expect(headline).to_contain_text("Before it learns")
    assert until(lambda: all(_drawn(page, i) != before[i] for i in range(6) if i != MAP))
    assert headline.text_content() != said

    here = _drawn(page, 0)
    press(page.locator(".live figure").nth(MAP).locator("svg .hit").first, 0.1, 0.5)
    assert until(lambda: _drawn(page, 0) != here)
    assert server.kept("results") == kept  # nothing was trained
    no_exception(page)
