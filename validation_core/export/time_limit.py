"""A bound on the time that a batch of draws may take: rejection sampling may never end."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real


def check_seconds(seconds: object) -> None:
    """Refuse what is no time limit.

    Raises:
        TypeError: for what is neither a number nor None.
        ValueError: for no time.
    """
    rule = "max_seconds is a number of seconds above 0, or None for any number"
    if seconds is not None and not isinstance(seconds, Real):
        raise TypeError(f"{rule}; got {seconds!r}. Try 60.")
    if seconds is not None and not float(seconds) > 0:
        raise ValueError(f"{rule}; got {seconds}. Try 60.")


class _Late(TimeoutError):
    """The code took longer than its time limit."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Interrupt the code in a `with` block: on Unix, in the main thread; elsewhere never.

    Args:
        seconds: that it may take; None for any number.

    Raises:
        TimeoutError: when it takes longer.
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return

    def expire(*_: object) -> None:
        raise _Late(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, expire)
    started = time.monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        # An alarm set by other code goes on as if it had not been interrupted.
        rest = max(left - (time.monotonic() - started), 0.01) if left else 0.0
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, rest, interval)
