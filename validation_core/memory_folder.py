"""A folder in memory for results while the disk cannot be written; deleted with its process.

Its name identifies its process, so that another process can delete it after its owner was killed.
A process is identified by its number and the clock tick at which the system started it.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

_PREFIX = "nptlab-"
_STAMP = re.compile(r"([0-9a-f]{8})-(\d+)-(\d+)")
SHARED_MEMORY = Path("/dev/shm")


@cache
def system_fingerprint() -> str:
    """Identifier of this boot of this machine or container, within which process ids hold."""
    names = [os.uname().nodename if hasattr(os, "uname") else ""]
    with suppress(OSError):
        names.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        names.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("".join(names).encode()).hexdigest()[:8]


def process_stamp() -> str:
    """Identifier of this process for file names: `system-number-start`."""
    number = os.getpid()
    return f"{system_fingerprint()}-{number}-{process_start_tick(number) or 0}"


def is_from_this_machine(name: str) -> bool:
    """Whether a name has the stamp of a process of this machine."""
    match = _STAMP.search(name)
    return (
        match is not None and match[1] == system_fingerprint() and Path("/proc/self/stat").exists()
    )


def owner_has_ended(name: str) -> bool:
    """Whether a name has the stamp of a process of this machine that has ended."""
    match = _STAMP.search(name)
    if match is None or not is_from_this_machine(name):
        return False
    return process_start_tick(int(match[2])) != int(match[3])


def memory_folder() -> Path:
    """The folder of this process, which may not exist yet.

    It lies in memory where the system has a file system for that, else among temporary files.
    """
    return _memory_place() / f"{_PREFIX}{process_stamp()}"


def clear() -> None:
    """Delete the folder of this process at its orderly end."""
    shutil.rmtree(memory_folder(), ignore_errors=True)


def clear_abandoned() -> None:
    """Delete the folders of processes that were killed."""
    with suppress(OSError):
        for path in _memory_place().glob(f"{_PREFIX}*"):
            if owner_has_ended(path.name):
                shutil.rmtree(path, ignore_errors=True)


def _memory_place() -> Path:
    if os.access(SHARED_MEMORY, os.W_OK | os.X_OK):
        return SHARED_MEMORY
    try:
        return Path(tempfile.gettempdir())
    except OSError:  # no writable folder: writing to it will report that
        return Path(os.sep, "tmp")


def process_start_tick(number: int) -> int | None:
    """The clock tick at which a process was started; None for one that has ended."""
    try:
        text = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return None
    # the second field is the program's name in brackets, which may hold anything
    state, *fields = text.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])


@cache
def clear_at_exit(number: int, end: Callable[[], None]) -> None:
    """Delete the folder when process `number`, this one, ends: once, and not in its forks."""
    clear_abandoned()
    atexit.register(lambda: end() if os.getpid() == number else None)
