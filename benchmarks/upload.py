"""A table of 40 MB in real Chromium: from the choice of the file to what was read of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from benchmarks import rows as table
from benchmarks.lab import Lab
from benchmarks.rows import Row
from benchmarks.servers import WARM, product
from tests.browser.driving import FLAGS, chromium, settled, timed
from validation_core.rng import stream

_N, _K, _D = 1000, 990, 10
_TIMES = 5
_LIMIT = 3.0  # seconds


def rows(lab: Lab) -> Iterator[Row]:
    """Another table in a new window each time: nothing of it is known to the server."""
    with product(lab.folder / "upload") as server, sync_playwright() as playwright:
        result = chromium()
        if result is None:
            raise RuntimeError("There is no Chromium: install it, or name one in NPTLAB_CHROMIUM.")
        browser = playwright.chromium.launch(executable_path=result, args=list(FLAGS))
        files = [_file(lab.folder / f"upload-{i}.npz", i) for i in range(_TIMES)]
        seconds = [_seconds(browser, f"{server.url}/diagnose", file) for file in files]
        browser.close()
    size = files[0].stat().st_size / 1e6
    note = f"{size:.0f} MB, {_TIMES} tables, from {min(seconds):.2f} to {max(seconds):.2f} s"
    yield table.at_most(
        f"upload of N = {_N:,}, K = {_K}, D = {_D} in Chromium to what was read", "s", note,
        median=(float(np.median(seconds)), _LIMIT),
    )  # fmt: skip


def _file(path: Path, seed: int) -> Path:
    rng = stream(seed, "upload")
    shapes = {"theta": (_N, _D), "x": (_N, _D), "theta_q": (_N, _K, _D)}
    built = {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    np.savez(path, **built)  # type: ignore[arg-type]
    return path


def _seconds(browser: Browser, url: str, file: Path) -> float:
    page = timed(browser.new_context()).new_page()
    page.goto(url)
    settled(page)
    time.sleep(WARM)  # those that were cancelled with the last table have started anew
    start = time.perf_counter()
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text(f"Loaded {_N:,} simulations with {_K} draws each").wait_for(timeout=120_000)
    seconds = time.perf_counter() - start
    # What it has begun would slow down the next one.
    page.get_by_role("button", name="Cancel").click(timeout=60_000)
    page.context.close()
    return seconds
