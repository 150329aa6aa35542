"""Progress on stderr: rows that are done, and the time that is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Log = Callable[[str], None]
"""A function that is given what there is to say."""


def printer(progress: bool) -> Log:
    """Return a function that prints to stderr, or one that does nothing.

    A line that begins with a carriage return replaces the last one like it on a terminal, and
    elsewhere appears every ten seconds.

    Args:
        progress: whether anything is to be printed.
    """
    live, last = sys.stderr.isatty(), [time.monotonic(), 0.0]

    def say(text: str) -> None:
        now = time.monotonic()
        if text.startswith("\r"):
            if now - last[0] < (0.2 if live else 10.0) and "done" not in text:
                return
            last[:] = [now, float(live and not text.endswith("\n"))]
            print(text if live else text.strip(), end="" if live else "\n", file=sys.stderr)
        else:
            print("\n" * int(last[1]) + text, file=sys.stderr)
            last[1] = 0.0
        sys.stderr.flush()

    return say if progress else lambda _: None


def progress_line(done: int, n: int, seconds: float) -> str:
    """How many of n rows are done after so many seconds, and how long the others will take."""
    if done >= n:
        return f"{n:,} rows done in {_time(seconds)}.{' ' * 30}\n"
    return f"{done:,} of {n:,} rows, about {_time(seconds / done * (n - done))} left   "


def rows_text(count: int) -> str:
    """A number of rows: `1 row`, `1,200 rows`."""
    return f"{count:,} row{'s' * (count != 1)}"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
