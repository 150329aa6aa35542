"""Test quantities of a user's own: a number at the true value, and at each of q's draws.

`quantity_NAME` (N,) comes with `quantity_NAME_draws` (N, K). The log densities log p(theta, x) and
log p(x | theta) are such quantities too, the former where log q is not there to be compared with.
If q is right, the number at the truth ranks evenly among those at the draws, whatever it is.

Nothing here refuses a file: what does not fit is left unread, and a warning says why.

References:
    Simulation-based calibration checking for Bayesian computation: the choice of test quantities
    shapes sensitivity, Modrak, Moon, Kim, Buerkner, Huurre, Faltejskova, Gelman, Vehtari (2023).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices
from validation_core.tables.draw_order import draws_at
from validation_core.tables.roles import (
    DRAWS_OF_QUANTITY,
    QUANTITY,
    is_quantity,
    label,
    shape_text,
)
from validation_core.tables.shapes import reshaped
from validation_core.tables.source import Order
from validation_core.text import count_text
from validation_core.types import Array, Integers

MOST = 20
"""Quantities of one table that are read."""
LOG_DENSITIES: Mapping[str, str] = {
    "log_joint": "log p(theta, x)",
    "log_likelihood": "log p(x | theta)",
}
"""Log densities that are quantities by themselves, with their names on a page."""
_AT_ONCE = 1 << 20  # numbers that a user's function is given at a time
QuantityFunction = Callable[[Array, Array], NDArray[np.generic]]
"""Gives one number for each row of theta (n, D) and x (n, M)."""


class OwnQuantity(NamedTuple):
    """A quantity at the true values (N,) and at q's draws (N, K); NaN where it is not known."""

    truth: Array
    draws: Array

    @property
    def complete(self) -> bool:
        """Whether it is known everywhere, so that every row can be ranked."""
        return not (np.isnan(self.truth).any() or np.isnan(self.draws).any())


def own_quantities(beside: Mapping[str, Array]) -> dict[str, OwnQuantity]:
    """The quantities among the arrays beside a table, by the names that a page shows.

    Args:
        beside: log densities and quantities by the names of their arrays.
    """
    return {
        LOG_DENSITIES.get(stem) or label(stem.removeprefix(QUANTITY)): OwnQuantity(
            beside[stem], beside[stem + DRAWS_OF_QUANTITY]
        )
        for stem in quantity_stems(beside)
    }


def quantity_stems(beside: Iterable[str]) -> list[str]:
    """Names of the arrays at the true values, of the quantities that have both arrays."""
    names = list(beside)
    pairs = [name for name in names if f"{name}{DRAWS_OF_QUANTITY}" in names]
    known = [name for name in LOG_DENSITIES if name in pairs]
    if "log_q" in pairs:  # the ratio of both densities says more than one of them
        known = [name for name in known if name != "log_joint"]
    return known + [name for name in pairs if is_quantity(name)]


def read_quantities(
    arrays: Mapping[str, NDArray[np.generic]],
    sizes: tuple[int, int],
    order: Order,
    kept: Integers | None = None,
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Read the quantities that fit a table.

    Args:
        arrays: the file's arrays by role.
        sizes: (N, K) of the table.
        order: the order of theta_q's axes in the file, which arrays (N, K) of its draws share.
        kept: columns (N, K') of each row's draws that are used; all by default.

    Returns:
        arrays: quantity_NAME (N,) and quantity_NAME_draws (N, K) of those that are read.
        warnings: one for each array that was left unread, or holds NaN.
    """
    names = [name for name in arrays if is_quantity(name)]
    pairs = [name for name in names if f"{name}{DRAWS_OF_QUANTITY}" in names]
    paired = {*pairs, *(f"{name}{DRAWS_OF_QUANTITY}" for name in pairs)}
    warnings = [_alone(name) for name in names if name not in paired]
    if len(pairs) > MOST:
        warnings.append(
            f"A table may have at most {MOST} quantities; got {len(pairs)}. Those after "
            f"{label(pairs[MOST - 1])!r} were left unread: keep the ones that you care about."
        )
    read: dict[str, Array] = {}
    (n, k), turned = sizes, order == "KND"
    for stem in pairs[:MOST]:
        draws = f"{stem}{DRAWS_OF_QUANTITY}"
        saved = (k, n) if turned else (n, k)
        both = (reshaped(arrays[stem], (n,)), reshaped(arrays[draws], saved))
        if both[0] is None or both[1] is None:
            warnings.append(
                f"{label(stem)} and {label(draws)} must hold real numbers of shapes ({n},) and "
                f"{shape_text(saved)}; got {arrays[stem].dtype} of shape "
                f"{shape_text(arrays[stem].shape)} and {arrays[draws].dtype} of shape "
                f"{shape_text(arrays[draws].shape)}. Both were left unread: save them again to "
                f"use them."
            )
            continue
        at_draws = np.ascontiguousarray(both[1].T) if turned else both[1]
        one = OwnQuantity(both[0], at_draws if kept is None else draws_at(at_draws, kept))
        unknown = np.isnan(one.truth) | np.isnan(one.draws).any(axis=1)
        if 2 * (lost := int(unknown.sum())) > n:
            warnings.append(
                f"{label(stem)} must be known at half of the rows or more, at the true value and "
                f"at every draw; got NaN in {lost:,} of {n:,}. It was left unread: find out why "
                f"it cannot be evaluated there."
            )
            continue
        if lost:
            warnings.append(
                f"{label(stem)} is NaN in {count_text(lost, 'row')} of {n:,}: they are left out "
                f"of its test in the verdict and stay in all others. SBC, which ranks every row, "
                f"leaves this quantity out."
            )
        read |= {stem: one.truth, draws: one.draws}
    return read, tuple(warnings)


def density_pair_warnings(densities: Mapping[str, Array]) -> tuple[str, ...]:
    """Warnings of log densities that no test can use, since they came at one side alone."""
    sides = {name: (name, f"{name}{DRAWS_OF_QUANTITY}") for name in LOG_DENSITIES}
    lone = [
        present[0]
        for pair in sides.values()
        if len(present := [name for name in pair if name in densities]) == 1
    ]
    return tuple(_alone(name) for name in lone)


def shared_draws_warnings(beside: Mapping[str, Array]) -> tuple[str, ...]:
    """A warning of quantities of a table whose rows share their draws."""
    names = list(own_quantities(beside))
    return (
        f"A quantity is compared within a row, which must have draws of its own; got rows that "
        f"share theirs, so {', '.join(names)} counts in no test. Sample q anew at every row.",
    ) * bool(names)


def _alone(name: str) -> str:
    """The warning of an array without its partner."""
    stem = name.removesuffix(DRAWS_OF_QUANTITY)
    draws = f"{stem}{DRAWS_OF_QUANTITY}"
    other = f"{label(stem)} (N,)" if name == draws else f"{label(draws)} (N, K)"
    where = "at the true values" if name == draws else "at each of q's draws"
    return (
        f"{label(name)} must come with {other}; got it alone. It counts in no test: evaluate the "
        f"same function {where} too."
    )


def evaluated(
    name: str, function: QuantityFunction, theta: Array, x: Array, q: Array
) -> OwnQuantity:
    """A quantity from a user's function, at the true values and at q's draws.

    Rows with numbers that are not finite are not evaluated: no test reads them.

    Args:
        name: of the quantity, for messages.
        function: gives (n,) for theta (n, D) and x (n, M).
        theta: (N, D).
        x: (N, M).
        q: (N, K, D).

    Raises:
        ValueError: where the function fails, or gives another shape, with its name.
    """
    n, k, d = q.shape
    rows = np.flatnonzero(
        np.isfinite(theta).all(axis=1)
        & np.isfinite(x).all(axis=1)
        & np.isfinite(q).all(axis=(1, 2))
    )
    values = np.full((n, k + 1), np.nan)
    step = max(1, _AT_ONCE // ((k + 1) * (d + x.shape[1])))
    for part in slices(len(rows), step):
        some = rows[part]
        points = np.concatenate([theta[some, None], q[some]], axis=1).reshape(-1, d)
        at = np.repeat(x[some], k + 1, axis=0)
        values[some] = _called(name, function, points, at).reshape(len(some), k + 1)
    return OwnQuantity(values[:, 0], values[:, 1:])


def _called(name: str, function: QuantityFunction, theta: Array, x: Array) -> Array:
    """The numbers (n,) that a user's function gives."""
    rule = f"The quantity {name!r} must give a real number for each row of theta (n, D), x (n, M)"
    try:
        given = np.asarray(function(theta, x))
    except Exception as error:  # whatever a user's function raises
        said = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{rule}; got {type(error).__name__}: {said}, for theta {shape_text(theta.shape)} and "
            f"x {shape_text(x.shape)}. Try it on those shapes."
        ) from error
    numbers = given.dtype.kind in "fiub"
    if (
        not numbers
        or given.size != len(theta)
        or given.shape not in ((len(theta),), (len(theta), 1))
    ):
        raise ValueError(
            f"{rule}; got {given.dtype} of shape {shape_text(given.shape)} for {len(theta):,} "
            f"rows. Return one of shape ({len(theta)},)."
        )
    return given.reshape(-1).astype(np.float64)
