"""Standard streams and signals of the command.

On Ctrl-C, a closing terminal or SIGTERM it exits at once, with 128 plus the number of the signal,
as shells do. No exception is raised: it could occur while another is handled, or where Python
prints it and goes on. Workers end with their input, files are complete or absent, and files kept
in memory are moved to the disk.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


def prepare_process() -> None:
    """Install the signal handlers, and make the standard streams writable."""
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        # an ignored signal stays ignored: nohup, and background jobs of a script
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    _open_streams()


def _open_streams() -> None:
    """Open streams that accept any text; replace closed ones, so that their number stays in use.

    Otherwise a file opened later would become the standard output.
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
            os.set_inheritable(number, True)  # workers inherit it
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        # names in a user's file may have characters that the terminal cannot show
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _stop(number: int, frame: FrameType | None) -> None:
    """Exit at once."""
    del frame
    for name in _SIGNALS:  # once is enough
        other = getattr(signal, name, None)
        if other is not None:
            signal.signal(other, signal.SIG_IGN)
    with suppress(OSError):
        os.write(2, b"\nstopped\n" if os.isatty(2) else b"stopped\n")
    store = sys.modules.get("validation_core.store")
    if store is not None:  # nothing is kept before it is imported
        with suppress(Exception):
            store.flush_and_clear()
    os._exit(128 + number)


def tell(text: str) -> None:
    """Print a message on standard error."""
    print(text, file=sys.stderr)
