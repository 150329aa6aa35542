"""Log densities beside a table's draws, and q's draws at a real observation.

No test needs them, so nothing here refuses a file: an array that does not fit is left unread, and
a warning says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables.draw_order import draws_at
from validation_core.tables.roles import is_quantity, unread_notes
from validation_core.tables.shapes import holds_rows, reshaped
from validation_core.tables.source import Order, is_real
from validation_core.types import Array, Integers

DENSITIES = (
    "log_q",
    "log_q_draws",
    "log_joint",
    "log_joint_draws",
    "log_likelihood",
    "log_likelihood_draws",
)
"""Arrays of log densities."""
OBSERVED = ("x_o", "theta_o", "x_rep")
"""Arrays of real observations."""
FEWEST_PREDICTED = 20
"""Data simulated at q's draws, at least."""
_LARGEST = 1e100  # size of a log density whose squares can be added up


def read_densities(
    arrays: Mapping[str, NDArray[np.generic]],
    sizes: tuple[int, int],
    order: Order,
    kept: Integers | None = None,
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Read the log densities that fit a table.

    Args:
        arrays: the file's arrays by role.
        sizes: (N, K) of the table.
        order: the order of theta_q's axes in the file, which arrays (N, K) of its draws share.
        kept: columns (N, K') of each row's draws that are used; all by default.

    Returns:
        arrays: (N,) at the truths and (N, K) at the draws, in nats.
        warnings: one for each array that was left unread, or holds numbers that no log density is.
    """
    log_densities: dict[str, Array] = {}
    warnings: list[str] = []
    n, k = sizes
    for name in DENSITIES:
        if name not in arrays:
            continue
        saved = (n,) if not name.endswith("_draws") else (n, k) if order == "NKD" else (k, n)
        array = reshaped(arrays[name], saved)
        if array is not None:
            array, huge = _bounded(array)
            warnings += [_beyond(name, huge, array.size)] * bool(huge)
            if array.ndim == 2:
                array = np.ascontiguousarray(array.T) if order == "KND" else array
                array = array if kept is None else draws_at(array, kept)
        if array is None:
            turned = arrays[name].shape == saved[::-1] and len(saved) == 2
            remedy = f"save {name}.T to use it" if turned else _AGAIN
            wanted = f"real numbers of shape {saved}"
            warnings.append(_unfit(name, arrays[name], wanted, remedy))
        elif 2 * (lost := int((~np.isfinite(array)).sum())) > array.size:
            warnings.append(
                f"{name} must be finite at half of its places or more; got {lost:,} of "
                f"{array.size:,} NaN or infinite. It was left unread: find out why q or the "
                f"simulator returns them."
            )
        else:
            log_densities[name] = array
    return log_densities, tuple(warnings)


def _bounded(array: Array) -> tuple[Array, int]:
    """The array with infinities where its squares could not be added up, and their number."""
    if array.itemsize < 8:  # these hold none as large
        return array, 0
    beyond = ((array > _LARGEST) | (array < -_LARGEST)) & np.isfinite(array)
    huge = int(beyond.sum())
    return (np.where(beyond, np.copysign(np.inf, array), array) if huge else array), huge


def _beyond(name: str, huge: int, size: int) -> str:
    return (
        f"{name} is beyond {_LARGEST:g} in size at {huge:,} of {size:,} places: no log density "
        f"is, and they are read as infinite. Find out why q or the simulator returns them."
    )


_AGAIN = "save it again to use it"


def _unfit(name: str, array: NDArray[np.generic], wanted: str, remedy: str = _AGAIN) -> str:
    return (
        f"{name} must hold {wanted}; got {array.dtype} of shape {array.shape}. It was left "
        f"unread: {remedy}."
    )


def nonfinite_density_warnings(densities: Mapping[str, Array]) -> tuple[str, ...]:
    """Warnings that count the values of log densities that are not finite, which are kept."""
    warnings = []
    for name, array in densities.items():
        lost = int((~np.isfinite(array)).sum())
        if lost:
            warnings.append(
                f"{name} is NaN or infinite at {lost:,} of {array.size:,} places: the rows are "
                f"kept, and what reads densities leaves those places out."
            )
    return tuple(warnings)


class Observed(NamedTuple):
    """Real observations that came with a table."""

    first: tuple[Array, Array] | None = None
    """The first, x_o (M,), with q's draws there, theta_o (K_o, D); None without draws."""
    every: Array | None = None
    """All of them (J, M)."""
    x_rep: Array | None = None
    """Data simulated at q's draws at the first (L, M)."""
    warnings: tuple[str, ...] = ()
    """What was left unread, and why."""
    notes: tuple[str, ...] = ()


def read_observed(arrays: Mapping[str, NDArray[np.generic]], m: int, d: int) -> Observed:
    """Read real observations, q's draws at the first, and data simulated at these.

    Args:
        arrays: the file's arrays by role.
        m: columns of x.
        d: columns of theta.
    """
    present = [name for name in OBSERVED if name in arrays]
    if not present:
        return Observed()
    if not m:
        return Observed(warnings=unread_notes(present, "since there is no x"))
    if "x_o" not in arrays:
        return Observed(
            warnings=(
                f"{present[0]} must come with x_o; got it alone. It was left unread: save x_o "
                f"({m},) and theta_o (K, {d}), q's draws at x_o.",
            )
        )
    at = arrays["x_o"]
    fits = at.size and holds_rows(at.shape, m)
    if not is_real(at) or not fits or not np.isfinite(at).all():
        wanted = f"{m} finite numbers, as a row of x does, or several such rows"
        return Observed(warnings=(_unfit("x_o", at, wanted),))
    every = at.reshape(-1, m)
    x_rep, told = _predicted(arrays.get("x_rep"), m)
    if "theta_o" not in arrays:
        return Observed(None, every, x_rep, told, (_LONE.format(d=d),))
    draws, told_draws = _draws_there(arrays["theta_o"], d)
    first = None if draws is None else (every[0], draws)
    return Observed(first, every, x_rep, (*told_draws, *told))


_LONE = (
    "x_o came without theta_o, q's draws there: My observation looks at it by x; L-C2ST there "
    "takes q's draws at the nearest row. Save theta_o (K, {d}) beside it."
)


def _draws_there(draws: NDArray[np.generic], d: int) -> tuple[Array | None, tuple[str, ...]]:
    """q's draws (K_o, D) at an observation, and a warning of those that were left out."""
    if not is_real(draws) or not draws.size or not _rows(draws.shape, d):
        return None, (_unfit("theta_o", draws, f"draws of q at x_o, (K, {d})"),)
    rows = draws.reshape(-1, d)
    keep = np.isfinite(rows).all(axis=1)
    lost = int((~keep).sum())
    if 2 * lost > len(rows):
        return None, (
            f"theta_o must be finite in half of its rows or more; got {lost} of {len(rows)} with "
            f"NaN or infinite values. It was left unread.",
        )
    warning = f"{lost:,} draws at x_o were left out: NaN or infinite values in theta_o."
    return (rows[keep] if lost else rows), (warning,) * bool(lost)


def _predicted(given: NDArray[np.generic] | None, m: int) -> tuple[Array | None, tuple[str, ...]]:
    """Data simulated at q's draws (L, M), and a warning where they cannot be read."""
    if given is None:
        return None, ()
    rows = given.size // m if holds_rows(given.shape, m) else 0
    if not is_real(given) or rows < FEWEST_PREDICTED or not np.isfinite(given).all():
        wanted = f"{FEWEST_PREDICTED} or more rows of {m} finite numbers"
        return None, (_unfit("x_rep", given, wanted),)
    return given.reshape(rows, m), ()


def _rows(shape: tuple[int, ...], d: int) -> bool:
    """Whether an array of this shape holds rows of d parameters: (K, D), (1, K, D), (K, 1, D)."""
    if len(shape) < 2:
        return d == 1 and len(shape) == 1
    return shape[-1] == d and (len(shape) == 2 or (len(shape) == 3 and 1 in shape[:2]))


def unused_array_warnings(
    arrays: Mapping[str, NDArray[np.generic]], reason: str = "since two samples have no x"
) -> tuple[str, ...]:
    """A warning of densities, quantities, observations that come with two plain samples, or with
    ranks."""
    of_tables = (*DENSITIES, *OBSERVED, "around")
    present = [name for name in arrays if name in of_tables or is_quantity(name)]
    return unread_notes(present, reason)
