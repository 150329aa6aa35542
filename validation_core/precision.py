"""Short numbers where they resolve the values, long ones where they would not.

In float32 GPS times in seconds, 1126259462 +- .02, are one number, and 5e-46 is zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from validation_core.types import Array

SMALLEST_PVALUE = 1e-7
"""Half precision knows no smaller p-value: those that it keeps are raised to this one."""

_THREE_DIGITS = 1e-3
_COARSE = 1e-3  # of a column's range: rounding beyond this shows
_LONG = 8  # entries that have a range of their own


def narrow(values: ArrayLike) -> Array:
    """The values in float32, or in float64 where rounding would merge those of a column or row."""
    array = np.asarray(values)
    if array.dtype != np.float64:
        return array.astype(np.float32, copy=False)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        small = array.astype(np.float32)
        return array if array.size and _lost(array, small) else small


def three_digits(values: ArrayLike) -> Array:
    """The values in half precision; as `narrow` gives them where that holds fewer digits."""
    array = np.asarray(values, np.float64)
    with np.errstate(over="ignore", under="ignore"):
        small = array.astype(np.float16)
    return small if np.allclose(small, array, rtol=_THREE_DIGITS, atol=0.0) else narrow(array)


def narrowed(shift: Array, scale: Array) -> tuple[Array, Array]:
    """A shift and a scale (C,) in float64, rounded to float32 where the standardised values allow.

    Networks trained when both were kept in float32 are so reproduced exactly.
    """
    with np.errstate(over="ignore", under="ignore"):
        near, unit = (np.float64(part.astype(np.float32)) for part in (shift, scale))
    with np.errstate(over="ignore", invalid="ignore"):
        fine = (np.abs(near - shift) <= 1e-4 * scale) & (np.abs(unit - scale) <= 1e-6 * scale)
    return np.where(fine, near, shift), np.where(fine, unit, scale)


def _lost(array: Array, small: Array) -> bool:
    if array.ndim == 0:
        return bool(np.isfinite(array) and np.abs(small - array) > _COARSE * np.abs(array))
    off = np.where(np.isfinite(array), np.abs(small - array), 0.0)
    for axis in {0, array.ndim - 1}:
        if array.shape[axis] >= _LONG:
            finite = np.isfinite(array)
            low = np.where(finite, array, np.inf).min(axis=axis)
            high = np.where(finite, array, -np.inf).max(axis=axis)
            if (off.max(axis=axis) > _COARSE * np.maximum(high - low, 0.0))[high > low].any():
                return True
    return False
