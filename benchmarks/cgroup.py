"""A control group of Linux: its processes have so much memory together, as in a container."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OLD, _NEW = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
_FILES = {
    _OLD: ("memory.limit_in_bytes", "memory.max_usage_in_bytes"),
    _NEW: ("memory.max", "memory.peak"),
}


class Group:
    """A group of processes of bounded memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def enter(self) -> None:
        """Put this process into it, and all that it starts."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def peak(self) -> float:
        """The most memory that its processes have held together, files in memory too, in MB."""
        return int((self.folder / _FILES[self.folder.parent][1]).read_text()) / 1e6

    def killed(self) -> int:
        """How many of its processes the system has ended for want of memory."""
        name = "memory.oom_control" if self.folder.parent == _OLD else "memory.events"
        lines = (self.folder / name).read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


@contextmanager
def bounded(memory: float) -> Iterator[Group]:
    """A group for as long as the context.

    Args:
        memory: bytes.

    Raises:
        OSError: where this user may make none.
    """
    root = _OLD if _OLD.is_dir() else _NEW
    folder = root / f"nptlab-{os.getpid()}"
    folder.mkdir()
    try:
        (folder / _FILES[root][0]).write_text(str(int(memory)))
        yield Group(folder)
    finally:
        for _ in range(50):  # until its last process has ended
            with suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.1)
