"""Freed memory goes back to the system: the allocator would keep it for itself."""

from __future__ import annotations

import ctypes
import sys


def release() -> None:
    """Give back what is free, where the C library can: after much of it was in use, 50 MB."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
