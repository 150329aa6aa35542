"""Present mode in a room, a story by its keys, the theme, and a frame on another site's page."""

import http.server
import re
import threading

import pytest
from playwright.sync_api import expect

from pages.ui import story
from tests.browser.driving import box, serving, settled, until

ROOMS = [{"width": 1280, "height": 720}, {"width": 1920, "height": 1080}]
SCENES = (
    story.StoryScene("lessons", "lesson=same-or-different&stage=1&samples=400", "The null"),
    story.StoryScene("lessons", "lesson=bag-lottery&stage=2&width=2", "A bag"),
    story.StoryScene("", "benchmark=tree", "A tree"),
)


def _within(page, locator):
    place, size = box(locator), page.viewport_size
    below = place["y"] + min(place["height"], 150) <= size["height"]
    return place["y"] >= -1 and place["x"] >= -1 and below and place["x"] < size["width"]


def _room_below(page, locator):
    """What a window has left below something."""
    place = box(locator)
    return page.viewport_size["height"] - place["y"] - place["height"]


@pytest.mark.parametrize("lesson", ["same-or-different", "ten-more-steps", "rain", "hunt"])
def test_a_room_sees_sliders_and_picture_on_one_screen(visit, lesson):
    """Of either size, also where the window is moved to another screen."""
    page = visit(
        f"lessons?lesson={lesson}&stage=2&present", viewport=ROOMS[0], reduced_motion="reduce"
    )
    expect(page.locator(".lesson.present")).to_be_visible()
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    figures = page.locator(".lesson .panels > figure:visible")
    expect(figures).to_have_count(1)
    plot = figures.first.locator(".plot")
    rails = page.locator(".lesson .sliders input:visible")
    assert rails.count()
    for room in ROOMS:
        page.set_viewport_size(room)
        settled(page)
        assert until(
            lambda: (
                _within(page, plot) and box(plot)["height"] > 0.4 * page.viewport_size["height"]
            )
        )
        assert all(_within(page, rail) for rail in rails.all())
        size = page.evaluate("getComputedStyle(document.documentElement).fontSize")
        larger = room["height"] / ROOMS[0]["height"]
        assert float(size.removesuffix("px")) == pytest.approx(1.6 * 16 * larger)


def test_the_playground_is_on_one_screen(visit):
    page = visit("?present", viewport=ROOMS[0])
    names = ("Strength, gamma", "Degradation, beta")
    for name in names:
        expect(page.get_by_role("slider", name=name)).to_be_visible()
    plot = page.locator(".live figure:visible .plot").first
    for room in ROOMS:
        page.set_viewport_size(room)
        settled(page)
        assert until(
            lambda: all(_within(page, page.get_by_role("slider", name=name)) for name in names)
        )
        assert until(lambda: 0 <= _room_below(page, plot) < 100), "as high as the window has room"


def test_weak_classifiers_show_all_that_sliders_move(visit):
    """Of their four pictures; presented, no text lies below them, under the bar."""
    page = visit("weak-classifiers", viewport=ROOMS[0])
    plots = page.locator(".live figure:visible .plot")
    expect(plots).to_have_count(4)
    settled(page)
    assert all(_room_below(page, plot) > 0 for plot in plots.all())
    room = visit("weak-classifiers?present", viewport=ROOMS[0])
    expect(room.locator(".live figure:visible .plot")).to_have_count(4)
    expect(room.get_by_text("How to read it.")).to_be_hidden()


@pytest.mark.parametrize(
    ("address", "share"), [("name-that-defect?present", 0.5), ("observation?present", 0.4)]
)
def test_a_chart_of_plotly_is_large_and_whole_in_a_room_and_a_hall(visit, address, share):
    """As high as a share of the window, as wide as its place, with letters of 16 pixels."""
    page = visit(address, viewport=ROOMS[0])
    chart = page.locator(".js-plotly-plot").first
    frame = page.get_by_test_id("stElementContainer").filter(has=chart).first
    for room in ROOMS:
        page.set_viewport_size(room)
        settled(page)
        assert until(lambda room=room: box(chart)["height"] > share * room["height"])
        assert _room_below(page, chart) > 0
        for side in ("width", "height"):
            drawn = box(chart.locator(".main-svg").first)[side]
            assert until(
                lambda side=side, drawn=drawn: drawn == pytest.approx(box(frame)[side], abs=3)
            )
        letters = chart.locator(".xtick text").first.evaluate(
            "it => parseFloat(getComputedStyle(it).fontSize) * it.currentCSSZoom"
        )
        assert letters >= 16 * room["height"] / ROOMS[0]["height"]


def test_keys_turn_the_stages_of_a_lesson(visit):
    page = visit("lessons?present", reduced_motion="reduce")
    tabs = page.locator(".lesson .stages button:not(.watch)")
    expect(tabs.first).to_be_visible()
    settled(page)
    for key, stage in (("ArrowRight", 1), ("PageDown", 2), ("ArrowLeft", 1), ("PageUp", 0)):
        page.keyboard.press(key)
        expect(tabs.nth(stage)).to_have_attribute("aria-current", "step")


def test_a_story_is_stepped_through_by_its_keys(visit):
    page = visit(f"{SCENES[0].page}?{story.story_query(SCENES)}", reduced_motion="reduce")
    bar = page.locator(".bar[role=toolbar] span")
    expect(bar).to_have_text("1 of 3 · The null")
    expect(page.locator(".lesson .spoken")).to_contain_text("400 such pairs")
    settled(page)
    page.keyboard.press("PageDown")
    expect(bar).to_have_text("2 of 3 · A bag")
    settled(page)  # until then the lesson before it stands there too
    expect(page.locator(".lesson .spoken")).to_contain_text("2 times the right width")
    page.keyboard.press("ArrowRight")
    expect(bar).to_have_text("3 of 3 · A tree")
    expect(page.locator(".live .headline").first).to_be_visible()
    assert "benchmark=tree" in page.evaluate("location.search")
    settled(page)
    page.get_by_role("button", name="Scene before").click()
    expect(bar).to_have_text("2 of 3 · A bag")
    settled(page)  # until then the lesson before it stands there too
    expect(page.locator(".lesson .spoken")).to_contain_text("2 times the right width")


def test_a_story_is_put_together_and_saved(visit):
    page = visit("lessons?lesson=rain&stage=2&trials=50", reduced_motion="reduce")
    expect(page.locator(".lesson")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Share or present").click()
    page.get_by_role("button", name="Add scene").click()
    expect(page.get_by_text("1. Lessons")).to_be_visible()
    link = page.get_by_role("link", name="Open story")
    expect(link).to_have_attribute("href", re.compile(r"lesson=rain.*&story="))
    with page.expect_download() as waiting:
        page.get_by_role("dialog").get_by_role("button", name="Save as a file").click()
    text = waiting.value.path().read_text(encoding="utf-8")
    assert '"title": "Lessons"' in text
    expect(page.get_by_role("dialog").locator("img")).to_have_count(2)


def test_the_theme_is_switched_and_present_mode_is_left(visit):
    page = visit("lessons?present", color_scheme="light", reduced_motion="reduce")
    expect(page.locator(".lesson")).to_be_visible()
    settled(page)
    paper = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="Dark", exact=True).click()
    expect(page.get_by_role("button", name="Light", exact=True)).to_be_visible()
    assert page.evaluate(paper) != light
    settled(page)
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    assert "present" not in page.evaluate("location.search")


@pytest.fixture(scope="module")
def site():
    """A page of another site, with the frame that its query names."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            target = self.path.partition("?")[2]
            frame = f"<iframe src='{target}' width=900 height=700>"
            body = f"<!doctype html><title>A course</title>{frame}"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_a_course_page_that_is_allowed_shows_a_lesson(browser, site, tmp_path, monkeypatch):
    monkeypatch.setenv("NPTLAB_EMBED", f"http://127.0.0.1:{site}")
    with serving(tmp_path / "cache") as server:
        inside = server.url.replace("127.0.0.1", "localhost")  # another site to a browser
        for allowed, origin in ((True, "127.0.0.1"), (False, "127.0.0.2")):
            context = browser.new_context(reduced_motion="reduce")
            page = context.new_page()
            address = f"http://{origin}:{site}" if allowed else f"http://localhost:{site}"
            target = inside if allowed else server.url
            link, frame = f"{address}/?{target}/lessons?embed", page.frame_locator("iframe")
            if allowed:
                page.goto(link)
                expect(frame.locator(".lesson h2")).to_be_visible()
                expect(frame.get_by_test_id("stSidebar")).to_be_hidden()
                frame.get_by_role("button", name="Show me").click()
                expect(frame.locator(".lesson .spoken")).to_contain_text("Here it gets")
            else:
                with page.expect_console_message(lambda it: "frame-ancestors" in it.text):
                    page.goto(link)
                assert frame.locator(".lesson h2").count() == 0
            context.close()
