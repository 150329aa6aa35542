"""Thirty visitors on the home page: sliders released, other benchmarks, now and then a new page.

A visitor looks for a second or three and then moves something: a slider as a rule, which sends one
message as it is released; another benchmark every ten seconds or so; and the page anew about once
a minute.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import rows as table
from benchmarks.client import Visitor
from benchmarks.lab import Lab, say
from benchmarks.memory import resident
from benchmarks.rows import Row
from benchmarks.servers import Server, product
from validation_core.explorers.playground.study import BETAS, SAMPLES, PlaygroundStudy, named
from validation_core.rng import stream
from validation_core.store import Store

VISITORS = 30
_LOOK = 1.0, 3.0  # seconds between two things that a visitor does
_SHARES = {"release": 0.76, "benchmark": 0.2, "new page": 0.04}
_QUARTERS = 4
_GROWTH = 1.05  # of memory, from half of the time to its end

Sliders = dict[str, tuple[tuple[float, ...], ...]]
"""Places of gamma, beta, x and the sample, by the benchmark's name."""


def rows(lab: Lab) -> Iterator[Row]:
    """Latency of each kind of interaction; the server's memory and its time on a processor."""
    with product(lab.folder / "crowd-playground") as server:
        asyncio.run(_alone(server))
        before = _cpu(server.pid)
        times, memory = asyncio.run(_crowd(server, lab.seconds))
        spent = _cpu(server.pid) - before
    for kind, seconds in times.items():
        what = f"{VISITORS} clients on the playground: {kind}"
        yield table.at_most(
            what, "ms", f"{len(seconds)} times, median {1000 * np.median(seconds):.0f}",
            p95=(1000 * float(np.quantile(seconds, 0.95)), 300.0),
        )  # fmt: skip
    count = sum(map(len, times.values()))
    each = f"{1000 * spent / count:.0f} ms an interaction, {count / lab.seconds:.1f} of them a s"
    yield table.told("the same: the server's time on a processor", each)
    quarters = ", ".join(f"{size:.0f}" for size in memory)
    yield table.at_most(
        f"the same: the server's memory over {lab.seconds:.0f} s, from half of it to the end",
        "times", f"{quarters} MB at each quarter", growth=(memory[-1] / memory[1], _GROWTH),
    )  # fmt: skip


def _cpu(pid: int) -> float:
    """Seconds that a process has run."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _alone(server: Server) -> None:
    """The server's own first page, which nobody waits for."""
    async with Visitor(server) as first:
        await first.open()


async def _crowd(server: Server, seconds: float) -> tuple[dict[str, list[float]], list[float]]:
    sliders, times = _sliders(), defaultdict[str, list[float]](list)
    end = time.perf_counter() + seconds
    visits = [_visit(server, i, sliders, end, times) for i in range(VISITORS)]
    watched = asyncio.create_task(_memory(server, seconds))
    await asyncio.gather(watched, *visits)
    return {kind: times[kind] for kind in _SHARES}, watched.result()


async def _memory(server: Server, seconds: float) -> list[float]:
    """Resident MB at the end of each quarter of the time."""
    sizes = []
    for _ in range(_QUARTERS):
        await asyncio.sleep(seconds / _QUARTERS)
        sizes.append(resident(server.pid))
        say(f"{sizes[-1]:.0f} MB")
    return sizes


async def _visit(
    server: Server, number: int, sliders: Sliders, end: float, times: dict[str, list[float]]
) -> None:
    """One visitor, one page after the other until the end."""
    rng = stream(number, "visitor")
    await asyncio.sleep(rng.uniform(*_LOOK))
    while time.perf_counter() < end:
        async with Visitor(server) as visitor:
            times["new page"].append(await visitor.open())
            name = next(iter(sliders))
            places = [float(grid[0]) for grid in sliders[name]]
            while True:
                await asyncio.sleep(rng.uniform(*_LOOK))
                kind = str(rng.choice(list(_SHARES), p=list(_SHARES.values())))
                if kind == "new page" or time.perf_counter() >= end:
                    break
                if kind == "benchmark":
                    name = str(rng.choice([other for other in sliders if other != name]))
                    places = [float(grid[0]) for grid in sliders[name]]
                    answer = visitor.choose("strip", name)
                else:
                    which = int(rng.integers(len(places)))
                    places[which] = float(rng.choice(sliders[name][which]))
                    answer = visitor.release(f"playground-{name}", *places)
                times[kind].append(await answer)


def _sliders() -> Sliders:
    store = Store.usual()
    sliders: Sliders = {}
    for name, benchmark in named().items():
        study = PlaygroundStudy(benchmark=benchmark)
        seen = study.load(store)
        assert seen is not None, "the playground is shipped"
        x = tuple(map(float, range(len(seen.where.x_at))))
        sliders[name] = (study.gammas, BETAS, x, tuple(map(float, range(SAMPLES))))
    return sliders
