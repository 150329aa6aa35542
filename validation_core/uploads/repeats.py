"""Rows and draws that repeat or follow each other, where tests take them for independent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array, Draws

Fault = Literal["chain", "repeated draws", "repeated simulations", "truth among draws"]
"""What makes ranks mislead whatever q is."""

_FEW = 4  # distinct values: too few to tell a grid from chance
_SHARE = 0.01  # of rows: fewer hardly make a test surer
_ROWS, _COLUMNS, _DRAWS = 200, 20, 1000  # looked at for order and repeats within rows
_CORRELATED = 0.1  # between consecutive draws: less hardly moves a rank
_SURE = 6.0  # standard errors of a correlation that is there
_PARAMETERS = 100  # looked at for a grid
_DISTINCT = 0.9  # share of draws
_MOST = 0.5  # of rows


def on_a_grid(column: Array) -> bool:
    """Whole numbers, or numbers rounded to some step: they tie by right."""
    values = np.unique(column).astype(np.float64)
    steps = np.diff(values)
    unit = steps.min(initial=np.inf)
    if len(values) < _FEW or unit < 8 * np.finfo(np.float32).eps * np.abs(values).max():
        return len(values) < _FEW
    return bool(np.abs(steps / unit - np.rint(steps / unit)).max() < 0.05)


def codes(rows: Array) -> NDArray[np.intp]:
    """(N,): the same number for the same row."""
    flat = np.ascontiguousarray(rows)
    bytewise = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1])))[:, 0]
    found: NDArray[np.intp] = np.unique(bytewise, return_inverse=True)[1].reshape(-1)
    return found


def again(theta: Array, x: Array) -> NDArray[np.bool_]:
    """(N,): rows that hold the theta and x of an earlier row, which is the same simulation.

    A row that learns and its copy that is tested would make a right q look wrong. What lies on a
    grid repeats by right; of a single simulation alone nothing is left out, but refused later.
    """
    n = len(theta)
    found = np.zeros(n, dtype=bool)
    known = codes(theta)
    seen: set[tuple[int, bytes]] = set()
    for i in np.flatnonzero(np.bincount(known)[known] > 1):
        one = (int(known[i]), x[i].tobytes())
        found[i] = one in seen
        seen.add(one)
    if not found.any() or found.sum() == n - 1:
        return np.zeros(n, dtype=bool)
    columns = [*theta.T[:_PARAMETERS], *x.T[:_COLUMNS]]
    grid = all(on_a_grid(column) for column in columns)
    return np.zeros(n, dtype=bool) if grid else found


def once(found: NDArray[np.bool_]) -> tuple[str, ...]:
    """What is said of rows (N,) that were left out because they repeat another."""
    lost = int(found.sum())
    return (
        f"{lost:,} of {len(found):,} rows repeat the theta and x of another row exactly: the same "
        f"simulation counted twice would make every test surer than it should be, so that the "
        f"first alone is kept. Save each once.",
    ) * bool(lost)


def rows(data: Draws, fine: NDArray[np.intp]) -> Iterator[str]:
    """The same simulation twice; what is on a grid repeats by right."""
    n, columns = len(data), data.x.shape[1]
    known = codes(data.theta)
    twice = np.flatnonzero(np.bincount(known)[known] > 1)
    pairs = {(known[i], data.x[i].tobytes()) for i in twice}
    lost = len(twice) - len(pairs)
    if lost == n - 1 and columns:
        raise ValueError(
            f"Rows must be different simulations; got the same theta and x in all {n} rows. Save "
            f"one row for each simulation, its theta drawn anew from the prior."
        )
    others = len(pairs) - len(np.unique(known[twice]))
    if others > _SHARE * n and len(fine):
        yield (
            f"{n:,} rows hold only {len(np.unique(known)):,} different theta: rows that share "
            f"theta are not independent, so the tests are surer than they should be. Draw theta "
            f"anew from the prior for each x."
        )


class Order(NamedTuple):
    """What draws within rows are like, at the worst parameter."""

    lag: float
    """Correlation of consecutive draws."""
    sorted_: bool
    distinct: float
    """Share of draws."""
    correlated: bool
    repeated: bool


def order(data: Draws, fine: NDArray[np.intp]) -> Order | None:
    """How draws at one x follow each other, from some rows; None where they are too few."""
    n, k = data.q.shape[:2]
    rows = np.unique(np.linspace(0, n - 1, min(n, _ROWS)).astype(np.intp))
    if k < _FEW or not len(fine):
        return None
    columns = (data.q[rows, : min(k, _DRAWS), j].astype(np.float64) for j in fine[:_COLUMNS])
    found = [_order(column[np.ptp(column, axis=1) > 0]) for column in columns]
    lag, rising, distinct = (list(each) for each in zip(*found, strict=True))
    least = max(_CORRELATED, _SURE / np.sqrt(len(rows) * min(k, _DRAWS)))
    few = min(distinct) < _DISTINCT
    at = fine[int(np.argmin(distinct))]
    return Order(
        max(lag), max(rising) > _MOST, min(distinct), max(lag) > least,
        few and not on_a_grid(data.q[rows, 0, at]),
    )  # fmt: skip


def draws(data: Draws, fine: NDArray[np.intp]) -> Iterator[str]:
    """Draws that are sorted, a chain, or repeated: ranks take them for independent."""
    found = order(data, fine)
    if found is None:
        return
    if found.correlated:
        yield f"Consecutive draws of q at one x are correlated ({found.lag:.2f}): " + (
            "they are sorted. Shuffle them within each row, each draw as a whole."
            if found.sorted_
            else "a chain that was not thinned? Ranks take them for independent draws, and may "
            "reject a q that is right; thin them until the correlation is gone."
        )
    if found.repeated:
        yield (
            f"Draws of q repeat within rows (about {found.distinct:.0%} are distinct), as after "
            f"resampling or in a chain that stays: there are fewer independent draws than "
            f"K = {data.q.shape[1]}, and ranks are coarser than they look."
        )


def smooth(theta: Array) -> NDArray[np.intp]:
    """Parameters that vary and do not lie on a grid, of the first hundred that vary."""
    moving = np.flatnonzero(theta.max(axis=0) > theta.min(axis=0))[:_PARAMETERS]
    return np.array([j for j in moving if not on_a_grid(theta[:, j])], np.intp)


def faults(data: Draws) -> tuple[Fault, ...]:
    """What a user is warned of that can look like a defect of q: the warnings, typed.

    Sorted draws are none: their ranks are those of the same draws in any order.
    """
    fine = smooth(data.theta)
    if len(data) < 2 or not len(fine):
        return ()
    found, (n, k) = order(data, fine), data.q.shape[:2]
    known = codes(data.theta)
    there = (data.q[..., fine[0]] == data.theta[:, None, fine[0]]).any(axis=1).sum()
    every: dict[Fault, bool] = {
        "chain": found is not None and found.correlated and not found.sorted_,
        "repeated draws": found is not None and found.repeated,
        "repeated simulations": n - len(np.unique(known)) > _SHARE * n,
        "truth among draws": k > 1 and there > max(1, _SHARE * n),
    }
    return tuple(fault for fault, yes in every.items() if yes)


def _order(column: Array) -> tuple[float, float, float]:
    """Of draws (rows, K) that vary: their lag-1 correlation, and the share of rows that are
    sorted and of draws that are distinct."""
    if not len(column):
        return 0.0, 0.0, 1.0
    off = column - column.mean(axis=1, keepdims=True)
    lag = (off[:, 1:] * off[:, :-1]).sum(axis=1) / (off**2).sum(axis=1)
    rising = (np.diff(column, axis=1).min(axis=1) >= 0).mean()
    tied = (np.diff(np.sort(column, axis=1), axis=1) == 0).mean()
    return float(lag.mean()), float(rising), 1 - float(tied)
