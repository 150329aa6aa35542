"""What each page costs the server: its time on a processor for one interaction of one visitor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np

from benchmarks import rows as table
from benchmarks.client import Visitor
from benchmarks.lab import Lab, say
from benchmarks.rows import Row
from benchmarks.servers import Server, product
from benchmarks.visiting import PAGES, interact, spent
from validation_core.rng import stream

_TIMES = 40
_MEAN, _P95 = 35.0, 150.0  # ms

Costs = dict[str, list[tuple[str, float]]]


def rows(lab: Lab) -> Iterator[Row]:
    """A row for each page, then all of them together."""
    with product(lab.folder / "pages") as server:
        costs = asyncio.run(_visits(server))
    everything = []
    for page, spends in costs.items():
        ms = 1000 * np.array([seconds for _, seconds in spends])
        everything += ms.tolist()
        dearest = ", ".join(
            f"{key} {1000 * seconds:.0f}" for key, seconds in sorted(spends, key=_last)[:-4:-1]
        )
        row = table.at_most(
            f"server's time on a processor, an interaction on {page or 'playground'}", "ms",
            f"mean {ms.mean():.0f}, median {np.median(ms):.0f}; dearest {dearest}",
            p95=(float(np.quantile(ms, 0.95)), _P95),
        )  # fmt: skip
        yield row._replace(numbers={**row.numbers, "ms": ms.round(2).tolist()})
    yield table.at_most(
        "the same, all pages alike", "ms", f"{len(everything)} interactions",
        mean=(float(np.mean(everything)), _MEAN),
    )  # fmt: skip


def _last(pair: tuple[str, float]) -> float:
    return pair[1]


async def _visits(server: Server) -> Costs:
    async with Visitor(server) as first:
        await first.open()
    costs: Costs = {}
    for page in PAGES:
        say(page or "playground")
        costs[page] = []
        rng = stream(0, "pages", page)
        async with Visitor(server, page) as visitor:
            await visitor.open()
            await visitor.look(1.0)
            for _ in range(_TIMES):
                before = spent(server.pid)
                key, _ = await interact(visitor, rng)
                costs[page].append((key, spent(server.pid) - before))
    return costs
