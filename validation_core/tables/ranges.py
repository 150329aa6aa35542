"""Ranges of columns: numbers whose squares no float holds, or whose digits a float has lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from validation_core.tables.float_type import BLOCK
from validation_core.text import count_text
from validation_core.types import Array, PosteriorTable

_LARGEST, _SMALLEST = 1e150, 1e-150  # whose squares a double holds
_WIDEST = 1e307  # of which a sum of a few is finite
_STEPS = 100  # that a column's float type has within its range: fewer have lost it
_FAR = 2.0**20  # a level at which a constant may be a number that lost its digits


class Range(NamedTuple):
    """The range of a column whose numbers cannot be squared."""

    name: str
    """Label of the column."""
    largest: float
    """Largest absolute value."""
    width: float
    """Largest less smallest number."""

    @property
    def infinite(self) -> bool:
        """Whether not even sums of its numbers are finite."""
        return not self.width < _WIDEST or self.largest > _WIDEST

    def __str__(self) -> str:
        return f"{self.name} of size {self.largest:.3g} and range {self.width:.3g}"


def overflowing_columns(
    data: PosteriorTable, names: Sequence[str], x_names: Sequence[str]
) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Find the columns whose squares a float64 cannot hold.

    Args:
        data: the table.
        names: labels of theta's columns.
        x_names: labels of x's columns.

    Returns:
        columns of theta, q's draws among them, and columns of x.
    """
    theta = [_ends(data.theta), _ends(data.q.reshape(-1, data.q.shape[-1]))]
    low = np.minimum(theta[0][0], theta[1][0])
    high = np.maximum(theta[0][1], theta[1][1])
    return tuple(_beyond(low, high, names)), tuple(_beyond(*_ends(data.x), x_names))


def _beyond(low: Array, high: Array, names: Sequence[str]) -> Iterator[Range]:
    """The columns that cannot be squared, from the ends (C,) of each."""
    with np.errstate(over="ignore"):
        width = high - low
    size = np.maximum(np.abs(low), np.abs(high))
    for j in map(int, np.flatnonzero((size > _LARGEST) | ((width > 0) & (width < _SMALLEST)))):
        name = names[j] if j < len(names) else f"column {j + 1}"
        yield Range(name, float(size[j]), float(width[j]))


def _ends(rows: Array) -> tuple[Array, Array]:
    """The smallest and the largest number of each column of rows (n, C), in float64."""
    c = rows.shape[1]
    low, high = np.full(c, np.inf), np.full(c, -np.inf)
    step = max(1, BLOCK // max(1, c))
    for first in range(0, len(rows), step):
        block = rows[first : first + step]
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
    return low, high


def coarse_column_warnings(rows: Array, name: str, columns: Sequence[str]) -> Iterator[str]:
    """Warnings of columns whose float type has few numbers within their range.

    Args:
        rows: (n, C).
        name: name of the array.
        columns: labels of its C columns.
    """
    if len(rows) < 2:
        return
    low, high = _ends(rows)
    level = np.maximum(np.abs(low), np.abs(high))
    for j in range(rows.shape[1]):
        kind = _kind(rows[:, j], float(level[j]), float(high[j] / 2 - low[j] / 2))
        with np.errstate(over="ignore", under="ignore"):
            step = float(np.spacing(level[j].astype(kind)))
        flat = high[j] == low[j]
        if level[j] < _FAR if flat else not step * _STEPS > high[j] - low[j]:
            continue
        count = len(np.unique(rows[:, j]))
        yield (
            f"{name} holds only {count_text(count, 'different value')} in {columns[j]}: it lies "
            f"near {level[j]:.10g}, where {kind} has steps of {step:.2g}, so that digits may be "
            f"lost. Subtract the offset (or change the unit) before saving, or save it as float64."
        )


def _kind(column: Array, level: float, half: float) -> np.dtype[np.floating]:
    """The type of a column (n,); float32 where its numbers are few and all are float32's.

    Args:
        column: the numbers.
        level: their largest absolute value.
        half: half of their range.
    """
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(level)
        few = bool(np.isfinite(near)) and float(np.spacing(near)) * _STEPS > 2 * half
        narrow = few and bool((column.astype(np.float32) == column).all())
    return np.dtype(np.float32) if narrow else column.dtype
