"""Intervals of differences between tables that hold for every pair of them together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from validation_core.types import Array, Interval

FEWEST = 2
"""Rows, whose spread gives an interval."""


def mean_differences(rows: Array) -> tuple[Interval, ...]:
    """Means of differences of rows (T, N) between tables; 95% for every pair of them together."""
    return intervals_about(rows.mean(1), half_lengths(rows, count_pairs(rows)))


def intervals_about(estimate: Array, reach: Array) -> tuple[Interval, ...]:
    """Intervals from `reach` below each estimate (T,) to as much above it."""
    ends = zip(estimate, estimate - reach, estimate + reach, strict=True)
    return tuple(Interval(*map(float, interval)) for interval in ends)


def half_lengths(rows: Array, count: int) -> Array:
    """Half the length of a 95% interval of the means of rows (T, N, ...), for `count` together."""
    n = rows.shape[1]
    if n < FEWEST:  # others are not finite
        return np.full(rows.mean(1).shape, np.inf)
    return np.asarray(standard_errors(count, n) * rows.std(1, ddof=1) / np.sqrt(n))


def count_pairs(tables: Sequence[object] | Array) -> int:
    """Pairs of tables: a reader picks any as the reference, after having seen them."""
    return len(tables) * (len(tables) - 1) // 2


def standard_errors(count: int, rows: int) -> float:
    """Standard errors, estimated from so many rows, of an interval that holds for this many
    differences together: Student's t."""
    return float(stdtrit(rows - 1, 1 - 0.025 / max(1, count)))
