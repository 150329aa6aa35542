"""Work in pieces: slices of rows, tables or parameters that fit in memory together."""

from __future__ import annotations

from collections.abc import Iterator


def slices(count: int, step: int) -> Iterator[slice]:
    """Slices of `step`, the last one shorter, that hold 0 to `count` - 1.

    >>> list(slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for first in range(0, count, step):
        yield slice(first, min(first + step, count))
