"""Every lesson in a browser: its file offline, its page, its story, its keys, and axe-core."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import CONTRAST, serious
from tests.browser.driving import WAIT, settled, until
from validation_core import lessons
from validation_core.lessons import LESSONS
from validation_core.store import Store

NAMES = list(LESSONS)
PHONE = {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The path of each lesson's file."""
    folder = tmp_path_factory.mktemp("lessons")
    paths = {}
    for name, study in LESSONS.items():
        paths[name] = folder / f"{name}.html"
        numbers = study.load(Store.usual())
        paths[name].write_text(lessons.lesson_html(study.lesson(numbers)), encoding="utf-8")
    return paths


def _complaints(page):
    """Whatever a file asks for, or says on the console: neither may happen."""
    result = []

    def ask(request):
        if not request.url.startswith("file:"):
            result.append(request.url)

    page.on("console", lambda message: result.append(message.text))
    page.on("pageerror", lambda error: result.append(str(error)))
    page.on("request", ask)
    return result


@pytest.fixture(scope="module")
def complaints(unplugged):
    return _complaints(unplugged.page)


@pytest.fixture
def offline(unplugged, complaints):
    """Opens a file without a network, as a visitor who was never there."""
    visits = []

    def go(path, anchor="", **screen):
        if visits:
            unplugged.leave()
        visits.append(path)
        page = unplugged.seen(**{"reduced_motion": "reduce", **screen})
        page.goto(f"{path.as_uri()}{anchor}")
        expect(page.locator(".lesson h2")).to_be_visible()
        return page

    complaints.clear()
    yield go
    unplugged.leave()
    assert not complaints


@pytest.fixture
def clocked(window, files):
    """A function: what the screen is like -> a file whose time can be run ahead."""
    pages = []

    def go(**screen):
        page = window("file://", offline=True, **screen)
        pages.append(_complaints(page))
        page.clock.install()
        page.goto(files[NAMES[0]].as_uri())
        expect(page.locator(".lesson h2")).to_be_visible()
        return page

    yield go
    assert not any(pages)


def _tabs(page):
    return page.locator(".lesson .stages button:not(.watch)")


def _rails(page):
    """Sliders that a reader can move now."""
    return page.locator(".lesson .sliders input:visible").all()


def _redraws(page):
    return int(page.locator(".live").first.get_attribute("data-redraws") or 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_opens_within_a_second_and_all_its_controls_work(offline, files, name):
    """At no stage is anything serious to axe-core, in the light or in the dark."""
    page = offline(files[name], color_scheme="light")
    loaded = page.evaluate("performance.getEntriesByType('navigation')[0].domComplete")
    assert loaded < 1000
    for tab in _tabs(page).all():
        tab.click()
        expect(tab).to_have_attribute("aria-current", "step")
        expect(page.locator(".lesson .spoken")).not_to_be_empty()
        assert page.locator(".lesson figure:visible svg path").count() > 0
        for rail in _rails(page):
            before = _redraws(page)
            key = "ArrowLeft" if rail.evaluate("it => it.value === it.max") else "ArrowRight"
            rail.press(key)
            assert until(lambda before=before: _redraws(page) > before)
        assert not serious(page), tab.inner_text()
        page.get_by_role("button", name="Dark").click()
        assert not serious(page, CONTRAST), tab.inner_text()
        page.get_by_role("button", name="Light").click()
        words = page.locator(".lesson").inner_text()
        assert not re.search(r"\bNaN\b|undefined|\{\w+\}|Infinity", words), words


@pytest.mark.parametrize("name", NAMES)
def test_a_file_restores_what_its_address_says(offline, files, name):
    """On a telephone, where sliders and picture are in sight together."""
    page = offline(files[name])
    _tabs(page).nth(2).click()
    for rail in _rails(page)[:2]:
        rail.press("Home")
    # By a timer of the page, which comes after the one that writes the address.
    page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
    address, words = page.url, page.locator(".lesson .spoken").inner_text()
    again = offline(files[name], "#" + address.partition("#")[2], viewport=PHONE)
    expect(_tabs(again).nth(2)).to_have_attribute("aria-current", "step")
    expect(again.locator(".lesson .spoken")).to_have_text(words)
    _fits_a_phone(again)


def _fits_a_phone(page):
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    pictures = page.locator(".lesson .panels figure:visible .plot").evaluate_all(
        "(nodes) => nodes.map((node) => node.getBoundingClientRect().bottom).sort((a, b) => a - b)"
    )
    assert pictures[:2][-1] <= PHONE["height"], "two pictures are on the first screen"
    rail = page.locator(".lesson .sliders").first
    picture = page.locator(".lesson .panels figure:visible .plot").first
    picture.scroll_into_view_if_needed()
    above, plot = rail.bounding_box(), picture.bounding_box()
    assert above is not None
    assert plot is not None
    assert above["y"] + 20 < PHONE["height"]
    assert above["y"] + above["height"] > 0, "the rails stay in sight"
    assert plot["y"] + min(plot["height"], 150) <= PHONE["height"]
    below = above["y"] >= plot["y"] + plot["height"] - 5
    assert below or above["y"] + above["height"] <= plot["y"] + 5


def test_a_phone_shows_all_pictures_and_sliders_of_a_stage_at_once(window, files):
    """Of every lesson, at every stage, by finger."""
    page = window(
        "file://",
        offline=True,
        viewport=PHONE,
        has_touch=True,
        is_mobile=True,
        reduced_motion="reduce",
    )
    shown = page.locator(
        ".lesson figure:visible > .plot > svg, .lesson .sliders input[type=range]:visible"
    )
    for name in NAMES:
        page.goto(files[name].as_uri())
        for tab in _tabs(page).all():
            tab.click()
            ends = shown.evaluate_all("all => all.map(it => it.getBoundingClientRect().bottom)")
            assert max(ends) <= PHONE["height"], (name, tab.inner_text())


@pytest.mark.parametrize("anchor", ["#9:1", "#0:x", "#0:1,2", "#", "#0:" + "9" * 400, "#-1:0"])
def test_a_file_survives_any_address(offline, files, anchor):
    page = offline(files[NAMES[0]], anchor)
    expect(_tabs(page).first).to_have_attribute("aria-current", "step")


def test_a_file_changes_its_theme(offline, files):
    page = offline(files[NAMES[0]], color_scheme="light")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(paper) != light
    page.get_by_role("button", name="Light").click()
    assert page.evaluate(paper) == light


def test_a_lesson_tells_its_story_until_it_is_touched(clocked):
    page = clocked()
    page.clock.run_for(1600)
    expect(page.locator(".lesson.told")).to_be_visible()
    second = _tabs(page).nth(1)
    assert until(lambda: page.clock.run_for(1000) or second.get_attribute("aria-current"), 20)
    expect(second).to_have_attribute("aria-current", "step")
    assert _redraws(page) > 10
    page.locator(".lesson h2").click()
    expect(page.locator(".lesson.told")).to_have_count(0)
    for _ in range(2):  # what was due before the touch, and what its layout asks for
        page.evaluate("() => new Promise(requestAnimationFrame)")
    still = _redraws(page)
    page.clock.run_for(5000)
    assert _redraws(page) == still


def test_a_reader_who_asks_for_less_motion_starts_it_by_hand(clocked):
    page = clocked(reduced_motion="reduce")
    page.clock.run_for(5000)
    expect(page.locator(".lesson.told")).to_have_count(0)
    page.get_by_role("button", name="Watch").click()
    expect(page.locator(".lesson.told")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".lesson.told")).to_have_count(0)


def test_a_prediction_is_answered(visit):
    page = visit("lessons", reduced_motion="reduce")
    expect(page.locator(".lesson h2")).to_be_visible()
    settled(page)
    bar = page.get_by_role("slider", name=re.compile("best classifier"))
    bar.press("ArrowLeft")
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".lesson .answer")).to_contain_text("You said 89%; it is 60%.")
    expect(bar).to_be_disabled()
    expect(page).to_have_url(re.compile(r"(?=.*[?&]guess=89)(?=.*[?&]stage=1)"), timeout=WAIT)
    page.reload()
    expect(page.locator(".lesson .answer")).to_contain_text("You said 89%", timeout=30_000)


def test_sliders_move_pictures_without_a_message(visit):
    page = visit("lessons?stage=1", reduced_motion="reduce")
    gamma = page.get_by_role("slider", name="Strength, gamma")
    expect(gamma).to_be_visible()
    settled(page)
    page.evaluate(
        """() => { window.sentNow = 0; const send = WebSocket.prototype.send
          WebSocket.prototype.send = function (...all) {
            window.sentNow += 1; send.apply(this, all) } }"""
    )
    before = _redraws(page)
    place = gamma.bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 20, place["y"] + place["height"] / 2)
    page.mouse.down()
    for step in range(30):
        page.mouse.move(place["x"] + 20 + 5 * step, place["y"] + place["height"] / 2)
    assert until(lambda: _redraws(page) > before + 5)
    assert page.evaluate("window.sentNow") == 0
    page.mouse.up()
    assert until(lambda: page.evaluate("window.sentNow") == 1)
