"""The live chart as a visitor uses it: drag, press, play; Python hears once of each."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser import driving
from tests.browser.driving import SharedPage, box, expect_no_overflow, settled, until
from tests.browser.live_page import CELLS, panels
from tests.conftest import ROOT
from tests.server import free_port, stop
from validation_core.drawing import style
from validation_core.drawing.alt import describe_picture

# A loaded machine may look later than half a second after a step.
BEGUN = re.compile(r"^At 0\.(17|25|33|42|50)\.$")


def _rgba(color):
    """What a canvas holds of a colour as style.py writes it."""
    *channels, opacity = map(float, re.findall(r"[\d.]+", color))
    return (*channels, 255 * opacity)


COLORS = {
    "p": _rgba(style.diverging_color(style.P, 1)),
    "q": _rgba(style.diverging_color(style.Q, 1)),
    "pale": _rgba(style.diverging_color(style.P, 0)),
    "": (0, 0, 0, 0),
}
"""Both ends of the scale, its middle, nothing."""
DELAYS = """() => {
  window.delays = []
  const known = window.setInterval
  window.setInterval = (call, delay, ...rest) => {
    window.delays.push(delay)
    return known(call, delay, ...rest)
  }
}"""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Streamlit with nothing but the chart."""
    port, log = free_port(), tmp_path_factory.mktemp("live") / "log"
    command = [sys.executable, "-m", "streamlit", "run",
               str(Path(__file__).with_name("live_page.py")), "--server.headless", "true",
               "--server.address", "127.0.0.1", "--server.port", str(port),
               "--server.fileWatcherType", "none"]  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=out, stderr=out)
    try:
        driving.wait_until_listening(port, process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(process)


@pytest.fixture(scope="module")
def lent(browser, url):
    """The page that all tests but those of a finger are lent."""
    result = SharedPage(browser, url)
    result.page.add_init_script(f"({DELAYS})()")
    yield result
    result.context.close()


def _drawn(page, url):
    page.goto(url)
    expect(_panel(page, "Map").locator("canvas")).to_be_visible()
    return settled(page)


@pytest.fixture
def visit(url, lent):
    """A function: what the screen is like -> the page, drawn, with its intervals on record."""
    yield lambda **screen: _drawn(lent.seen(**screen), url)
    lent.leave()


@pytest.fixture
def handheld(url, window):
    """A function: height -> the page, drawn, on a screen that feels fingers."""

    def go(height):
        size = {"width": 400, "height": height}
        return _drawn(window(url, has_touch=True, viewport=size), url)

    return go


# A figure's box and that of what can be pressed in it; null until there is one.
_SIZES = """node => node.querySelector('.hit')
  && [node, node.querySelector('.hit')].map((one) => one.getBoundingClientRect().toJSON())"""


def _panel(page, title):
    return page.locator(".live figure").filter(has_text=title)


def _slider(page):
    return page.get_by_role("slider", name="Place")


def _button(page, name):
    return page.locator(".live").get_by_role("button", name=name, exact=True)


def _heard(page):
    """Runs of the script so far, and the value that it got last."""
    text = page.get_by_text(re.compile(r"^Run \d+: x = ")).inner_text()
    runs, x = re.fullmatch(r"Run (\d+): x = (.*)", text).groups()
    return int(runs), float(x)


def _heat(page):
    """Names of the colours (rows from below, columns) of the heat map."""
    visible = _panel(page, "Map").locator("canvas").evaluate(
        "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
    )  # fmt: skip
    pixels = [_named(visible[i : i + 4]) for i in range(0, len(visible), 4)]
    return [pixels[i : i + CELLS] for i in range(0, len(pixels), CELLS)][::-1]


def _named(pixel):
    """The colour's name; canvases keep colours that are seen through to a few steps."""
    near = (name for name, color in COLORS.items() if pixel == pytest.approx(color, abs=10))
    return next(near, str(pixel))


def _ring(page):
    """The outline of the point that follows the slider."""
    return _panel(page, "Map").locator(".plot path.own").first.get_attribute("d")


def _redraws(page):
    return int(page.locator(".live").get_attribute("data-redraws") or 0)


def _place(page, title, x, y):
    """Pixels of a place in a panel whose axes both run from 0 to 1."""
    at = box(_panel(page, title).locator(".hit"))
    return at["x"] + x * at["width"], at["y"] + (1 - y) * at["height"]


def _on_diagonal(page, place):
    centre = (place + 0.5) / CELLS
    return _place(page, "Map", centre, 1 - centre)


def _swipe(page, points):
    """One finger along points."""
    touch = page.context.new_cdp_session(page)
    kinds = ["touchStart"] + ["touchMove"] * (len(points) - 1)
    for kind, (x, y) in zip(kinds, points, strict=True):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def _ends_at(page, shown, runs):
    """Python has heard of the place on screen, in as many runs as said."""
    expect(page.get_by_text(f"x = {shown}")).to_be_visible()
    assert _heard(settled(page))[0] == runs


def test_heat_and_points_follow_the_slider(visit):
    page = visit()
    runs, _ = _heard(page)
    heat, ring = _heat(page), _ring(page)
    at = box(_slider(page))
    middle = at["y"] + at["height"] / 2
    page.mouse.move(at["x"] + 9, middle)
    page.mouse.down()
    page.mouse.move(at["x"] + at["width"] / 2, middle, steps=8)
    expect(page.locator(".live .headline")).to_have_text("At 0.50.")
    moved = _heat(page)
    assert _ring(page) != ring
    assert _heard(page)[0] == runs
    page.mouse.up()
    _ends_at(page, "0.50", runs + 1)
    assert set(heat[-1]) == {""}
    for visible, at in ((heat, 0), (moved, CELLS // 2)):
        assert visible[0] == ["p" if j == at else "pale" for j in range(CELLS)]
        assert visible[1] == ["q" if j == at else "pale" for j in range(CELLS)]
        assert {name for row in visible[2:-1] for name in row} == {"pale"}


def test_pictures_are_said_in_words_as_core_says_them(visit):
    page = visit()
    svgs = page.locator(".live figure svg[role=img]")

    def visible():
        return [svg.get_attribute("aria-label") or "" for svg in svgs.all()]

    def said(place):
        press = " Press to set Place."
        return [
            describe_picture(p, at={"x": place}) + press * bool(p.click) for p in panels("Line")
        ]

    assert until(lambda: visible() == said(0)), (visible(), said(0))
    _slider(page).press("End")
    assert until(lambda: visible() == said(CELLS - 1)), (visible(), said(CELLS - 1))


def test_a_press_moves_the_slider_to_the_nearest_place(visit):
    page = visit()
    runs, _ = _heard(page)
    x, y = _on_diagonal(page, 9)
    page.mouse.click(x + 2, y - 3)
    _ends_at(page, "0.75", runs + 1)
    expect(_slider(page)).to_have_value("9")
    page.mouse.click(x, y)  # where it stands already
    page.mouse.click(*_place(page, "Line", 0.25, 0.9))
    _ends_at(page, "0.25", runs + 2)
    expect(_slider(page)).to_have_value("3")


def test_dragging_in_a_panel_tells_once(visit):
    page = visit()
    (runs, _), redraws = _heard(page), _redraws(page)
    page.mouse.move(*_on_diagonal(page, 2))
    page.mouse.down()
    for place in (4, 6, 8, 10):
        page.mouse.move(*_on_diagonal(page, place))
        expect(_slider(page)).to_have_js_property("value", str(place))
    page.mouse.move(*_place(page, "Map", 1.4, 0.1))  # beyond the panel, still pressed
    expect(page.locator(".live .headline")).to_have_text("At 1.00.")
    assert _redraws(page) > redraws + 3
    assert _heard(page)[0] == runs
    page.mouse.up()
    _ends_at(page, "1.00", runs + 1)
    page.mouse.move(*_on_diagonal(page, 3))  # no longer pressed
    assert _slider(page).input_value() == str(CELLS - 1)


def test_a_finger_presses_too(handheld):
    page = handheld(900)
    runs, _ = _heard(page)
    hit = _panel(page, "Map").locator(".hit")
    hit.scroll_into_view_if_needed()
    page.touchscreen.tap(*_on_diagonal(page, 6))
    _ends_at(page, "0.50", runs + 1)
    assert hit.evaluate("node => getComputedStyle(node).cursor") == "crosshair"


def test_a_finger_drags_sideways_and_scrolls_upright(handheld):
    page = handheld(500)
    runs, _ = _heard(page)
    _panel(page, "Map").locator(".hit").scroll_into_view_if_needed()
    places = [_on_diagonal(page, place) for place in (3, 4, 5, 6, 7, 8, 9)]
    _swipe(page, [(places[0][0] + 8 * k, places[0][1]) for k in range(4)] + places[2:])
    _ends_at(page, "0.75", runs + 1)
    top = page.locator("[data-testid=stMain]").evaluate("node => node.scrollTop")
    x, y = _place(page, "Map", 0.2, 0.5)
    _swipe(page, [(x, y - 12 * k) for k in range(10)])
    page.wait_for_function(
        "top => document.querySelector('[data-testid=stMain]').scrollTop > top + 20", arg=top
    )
    settled(page)
    assert _slider(page).input_value() == "9"
    assert _heard(page)[0] == runs + 1


def test_playing_ends_in_one_message(visit):
    page = visit()
    (runs, _), redraws = _heard(page), _redraws(page)
    _button(page, "Play").click()
    _ends_at(page, "1.00", runs + 1)
    expect(_button(page, "Play")).to_be_visible()
    assert _redraws(page) >= redraws + CELLS // 2  # a busy machine may skip frames
    assert page.evaluate("window.delays").count(1000 / 12) == 1


def test_playing_again_begins_at_the_first_and_stops_where_it_is_told(visit):
    page = visit(reduced_motion="reduce")
    _slider(page).fill(str(CELLS - 1))
    _ends_at(page, "1.00", 2)
    _button(page, "Play").click()
    expect(page.locator(".live .headline")).to_have_text(BEGUN)
    assert _heard(page)[0] == 2
    _button(page, "Pause").click()
    stood = float(_slider(page).input_value()) / (CELLS - 1)
    _ends_at(page, f"{stood:.2f}", 3)
    assert 0.1 < stood < 0.9
    assert 500 in page.evaluate("window.delays")


def test_taking_hold_of_the_slider_stops_the_play(visit):
    page = visit(reduced_motion="reduce")
    _button(page, "Play").click()
    expect(page.locator(".live .headline")).not_to_have_text("At 0.00.")
    _slider(page).press("End")
    expect(_button(page, "Play")).to_be_visible()
    _ends_at(page, "1.00", 2)


def test_another_payload_stops_the_play_where_it_is(visit):
    page = visit(reduced_motion="reduce")
    _button(page, "Play").click()
    expect(page.locator(".live .headline")).to_have_text(BEGUN)
    page.get_by_text("Another payload").click()
    expect(_panel(page, "Other line")).to_be_visible()
    expect(_button(page, "Play")).to_be_visible()
    stood = float(_slider(page).input_value()) / (CELLS - 1)
    _ends_at(page, f"{stood:.2f}", 3)  # one run for the toggle, one for the place
    assert 0.1 < stood < 0.9


def test_a_square_panel_is_as_wide_as_a_telephone_and_no_wider_than_it_must(visit):
    page = visit()
    for width, height, least in ((1280, 900, (0, 0)), (400, 800, (340, 280))):
        page.set_viewport_size({"width": width, "height": height})
        expect_no_overflow(settled(page))

        def sizes(least=least):
            """Both in one look, once it is drawn for this width; until then it may be without."""
            both = _panel(page, "Map").evaluate(_SIZES)
            wide = both and all(b["width"] > x for b, x in zip(both, least, strict=True))
            return both if wide else None

        both = until(sizes)
        assert both, _panel(page, "Map").evaluate(_SIZES)
        figure, square = both
        assert square["width"] == pytest.approx(square["height"], abs=1)
        assert figure["width"] <= 460


def test_words_and_what_has_no_place(visit):
    page = visit()
    legend = _panel(page, "Map").locator(".legend")
    expect(legend).to_contain_text(re.compile(r"here\s*the way\s*−2\s*2\s*p less q"))
    picture = page.get_by_role("img", name=re.compile(r"^Map\. .* Press to set Place\.$"))
    expect(picture).to_be_visible()
    labels = _panel(page, "Line").locator("text.mark")
    expect(labels).to_have_text(["short", "", "here"])
    hit, at = box(_panel(page, "Line").locator(".hit")), box(labels.first)
    assert at["x"] == pytest.approx(hit["x"] + hit["width"] * 0.5 + 6, abs=3)
    _slider(page).fill(str(CELLS - 1))
    expect(labels).to_have_text(["short", "", ""])
