"""Shapes of a table's arrays: theta (N, D), x (N, ...), theta_q (N, K, D) or (K, N, D)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import source
from validation_core.tables.source import AmbiguousOrder, Order
from validation_core.types import Array


def not_finite(name: str) -> str:
    """Why rows are left out in which this array holds NaN or infinity."""
    return f"NaN or infinite values in {name}"


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
            f"{name} must hold at least one row; got shape {array.shape}. Save a row for each "
            f"simulation in it."
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


def data_rows(
    name: str, x: Array, n: int, others: Mapping[str, tuple[int, ...]] = MappingProxyType({})
) -> Array:
    """Flatten the trailing axes of x (N, ...) to (N, M).

    Args:
        name: of the array, for messages.
        x: the array as saved.
        n: number of rows of theta.
        others: shapes of theta and theta_q, for messages.

    Raises:
        ValueError: when x has another number of rows than theta.
    """
    if len(x) != n:
        raise ValueError(
            f"{name} must have one row for each of the {n} rows of theta; got shape {x.shape}. "
            f"{_rows_remedy(name, x.shape, n, others)}"
        )
    return x.reshape(n, -1)


def _rows_remedy(
    name: str, shape: tuple[int, ...], n: int, others: Mapping[str, tuple[int, ...]]
) -> str:
    """What to do where x of this shape has not the `n` rows of theta."""
    theta, q = others.get("theta", ()), others.get("theta_q", ())
    if len(theta) == 1 and n > 1 and len(q) == 2 and q[1] == n:
        return (
            f"With theta ({n},) and theta_q {q} that is one simulation of {n} parameters, which "
            f"shows nothing of q: save many, theta (N, {n}), x (N, ...), theta_q (N, K, {n})."
        )
    if len(theta) == 2 and shape[0] == theta[1]:
        return "Put the simulations on the first axis: theta = theta.T."
    if n in shape[1:]:
        axis = f"({', '.join(map(str, (shape.index(n), *_others(shape, shape.index(n)))))})"
        return f"Put the simulations on the first axis: {name} = numpy.transpose({name}, {axis})."
    return f"Save the {name} of each row of theta, simulations on the first axis."


def _others(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return tuple(i for i in range(len(shape)) if i != axis)


def holds_rows(shape: tuple[int, ...], m: int) -> bool:
    """Whether an array's last axes are the m numbers of a row: (m,), (J, m), (J, H, W)."""
    return any(math.prod(shape[i:]) == m for i in range(len(shape) + 1))


def draws_array(
    q: Array, n: int, d: int, order: Order | None = None, *, hint: str = ""
) -> tuple[Array, Order]:
    """Bring q's draws to the shape (N, K, D).

    Args:
        q: the array as saved: (N, K, D), (K, N, D), or with K or D left out when it is 1.
        n: number of rows of theta.
        d: number of columns of theta.
        order: order of the first two axes; None to find it by their lengths.
        hint: what else may be wrong where theta has other parameters.

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
            f"{q.shape}. {_axes_remedy(full.shape, n, d)}{hint}"
        )
    if order is None and first == second == n > 1:
        raise AmbiguousOrder(
            f"theta_q must say which axis is which when N = K; got {q.shape}. Choose the order, "
            f"--order on the command line, order= in Python: NKD (row i holds the draws at x_i) "
            f"or KND (column i does)."
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
            f"that draw k at x_i is theta_q[i, k]{_reshaping(q, n, d)}."
        )
    return q


def _reshaping(q: Array, n: int, d: int) -> str:
    """The line that gives draws on one axis too few their own, where their number fits."""
    if q.ndim > 3 and (q.shape[0], q.shape[-1]) == (n, d):
        return f"; of several chains or walkers: theta_q.reshape({n}, -1, {d})"
    if q.ndim > 2 or not n or q.size % (n * d) or q.size == n * d:
        return ""
    if q.shape[0] != n:
        return (
            f"; where the draws of a simulation follow each other: theta_q.reshape({n}, -1, {d}); "
            f"where the simulations of a draw do: theta_q.reshape(-1, {n}, {d})"
        )
    return f"; where the parameters of a draw follow each other: theta_q.reshape({n}, -1, {d})"


def _axes_remedy(shape: tuple[int, ...], n: int, d: int) -> str:
    """What to do about three axes that are not those of N simulations and D parameters."""
    if shape[2] != d and n in shape[:2] and d not in shape:
        return (
            f"Give theta and theta_q the same parameters, on the last axis: theta has {d}, "
            f"theta_q {shape[2]}."
        )
    orders = {
        (i, 3 - i - j, j)
        for i in range(3)
        for j in range(3)
        if i != j and shape[i] == n and shape[j] == d
    }
    line = f": theta_q = numpy.transpose(theta_q, {orders.pop()})" if len(orders) == 1 else ""
    return (
        f"Put the simulations first, the draws at each second, the parameters last{line}."
        if n in shape
        else f"Save draws at each of the {n} x: simulations first, parameters last."
    )
