"""Permission bits that bind these tests where root runs them: it lays capabilities down."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_VERSION = 0x20080522
_OVERRIDES = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


@contextmanager
def bound() -> Iterator[None]:
    """Permission bits bind this thread, and those that it starts meanwhile."""
    if not hasattr(os, "geteuid"):
        pytest.skip("this system has no permission bits")
    if os.geteuid():
        yield
        return
    before = _swapped(lambda effective: effective & ~_OVERRIDES)
    try:
        yield
    finally:
        _swapped(lambda effective: before)


def _swapped(change):
    """Change the effective capabilities of this thread; gives those before."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "capset"):
        pytest.skip("this system has no capabilities that root could lay down")
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    data = (ctypes.c_uint32 * 6)()
    assert library.capget(header, data) == 0
    before = data[0]
    data[0] = change(before)
    assert library.capset(header, data) == 0
    return before


@contextmanager
def closed(folder: Path, mode: int = 0) -> Iterator[Path]:
    """A folder with these permission bits, which bind, with one inside that is not there yet."""
    folder.mkdir()
    folder.chmod(mode)
    try:
        with bound():
            yield folder / "cache"
    finally:
        folder.chmod(0o700)
