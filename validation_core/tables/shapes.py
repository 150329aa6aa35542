"""Shapes of a table's arrays: theta (N, D), x (N, ...), theta_q (N, K, D) or (K, N, D)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import source
from validation_core.tables.source import AmbiguousOrder, Order
from validation_core.types import Array


def reshaped(array: NDArray[np.generic], shape: tuple[int, ...]) -> Array | None:
    """Return the array in this shape; None for other than real numbers, or where more differs than
    axes of length 1."""
    fits = tuple(s for s in array.shape if s > 1) == tuple(s for s in shape if s > 1)
    return array.reshape(shape) if fits and source.is_real(array) and array.size else None


def real_numbers(name: str, array: NDArray[np.generic]) -> Array:
    """Return the array, if it holds at least one real number.

    Raises:
        ValueError: for text, complex numbers, records, or nothing at all.
    """
    if array.dtype.kind == "c":
        raise ValueError(
            f"{name} must hold real numbers; got {array.dtype}. Save its real and imaginary parts "
            f"as columns of their own: {name} = numpy.concatenate([{name}.real, {name}.imag], "
            f"axis=-1)."
        )
    if not source.is_real(array):
        raise ValueError(
            f"{name} must hold real numbers; got {array.dtype}. Save it as float32 or float64."
        )
    if array.ndim == 0 or array.size == 0:
        raise ValueError(
            f"{name} must hold at least one row; got shape {array.shape}. Save the draws in it."
        )
    return array


def matrix(name: str, array: Array) -> Array:
    """Return an array (n, d) as it is, (n,) as one column (n, 1).

    Raises:
        ValueError: for more than two axes.
    """
    if array.ndim > 2:
        raise ValueError(
            f"{name} must have shape (n, d); got {array.shape}. Reshape it to one row for each "
            f"simulation."
        )
    return array.reshape(len(array), -1)


def data_rows(x: Array, n: int) -> Array:
    """Flatten the trailing axes of x (N, ...) to (N, M).

    Args:
        x: the array as saved.
        n: number of rows of theta.

    Raises:
        ValueError: when x has another number of rows than theta.
    """
    if len(x) != n:
        raise ValueError(
            f"x must have one row for each of the {n} rows of theta; got shape {x.shape}. Put the "
            f"simulations on the first axis."
        )
    return x.reshape(n, -1)


def draws_array(q: Array, n: int, d: int, order: Order | None = None) -> tuple[Array, Order]:
    """Bring q's draws to the shape (N, K, D).

    Args:
        q: the array as saved: (N, K, D), (K, N, D), or with K or D left out when it is 1.
        n: number of rows of theta.
        d: number of columns of theta.
        order: order of the first two axes; None to find it by their lengths.

    Returns:
        the draws (N, K, D), and the order in which they were saved.

    Raises:
        AmbiguousOrder: when both first axes are N long and no order is given.
        ValueError: when no reading of the shape fits theta.
    """
    full = _three_axes(q, n, d)
    first, second, last = full.shape
    if last != d or n not in (first, second):
        raise ValueError(
            f"theta_q must have shape (N, K, D) with N = {n} and D = {d} as theta has; got "
            f"{q.shape}. Put the simulations first, the draws at each second, the parameters last."
        )
    if order is None and first == second == n > 1:
        raise AmbiguousOrder(
            f"theta_q must say which axis is which when N = K; got {q.shape}. Choose the order: "
            f"NKD (row i holds the draws at x_i) or KND (column i does)."
        )
    chosen: Order = order or ("NKD" if first == n else "KND")
    if full.shape[chosen.index("N")] != n:
        raise ValueError(
            f"theta_q in the order {chosen} must have {n} simulations on axis "
            f"{chosen.index('N')}; got {q.shape}. Choose the other order."
        )
    turned = full if chosen == "NKD" else np.ascontiguousarray(full.swapaxes(0, 1))
    return turned, chosen


def _three_axes(q: Array, n: int, d: int) -> Array:
    """The draws with the axis of K or D that was left out since it is 1.

    Raises:
        ValueError: for a shape that no such reading fits.
    """
    if q.ndim == 2 and d == 1:
        return q[:, :, None]  # (N, K) or (K, N) of a single parameter
    if q.ndim == 2 and q.shape == (n, d):
        return q[:, None, :]  # one draw at each x
    if q.ndim == 1 and d == 1:
        return q[:, None, None]
    if q.ndim != 3:
        raise ValueError(
            f"theta_q must have shape (N, K, D) = ({n}, K, {d}); got {q.shape}. Reshape it so "
            f"that draw k at x_i is theta_q[i, k]."
        )
    return q
