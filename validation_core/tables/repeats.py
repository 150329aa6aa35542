"""Rows and draws that repeat, which tests would take for independent ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.rng import stream
from validation_core.tables.scales import other_scales
from validation_core.types import Array, PosteriorTable

Fault = Literal[
    "chain", "repeated draws", "repeated simulations", "truth among draws", "other scale"
]
"""A fault of a table that makes ranks mislead, whatever q is."""
SAME_THETA = "another row has the same theta"
"""Reason for which rows are left out that share a theta with another."""
FEWEST_DRAWS = 4
"""Draws that a chain is thinned to, at least: of fewer no order can be seen."""
_FEW = 4  # distinct values: too few to tell a grid from chance
_SHARE = 0.01  # of rows: fewer hardly make a test surer
_NUMBERS, _COLUMNS, _DRAWS = 200_000, 20, 1000  # looked at for order and repeats within rows
_CORRELATED = 0.1  # between consecutive draws: less hardly moves a rank
_RARE = 1e-4  # chance that draws in no order are called a chain
_PARAMETERS = 100  # looked at for a grid
_DISTINCT = 0.9  # share of draws
_MOST = 0.5  # of rows
_FADED, _BLUR = np.exp(-1), 0.05  # correlation that shows how fast it fades; its least estimate
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500)
_PRINTED = 200  # numbers looked at for how many digits they have
_COMPARED = 20_000  # draws that tell whether a parameter's are often equal
_TIED = 0.002  # share of a row's draws from which on they are
_ELSEWHERE = 0.6  # of the repeated values, that other rows have where rows show all ticks

Ties = Literal["values", "rows"]
"""Equal draws of a row: at values of a grid, such as whole numbers, or repeated in their row, as
after resampling, in a chain that stays, or where rounding leaves each row ticks of its own."""


def is_on_grid(column: Array) -> bool:
    """Whether a column (n,) holds whole numbers or numbers rounded to some step: these may tie."""
    values = np.unique(column).astype(np.float64)
    steps = np.diff(values)
    unit = steps.min(initial=np.inf)
    if len(values) < _FEW or _of_few_digits(values):
        return True
    if unit < 8 * np.finfo(np.float32).eps * np.abs(values).max():
        return False
    return bool(np.abs(steps / unit - np.rint(steps / unit)).max() < 0.05)


def _of_few_digits(values: Array) -> bool:
    """Whether numbers were rounded to float16, or to three digits as %.3g prints them."""
    with np.errstate(over="ignore", under="ignore"):
        if (values.astype(np.float16) == values).all():
            return True
        some = values[np.linspace(0, len(values) - 1, min(len(values), _PRINTED)).astype(np.intp)]
        printed = np.array([float(f"{value:.3g}") for value in some])
        return bool((printed.astype(np.float32) == some.astype(np.float32)).all())


def draw_ties(q: Array) -> list[Ties | None]:
    """How draws (N, K, D) of a row are equal, for each parameter; None where hardly any are.

    Numbers that are rounded, to whole ones or by the precision that a network computed in, are
    equal because they lie on ticks: other rows have most of the values that stand twice in a row.
    """
    some = np.sort(q[: max(2, _COMPARED // q.shape[1])], axis=1)
    equal = some[:, 1:] == some[:, :-1]
    found: list[Ties | None] = [None] * q.shape[2]
    if some.shape[1] < 2:
        return found
    for j in np.flatnonzero(equal.mean(axis=(0, 1)) > _TIED).tolist():
        again = np.pad(equal[..., j], ((0, 0), (1, 0)))  # equal to the draw before
        values, rows = np.unique(some[~again, j], return_counts=True)
        elsewhere = rows[values.searchsorted(some[again, j])] > 1
        found[j] = "values" if elsewhere.mean() > _ELSEWHERE else "rows"
    return found


def row_codes(rows: Array) -> NDArray[np.intp]:
    """Number rows (N, D) so that equal ones have the same number (N,)."""
    flat = np.ascontiguousarray(rows)
    bytewise = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1])))[:, 0]
    inverse: NDArray[np.intp] = np.unique(bytewise, return_inverse=True)[1].reshape(-1)
    return inverse


def repeated_simulations(theta: Array, x: Array) -> NDArray[np.bool_]:
    """Find the rows (N,) that hold the theta and x of an earlier row: the same simulation.

    A row that trains a classifier and its copy that is tested would make a correct q look wrong.
    Numbers on a grid may repeat, so that none of their rows is found. Where all rows are one
    simulation none is found either: the table is refused later.

    Args:
        theta: (N, D).
        x: (N, M).
    """
    n = len(theta)
    repeated = np.zeros(n, dtype=bool)
    known = row_codes(theta)
    earlier: set[tuple[int, bytes]] = set()
    for i in np.flatnonzero(np.bincount(known)[known] > 1):
        simulation = (int(known[i]), x[i].tobytes())
        repeated[i] = simulation in earlier
        earlier.add(simulation)
    if not repeated.any() or repeated.sum() == n - 1:
        return np.zeros(n, dtype=bool)
    columns = [*theta.T[:_PARAMETERS], *x.T[:_COLUMNS]]
    grid = all(is_on_grid(column) for column in columns)
    return np.zeros(n, dtype=bool) if grid else repeated


def dropped_repeat_warnings(found: NDArray[np.bool_]) -> tuple[str, ...]:
    """A warning of rows (N,) that were left out because they repeat another."""
    lost = int(found.sum())
    return (
        f"{lost:,} of {len(found):,} rows repeat the theta and x of another row exactly: the same "
        f"simulation counted twice would make every test surer than it should be, so that the "
        f"first alone is kept. Save each once.",
    ) * bool(lost)


def copies_of_theta(theta: Array, *, few: bool = False) -> NDArray[np.bool_]:
    """Find the rows (N,) to leave out so that no two share a theta, where most rows share theirs.

    Several simulations of one theta are several rows of one draw from the prior: its posteriors
    agree, ranks do too, and what takes rows for independent rejects a correct q. One row of each
    theta, picked at random whatever its x, is a draw from the joint law. On a grid, at a bound of
    the prior and at a single number that has mass a theta may repeat: nothing is left out.

    Args:
        theta: (N, D).
        few: leave them out where few rows do, too.
    """
    n = len(theta)
    shared, _ = _sharing(theta)
    if shared.sum() < max(1, 0 if few else _MOST * n):
        return np.zeros(n, dtype=bool)
    codes = row_codes(theta)
    order = stream(0, "one row of each theta").permutation(n)
    kept = np.zeros(n, dtype=bool)
    kept[order[np.unique(codes[order], return_index=True)[1]]] = True
    return ~kept & shared if few else ~kept


def _sharing(theta: Array) -> tuple[NDArray[np.bool_], int]:
    """Rows (N,) that share a theta which a continuous prior would not repeat, and the number of
    such theta."""
    codes = row_codes(theta)
    several = np.bincount(codes)[codes] > 1
    if not several.any():
        return several, 0
    fine = continuous_parameters(theta)
    within = ((theta > theta.min(axis=0)) & (theta < theta.max(axis=0)))[:, fine].any(axis=1)
    shared = several & within
    count = len(np.unique(row_codes(theta[shared][:, fine]))) if shared.any() else 0
    return (shared, count) if count >= _FEW else (np.zeros(len(theta), dtype=bool), 0)


def dropped_copy_warnings(copies: NDArray[np.bool_]) -> tuple[str, ...]:
    """A note on rows (N,) that were left out since another has their theta."""
    kept = int((~copies).sum())
    return (
        f"{kept:,} distinct true values with {len(copies) / max(kept, 1):.3g} simulations each "
        f"on average: one row of each is used, picked at random, since rows that share theta are "
        f"not independent. Draw theta anew from the prior for each x, and all rows count.",
    ) * bool(copies.any())


def repeated_row_warnings(data: PosteriorTable, fine: NDArray[np.intp]) -> Iterator[str]:
    """A warning of rows that share a theta; on a grid they may.

    Args:
        data: the table.
        fine: its continuous parameters.

    Raises:
        ValueError: when all rows are one simulation.
    """
    n, columns = len(data), data.x.shape[1]
    known = row_codes(data.theta)
    twice = np.flatnonzero(np.bincount(known)[known] > 1)
    pairs = {(known[i], data.x[i].tobytes()) for i in twice}
    lost = len(twice) - len(pairs)
    if lost == n - 1 and columns:
        raise ValueError(
            f"Rows must be different simulations; got the same theta and x in all {n} rows. Save "
            f"one row for each simulation, its theta drawn anew from the prior."
        )
    shared, count = _sharing(data.theta)
    if shared.sum() - count > _SHARE * n and len(fine):
        yield (
            f"{int(shared.sum()):,} of {n:,} rows hold only {count:,} different theta: rows that "
            f"share theta are not independent, so the tests are surer than they should be. Draw "
            f"theta anew from the prior for each x."
        )


class _DrawOrder(NamedTuple):
    """Order and repeats of the draws within rows, at the worst parameter."""

    lag: float
    """Correlation of consecutive draws."""
    sorted_: bool
    """Whether most rows rise from the first draw to the last."""
    distinct: float
    """Share of draws that are distinct within their row."""
    correlated: bool
    """Whether that correlation is clear and large enough to move ranks."""
    repeated: bool
    """Whether draws repeat, and not because they lie on a grid."""


def _order(data: PosteriorTable, fine: NDArray[np.intp]) -> _DrawOrder | None:
    """Order and repeats of draws within rows, from some of these; None where draws are few."""
    from scipy.special import stdtrit  # takes memory, of which reading a file has little

    n, k = data.q.shape[:2]
    if k < FEWEST_DRAWS or not len(fine):
        return None
    rows = _rows_looked_at(data.q, fine)
    columns = _columns_looked_at(data.q, rows, fine)
    orders = [_order_within(column[np.ptp(column, axis=1) > 0]) for column in columns]
    lag, error, rising, distinct = (list(each) for each in zip(*orders, strict=True))
    sure = stdtrit(max(1, len(rows) - 1), 1 - _RARE / len(lag))
    few = min(distinct) < _DISTINCT
    at = fine[int(np.argmin(distinct))]
    return _DrawOrder(
        max(lag),
        max(rising) > _MOST,
        min(distinct),
        any(c > max(_harmless(n, k), sure * e) for c, e in zip(lag, error, strict=True)),
        few and not is_on_grid(data.q[rows, 0, at]),
    )


def are_in_order(q: Array) -> bool:
    """Whether consecutive draws (N, K, D) are clearly more, or less, alike than others of a row.

    It looks at parameters and at the distance from the middle of a row, by which samplers sort.
    """
    from scipy.special import stdtrit

    moving = np.flatnonzero(
        q[:, -1].max(axis=0, initial=-np.inf) > q[:, -1].min(axis=0, initial=np.inf)
    )
    if q.shape[1] < FEWEST_DRAWS or not len(moving):
        return False
    rows = _rows_looked_at(q, moving)
    columns, squares = [], np.zeros((len(rows), min(q.shape[1], _DRAWS)))
    for column in _columns_looked_at(q, rows, moving):
        size = np.abs(column).max(axis=1, keepdims=True)  # squares of extreme ones overflow
        off = column / np.where(size > 0, size, 1.0)
        off -= off.mean(axis=1, keepdims=True)
        square = np.square(off).mean(axis=1, keepdims=True)
        columns.append(off)
        squares += np.square(off) / np.where(square > 0, square, 1.0)
    orders = [_order_within(one[np.ptp(one, axis=1) > 0]) for one in (*columns, squares)]
    sure = stdtrit(max(1, len(rows) - 1), 1 - _RARE / len(orders))
    return any(abs(lag) > sure * error for lag, error, *_ in orders)


def _rows_looked_at(q: Array, fine: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows of q (N, K, D) whose order is looked at; those that share their draws count once.

    Chains may all begin at one place, so that their last draws tell.
    """
    rows = np.sort(np.unique(q[:, -1, fine[0]], return_index=True)[1])
    most = max(1, _NUMBERS // min(q.shape[1], _DRAWS))
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.intp)]


def _columns_looked_at(
    q: Array, rows: NDArray[np.intp], fine: NDArray[np.intp]
) -> Iterator[NDArray[np.float64]]:
    """Draws (n, K') of each parameter at some rows, no more than _DRAWS."""
    return (q[rows, :_DRAWS, j].astype(np.float64) for j in fine[:_COLUMNS])


def _harmless(n: int, k: int) -> float:
    """Correlation of consecutive draws that moves no test of N rows with K draws.

    A correlation c makes draws 2 c / K more alike than a true value is to them. A width of ranks
    is known to 1 / sqrt(N), so that c sqrt(N) / K must be small.
    """
    return float(_CORRELATED * min(1.0, k / np.sqrt(n)))


def dependent_draw_warnings(data: PosteriorTable, fine: NDArray[np.intp]) -> Iterator[str]:
    """Warnings of draws that are sorted, a chain, or repeated: ranks take them for independent.

    Args:
        data: the table.
        fine: its continuous parameters.
    """
    pattern = _order(data, fine)
    if pattern is None:
        return
    if pattern.correlated:
        yield f"Consecutive draws of q at one x are correlated ({pattern.lag:.2f}): " + (
            "they are sorted. Shuffle them within each row, each draw as a whole."
            if pattern.sorted_
            else (
                "a chain that was not thinned? Ranks take them for independent draws, and may "
                "reject a correct q; thin them until the correlation is gone."
            )
        )
    if pattern.repeated:
        yield (
            f"Draws of q repeat within rows (about {pattern.distinct:.0%} are distinct), as after "
            f"resampling or in a chain that stays: there are fewer independent draws than "
            f"K = {data.q.shape[1]}, and ranks are coarser than they look."
        )


def step_between_draws(theta: Array, q: Array) -> int:
    """Every which draw of a chain is independent of the one before, as far as tests can tell.

    How fast correlation fades is learnt from all draws: of those that are left it is biased and
    blurred. 1 where all draws are independent or sorted, K where no step is known to be enough;
    fewer than FEWEST_DRAWS may be left.

    Args:
        theta: true values (N, D).
        q: draws (N, K, D).
    """
    n, k = q.shape[:2]
    fine = continuous_parameters(theta)

    def order(step: int) -> _DrawOrder | None:
        return _order(PosteriorTable(theta, theta[:, :0], q[:, ::step]), fine)

    whole = order(1)
    if whole is None or not whole.correlated or whole.sorted_:
        return 1
    lag = max(
        map(_correlation_of_consecutive, _columns_looked_at(q, _rows_looked_at(q, fine), fine))
    )
    for step in _STEPS[1:]:
        left = max(len(range(0, k, step)), FEWEST_DRAWS)
        if lag**step > _harmless(n, left):
            continue
        thinned = order(step)
        if thinned is None or not thinned.correlated:
            return step
    return k


def _correlation_of_consecutive(column: Array) -> float:
    """Correlation of consecutive draws in chains (n, K): the t-th root of that at a lag t by which
    it has faded; 1 where it does not.

    Half the mean squared difference of draws needs no mean of a row, which a short chain hides:
    at lag t it is (1 - correlation) times the variance, and far apart the variance itself. Rows
    are weighed by that of consecutive draws, which is the best known.
    """
    k = column.shape[1]
    rows = column[_half_squares(column, 1) > 0]
    if not len(rows):
        return 1.0
    weight = 1 / _half_squares(rows, 1)
    apart = np.linspace(k // 2, k - 1 - k // 8, 8).astype(np.intp)
    variance = np.mean([(weight * _half_squares(rows, lag)).mean() for lag in apart])
    for lag in (step for step in _STEPS if step < k // 2):
        left = 1 - (weight * _half_squares(rows, lag)).mean() / variance
        if left < _FADED:
            return float(max(left, _BLUR) ** (1 / lag))
    return 1.0


def _half_squares(column: Array, lag: int) -> Array:
    """Half the mean squared difference (n,) of draws (n, K) that lie so far apart."""
    return np.asarray(np.square(column[:, lag:] - column[:, :-lag]).mean(axis=1) / 2)


def shares_theta(theta: Array) -> bool:
    """Whether more than a few rows (N, D) share a theta that a prior would not repeat."""
    shared, count = _sharing(theta)
    return bool(shared.sum() - count > _SHARE * len(theta))


def continuous_parameters(theta: Array) -> NDArray[np.intp]:
    """Columns of theta (N, D) that do not lie on a grid, of the first hundred that vary."""
    moving = np.flatnonzero(theta.max(axis=0) > theta.min(axis=0))[:_PARAMETERS]
    return np.array([j for j in moving if not is_on_grid(theta[:, j])], np.intp)


def faults(data: PosteriorTable) -> tuple[Fault, ...]:
    """The faults of a table that can look like a defect of q; each has its warning.

    Sorted draws are none: their ranks are those of the same draws in any order.
    """
    fine = continuous_parameters(data.theta)
    if len(data) < 2 or not len(fine):
        return ()
    pattern, (n, k) = _order(data, fine), data.q.shape[:2]
    shared, count = _sharing(data.theta)
    there = (data.q[..., fine[0]] == data.theta[:, None, fine[0]]).any(axis=1).sum()
    checks: dict[Fault, bool] = {
        "chain": pattern is not None and pattern.correlated and not pattern.sorted_,
        "repeated draws": pattern is not None and pattern.repeated,
        "repeated simulations": shared.sum() - count > _SHARE * n,
        "truth among draws": k > 1 and there > max(1, _SHARE * n),
        "other scale": any(True for _ in other_scales(data)),
    }
    return tuple(fault for fault, yes in checks.items() if yes)


def _order_within(column: Array) -> tuple[float, float, float, float]:
    """Lag-1 correlation of draws (rows, K) that vary and its standard error, the share of rows
    that are sorted, and that of draws that are distinct.

    About the mean of its row a correlation c looks like c - (1 + 3 c) / K (Marriott, Pope 1954),
    which is taken back; of draws in any order it has the mean -1 / K exactly.
    """
    if not len(column):
        return 0.0, 0.0, 0.0, 1.0
    n, k = column.shape
    off = column - column.mean(axis=1, keepdims=True)
    seen = (off[:, 1:] * off[:, :-1]).sum(axis=1) / (off**2).sum(axis=1)
    lag = (seen + 1 / k) * k / (k - 3)
    error = lag.std(ddof=1) / np.sqrt(n) if n > 1 else np.inf
    rising = (np.diff(column, axis=1).min(axis=1) >= 0).mean()
    tied = (np.diff(np.sort(column, axis=1), axis=1) == 0).mean()
    return min(1.0, float(lag.mean())), float(error), float(rising), 1 - float(tied)
