"""Train an estimator, in Chromium: a shipped film opens; a new one is trained and diagnosed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from benchmarks import rows as table
from benchmarks.browser import DRAWN, first_visit, open_page
from benchmarks.lab import Lab
from benchmarks.rows import Row
from benchmarks.servers import WARM, product

_PATH = "train-an-estimator"
_VISITS = 5
_SEEDS = (101, 102, 103)
_LONGEST = 180_000  # ms that a training or a verdict may take
_OPEN, _FIRST, _TRAINED, _VERDICT = 1.0, 1.0, 12.0, 5.0
_WIRE = 700_000  # bytes of the film
_JUDGED = """() => { const card = document.querySelector('.npt-card h2')?.innerText
  return card && !/Being worked out/.test(card) }"""


class Times(NamedTuple):
    """Seconds after a press on Train, and from the film to the verdict."""

    first: float
    trained: float
    verdict: float


def rows(lab: Lab) -> Iterator[Row]:
    """First visits to the film of two moons, then the same estimator at other seeds."""
    with product(lab.folder / "train") as server:
        first_visit(f"{server.url}/{_PATH}")  # the server itself begins
        visits = [first_visit(f"{server.url}/{_PATH}") for _ in range(_VISITS)]
        yield table.at_most(
            "estimator page: address to film, warm server, first visit", "s",
            f"{_VISITS} visits", median=(float(np.median([s for s, _ in visits])), _OPEN),
        )  # fmt: skip
        yield table.at_most(
            "estimator page: largest message", "bytes", bytes=(max(b for _, b in visits), _WIRE)
        )
    times = Times(*np.median([_train(lab, seed) for seed in _SEEDS], axis=0))
    what, note = "two moons, spline flow, 1,000 simulations", f"{len(_SEEDS)} seeds"
    yield table.at_most(f"{what}: press to picture", "s", note, median=(times.first, _FIRST))
    yield table.at_most(f"{what}: press to film", "s", note, median=(times.trained, _TRAINED))
    yield table.at_most(f"{what}: film to verdict", "s", note, median=(times.verdict, _VERDICT))


def _train(lab: Lab, seed: int) -> Times:
    """Press Train at a seed that does not ship, and wait for what follows.

    The server is a new one: a diagnosis goes on after its verdict, beside the next training.
    """
    with product(lab.folder / f"train-{seed}") as server:
        first_visit(f"{server.url}/{_PATH}")
        time.sleep(WARM)
        with open_page(f"{server.url}/{_PATH}?seed={seed}") as (page, _):
            button = page.get_by_role("button", name="Train,")
            button.wait_for()
            page.wait_for_timeout(1000)
            start = time.perf_counter()
            button.click()
            page.wait_for_selector(DRAWN, timeout=_LONGEST)
            first = time.perf_counter()
            page.get_by_text("Do the tests see what is wrong?").wait_for(timeout=_LONGEST)
            film = time.perf_counter()
            page.wait_for_function(_JUDGED, timeout=_LONGEST)
            return Times(first - start, film - start, time.perf_counter() - film)
