"""The CoLT page as a visitor uses it: gamma and x move, a press on the map, the film, a stop."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.driving import (
    LONG,
    WAIT,
    expect_no_overflow,
    follows,
    no_exception,
    press,
    settled,
    shown,
    until,
)

# The cheapest thing to train that has both maps; no gallery has it at this seed.
ONE = "colt?embedding=Identity&k_gaussian=50&seed=5"
# Minutes of steps: nothing that ends while a test looks on.
LENGTHY = "colt?training=Paper&embedding=MLP&benchmark=Tree&seed=5"
VIEWS = ("Where", "Ranks", "Training", "Power", "Papers")


def _button(page, name):
    return page.get_by_role("button", name=name)


def _slider(page, name="Observation x"):
    return page.get_by_role("slider", name=name)


def _headline(page):
    return page.locator(".live .headline").first


def _panel(page, title):
    return page.locator(".live figure").filter(has_text=title)


def _heat(page, title):
    """Every pixel of a heat map."""
    return _panel(page, title).locator("canvas").evaluate("c => c.toDataURL()")


def _drawn(page):
    """Each figure as it is: its paths, and the pixels of its heat map."""
    return page.locator(".live figure").evaluate_all(
        """all => all.map(figure => [...figure.querySelectorAll('path, line, .mark')]
             .map(node => node.outerHTML).join('')
             + [...figure.querySelectorAll('canvas')].map(c => c.toDataURL()).join(''))"""
    )


def _view(page, name):
    page.get_by_role("radiogroup", name="View").get_by_text(name, exact=True).click()
    return settled(page)


@pytest.fixture(scope="module")
def localizer(lent, server):
    """The one localizer, which learns by itself; what fails here is not tried again."""
    page, before = lent.seen(), server.kept("models")
    page.goto(f"{server.url}/{ONE}")
    expect(page.locator(".live svg path").first).to_be_visible(timeout=WAIT)
    expect(_headline(page)).to_contain_text("region holds", timeout=LONG)
    lent.leave()
    return server.kept("models") - before


@pytest.fixture
def trained(localizer, visit):
    """The page where its localizer is trained."""
    page = visit(ONE)
    expect(_slider(page)).to_be_visible()
    expect(_headline(page)).to_contain_text("region holds")
    return settled(page)


def test_training_ends_in_a_map(trained, localizer):
    assert len(localizer) == 1
    expect(_headline(trained)).to_contain_text(re.compile(r"holds \d+% of q.s draws and \d+% \["))
    expect(_button(trained, re.compile("Train"))).to_have_count(0)
    for title in ("At this x, in θ", "Over x"):
        expect(_panel(trained, title).locator("canvas")).to_be_visible()
    no_exception(trained)


def test_x_moves_the_maps_at_once_and_the_address_on_release(trained, server):
    networks = server.kept("models")
    text, theta, x = (
        _headline(trained).inner_text(), _heat(trained, "At this x"), _heat(trained, "Over x")
    )  # fmt: skip
    _slider(trained).fill("3")
    expect(_headline(trained)).not_to_have_text(text)
    assert until(lambda: _heat(trained, "At this x") != theta)
    assert until(lambda: _heat(trained, "Over x") == x)
    expect(trained).to_have_url(re.compile(r"[?&]place=3\b"))
    text = _headline(settled(trained)).inner_text()
    trained.reload()
    expect(_headline(trained)).to_have_text(text)
    expect(_slider(trained)).to_have_value("3")
    assert server.kept("models") == networks


def test_gamma_moves_every_picture_and_asks_nobody(trained, server):
    results = server.kept("results")
    for view, figures in (("Where", 2), ("Ranks", 3)):
        _view(trained, view)
        gamma = _slider(trained, "Strength, gamma")
        gamma.fill("1")
        expect(trained).to_have_url(re.compile(r"[?&]gamma=0\.05\b"))
        settled(trained)
        text, url, drawn = _headline(trained).inner_text(), trained.url, _drawn(trained)
        assert len(drawn) == figures
        # `input` is what a drag sends; `change` only its end.
        gamma.evaluate("node => { node.value = 6; node.dispatchEvent(new Event('input')) }")
        expect(_headline(trained)).not_to_have_text(text)
        assert follows(lambda: _drawn(trained), drawn, figures), view
        assert trained.url == url
    assert server.kept("results") == results


def test_gamma_stays_from_view_to_view_and_in_a_link(trained):
    _slider(trained, "Strength, gamma").fill("4")
    expect(trained).to_have_url(re.compile(r"[?&]gamma=0\.2\b"))
    _view(trained, "Ranks")
    expect(_slider(trained, "Strength, gamma")).to_have_value("4")
    trained.reload()
    expect(_slider(trained, "Strength, gamma")).to_have_value("4", timeout=LONG)
    no_exception(settled(trained))


def test_a_press_on_the_map_over_x_moves_the_slider(trained):
    _slider(trained).fill("20")
    settled(trained)
    text = _headline(trained).inner_text()
    slider, names = _slider(trained), {"20"}
    for across, down in ((0.2, 0.5), (0.6, 0.2), (0.6, 0.8)):
        press(_panel(trained, "Over x").locator(".hit"), across, down)
        assert until(lambda: slider.input_value() not in names)
        settled(trained)
        names.add(slider.input_value())
    assert len(names) == 4
    expect(_headline(trained)).not_to_have_text(text)


def test_the_film_plays_to_its_end(trained):
    page = _view(trained, "Training")
    expect(_slider(page, "Step")).to_be_visible(timeout=LONG)  # this gamma's own learns first
    step = _slider(page, "Step")
    step.fill("0")
    expect(_headline(page)).to_contain_text("At step 0 ")
    settled(page)
    ball = page.locator(".live figure").first.locator("svg path")
    before = ball.evaluate_all("all => all.map(p => p.getAttribute('d'))")
    page.locator(".live").get_by_role("button", name="Play").click()
    last = step.get_attribute("max")
    expect(step).to_have_js_property("value", last)
    expect(page.locator(".live").get_by_role("button", name="Play")).to_be_visible()
    assert until(lambda: ball.evaluate_all("all => all.map(p => p.getAttribute('d'))") != before)
    no_exception(settled(page))


def test_every_view_fits_a_telephone(localizer, visit):
    page = visit(ONE, viewport={"width": 400, "height": 800})
    for name in VIEWS:
        _view(page, name)
        no_exception(page)
        expect_no_overflow(page)


def test_three_dimensions_show_two_at_a_time(visit):
    page = visit(f"{ONE}&dimensions=%283%2C+3%29")
    expect(_headline(page)).to_contain_text("region holds", timeout=LONG)
    settled(page)
    crosses = _panel(page, "At this x").locator("svg path")
    before = crosses.evaluate_all("all => all.map(p => p.getAttribute('d'))")
    page.get_by_text("Two parameters").click()
    expect(_panel(page, "At this x").get_by_text("θ₁, in sd of q")).to_be_visible()
    assert until(
        lambda: crosses.evaluate_all("all => all.map(p => p.getAttribute('d'))") != before
    )
    no_exception(settled(page))


def test_cancel_stops_the_work(visit, server):
    page = visit(LENGTHY)
    _button(page, re.compile("Train the paper's localizer")).click()
    expect(_button(page, "Cancel")).to_be_visible(timeout=LONG)
    shown(page.get_by_text("Train and map Tree").first)
    page.get_by_text("Waiting for").wait_for(state="hidden", timeout=LONG)  # a worker is at it
    working, results = server.workers(), server.kept("results")
    _button(page, "Cancel").click()
    shown(page.get_by_text("was stopped").first)
    expect(_button(page, "Start again")).to_be_visible()
    assert until(lambda: not server.workers() & working), "the worker that trained goes on"
    assert server.kept("results") == results
