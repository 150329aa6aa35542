"""Numbers of NumPy, torch and lists as arrays of the shapes that a table has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_COARSE = 1e-3  # of a column's sd, or nats: float32 may round by so much
_FLOAT32 = np.finfo(np.float32)
_AT_ONCE = 2**20  # numbers


def as_numpy(values: object) -> Array:
    """Return numbers of NumPy, torch (on any device), or lists as an array."""
    if isinstance(values, (list, tuple)) and values and hasattr(values[0], "detach"):
        return np.stack([as_numpy(one) for one in values])
    if hasattr(values, "detach"):
        tensor: Any = values.detach().cpu()
        try:
            return np.asarray(tensor.numpy())
        except TypeError:  # NumPy has no bfloat16
            return np.asarray(tensor.float().numpy())
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
    """float32 for arrays (N, D) or (N, K, D); float64 where different numbers would not stay so.

    That is where a column's level dwarfs its spread, for draws that in most rows, and where
    numbers lie beyond float32's range.
    """
    wide = any(array.dtype.itemsize > 4 and array.size and _needs_64(array) for array in arrays)
    return np.float64 if wide else np.float32


def _needs_64(array: Array) -> bool:
    """Whether float32 would make ties or infinite numbers in a column of the array."""
    n, *draws, d = array.shape
    # A single draw has no spread of its own: the column's is taken, as for theta and x.
    rows = array if math.prod(draws) > 1 else array.reshape(1, n, d)
    blocks = np.array_split(rows, min(len(rows), 1 + rows.size // _AT_ONCE))
    largest, spread = (np.concatenate(part) for part in zip(*map(_scales, blocks), strict=True))
    with np.errstate(divide="ignore"):
        step = np.maximum(_FLOAT32.eps / 2, _FLOAT32.smallest_subnormal / largest)
    varies = spread > 0
    coarse = varies & (step > _COARSE * spread)
    ties = 2 * coarse.sum(axis=0) > varies.sum(axis=0)
    return bool(ties.any() or (largest > _FLOAT32.max).any())


def _scales(rows: Array) -> tuple[Array, Array]:
    """The largest size of the numbers along axis 1, and their sd as a share of it."""
    finite = np.isfinite(rows)  # the reader drops rows of other numbers with a warning
    largest = np.abs(rows).max(axis=1, where=finite, initial=0)
    unit = rows / np.where(largest > 0, largest, 1)[:, None]  # its squares stay in range
    unit[~finite] = 0
    return largest, unit.std(axis=1, where=finite | ~finite.any(axis=1, keepdims=True))


def log_density_type(logs: Array) -> type[np.floating]:
    """float32 for log densities (N, S); float64 where it rounds a whole row by over 0.001 nats.

    Where only some of a row are so large, others differ from them by far more than the rounding.
    """
    if logs.dtype.itemsize > 4:
        least = np.abs(logs).min(axis=1, where=np.isfinite(logs), initial=np.inf)
        step = least[np.isfinite(least)] * _FLOAT32.eps / 2
        if (step > _COARSE).any():
            return np.float64
    return np.float32
