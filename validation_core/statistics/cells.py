"""How much of a variance lies between the cells of a grid."""

from __future__ import annotations

import numpy as np

from validation_core.types import Array, Integers


def variance_between_cells(cell: Integers, values: Array) -> float:
    """Variance of the mean of values (n,) between the cells (n,) that they lie in."""
    counts = np.bincount(cell)
    mean = np.bincount(cell, values) / np.maximum(counts, 1)
    return float(counts @ (mean - values.mean()) ** 2 / len(values))
