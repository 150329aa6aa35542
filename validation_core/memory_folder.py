"""A folder in memory for results while the disk takes none.

A folder in memory that ends with this process.

It is named after its process, so that any other can tell whether its owner still lives, and
clears it where that one was killed. No clock is asked: a process is its number and the tick at
which the system started it.
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
    """This start of this machine, or container: elsewhere a number is another process."""
    names = [os.uname().nodename if hasattr(os, "uname") else ""]
    with suppress(OSError):
        names.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        names.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("".join(names).encode()).hexdigest()[:8]


def process_stamp() -> str:
    """This process, for the names of what it leaves: `system-number-start`."""
    number = os.getpid()
    return f"{system_fingerprint()}-{number}-{process_start_tick(number) or 0}"


def is_from_this_machine(name: str) -> bool:
    """Whether a name bears the stamp of a process of this machine that can be looked up."""
    match = _STAMP.search(name)
    return (
        match is not None and match[1] == system_fingerprint() and Path("/proc/self/stat").exists()
    )


def owner_has_ended(name: str) -> bool:
    """Whether a name bears the stamp of a process of this machine that has ended."""
    match = _STAMP.search(name)
    if match is None or not is_from_this_machine(name):
        return False
    return process_start_tick(int(match[2])) != int(match[3])


def memory_folder() -> Path:
    """The folder of this process, which may not be there yet.

    In memory where the system has a place for that, else where temporary files go.
    """
    return _memory_place() / f"{_PREFIX}{process_stamp()}"


def clear() -> None:
    """Delete the folder of this process, at whatever end that is not sudden."""
    shutil.rmtree(memory_folder(), ignore_errors=True)


def clear_abandoned() -> None:
    """Delete the folders of processes that have ended and could not do so."""
    with suppress(OSError):
        for path in _memory_place().glob(f"{_PREFIX}*"):
            if owner_has_ended(path.name):
                shutil.rmtree(path, ignore_errors=True)


def _memory_place() -> Path:
    if os.access(SHARED_MEMORY, os.W_OK | os.X_OK):
        return SHARED_MEMORY
    try:
        return Path(tempfile.gettempdir())
    except OSError:  # there is none that can be written: what is kept there says so
        return Path(os.sep, "tmp")


def process_start_tick(number: int) -> int | None:
    """The tick at which a process was started; None for one that is not there any more."""
    try:
        text = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return None
    # the second field is the program's name in brackets, which may hold anything
    state, *fields = text.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])


@cache
def clear_at_exit(number: int, end: Callable[[], None] = clear) -> None:
    """Clear up when process `number`, this one, ends; registered once, and not for its forks."""
    clear_abandoned()
    atexit.register(lambda: end() if os.getpid() == number else None)
