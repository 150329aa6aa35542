"""A server in a container of little memory: five visitors with large files, and 1 GB alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from benchmarks import rows as table
from benchmarks import verdict
from benchmarks.cgroup import Group, bounded
from benchmarks.client import Visitor
from benchmarks.lab import Lab
from benchmarks.rows import Row
from benchmarks.servers import Server, within
from benchmarks.visiting import table_file

VISITORS = 5
_FILE = 192e6  # bytes; a page takes 200 MiB
_SMALL = 20e6
_DOCUMENTED = 4e9  # bytes; docs/operating.md
_PATIENCE = 600.0  # seconds; a quiet machine is done in 20
_FREE = 1e9  # bytes of a free host


def rows(lab: Lab) -> Iterator[Row]:
    """The peak of each, and whether every page still answers."""
    for folder, memory, visitors, nbytes in (
        ("documented", _DOCUMENTED, VISITORS, _FILE),
        ("free", _FREE, VISITORS, _SMALL),
    ):
        file = table_file(lab.folder / f"{folder}.npz", 1000, 3, nbytes)
        with bounded(memory) as group, within(lab.folder / folder, group) as server:
            read = asyncio.run(_all_at_once(server, file, visitors))
            words = f"{read} of {visitors} read, the others told why"
            yield _row(group, memory, f"{visitors} visitors, {nbytes / 1e6:.0f} MB each: {words}")
            seconds = asyncio.run(_diagnosed(server, lab.folder))
            words = f"and then {verdict.SIZE}, every answer after {seconds:.0f} s"
            yield _row(group, memory, words)
    with bounded(_FREE) as group, within(lab.folder / "alone", group) as server:
        seconds = asyncio.run(_diagnosed(server, lab.folder))
        yield _row(group, _FREE, f"{verdict.SIZE} alone, every answer after {seconds:.0f} s")


def _row(group: Group, memory: float, what: str) -> Row:
    killed = group.killed()
    ended = f"{killed} processes ended for want of it"
    row = table.at_most(what, "MB", ended, peak=(group.peak(), memory / 1e6))
    return row._replace(ok=row.ok and not killed)


async def _all_at_once(server: Server, file: Path, visitors: int) -> int:
    """How many of the files were read; every page runs without an error."""
    pages = [Visitor(server, "diagnose") for _ in range(visitors)]
    for page in pages:
        await page.connect()
        await page.open()
    await asyncio.gather(*(page.upload("file", file) for page in pages))
    await asyncio.sleep(1.0)
    read = sum("table" in page.query for page in pages)
    for page in pages:
        await page.leave()
    return read


async def _diagnosed(server: Server, folder: Path) -> float:
    """Seconds from the upload of a usual table until its card and every answer are there."""
    file, _ = verdict.upload_file(folder)
    async with Visitor(server, "diagnose") as page:
        await page.open()
        await page.upload("file", file)
        return await page.until_done(_PATIENCE)
