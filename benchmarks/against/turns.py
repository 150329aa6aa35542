"""Both sides in turns, and the row that says how they compare."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import Lab, say
from benchmarks.rows import Row
from validation_core.types import Array

Side = Callable[[], float]
"""Does one side's work once: seconds."""


def turns(theirs: Side, ours: Side, times: int) -> tuple[float, float]:
    """Median seconds of each side: what else the machine does falls on both alike."""
    both = []
    for turn in range(times):
        both.append((theirs(), ours()))
        say(f"turn {turn + 1}: theirs {both[-1][0]:.3g} s, ours {both[-1][1]:.3g} s")
    median = np.median(both, axis=0)
    return float(median[0]), float(median[1])


def timed(work: Callable[[], Any]) -> float:
    """Seconds that a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def faster(what: str, least: float, seconds: tuple[float, float], note: str) -> Row:
    """Judged by their seconds over ours."""
    theirs, ours = seconds
    said = f"{theirs:.3g} s against {ours:.3g} s; {note}"
    row = table.at_least(what, "times faster", said, ratio=(theirs / ours, least))
    return row._replace(numbers={**row.numbers, "theirs": theirs, "ours": ours})


def saved(lab: Lab, name: str, **arrays: Array) -> Path:
    """The arrays for the peer, in a file."""
    path = lab.folder / f"{name}.npz"
    np.savez(path, allow_pickle=False, **arrays)
    return path
