"""How pages are shown: present mode, stories in links, codes, frames of other sites."""

import asyncio
import base64
import json
import re
import zlib
from typing import NamedTuple
from urllib.parse import parse_qs

import numpy as np
import pytest
import segno
from hypothesis import given
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from pages.ui import gate, kept, own_story, share, story
from tests.conftest import ROOT
from tests.test_lessons import drawn, state
from validation_core.engine import Services
from validation_core.store import Store

MAIN = ROOT / "pages" / "main.py"
PAGES = ["", "lessons", "colt"]
SCENES = (
    story.StoryScene("lessons", "lesson=rain&stage=2&gamma=0.3", "Rain"),
    story.StoryScene("", "benchmark=tree", "A tree"),
    story.StoryScene("lessons", "lesson=same-or-different&stage=1", "The null"),
)


def opened(query, page="learn/page.py"):
    at = AppTest.from_file(str(MAIN), default_timeout=120)
    at.query_params.update(query)
    at.run().switch_page(page).run()
    assert not at.exception
    return at


def test_a_story_comes_back_from_its_link():
    assert story.unpacked(story.packed(SCENES), PAGES) == SCENES


def test_its_link_has_the_settings_of_a_scene_and_present_mode():
    query = parse_qs(story.story_query(SCENES, 0), keep_blank_values=True)
    assert (query["lesson"], query["gamma"], query["present"]) == (["rain"], ["0.3"], [""])
    assert query["scene"] == ["0"]


@given(some.lists(some.tuples(some.sampled_from(PAGES), some.text(max_size=40), some.text()),
                  min_size=1, max_size=6))  # fmt: skip
def test_every_story_comes_back(parts):
    scenes = tuple(
        story.StoryScene(page, query, story.named(title)) for page, query, title in parts
    )
    assert story.unpacked(story.packed(scenes), PAGES) == scenes


@given(some.one_of(some.text(), some.binary().map(lambda raw: base64.b64encode(raw).decode())))
def test_no_link_crashes(text):
    with pytest.raises(ValueError, match="no story that can be read"):
        story.unpacked(text, PAGES)


def _link(thing):
    raw = zlib.compress(json.dumps(thing).encode())
    return base64.urlsafe_b64encode(raw).decode()


@pytest.mark.parametrize("thing", [
    [], {}, 1, [["lessons", "", 3]], [["nowhere", "", "x"]], [["lessons", ""]], [["lessons"] * 4],
    [["", "&".join("a=1" for _ in range(300)), "x"]], [["", "", "x"]] * 41, "x" * 200_000,
])  # fmt: skip
def test_what_is_no_story_is_refused(thing):
    with pytest.raises(ValueError, match="Ask for it anew"):
        story.unpacked(_link(thing), PAGES)


def test_a_story_that_is_too_long_for_a_link_is_refused():
    rng = np.random.default_rng(0)
    long = [story.StoryScene("", rng.bytes(400).hex(), "x") for _ in range(20)]
    with pytest.raises(ValueError, match="Take some out"):
        story.packed(long)
    with pytest.raises(ValueError, match="41 scenes"):
        story.packed([SCENES[0]] * 41)


def test_a_title_is_one_line():
    assert story.named("  a\n\tb\x00 ") == "a b"
    assert story.named("\n") == "A scene"
    assert len(story.named("x" * 500)) == 80
    assert story.named("x" * 79 + " y") == "x" * 79, "as it is when it is named again"


def test_a_scene_opens_with_its_settings():
    query = parse_qs(story.story_query(SCENES, 0), keep_blank_values=True)
    name, at = state(_without_bar(opened(query)))
    assert name == "rain"
    assert (at["stage"], at["gamma"]) == (2, 0.3)


class _without_bar:
    """The page's components but for the bar, whose message is JSON."""

    def __init__(self, page):
        self.page = page

    def get(self, kind):
        nodes = self.page.get(kind)
        return [node for node in nodes if node.proto.component_name == "nptlab_live"]


def _bar(page):
    (node,) = (
        node
        for node in page.get("bidi_component")
        if node.proto.component_name == "nptlab_showing"
    )
    return json.loads(node.proto.json or node.proto.mixed.json)


def test_the_bar_says_where_in_the_story_one_is():
    query = parse_qs(story.story_query(SCENES, 2), keep_blank_values=True)
    bar = _bar(opened(query))
    assert (bar["count"], bar["index"], bar["title"]) == (3, 2, "The null")


@pytest.mark.parametrize("scene", ["-1", "99", "x", "1e999", ""])
def test_a_scene_that_there_is_not_is_the_nearest(scene):
    query = parse_qs(story.story_query(SCENES, 0), keep_blank_values=True) | {"scene": [scene]}
    assert _bar(opened(query))["index"] in (0, 2)


def test_a_broken_story_is_said_and_the_page_is_there():
    page = opened({"present": "", "story": "eNq-broken"})
    assert "no story that can be read" in page.warning[0].value
    assert _bar(page)["count"] == 0


def test_a_story_is_saved_as_a_file_of_the_pictures_that_were_seen():
    payload = drawn("same-or-different").payload
    at = [slider[-1] for slider in payload.sliders]
    pictures = {SCENES[2]: own_story.ScenePicture(payload, tuple(at))}
    text = own_story.story_html(SCENES, pictures)
    (scenes,) = re.findall(r'id="scenes">(.*?)</script>', text, re.DOTALL)
    (scene,) = json.loads(scenes)
    assert (scene["title"], scene["at"]) == ("The null", at)
    assert "Without a live picture, and so not here: Rain, A tree." in text
    with pytest.raises(ValueError, match="at least one scene"):
        own_story.story_html(SCENES[:2], pictures)


def test_present_mode_has_a_bar_and_no_share_button():
    assert _bar(opened({"present": ""}))["count"] == 0
    assert not [b for b in opened({"present": ""}).button if b.key == "share"]
    assert [b for b in opened({}).button if b.key == "share"]


def test_present_stays_in_the_address_while_settings_change():
    page = opened({"present": "", "lesson": "rain"})
    assert "present" in page.query_params
    page.session_state["lesson"] = "same-or-different"
    page.run()
    assert not page.exception
    assert "present" in page.query_params


@pytest.mark.parametrize("link", ["http://localhost:8501/lessons?lesson=rain", "x" * 1500])
def test_a_code_holds_its_link(link):
    svg = share.code(link)
    matrix = np.array([list(row) for row in segno.make(link, error="m", micro=False).matrix])
    size = matrix.shape[0] + 8
    assert f'width="{size * 5}"' in svg
    assert _modules(svg, matrix.shape[0]) == matrix.tolist()


def _modules(svg, size):
    """The dark modules that the code's path draws, row by row."""
    d = re.findall(r'class="qrline"[^>]* d="([^"]+)"', svg)[0]
    grid = np.zeros((size + 8, size + 8), int)
    x = y = 0.0
    for kind, numbers in re.findall(r"([Mmh])([-\d. ]+)", d):
        values = [float(v) for v in re.findall(r"-?\d+\.\d+|-?\.\d+|-?\d+", numbers)]
        if kind == "M":
            x, y = values
        elif kind == "m":
            x, y = x + values[0], y + values[1]
        else:
            grid[int(y), int(x) : int(x + values[0])] = 1
            x += values[0]
    return grid[4:-4, 4:-4].tolist()


class Answer(NamedTuple):
    """What the gate sends."""

    status: int
    headers: dict[str, str]


@pytest.fixture
def ask(monkeypatch):
    """A page that a browser asks for, while NPTLAB_EMBED says so."""

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"page"})

    def go(address, origins=""):
        monkeypatch.setenv("NPTLAB_EMBED", origins)
        path, _, query = address.partition("?")
        headers = [(b"host", b"localhost:8501"), (b"accept", b"text/html")]
        scope = {
            "type": "http", "method": "GET", "scheme": "http", "path": path,
            "query_string": query.encode(), "headers": headers, "client": ("127.0.0.1", 5),
            "server": ("localhost", 8501),
        }  # fmt: skip
        sent = []

        async def send(message):
            sent.append(message)

        asyncio.run(gate.Gate(app)(scope, None, send))
        pairs = [(k.decode(), v.decode()) for k, v in sent[0]["headers"]]
        return Answer(sent[0]["status"], {name.lower(): value for name, value in pairs})

    return go


def test_no_other_site_frames_a_page_by_default(ask):
    answer = ask("/lessons")
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
    assert "frame-ancestors 'self' h" not in answer.headers["content-security-policy"]


def test_origins_that_are_allowed_may(ask):
    answer = ask("/lessons", "https://a.org, http://b.org:8080")
    assert "x-frame-options" not in answer.headers
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'self' https://a.org http://b.org:8080" in policy


@pytest.mark.parametrize(("query", "target"), [
    ("embed", "embed=true"), ("embed=", "embed=true"), ("embed=1&x=2", "embed=true&x=2"),
    ("x=2&embed", "x=2&embed=true"),
])  # fmt: skip
def test_embed_is_said_as_the_front_end_reads_it(ask, query, target):
    answer = ask(f"/lessons?{query}")
    assert answer.status == 307
    assert answer.headers["location"] == f"/lessons?{target}"


@pytest.mark.parametrize("query", ["embed=true", "embedded", "x=embed", "embed=2", ""])
def test_other_addresses_are_served_as_they_are(ask, query):
    assert ask(f"/?{query}").status == 200


def test_no_address_sends_a_visitor_to_another_host(ask):
    answer = ask("//evil.org?embed")
    assert answer.headers.get("location", "/").startswith("/")
    assert not answer.headers.get("location", "/").startswith("//")


def test_scenes_outlast_a_reload_of_the_browser(monkeypatch, tmp_path):
    """Two sessions of one browser have one story; another browser has its own."""
    shared = Services(Store(tmp_path), None)
    browser = ["one"]
    monkeypatch.setattr(kept, "services", lambda: shared)
    monkeypatch.setattr(kept, "visitor", lambda: browser[0])
    for scene in SCENES:
        own_story.add(scene)
    own_story.move(2, -1)
    own_story.remove(0)
    assert own_story.story_scenes() == [SCENES[2], SCENES[1]]
    browser[0] = "another"
    assert own_story.story_scenes() == []
    browser[0] = "one"
    assert own_story.story_scenes() == [SCENES[2], SCENES[1]]
