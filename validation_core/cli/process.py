"""Streams and signals of the command: how it begins, and how it ends when told to.

Told to stop (Ctrl-C, a terminal that closes, SIGTERM) it ends there and then, with 128 and the
number of the signal, as shells do. Nothing is raised: an exception could strike while another is
handled, or where Python prints it and goes on. Workers end with their input, files are whole or
none, and what is in memory is brought to the disk.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


def prepare_process() -> None:
    """Stop when told to, write whatever the streams are."""
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        # one that is ignored stays so: nohup, and jobs in the background of a script
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    _open_streams()


def _open_streams() -> None:
    """Streams that take every text; where one is closed, nothing takes its number.

    A file that is opened later would become the standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            mode = os.O_RDONLY if number == 0 else os.O_WRONLY
            nowhere = os.open(os.devnull, mode)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)  # workers have it too
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        # names in a user's file may hold what this terminal, or no terminal, can show
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _stop(number: int, frame: FrameType | None) -> None:
    """End now."""
    del frame
    for name in _SIGNALS:  # once is enough
        other = getattr(signal, name, None)
        if other is not None:
            signal.signal(other, signal.SIG_IGN)
    with suppress(OSError):
        os.write(2, b"\nstopped\n" if os.isatty(2) else b"stopped\n")
    store = sys.modules.get("validation_core.store")
    if store is not None and hasattr(store, "end"):
        with suppress(Exception):
            store.end()
    os._exit(128 + number)


def tell(text: str) -> None:
    """Say something that is no result."""
    print(text, file=sys.stderr)
