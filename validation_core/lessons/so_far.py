"""Sums after each number of trials, for a slider that counts trials from none to all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def sums_so_far(values: NDArray[Any], axis: int = 0) -> NDArray[Any]:
    """Sums of the first 0, 1, ..., T of T values along an axis, in its place."""
    none = np.zeros_like(np.take(values, [0], axis))
    return np.concatenate([none, np.cumsum(values, axis)], axis)


def counts_so_far(cells: NDArray[np.integer[Any]], count: int) -> NDArray[np.int16]:
    """Histograms (T + 1, ..., count) of the first 0, 1, ..., T of cells (T, ...)."""
    return sums_so_far(cells[..., None] == np.arange(count)).astype(np.int16)
