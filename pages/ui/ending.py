"""The exit code of a server that Ctrl-C stops: 130, as of every command."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType

_INTERRUPTED = 130


def note_interrupt() -> None:
    """Note Ctrl-C from now on, beside whoever handles it; call it before others need an end.

    Streamlit handles it and ends with 1. What is registered last ends first, so that workers,
    readers and files in memory are gone before this process is.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        return
    noted = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        noted.set()
        handler(number, frame)

    signal.signal(signal.SIGINT, note)
    atexit.register(_end, noted)


def _end(noted: threading.Event) -> None:
    if not noted.is_set():
        return
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(_INTERRUPTED)
