"""My posterior in Chromium: from an uploaded table to a verdict, a whole card, every row.

Workers are warm: the example is on screen before. What nobody opens is not worked out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from benchmarks import rows as table
from benchmarks.lab import Lab
from benchmarks.rows import Row
from benchmarks.servers import WARM, product
from tests.browser.driving import FLAGS, chromium, settled, timed
from validation_core.rng import stream

N, K, D = 1000, 200, 2
_TIMES = 3
_VERDICT, _CARD, _ALL = 1.0, 12.0, 25.0  # seconds
_SHIFT = 0.05
_WATCH = """() => { window.shifted = 0
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value
  }).observe({ type: 'layout-shift' }) }"""
_SEEN = """() => { const card = document.querySelector('.npt-card')
  const main = document.querySelector('[data-testid=stMain]').innerText
  return [card?.querySelector('h2').innerText ?? '', /mass|radius/.test(card?.innerText ?? ''),
          /Being worked out/.test(card?.innerText ?? ''), /Being worked out/.test(main)] }"""


class Visit(NamedTuple):
    """Seconds from the upload, and how far things moved meanwhile."""

    verdict: float
    card: float
    every: float
    shift: float


def rows(lab: Lab) -> Iterator[Row]:
    """Another table, too narrow in one of two parameters, in a new window each time."""
    with product(lab.folder / "card") as server, sync_playwright() as playwright:
        path = chromium()
        if path is None:
            raise RuntimeError("There is no Chromium: install it, or name one in NPTLAB_CHROMIUM.")
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        url = f"{server.url}/diagnose"
        files = [_file(lab.folder / f"card-{i}.npz", i) for i in range(_TIMES)]
        visits = [_visit(browser, url, file) for file in files]
        browser.close()
    median = Visit(*np.median(np.array(visits), axis=0).tolist())
    size = f"N = {N:,}, K = {K}, D = {D}"
    note = f"median of {_TIMES} tables"
    for what, seconds, most in (
        ("the verdict", median.verdict, _VERDICT),
        ("the whole card", median.card, _CARD),
        ("every row", median.every, _ALL),
    ):
        yield table.at_most(f"upload of {size} to {what}", "s", note, median=(seconds, most))
    yield table.at_most(
        "layout shift while results arrive", "", note, median=(median.shift, _SHIFT)
    )


def _file(path: Path, seed: int) -> Path:
    rng = stream(seed, "card")
    theta, x = rng.standard_normal((N, D)), rng.standard_normal((N, 3))
    q = rng.standard_normal((N, K, D))
    q[..., 1] *= 0.75
    np.savez(path, theta=theta, x=x, theta_q=q, theta_names=np.array(["mass", "radius"]))
    return path


def _visit(browser: Browser, url: str, file: Path) -> Visit:
    page = timed(browser.new_context(viewport={"width": 1280, "height": 800})).new_page()
    page.goto(url)
    settled(page)
    time.sleep(WARM)
    page.evaluate(_WATCH)
    start = time.perf_counter()
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text(f"Loaded {N:,} simulations with {K} draws each").wait_for(timeout=60_000)
    page.evaluate("window.shifted = 0")
    seconds: dict[str, float] = {}
    while "every" not in seconds:
        title, own, waits, any_waits = page.evaluate(_SEEN)
        elapsed = time.perf_counter() - start
        if own and title not in ("", "Testing"):
            seconds.setdefault("verdict", elapsed)
            if not waits:
                seconds.setdefault("card", elapsed)
            if not any_waits:
                seconds["every"] = elapsed
        page.wait_for_timeout(100)
    settled(page)
    shift = float(page.evaluate("window.shifted"))
    page.context.close()
    return Visit(**seconds, shift=shift)
