"""Lessons: how fast they are redrawn in Chromium, how fast their files open, and a class on them.

A visitor of the class moves something every three seconds: a slider as a rule, now and then the
lesson, sometimes the page anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from benchmarks import rows as table
from benchmarks.browser import CHROMIUM, FLAGS
from benchmarks.client import Visitor
from benchmarks.lab import Lab, say
from benchmarks.memory import resident
from benchmarks.rows import Row
from benchmarks.servers import Server, product
from validation_core import lessons
from validation_core.lessons import LESSONS
from validation_core.lessons.lesson import Lesson
from validation_core.rng import stream
from validation_core.store import Store

VISITORS = 30
_EVERY = 3.0  # seconds from one interaction to the next
_SHARES = {"release": 0.8, "lesson": 0.16, "new page": 0.04}
_P50, _P95, _MEMORY, _FLAT = 200.0, 600.0, 1500.0, 1.10
_LOOKS = 12
_REDRAWS, _FRAMES, _OPEN = 50.0, 20.0, 1000.0

# Moves a slider to and fro with every frame for two seconds; redraws a second.
_DRAG = """async (input) => {
  const root = input.getRootNode().querySelector('.live')
  const before = Number(root.dataset.redraws), began = performance.now()
  const max = Number(input.max)
  let step = 0
  while (performance.now() - began < 2000) {
    const place = step++ % (2 * max)
    input.value = place <= max ? place : 2 * max - place
    input.dispatchEvent(new Event('input', { bubbles: true }))
    await new Promise(requestAnimationFrame)
  }
  return 1000 * (Number(root.dataset.redraws) - before) / (performance.now() - began)
}"""
# Plays a slider from its first value; redraws a second until it ends, or for four seconds.
_PLAY = """async (button) => {
  const root = button.getRootNode().querySelector('.live')
  const input = button.parentElement.querySelector('input')
  input.value = 0
  input.dispatchEvent(new Event('input', { bubbles: true }))
  await new Promise((then) => setTimeout(then, 200))
  const before = Number(root.dataset.redraws), began = performance.now()
  button.click()
  while (performance.now() - began < 4000 && button.ariaLabel === 'Pause') {
    await new Promise((then) => setTimeout(then, 5))
  }
  const rate = 1000 * (Number(root.dataset.redraws) - before) / (performance.now() - began)
  if (button.ariaLabel === 'Pause') button.click()
  return rate
}"""


def rows(lab: Lab) -> Iterator[Row]:
    """The browser first, alone; then the class."""
    drawn = _lessons()
    yield from _in_chromium(lab.folder / "lessons", drawn)
    with product(lab.folder / "lessons-crowd") as server:
        yield from _class(server, drawn, 60 * lab.minutes)


def _lessons() -> Mapping[str, Lesson]:
    store = Store.usual()
    drawn = {}
    for name, study in LESSONS.items():
        numbers = study.load(store)
        assert numbers is not None, "lessons are shipped"
        drawn[name] = study.lesson(numbers)
    return drawn


def _in_chromium(folder: Path, drawn: Mapping[str, Lesson]) -> Iterator[Row]:
    folder.mkdir(parents=True, exist_ok=True)
    redraws: list[float] = []
    frames: list[float] = []
    opening: list[float] = []
    sizes: list[int] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, lesson in drawn.items():
            path = folder / f"{name}.html"
            path.write_text(lessons.lesson_html(lesson), encoding="utf-8")
            sizes.append(path.stat().st_size)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            began = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector(".lesson figure:not([hidden]) svg path:visible")
            opening.append(1000 * (time.perf_counter() - began))
            page.locator(".lesson h2").click()  # ends the story
            rates = list(_stages(page))
            redraws += [rate for kind, rate in rates if kind == "drag"]
            frames += [rate for kind, rate in rates if kind == "play"]
            say(f"{name}: {', '.join(f'{kind} {rate:.0f}' for kind, rate in rates)}")
            page.close()
        browser.close()
    least = f"{len(redraws)} sliders, the slowest {min(redraws):.0f}"
    yield table.at_least(
        "lessons, a slider dragged: redraws", "a second", least,
        median=(float(np.median(redraws)), _REDRAWS),
    )  # fmt: skip
    if frames:
        note = f"{len(frames)} sliders, median {np.median(frames):.0f}"
        yield table.at_least(
            "lessons, played: frames", "a second", note, least=(min(frames), _FRAMES)
        )
    note = f"median {np.median(opening):.0f}"
    yield table.at_most(
        "a lesson's file from disk to its picture", "ms", note, max=(max(opening), _OPEN)
    )
    yield table.at_most("the largest file of a lesson", "kB", max=(max(sizes) / 1e3, 1000.0))


def _stages(page: Page) -> Iterator[tuple[str, float]]:
    for tab in page.locator(".lesson .stages button:not(.watch)").all():
        tab.click()
        for rail in page.locator(".lesson .sliders input:visible").all():
            if int(rail.get_attribute("max") or 0) >= 10:  # fewer are no drag
                yield "drag", float(rail.evaluate(_DRAG))
        for button in page.locator(".lesson .sliders .play:visible").all():
            yield "play", float(button.evaluate(_PLAY))


def _class(server: Server, drawn: Mapping[str, Lesson], seconds: float) -> Iterator[Row]:
    times, failures, sizes = asyncio.run(_crowd(server, drawn, seconds))
    ms = 1000 * np.array(times)
    what = f"{VISITORS} clients on lessons, {seconds / 60:g} min"
    yield table.at_most(
        what, "ms", f"{len(ms)} times, max {ms.max():.0f}",
        p50=(float(np.median(ms)), _P50), p95=(float(np.quantile(ms, 0.95)), _P95),
    )  # fmt: skip
    words = "; ".join(dict.fromkeys(failures))[:300]
    yield table.told(
        f"{what}: failures", f"{len(failures)} of {len(ms)} {words}", ok=not failures, must="0"
    )
    over = ", ".join(f"{size:.0f}" for size in sizes)
    yield table.at_most(f"{what}: memory", "MB", over, most=(max(sizes), _MEMORY))
    quarter = max(1, len(sizes) // 4)
    growth = np.mean(sizes[-quarter:]) / np.mean(sizes[quarter : 2 * quarter])
    yield table.at_most(
        f"{what}: memory, last quarter against second", "times", growth=(float(growth), _FLAT)
    )


async def _crowd(
    server: Server, drawn: Mapping[str, Lesson], seconds: float
) -> tuple[list[float], list[str], list[float]]:
    times: list[float] = []
    failures: list[str] = []
    end = time.perf_counter() + seconds
    visits = [_visit(server, drawn, i, end, times, failures) for i in range(VISITORS)]
    watched = asyncio.create_task(_sizes(server, seconds))
    await asyncio.gather(watched, *visits)
    return times, failures, watched.result()


async def _sizes(server: Server, seconds: float) -> list[float]:
    sizes = []
    for _ in range(_LOOKS):
        await asyncio.sleep(seconds / _LOOKS)
        sizes.append(resident(server.pid))
        say(f"{sizes[-1]:.0f} MB")
    return sizes


async def _visit(
    server: Server, drawn: Mapping[str, Lesson], number: int, end: float,
    times: list[float], failures: list[str],
) -> None:  # fmt: skip
    rng = stream(number, "class")
    await asyncio.sleep(_EVERY * rng.random())
    while time.perf_counter() < end:
        try:
            await _stay(server, drawn, rng, end, times)
        except Exception as error:  # whatever it is: a visitor would have seen it
            failures.append(f"{type(error).__name__} {error}"[:200])
            await asyncio.sleep(1.0)


async def _stay(
    server: Server, drawn: Mapping[str, Lesson], rng: np.random.Generator, end: float,
    times: list[float],
) -> None:  # fmt: skip
    """One page, until it is opened anew."""
    names = list(drawn)
    async with Visitor(server, "lessons") as visitor:
        times.append(await visitor.open())
        name = names[0]
        while time.perf_counter() < end:
            await visitor.look(_EVERY * rng.uniform(0.5, 1.5))
            kind = str(rng.choice(list(_SHARES), p=list(_SHARES.values())))
            if kind == "new page":
                return
            if kind == "lesson":
                name = str(rng.choice(names))
                times.append(await visitor.set("lesson", [LESSONS[name].title]))
                continue
            grids = [slider.grid for slider in drawn[name].all_sliders]
            values = [float(rng.choice(grid)) for grid in grids]
            times.append(await visitor.release(f"lesson-{name}", *values))
