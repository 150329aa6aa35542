"""Thirty sessions that come and go, one of them with a table of 50 MB: what a server keeps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import rows as table
from benchmarks.client import Visitor
from benchmarks.lab import Lab
from benchmarks.memory import resident
from benchmarks.rows import Row
from benchmarks.servers import Server, product
from benchmarks.visiting import PAGES, descriptors, table_file

SESSIONS = 30
FORGOTTEN = ("--server.disconnectedSessionTTL", "2")
"""Seconds after which a session whose connection ended is over; Streamlit's own are 120."""
_UPLOADED = 50e6  # bytes
_ROUNDS, _PATIENCE = 3, 30.0


class Taken(NamedTuple):
    """What a server has of the machine."""

    descriptors: int
    memory: float
    """Resident, in MB."""

    @classmethod
    def now(cls, server: Server) -> Taken:
        """By this moment."""
        return cls(descriptors(server.pid), resident(server.pid))


def rows(lab: Lab) -> Iterator[Row]:
    """Before, and after each of some rounds."""
    with product(lab.folder / "sessions", *FORGOTTEN) as server:
        file, before = large(lab.folder / "sessions.npz"), settled(server)
        after = []
        for _ in range(_ROUNDS):
            come_and_go(server, file)
            peak = Taken.now(server)
            time.sleep(_PATIENCE)
            after.append(Taken.now(server))
    sizes = ", ".join(f"{taken.memory:.0f}" for taken in after)
    yield table.at_most(
        f"memory that {SESSIONS} sessions and 50 MB leave", "MB",
        f"{before.memory:.0f} MB before, {peak.memory:.0f} at the last end, then {sizes}",
        more=(after[-1].memory - before.memory, 90.0),
    )  # fmt: skip
    yield table.at_most(
        "descriptors that they leave", "", f"{before.descriptors} before",
        more=(float(after[-1].descriptors - before.descriptors), 3.0),
    )  # fmt: skip


def large(path: Path) -> Path:
    """A table of 50 MB."""
    return table_file(path, 400, 3, _UPLOADED)


def settled(server: Server) -> Taken:
    """What it has once every page has been looked at: what is read once stays."""
    for number in range(len(PAGES)):
        asyncio.run(_visit(server, number, steps=()))
    time.sleep(3.0)
    return Taken.now(server)


def come_and_go(server: Server, file: Path, sessions: int = SESSIONS) -> None:
    """All at once; one uploads the file."""

    async def all_at_once() -> None:
        visits = (_visit(server, i, file if i == 0 else None) for i in range(sessions))
        await asyncio.gather(*visits)

    asyncio.run(all_at_once())


async def _visit(
    server: Server, number: int, file: Path | None = None, *, steps: Sequence[int] = (4, 8)
) -> None:
    """A page, others so many steps on in the menu, and the file on the one that takes it."""
    async with Visitor(server, PAGES[number % len(PAGES)]) as visitor:
        await visitor.open()
        for step in steps:
            await visitor.turn_to(PAGES[(number + step) % len(PAGES)])
        if file is not None:
            await visitor.turn_to("diagnose")
            await visitor.upload("file", file)
