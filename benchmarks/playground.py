"""Live pages in Chromium: the first picture, sliders while dragged, what is learnt unasked."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from playwright.sync_api import Page

from benchmarks import rows as table
from benchmarks.browser import DRAWN, first_visit, open_page
from benchmarks.lab import Lab
from benchmarks.rows import Row
from benchmarks.servers import product
from validation_core.explorers.playground.study import named

_VISITS = 5
_DRAG = 3.0  # seconds
_STILL, _PATIENCE = 6.0, 300.0  # seconds without a message; until a page that works on is taken
_WIRE = 700_000  # bytes of one benchmark


def rows(lab: Lab) -> Iterator[Row]:
    """First visits, then each slider, then the strip; then other pages, or those asked for."""
    with product(lab.folder / "playground") as server:
        if not lab.pages:
            yield from _home(server.url)
        for path in lab.pages or _LIVE:
            with open_page(f"{server.url}/{path}") as (page, sent):
                page.wait_for_selector(DRAWN)
                _wait_for_rest(page, sent)
                for name in _LIVE[path]:
                    yield from _dragged(page, sent, path, name)
                if path in _LEARNT:
                    yield from _learnt(page, path)
        if not lab.pages:
            yield from _systems(server.url)


def _home(url: str) -> Iterator[Row]:
    first_visit(url)  # the server itself begins
    visits = [first_visit(url) for _ in range(_VISITS)]
    yield table.at_most(
        "playground: address to picture, warm server, first visit", "s",
        f"{_VISITS} visits", median=(float(np.median([s for s, _ in visits])), 1.5),
    )  # fmt: skip
    yield table.at_most(
        "playground: largest message", "bytes", bytes=(max(b for _, b in visits), _WIRE)
    )
    with open_page(url) as (page, sent):
        page.wait_for_selector(DRAWN)
        page.wait_for_timeout(1500)
        for name in ("Strength, gamma", "Degradation, beta", "Observation x"):
            yield from _dragged(page, sent, "playground", name)
        yield _changed(page)


_LIVE = {
    "conformal-c2st": ("Strength, gamma", "Degradation, beta"),
    "colt": ("Strength, gamma", "Observation x"),
    "symmetric-divergence": ("Draws weighed, M", "Data sets averaged, K"),
    "high-dimensions": ("Sd of the blur",),
    "high-dimensions?system=Gravitational+lensing": ("Share of the biased score", "Galaxy"),
    "high-dimensions?system=Digits": ("Steps of the generator left out",),
    "high-dimensions?system=Sphere+flow": ("Shift of the base", "Noise of the score"),
}
_LEARNT = {
    "conformal-c2st": ("Until the classifier", "the classifier's AUC", 6.0),
    "colt": ("", "CoLT's region holds", 20.0),
}
"""Words of the headline while a setting is learnt and then, and the seconds that may pass."""


def _wait_for_rest(page: Page, sent: Sequence[float]) -> None:
    """Until a page has asked its server for nothing for a while: one at work follows its jobs."""
    until = time.perf_counter() + _PATIENCE
    while time.perf_counter() < until:
        page.wait_for_timeout(500)
        if time.perf_counter() - sent[-1] > _STILL:
            return


def _learnt(page: Page, path: str) -> Iterator[Row]:
    """A seed that nobody ships: from its choice to the first picture, then to the learnt one."""
    waiting, learnt, most = _LEARNT[path]
    seconds: list[tuple[float, float]] = []
    for seed in (101, 102, 103):
        field = page.get_by_role("spinbutton", name="Seed")
        if not field.is_visible():
            page.get_by_test_id("stSidebar").locator("summary").first.click()
        field.fill(str(seed))
        start = time.perf_counter()
        field.press("Enter")
        if waiting:
            page.locator(".live .headline").get_by_text(waiting).first.wait_for()
        else:
            page.get_by_text("no test has looked at them yet").wait_for()
        first = time.perf_counter() - start
        page.locator(".live .headline").get_by_text(learnt).first.wait_for(timeout=120_000)
        seconds.append((first, time.perf_counter() - start))
    first, last = (float(np.median(column)) for column in zip(*seconds, strict=True))
    yield table.at_most(f"{path}: unshipped setting, first picture", "s", median=(first, 1.0))
    yield table.at_most(f"{path}: unshipped setting, learnt", "s", median=(last, most))


def _systems(url: str) -> Iterator[Row]:
    """From a press on another system to its picture, all of them seen before; and their sizes."""
    names = ("Lensing", "Digits", "Sphere flow", "Images")
    with open_page(f"{url}/high-dimensions") as (page, _):
        page.wait_for_selector(DRAWN)
        times = []
        for visit in range(3):
            for name in names:
                before = page.locator(".live .headline").first.inner_text()
                start = time.perf_counter()
                page.get_by_role("radio", name=name).click()
                while page.locator(".live .headline").first.inner_text() in ("", before):
                    page.wait_for_timeout(10)
                if visit:
                    times.append(time.perf_counter() - start)
                page.wait_for_timeout(800)
        yield table.latency("high-dimensions: another system", times, 300, 600)
    for name in names:
        _, largest = first_visit(f"{url}/high-dimensions?system={name.replace(' ', '+')}")
        yield table.at_most(f"{name}: largest message", "bytes", bytes=(largest, _WIRE))


_DRAGGING = """async (input, seconds) => {
  const root = input.getRootNode().querySelector('.live'), last = Number(input.max)
  const count = () => Number(root.dataset.redraws || 0)
  const before = count(), start = performance.now()
  for (let n = 0; performance.now() - start < 1000 * seconds; n++) {
    input.value = n % (2 * last) < last ? n % last : last - n % last
    input.dispatchEvent(new Event('input', { bubbles: true }))
    await new Promise((done) => requestAnimationFrame(done))
  }
  const rate = 1000 * (count() - before) / (performance.now() - start)
  const released = performance.now()
  input.dispatchEvent(new Event('change', { bubbles: true }))
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  return [rate, performance.now() - released]
}"""
"""A new place in every frame: a driver's own pointer is slower than the pictures."""


def _dragged(page: Page, sent: list[float], where: str, name: str) -> Iterator[Row]:
    """To and fro: redraws a second, messages before release, and how soon all rests after it."""
    slider = page.get_by_role("slider", name=name)
    box = slider.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 10, middle)
    page.mouse.down()
    page.wait_for_timeout(300)
    before = len(sent)
    for place in np.linspace(box["x"] + 10, box["x"] + box["width"] - 10, 40):
        page.mouse.move(place, middle)
    messages = len(sent) - before
    page.mouse.up()
    page.wait_for_timeout(800)
    rate, rest = slider.evaluate(_DRAGGING, _DRAG)
    page.wait_for_timeout(800)
    what = f"{where}, {name}: redraws while dragged"
    yield table.at_least(what, "a second", rate=(float(rate), 50.0))
    yield table.told(
        f"{where}, {name}: messages while dragged", f"{messages}", ok=messages == 0, must="0"
    )
    yield table.at_most(f"{where}, {name}: release to rest", "ms", ms=(float(rest), 150.0))


def _changed(page: Page) -> Row:
    """From a press on a small picture to the new benchmark's sentence."""
    times = []
    for i in (1, 3, 8, 5, 0):
        button = page.locator(".strip button").nth(i)
        button.scroll_into_view_if_needed()
        before = page.locator(".live .headline").first.inner_text()
        start = time.perf_counter()
        button.click()
        while page.locator(".live .headline").first.inner_text() == before:
            page.wait_for_timeout(10)
        times.append(time.perf_counter() - start)
        page.wait_for_timeout(500)
    assert len(named()) == page.locator(".strip button").count()
    return table.latency("playground: another benchmark", times, 400, 800)
