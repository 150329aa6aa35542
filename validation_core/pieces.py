"""Work in pieces: slices of rows, tables or parameters that fit in memory together, equal rows,
and arrays of several pieces as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

COMPARED_NUMBERS_AT_A_TIME = 1 << 20  # numbers of rows that are compared at a time


def slices(count: int, step: int) -> Iterator[slice]:
    """Slices of `step`, the last one shorter, that hold 0 to `count` - 1.

    >>> list(slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for first in range(0, count, step):
        yield slice(first, min(first + step, count))


def stack_by_name(rows: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Arrays (G, ...) by name, from their G rows."""
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def find_equal_runs(x: NDArray[np.floating]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find runs of equal consecutive rows of x (n, M): the start and length of each.

    Rows come K times over: work that depends on x alone is done once for each run.
    """
    new = np.ones(len(x), bool)
    step = max(1, COMPARED_NUMBERS_AT_A_TIME // x.shape[1])
    for first in range(1, len(x), step):
        rows = slice(first, min(first + step, len(x)))
        new[rows] = (x[rows] != x[first - 1 : rows.stop - 1]).any(1)
    starts = np.flatnonzero(new)
    return starts, np.diff(np.append(starts, len(x)))
