"""Axes in the other direction, as programs whose arrays run down their columns write them.

MATLAB (-v7.3), Julia and R store the first axis of an array last: theta (D, N), theta_q (D, K, N).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.source import AmbiguousOrder, Order

_FEW = 50
"""Simulations below which no classifier is trained: fewer, with more parameters, are asked for."""
_NOT_TURNED = ("theta_names", "x_names", "periods", "discrete")


def upright(
    arrays: Mapping[str, NDArray[np.generic]], order: Order | None
) -> tuple[Mapping[str, NDArray[np.generic]], Order | None, tuple[str, ...]]:
    """Turn arrays whose axes are reversed.

    Args:
        arrays: the arrays of a table by role.
        order: order of theta_q's axes; None to find it by their lengths.

    Returns:
        the arrays; the order of the axes of theta_q among them, NKD or KND, where it is known; and
        a note where they were turned.

    Raises:
        AmbiguousOrder: where a few simulations of many parameters, turned, are many of a few.
        ValueError: where some of them stand in the other direction than the order says.
    """
    shapes = {role: arrays[role].shape for role in ("theta", "x", "theta_q") if role in arrays}
    if order in ("DKN", "DNK"):
        _check_last(shapes, order)
        return _turned(arrays), "NKD" if order == "DKN" else "KND", ()
    theta, q, x = shapes["theta"], shapes["theta_q"], shapes.get("x", ())
    if order is not None or len(theta) != 2 or not _fit(theta[::-1], q[::-1], x[::-1]):
        return arrays, order, ()
    if _fit(theta, q, ()) and theta[0] >= theta[1]:
        return arrays, order, ()
    # Draws on the last axis, theta_q (N, D, K), read backwards as D simulations of N parameters.
    draws_last = q[:2] == theta and (not x or x[0] == theta[0])
    if draws_last and (theta[0] >= theta[1] or theta[0] >= _FEW):
        return arrays, order, ()
    if not _fit(theta, q, x):
        return _turned(arrays), None, (
            f"Axes were reversed, as MATLAB, Julia and R store them: {roles.shapes_text(shapes)} "
            f"are read as {theta[1]:,} simulations of {theta[0]:,} parameters.",
        )  # fmt: skip
    if theta[0] < _FEW <= theta[1]:
        shown = f"theta {roles.shape_text(theta)} and theta_q {roles.shape_text(q)}"
        as_is: Order = "NKD" if q[0] == theta[0] else "KND"
        turned: Order = "DKN" if q[-1] == theta[1] else "DNK"
        raise AmbiguousOrder(
            f"theta_q must say which axis is which where its arrays fit in both directions; got "
            f"{shown}: {theta[0]:,} simulations of {theta[1]:,} parameters or, with axes reversed "
            f"as MATLAB, Julia and R store them, {theta[1]:,} of {theta[0]:,}. Choose the order, "
            f"--order on the command line, order= in Python: {as_is} for the first, {turned} for "
            f"the other.",
            (as_is, turned),
        )
    return arrays, order, ()


def _fit(theta: tuple[int, ...], q: tuple[int, ...], x: tuple[int, ...]) -> bool:
    """Whether shapes are those of theta (N, D), draws (N, K, D) or (K, N, D), and x (N, ...)."""
    n, d = theta
    if len(q) == 2 and d == 1:
        q = (*q, 1)
    return len(q) == 3 and q[2] == d and n in q[:2] and (not x or x[0] == n)


def _check_last(shapes: Mapping[str, tuple[int, ...]], order: Order) -> None:
    """Refuse an order that reverses theta and x where these have their simulations first."""
    n = shapes["theta_q"][-1:] if order == "DKN" else shapes["theta_q"][-2:][:1]
    others = [role for role in ("theta", "x") if role in shapes and shapes[role][-1:] != n]
    if others:
        alone = len(others) == len(shapes) - 1  # theta_q is the only one that is reversed
        remedy = (
            "Save theta_q.T and leave the order out."
            if alone
            else f"Reverse {roles.names_text(others)} too: {others[0]} = {others[0]}.T."
        )
        raise ValueError(
            f"In the order {order} the axes of all arrays are reversed: theta (D, N), x (..., N); "
            f"got {roles.shapes_text(shapes)}. {remedy}"
        )


def _turned(arrays: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    return {
        role: array if role in _NOT_TURNED else np.ascontiguousarray(array.T)
        for role, array in arrays.items()
    }
