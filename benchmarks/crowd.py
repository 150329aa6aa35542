"""Twenty visitors on the workbench, an update a second each, on cached results."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import numpy as np

from benchmarks import rows as table
from benchmarks.client import Visitor
from benchmarks.lab import Lab, say
from benchmarks.rows import Row
from benchmarks.servers import Server, product
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.explorers.conformal.study import BETAS, PAPER_M
from validation_core.rng import stream

VISITORS, UPDATES, EVERY = 20, 15, 1.0
PAGE = "conformal-c2st"
CHART = "conformal-mean_shift"
_MS = [str(m) for m in PAPER_M]


def rows(lab: Lab) -> Iterator[Row]:
    """The crowd's latencies, all sliders together and each by itself."""
    with product(lab.trained) as server:
        alone, times, size = asyncio.run(_crowd(server))
    everything = [seconds for slider in times.values() for seconds in slider]
    each = ", ".join(f"{name} {1000 * np.median(s):.0f}" for name, s in times.items())
    note = f"medians {each}; one visitor alone {1000 * np.median(alone):.0f}; {size:.0f} kB each"
    what = f"{VISITORS} clients on the workbench, cached results, an update a second each"
    row = table.latency(what, everything, 150, 400, note)
    by = {name: (1000 * np.array(s)).round(1).tolist() for name, s in times.items()}
    yield row._replace(numbers={**row.numbers, "by_slider_ms": by, "kB": size})


async def _crowd(server: Server) -> tuple[list[float], dict[str, list[float]], float]:
    async with Visitor(server, PAGE) as first:
        await first.open()
        say("visiting every place once")
        for m in _MS:
            await first.slide("m", m)
        alone = [seconds for i in range(UPDATES) for _, seconds in [await _update(first, i, 99)]]
    visitors = [Visitor(server, PAGE) for _ in range(VISITORS)]
    for visitor in visitors:
        await visitor.__aenter__()
        await visitor.open()
    before = sum(visitor.bytes for visitor in visitors)
    say("all are in")
    result = await asyncio.gather(*(_visit(v, i) for i, v in enumerate(visitors)))
    size = sum(visitor.bytes for visitor in visitors) - before
    for visitor in visitors:
        await visitor.__aexit__(None, None, None)
    times: dict[str, list[float]] = {}
    for name, seconds in (pair for pairs in result for pair in pairs):
        times.setdefault(name, []).append(seconds)
    return alone, times, size / 1000 / (VISITORS * UPDATES)


async def _visit(visitor: Visitor, name: int) -> list[tuple[str, float]]:
    """Updates a second apart, begun at a moment of the visitor's own."""
    await asyncio.sleep(EVERY * stream(name, "phase").random())
    results = []
    for i in range(UPDATES):
        due = time.perf_counter() + EVERY
        results.append(await _update(visitor, i, name))
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
    return results


async def _update(visitor: Visitor, i: int, name: int) -> tuple[str, float]:
    """One slider to a place drawn at random: gamma and beta, or m, in turn."""
    rng = stream(name, "update", i)
    if (i + name) % 2:
        return "m", await visitor.slide("m", str(rng.choice(_MS)))
    place = float(rng.choice(Gaussian().gammas)), float(rng.choice(BETAS))
    return "gamma and beta", await visitor.release(CHART, *place)
