"""Forty visitors on all pages for twenty minutes; then thirty while one uploads and five train.

Each looks for some three seconds, then moves something at random; now and then it turns to another
page, opens an address that somebody sent, reloads, or goes away and comes back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import rows as table
from benchmarks.client import Visitor
from benchmarks.lab import Lab, say
from benchmarks.memory import family, resident
from benchmarks.rows import Row
from benchmarks.servers import Server, operated
from benchmarks.visiting import PAGES, descriptors, interact, spent, table_file
from validation_core.rng import stream

CROWD, BESIDE, TRAINING = 40, 30, 5
_EVERY = 3.0  # seconds from one interaction to the next
_KINDS = {
    "interaction": 0.86, "page": 0.06, "address": 0.03, "reload": 0.03, "return": 0.02,
}  # fmt: skip
_AWAY = 5.0, 30.0  # seconds that somebody is gone
_LOOKS = 12  # at memory, over the time
_P95, _MAX, _P95_BESIDE, _FLAT = 600.0, 3000.0, 1000.0, 1.10
_UPLOADED = 199e6  # bytes: a page takes 200 MB
_PAUSE = 20.0  # seconds between two uploads


class Times(NamedTuple):
    """What a crowd met."""

    seconds: list[tuple[str, str, float]]
    """Page, kind of what was done (a widget's key, or as above), seconds until it had run."""
    failures: list[str]
    addresses: dict[str, Mapping[str, str]]
    """What the address of a page said last, for somebody."""


class Size(NamedTuple):
    """Memory at a moment, in MB, and descriptors."""

    server: float
    workers: float
    descriptors: int


def rows(lab: Lab) -> Iterator[Row]:
    """Both crowds, each on a server of its own; a row for each page beside the whole."""
    seconds = 60 * lab.minutes
    with operated(lab.folder / "crowd-hard") as server:
        yield from _forty(server, seconds)
    with operated(lab.folder / "crowd-beside") as server:
        file = table_file(lab.folder / "crowd-hard.npz", 1000, 5, _UPLOADED)
        yield from _beside(server, file, seconds / 2)


def _forty(server: Server, seconds: float) -> Iterator[Row]:
    _all_pages_once(server)
    before = spent(server.pid)
    times, sizes = asyncio.run(_crowd(server, CROWD, seconds))
    cost = spent(server.pid) - before
    what = f"{CROWD} clients on all pages, {seconds / 60:g} min"
    yield _latency(what, times, _P95, _MAX)
    yield _failures(what, times)
    for page in PAGES:
        yield _on_page(page, times)
    count = len(times.seconds)
    yield table.told(
        f"{what}: the server's time on a processor",
        f"{1000 * cost / count:.0f} ms an interaction, {count / seconds:.1f} of them a s, "
        f"{100 * cost / seconds:.0f}% of one core",
    )
    yield _flat(what, sizes)


def _beside(server: Server, file: Path, seconds: float) -> Iterator[Row]:
    _all_pages_once(server)
    times, sizes = asyncio.run(_crowd(server, BESIDE, seconds, file))
    what = f"{BESIDE} clients, one uploads 200 MB, {TRAINING} train, {seconds / 60:g} min"
    yield _latency(what, times, _P95_BESIDE, None)
    yield _failures(what, times)
    most = max(sizes, key=lambda size: size.server)
    yield table.told(
        f"{what}: the most memory",
        f"server {most.server:.0f} MB, workers and readers {most.workers:.0f} MB",
    )


def _latency(what: str, times: Times, p95: float, longest: float | None) -> Row:
    ms = 1000 * np.array([s for _, _, s in times.seconds])
    limits = {"p95": (float(np.quantile(ms, 0.95)), p95)}
    if longest is not None:
        limits["max"] = (float(ms.max()), longest)
    slowest = ", ".join(
        f"{kind} on {page or 'playground'} {1000 * s:.0f}"
        for page, kind, s in sorted(times.seconds, key=lambda one: -one[2])[:4]
    )
    note = f"{len(ms)} times, median {np.median(ms):.0f}; slowest {slowest}"
    row = table.at_most(what, "ms", note, **limits)
    return row._replace(numbers={**row.numbers, "times": times.seconds})


def _failures(what: str, times: Times) -> Row:
    words = "; ".join(dict.fromkeys(times.failures))[:400]
    return table.told(
        f"{what}: failures",
        f"{len(times.failures)} of {len(times.seconds)}{': ' * bool(words)}{words}",
        ok=not times.failures,
        must="0",
    )


def _on_page(page: str, times: Times) -> Row:
    ms = 1000 * np.array([s for at, _, s in times.seconds if at == page])
    measured = (
        f"p50 {np.median(ms):.0f}, p95 {np.quantile(ms, 0.95):.0f}, max {ms.max():.0f} ms, "
        f"{len(ms)} times"
        if len(ms)
        else "nobody was there"
    )
    return table.told(f"the same on {page or 'playground'}", measured)


def _flat(what: str, sizes: list[Size]) -> Row:
    """Memory in the last quarter against the second: by then everybody has been everywhere."""
    server = np.array([size.server for size in sizes])
    quarter = max(1, len(server) // 4)
    growth = server[-quarter:].mean() / server[quarter : 2 * quarter].mean()
    over = ", ".join(f"{size.server:.0f}" for size in sizes)
    last = sizes[-1]
    note = f"{over} MB; workers {last.workers:.0f} MB, {last.descriptors} descriptors at the end"
    row = table.at_most(f"{what}: memory", "times", note, growth=(float(growth), _FLAT))
    return row._replace(numbers={**row.numbers, "sizes": [size._asdict() for size in sizes]})


def _all_pages_once(server: Server) -> None:
    async def visit() -> None:
        for page in PAGES:
            async with Visitor(server, page) as visitor:
                await visitor.open()

    asyncio.run(visit())


async def _crowd(
    server: Server, count: int, seconds: float, file: Path | None = None
) -> tuple[Times, list[Size]]:
    """So many visitors; where there is a file, one more uploads it and some more train."""
    times, end = Times([], [], {}), time.perf_counter() + seconds
    visits = [_visit(server, i, times, end) for i in range(count)]
    if file is not None:
        visits.append(_upload(server, file, times, end))
        visits += [_train(server, i, times, end) for i in range(TRAINING)]
    watched = asyncio.create_task(_sizes(server, seconds))
    await asyncio.gather(watched, *visits)
    return times, watched.result()


async def _sizes(server: Server, seconds: float) -> list[Size]:
    sizes = []
    for _ in range(_LOOKS):
        await asyncio.sleep(seconds / _LOOKS)
        _, *others = family(server.pid)
        workers = sum(map(resident, others))
        sizes.append(Size(resident(server.pid), workers, descriptors(server.pid)))
        say(f"{sizes[-1].server:.0f} MB, workers {workers:.0f} MB")
    return sizes


async def _visit(server: Server, number: int, times: Times, end: float) -> None:
    """One visitor; where something fails it is counted, and the visitor begins anew."""
    rng, page = stream(number, "hard"), PAGES[number % len(PAGES)]
    await asyncio.sleep(_EVERY * rng.random())
    while time.perf_counter() < end:
        try:
            page = await _stay(server, page, rng, times, end)
        except Exception as error:  # whatever it is: a visitor would have seen it
            times.failures.append(f"{page or 'playground'}: {type(error).__name__} {error}"[:200])
            await asyncio.sleep(1.0)


async def _stay(
    server: Server, page: str, rng: np.random.Generator, times: Times, end: float
) -> str:
    """One session, until it is left for another address; the page that this is of."""
    query = times.addresses.get(page) if rng.random() < 0.5 else None
    async with Visitor(server, page, query) as visitor:
        times.seconds.append((page, "address", await visitor.open()))
        while time.perf_counter() < end:
            due = time.perf_counter() + _EVERY * rng.uniform(0.5, 1.5)
            await visitor.look(max(0.0, due - time.perf_counter()))
            kind = str(rng.choice(list(_KINDS), p=list(_KINDS.values())))
            if kind == "address":
                times.addresses[visitor.page] = dict(visitor.query)
                return str(rng.choice(PAGES))
            name, took = await _do(visitor, kind, rng)
            times.seconds.append((visitor.page, name, took))
        return visitor.page


async def _do(visitor: Visitor, kind: str, rng: np.random.Generator) -> tuple[str, float]:
    if kind == "page":
        return kind, await visitor.turn_to(str(rng.choice(PAGES)))
    if kind == "reload":
        return kind, await visitor.reload()
    if kind == "return":
        await visitor.leave()
        await asyncio.sleep(rng.uniform(*_AWAY))
        return kind, await visitor.come_back()
    return await interact(visitor, rng)


async def _upload(server: Server, file: Path, times: Times, end: float) -> None:
    """A table as large as a page takes, again and again; its own seconds do not count."""
    while time.perf_counter() < end:
        try:
            async with Visitor(server, "diagnose") as visitor:
                await visitor.open()
                say(f"200 MB in {await visitor.upload('file', file):.1f} s")
                await visitor.look(_PAUSE)
        except Exception as error:
            times.failures.append(f"upload: {type(error).__name__} {error}"[:200])
            await asyncio.sleep(1.0)


async def _train(server: Server, number: int, times: Times, end: float) -> None:
    """Another seed of the workbench as soon as the last one is there."""
    rng = stream(number, "train")
    while time.perf_counter() < end:
        try:
            async with Visitor(server, "conformal-c2st") as visitor:
                await visitor.open()
                while time.perf_counter() < end:
                    await visitor.set("seed", float(rng.integers(1, 9999)))
                    await visitor.look(_PAUSE)
        except Exception as error:
            times.failures.append(f"training: {type(error).__name__} {error}"[:200])
            await asyncio.sleep(1.0)
