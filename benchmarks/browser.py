"""Sliders in real Chromium: from release to the new figure, and what happens while they move."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from playwright.sync_api import Locator, Page, WebSocket, sync_playwright

from benchmarks import rows as table
from benchmarks.lab import Lab, say
from benchmarks.rows import Row
from benchmarks.servers import floor, product
from validation_core.explorers.conformal.study import BETAS, PAPER_M
from validation_core.rng import stream
from validation_core.store import Store
from validation_core.symmetric_divergence import MS, figure

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
_QUIET = 300  # ms without a change after which every figure is taken as drawn
_MEDIAN, _P95 = 200.0, 450.0
_DIVERGENCE = 300.0  # ms, of the Symmetric divergence page's figure
_FEW = (10, 30, 100, 300)  # iterations that are cached for it
_STEPS = 25  # releases of each slider
_DRAG = 4.0  # seconds
BETA = ".live input[type=range]"
DRAWN = ".live svg path:visible"  # of a picture's paths the first may be flat, which has no area


class Times(NamedTuple):
    """Seconds from each release."""

    first: list[float]
    """To the first new figure."""
    last: list[float]
    """Until every figure of the page was drawn."""
    answered: list[float]
    """To the last message of the server before that first figure."""


def rows(lab: Lab) -> Iterator[Row]:
    """Streamlit's floor first; then each slider against it; then the drag."""
    with floor(lab.folder / "floor") as server, open_page(server.url) as (page, _):
        _drawn(page, 1)
        least = _slide(page, "st-key-beta", 21, "plots")
    low, high = _summary(least.first)
    yield table.told(
        "Streamlit's own floor: a slider and a small chart in a fragment",
        f"median {low:.0f} ms, p95 {high:.0f} ms", ms=[round(1000 * s, 1) for s in least.first],
    )  # fmt: skip
    with product(lab.trained) as server, open_page(f"{server.url}/conformal-c2st") as (page, sent):
        page.wait_for_selector(DRAWN)
        page.wait_for_timeout(1000)
        yield _judged("m", _slide(page, "st-key-m", len(PAPER_M), "live"), low)
        yield _judged("beta", _releases(page, _live(page), "live", jump=True), low)
        page.get_by_text("Scores", exact=True).click()
        page.wait_for_timeout(1000)
        yield _judged("m (Scores)", _slide(page, "st-key-m", len(PAPER_M), "live"), low)
        yield from _dragged(page, sent)
    yield _divergence(lab)


def _divergence(lab: Lab) -> Row:
    """The figure of the Symmetric divergence page from cache: five models, four algorithms."""
    cache = lab.folder / "divergence"
    store = Store(cache)
    for run in figure(1, iterations=_FEW).runs():
        if not run.done(store):
            say(run.label)
            run.run(store, lambda fraction, live: None)
    path = f"symmetric-divergence?iterations={_FEW[-1]}&one-model=Heart+transplants"
    with product(cache) as server, open_page(f"{server.url}/{path}") as (page, _):
        page.wait_for_selector(DRAWN)
        stop = page.get_by_role("button", name="Cancel")
        page.wait_for_timeout(2000)
        stop.first.wait_for(state="detached", timeout=300_000)  # what is opened up is drawn
        slider = page.locator(BETA).first
        slider.scroll_into_view_if_needed()
        times = _releases(page, Slider(slider, slider, len(MS), 8.0), "live", jump=True)
    low, high = _summary(times.last)
    note = f"every figure drawn: median {low:.0f}, p95 {high:.0f}"
    what = "M slider of Symmetric divergence in Chromium, from cache: release to new figure"
    return table.latency(what, times.first, _DIVERGENCE, 2 * _DIVERGENCE, note)


def _judged(name: str, times: Times, low: float) -> Row:
    median, _ = _summary(times.first)
    all_median, all_p95 = _summary(times.last)
    answered, _ = _summary(times.answered)
    note = (
        f"{median / low:.1f} times the floor; server's last word at {answered:.0f}; every figure "
        f"drawn: median {all_median:.0f}, p95 {all_p95:.0f}"
    )
    what = f"{name} slider in Chromium, n = 1000: release to new figure"
    row = table.latency(what, times.first, _MEDIAN, _P95, note)
    return row._replace(numbers={**row.numbers, "all_ms": [round(1000 * s) for s in times.last]})


def _summary(seconds: list[float]) -> tuple[float, float]:
    return float(1000 * np.median(seconds)), float(1000 * np.quantile(seconds, 0.95))


def first_visit(url: str) -> tuple[float, int]:
    """Seconds from the address to a drawn picture in a fresh browser, and its largest message."""
    sizes: list[int] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.on(
            "websocket",
            lambda socket: socket.on("framereceived", lambda frame: sizes.append(len(frame))),
        )
        start = time.perf_counter()
        page.goto(url)
        page.wait_for_selector(DRAWN)
        seconds = time.perf_counter() - start
        browser.close()
    return seconds, max(sizes)


@contextmanager
def open_page(url: str) -> Iterator[tuple[Page, list[float]]]:
    """An open page, and the times at which its browser sent something to the server."""
    sent: list[float] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: sent.append(time.perf_counter()))

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 1200})
        page.set_default_timeout(60_000)
        page.add_init_script(path=Path(__file__).with_name("browser.js"))
        page.on("websocket", listen)
        page.goto(url)
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        yield page, sent
        browser.close()


def _drawn(page: Page, figures: int) -> None:
    page.wait_for_function(f"() => bench.plots().length >= {figures}")
    page.wait_for_timeout(1000)


def _slide(page: Page, key: str, count: int, kind: str) -> Times:
    """Drag a select slider of `count` values to another place, over and over."""
    slider = page.locator(f".{key} [data-testid=stSlider]")
    slider.scroll_into_view_if_needed()
    track = slider.locator("[role=group] > [data-orientation]")
    return _releases(page, Slider(track, slider.locator("input"), count, 0.0), kind)


class Slider(NamedTuple):
    """Where a slider lies on the page, how many values it has, and what it keeps at its ends."""

    track: Locator
    input: Locator
    values: int
    inset: float

    def place(self) -> int:
        """The index of the value where it stands."""
        return int(self.input.input_value())

    def at(self, place: float) -> tuple[float, float]:
        """Pixels of a value."""
        box = self.track.bounding_box()
        assert box
        along = (box["width"] - 2 * self.inset) * place / (self.values - 1)
        return box["x"] + self.inset + along, box["y"] + box["height"] / 2


def _live(page: Page) -> Slider:
    slider = page.locator(BETA).nth(1)  # the first is gamma's
    slider.scroll_into_view_if_needed()
    return Slider(slider, slider, len(BETAS), 8.0)


def _releases(page: Page, slider: Slider, kind: str, *, jump: bool = False) -> Times:
    """The pointer goes down on the thumb, moves, and the clock starts as it is released.

    A slider that draws while it is dragged has drawn before its release: there the pointer goes
    down at the new place (`jump`), and the clock starts with that.
    """
    rng, times = stream(0, "places", slider.values), Times([], [], [])
    for _ in range(_STEPS):
        here = slider.place()
        there = int((here + rng.integers(1, slider.values)) % slider.values)
        event = "pointerdown" if jump else "pointerup"
        if not jump:
            page.mouse.move(*slider.at(here))
            page.mouse.down()
            page.mouse.move(*slider.at((here + there) / 2))
        page.mouse.move(*slider.at(there))
        page.wait_for_timeout(60)  # what follows the pointer has been drawn
        page.evaluate(f"() => {{ bench.arm('{kind}', {_QUIET}, '{event}') }}")
        if jump:
            page.mouse.down()
        page.mouse.up()
        result = page.evaluate("() => bench.done()")
        times.first.append(result["first"] / 1000)
        times.last.append(result["last"] / 1000)
        times.answered.append(result["answered"] / 1000)
    return times


def _dragged(page: Page, sent: list[float]) -> Iterator[Row]:
    """Beta to and fro: redraws a second, and messages to the server before release."""
    slider = _live(page)
    places = [*range(slider.values), *range(slider.values - 2, 0, -1)]
    points = [slider.at(place) for place in places]
    page.mouse.move(*slider.at(slider.place()))
    page.mouse.down()
    page.mouse.move(*points[0])
    page.wait_for_timeout(300)
    before, redraws, start, moves = len(sent), _redraws(page), time.perf_counter(), 0
    while time.perf_counter() - start < _DRAG:
        page.mouse.move(*points[moves % len(points)])
        moves += 1
    seconds, redraws = time.perf_counter() - start, _redraws(page) - redraws
    while_dragged = len(sent) - before
    page.mouse.up()
    page.wait_for_timeout(1000)
    on_release = len(sent) - before - while_dragged
    note = f"{moves / seconds:.0f} moves of the pointer a second"
    what = "beta slider while dragged: redraws"
    yield table.at_least(what, "a second", note, rate=(redraws / seconds, 30.0))
    yield table.told(
        "beta slider while dragged: messages to the server",
        f"{while_dragged} while dragged, {on_release} on release",
        ok=while_dragged == 0 and on_release > 0, must="0 until release",
        while_dragged=while_dragged, on_release=on_release,
    )  # fmt: skip


def _redraws(page: Page) -> int:
    return int(page.evaluate("() => bench.redraws()"))
