"""What a server's visitors may take, and how much runs at once: by the memory that there is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MB, _GB = 10**6, 10**9
_SERVER = 0.3 * _GB  # the server without visitors: 0.26 GB
_PAGE = 2.0 * _MB  # an open page
_WORKER = 0.5 * _GB  # a process that computes: 0.27 GB before its first task
CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


@dataclass(frozen=True)
class Quota:
    """A quota for one visitor, and one for all together."""

    own: int
    all: int


@dataclass(frozen=True)
class Limits:
    """The limits of a server; by default those of a machine with 24 GB or more."""

    jobs: Quota = Quota(12, 120)
    """Jobs under way."""
    pages: Quota = Quota(30, 300)
    """Pages open at once."""
    uploads: Quota = Quota(600, 3000)
    """MB of files that were sent and are still listed on a page."""
    tables: Quota = Quota(1500, 6000)
    """MB of tables in memory, read from such files."""
    workers: int = 4
    """Processes that compute at once, unless NPTLAB_WORKERS asks for others."""
    readers: int = 2
    """Uploaded files that are read at once."""
    reader_memory: int = 1_500_000_000
    """Bytes that the reader of one file may hold."""

    @property
    def pages_of_address(self) -> int:
        """Pages that visitors of one address may open together: half of all, or one visitor's."""
        return max(self.pages.own, self.pages.all // 2)

    @classmethod
    def of(cls, memory: int | None) -> Limits:
        """The limits for a memory, of which each part takes its share at most.

        Pages 6 hundredths, workers 28, readers 20, files 16, tables 26: all of them are seldom
        taken at once, and a file may lie in memory twice while it is read.

        Args:
            memory: bytes; None where it is not known, as for 24 GB.
        """
        most = cls()
        if memory is None:
            return most
        free = max(0.0, memory - _SERVER)
        uploads = min(most.uploads.all, int(0.16 * free / _MB))
        tables = min(most.tables.all, int(0.26 * free / _MB))
        pages = min(most.pages.all, max(4, int(0.06 * free / _PAGE)))
        readers = most.readers if free >= 8 * _GB else 1
        return cls(
            pages=Quota(min(most.pages.own, max(2, pages // 3)), pages),
            uploads=_halved(most.uploads.own, uploads),
            tables=_halved(most.tables.own, tables),
            workers=min(most.workers, max(1, int(0.28 * free / _WORKER))),
            readers=readers,
            reader_memory=min(most.reader_memory, max(300 * _MB, int(0.2 * free / readers))),
        )


def _halved(own: int, everyone: int) -> Quota:
    """A visitor's half of what there is, but room for one file of 200 MB where there is any."""
    everyone = max(1, everyone)
    return Quota(min(own, max(everyone // 2, min(everyone, 200))), everyone)


def memory_bytes() -> int | None:
    """Bytes of memory that this process may have: the machine's, or its container's if fewer.

    None where the system does not tell.
    """
    known = list(_cgroup_limits())
    with suppress(AttributeError, OSError, ValueError):
        known.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min((size for size in known if size > 0), default=None)


def _cgroup_limits() -> Iterator[int]:
    """The limits of this process's control groups and of those that hold them, on Linux."""
    with suppress(OSError):
        for line in MEMBERSHIP.read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            root, name = CGROUPS, "memory.max"
            if "memory" in kinds.split(","):
                root, name = CGROUPS / "memory", "memory.limit_in_bytes"
            elif kinds:
                continue
            # A container sees its own group as the root, whatever path the host calls it by.
            whole = Path(path.lstrip("/"))
            for group in (whole, *whole.parents):
                with suppress(OSError):
                    text = (root / group / name).read_text().strip()
                    if re.fullmatch(r"[0-9]{1,20}", text):
                        yield int(text)
