"""The home page as a first visitor uses it: drag, press a picture, press the map, open a trial."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.driving import (
    LONG,
    box,
    expect_no_overflow,
    no_exception,
    press,
    settled,
    until,
)


@pytest.fixture
def home(visit):
    """The playground, drawn; for a reader who asks for less motion, so that it stands still."""

    def go(link="", **options):
        page = visit(link, **{"reduced_motion": "reduce", **options})
        expect(_slider(page, "Strength, gamma")).to_be_visible()
        return settled(page)

    return go


def _slider(page, name):
    return page.get_by_role("slider", name=name)


def _panel(page, title):
    return page.locator(".live figure").filter(has_text=title)


def _headline(page):
    return page.locator(".live .headline").first


def _end(locator):
    """Where something ends below."""
    place = box(locator)
    return place["y"] + place["height"]


def _paths(page, title):
    paths = _panel(page, title).locator("svg path")
    return paths.evaluate_all("all => all.map(path => path.getAttribute('d'))")


def _redraws(page):
    return int(page.locator(".live").first.get_attribute("data-redraws") or 0)


def _messages(page):
    """What the page sends over its socket from now on."""
    page.evaluate(
        """() => {
          window.sentNow = 0
          const send = WebSocket.prototype.send
          WebSocket.prototype.send = function (...all) {
            window.sentNow += 1
            send.apply(this, all)
          }
        }"""
    )
    return lambda: page.evaluate("window.sentNow")


def test_a_first_visitor_sees_pictures_and_no_button_in_the_way(home):
    page = home(viewport={"width": 1280, "height": 720})
    no_exception(page)
    expect(page.locator(".strip button")).to_have_count(18)
    places = [box(button) for button in page.locator(".strip button").all()]
    assert all(place["x"] > 300 and place["x"] + place["width"] < 1280 for place in places)
    expect(_panel(page, "Where q is wrong")).to_be_visible()
    for name in ("Strength, gamma", "Degradation, beta", "Observation x"):
        assert until(lambda: _end(_slider(page, name)) < 500), name  # noqa: B023
    picture = _panel(page, "Where q is wrong").locator(".plot")
    assert until(lambda: box(picture)["y"] + 200 < 720), "slider and picture are on one screen"
    expect(page.get_by_role("button", name=re.compile(r"\b(Train|Run|Start)\b"))).to_have_count(0)


def test_every_picture_follows_gamma_without_the_server(home):
    page = home()
    titles = ("Where q is wrong", "Conformal p-values", "Are they uniform")
    before = {title: _paths(page, title) for title in titles}
    canvas = _panel(page, "Over x").locator("canvas")
    picture = canvas.evaluate("c => c.toDataURL()")
    words, sent, redraws = _headline(page).inner_text(), _messages(page), _redraws(page)
    place = box(_slider(page, "Strength, gamma"))
    middle = place["y"] + place["height"] / 2
    page.mouse.move(place["x"] + place["width"] * 0.2, middle)
    page.mouse.down()
    for part in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):  # a busy machine draws many moves at once
        stood = _redraws(page)
        page.mouse.move(place["x"] + place["width"] * part, middle, steps=2)
        assert until(lambda: _redraws(page) > stood)  # noqa: B023
    expect(_headline(page)).not_to_have_text(words)
    assert sent() == 0
    assert _redraws(page) > redraws + 3
    for title in titles:
        assert until(lambda: _paths(page, title) != before[title]), title  # noqa: B023
    assert until(lambda: canvas.evaluate("c => c.toDataURL()") != picture)
    page.mouse.up()
    expect(page).to_have_url(re.compile("gamma="))


def test_beta_and_the_map_move_theirs(home):
    page = home()
    ball, ranks = _paths(page, "Where q is wrong"), _paths(page, "Conformal p-values")
    _slider(page, "Degradation, beta").press("End")
    assert until(lambda: _paths(page, "Conformal p-values") != ranks)
    assert until(lambda: _paths(page, "Where q is wrong") == ball)
    press(_panel(page, "Over x").locator(".hit"), 0.1, 0.15)
    assert until(lambda: _paths(page, "Where q is wrong") != ball)
    expect(page).to_have_url(re.compile(r"beta=1.*x=|x=.*beta=1"))


def test_keys_move_all_three_sliders(home):
    page = home()
    for name in ("Strength, gamma", "Degradation, beta", "Observation x"):
        slider = _slider(page, name)
        before = slider.get_attribute("aria-valuetext")
        slider.focus()
        page.keyboard.press("ArrowRight")
        expect(slider).not_to_have_attribute("aria-valuetext", before)


def test_a_new_sample_is_another_histogram(home):
    page = home()
    before, ball = _paths(page, "Conformal p-values"), _paths(page, "Where q is wrong")
    page.get_by_role("button", name="New sample").click()
    assert until(lambda: _paths(page, "Conformal p-values") != before)
    assert until(lambda: _paths(page, "Where q is wrong") == ball)


def test_a_small_picture_changes_the_benchmark_and_the_link(home, visit):
    page = home()
    words = _headline(page).inner_text()
    page.locator(".strip button").filter(has_text="Tree").click()
    expect(page).to_have_url(re.compile("benchmark=tree"))
    expect(_headline(page)).not_to_have_text(words)
    no_exception(page)
    _slider(page, "Strength, gamma").press("Home")
    expect(page).to_have_url(re.compile("gamma=0"))
    again = visit(page.url.partition("/?")[2] and f"?{page.url.partition('?')[2]}")
    expect(again.locator(".strip button[aria-pressed=true]")).to_have_text("Tree")
    expect(_slider(again, "Strength, gamma")).to_have_attribute("aria-valuetext", "0")


def test_a_link_off_the_grid_says_so(home):
    page = home("?benchmark=mean_shift&gamma=0.0123")
    expect(page.get_by_text("which is not on the slider: this is 0.0125")).to_be_visible()


def test_a_pressed_brick_opens_its_trial(home):
    page = home("?view=p-values+over+trials&test=SBC")
    press(_panel(page, "p-values of SBC").locator(".hit"), 0.02, 0.98)
    expect(page).to_have_url(re.compile("trial="))
    expect(page.get_by_text(re.compile("This trial (rejects|does not reject) q"))).to_be_visible(
        timeout=LONG
    )
    no_exception(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_and_dark(home, scheme):
    page = home(color_scheme=scheme, viewport={"width": 400, "height": 800})
    expect_no_overflow(page)
    picture = _panel(page, "Power over gamma")
    picture.scroll_into_view_if_needed()
    slider = _slider(page, "Strength, gamma")
    assert until(lambda: 0 <= box(slider)["y"] < 400), "it stays in sight beside what it moves"


def test_gamma_sweeps_by_itself_until_it_is_touched(home):
    page = home(reduced_motion="no-preference")
    slider = _slider(page, "Strength, gamma")
    begun = slider.get_attribute("aria-valuetext")
    assert until(lambda: slider.get_attribute("aria-valuetext") == "0.3")
    assert "gamma" not in page.url, "Python hears nothing on the way"
    page.keyboard.press("Shift")
    stood = slider.get_attribute("aria-valuetext")
    assert stood != begun
    expect(page).to_have_url(re.compile(f"gamma={stood}$"))
    page.wait_for_timeout(600)
    expect(slider).to_have_attribute("aria-valuetext", stood)


def test_beta_begins_anew_with_the_benchmark(home):
    page = home("?beta=1")
    page.locator(".strip button").filter(has_text="Tree").click()
    expect(page).to_have_url(re.compile(r"\?benchmark=tree$"))
    expect(_slider(settled(page), "Degradation, beta")).to_have_attribute("aria-valuetext", "0.00")


def test_reduced_motion_plays_calmly(home):
    page = home()
    page.locator(".live .play").first.click()
    page.wait_for_timeout(1200)
    assert _redraws(page) <= 4


def test_back_returns_to_the_benchmark_and_the_strength_before(home):
    page = home()
    pressed = page.locator(".strip button[aria-pressed=true]")
    first = pressed.inner_text()
    page.locator(".strip button").filter(has_text="Tree").click()
    expect(page).to_have_url(re.compile(r"\?benchmark=tree$"))
    strength = _slider(settled(page), "Strength, gamma")
    usual = strength.get_attribute("aria-valuetext")
    strength.press("Home")
    expect(page).to_have_url(re.compile(r"\?benchmark=tree&gamma=0$"))
    settled(page)
    page.go_back()
    expect(page).to_have_url(re.compile(r"\?benchmark=tree$"))
    settled(page)  # until then the chart of before stands beside the new one
    expect(strength).to_have_attribute("aria-valuetext", str(usual))
    page.go_back()
    expect(page).to_have_url(re.compile(r"/$"))
    no_exception(settled(page))
    expect(pressed).to_have_text(first)
