"""A server from nothing to ready, and the first page that anyone opens on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np

from benchmarks import rows as table
from benchmarks.client import Visitor
from benchmarks.lab import Lab
from benchmarks.rows import Row
from benchmarks.servers import Server, product

PAGES = {"playground": "", "workbench": "conformal-c2st", "diagnose": "diagnose"}


def rows(lab: Lab) -> Iterator[Row]:
    """A fresh server for each page, so that each is the first page of its server."""
    ready, first = [], {}
    for name, page in PAGES.items():
        with product(lab.trained) as server:
            ready.append(server.seconds)
            first[name] = 1000 * asyncio.run(_open(server, page))
    note = f"median of {len(ready)} starts, slowest {max(ready):.2f} s"
    yield table.at_most("server start to ready", "s", note, median=(float(np.median(ready)), 4.0))
    limits = {name: (ms, 400.0) for name, ms in first.items()}
    yield table.at_most("first page of a fresh server", "ms", "each on its own server", **limits)


async def _open(server: Server, page: str) -> float:
    async with Visitor(server, page) as visitor:
        return await visitor.open()
