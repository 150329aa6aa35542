"""Numbers of NumPy, torch and lists as arrays of the shapes that a table has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_COARSE = 1e-3  # of a column's sd: rounding to float32 beyond this would make ties


def as_numpy(values: object) -> Array:
    """Return numbers of NumPy, torch (on any device), or lists as an array."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)


def as_matrix(theta: object) -> Array:
    """Return theta as (N, D); (N,) is one parameter.

    Raises:
        ValueError: for no rows, other shapes, or anything but real numbers.
    """
    array = as_numpy(theta)
    if array.ndim not in (1, 2) or not len(array) or array.dtype.kind not in "fiub":
        raise ValueError(
            f"theta must hold numbers as (N, D); got {array.dtype} of shape {array.shape}. Put "
            f"the simulations on the first axis."
        )
    return array.reshape(len(array), -1)


def check_shape(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    """Return the array, if it has this shape.

    Raises:
        ValueError: for another, under the name of the array.
    """
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}; got {array.shape}. Reshape it.")
    return array


def float_type(*arrays: Array) -> type[np.floating]:
    """float32 for arrays (..., D); float64 where a column's level dwarfs its spread.

    float32 would there round different numbers to the same one.
    """
    for array in arrays:
        rows = array.reshape(-1, array.shape[-1])
        if rows.dtype.itemsize > 4 and rows.size:
            step = np.abs(rows).max(axis=0) * np.finfo(np.float32).eps / 2
            spread = rows.std(axis=0)
            # NaN does not enter the level: the reader drops its row with a warning.
            if np.any((step > _COARSE * spread) & (spread > 0)):
                return np.float64
    return np.float32
