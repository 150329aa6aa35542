"""Rows and draws that repeat or follow each other, where tests take them for independent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import scipy  # its parts load at first use: a child that reads files needs none
from numpy.typing import NDArray

from validation_core.hashing import hashed
from validation_core.types import Array, PosteriorTable

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


def _on_a_grid(column: Array) -> bool:
    """Whole numbers, or numbers rounded to some step: they tie by right."""
    values = np.unique(column).astype(np.float64)
    steps = np.diff(values)
    unit = steps.min(initial=np.inf)
    if len(values) < _FEW or unit < 8 * np.finfo(np.float32).eps * np.abs(values).max():
        return len(values) < _FEW
    return bool(np.abs(steps / unit - np.rint(steps / unit)).max() < 0.05)


def _codes(rows: Array) -> NDArray[np.intp]:
    """(N,): the same number for the same row."""
    flat = np.ascontiguousarray(rows)
    bytewise = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1])))[:, 0]
    inverse: NDArray[np.intp] = np.unique(bytewise, return_inverse=True)[1].reshape(-1)
    return inverse


def _again(theta: Array, x: Array) -> NDArray[np.bool_]:
    """(N,): rows that hold the theta and x of an earlier row, which is the same simulation.

    A row that learns and its copy that is tested would make a right q look wrong. What lies on a
    grid repeats by right; of a single simulation alone nothing is left out, but refused later.
    """
    n = len(theta)
    repeated = np.zeros(n, dtype=bool)
    known = _codes(theta)
    earlier: set[tuple[int, bytes]] = set()
    for i in np.flatnonzero(np.bincount(known)[known] > 1):
        simulation = (int(known[i]), x[i].tobytes())
        repeated[i] = simulation in earlier
        earlier.add(simulation)
    if not repeated.any() or repeated.sum() == n - 1:
        return np.zeros(n, dtype=bool)
    columns = [*theta.T[:_PARAMETERS], *x.T[:_COLUMNS]]
    grid = all(_on_a_grid(column) for column in columns)
    return np.zeros(n, dtype=bool) if grid else repeated


def _once(found: NDArray[np.bool_]) -> tuple[str, ...]:
    """What is said of rows (N,) that were left out because they repeat another."""
    lost = int(found.sum())
    return (
        f"{lost:,} of {len(found):,} rows repeat the theta and x of another row exactly: the same "
        f"simulation counted twice would make every test surer than it should be, so that the "
        f"first alone is kept. Save each once.",
    ) * bool(lost)


def _rows(data: PosteriorTable, fine: NDArray[np.intp]) -> Iterator[str]:
    """The same simulation twice; what is on a grid repeats by right."""
    n, columns = len(data), data.x.shape[1]
    known = _codes(data.theta)
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


class _DrawOrder(NamedTuple):
    """What draws within rows are like, at the worst parameter."""

    lag: float
    """Correlation of consecutive draws."""
    sorted_: bool
    distinct: float
    """Share of draws."""
    correlated: bool
    repeated: bool


def _order(data: PosteriorTable, fine: NDArray[np.intp]) -> _DrawOrder | None:
    """How draws at one x follow each other, from some rows; None where they are too few."""
    n, k = data.q.shape[:2]
    rows = np.unique(np.linspace(0, n - 1, min(n, _ROWS)).astype(np.intp))
    if k < _FEW or not len(fine):
        return None
    columns = (data.q[rows, : min(k, _DRAWS), j].astype(np.float64) for j in fine[:_COLUMNS])
    orders = [_order_within(column[np.ptp(column, axis=1) > 0]) for column in columns]
    lag, rising, distinct = (list(each) for each in zip(*orders, strict=True))
    least = max(_CORRELATED, _SURE / np.sqrt(len(rows) * min(k, _DRAWS)))
    few = min(distinct) < _DISTINCT
    at = fine[int(np.argmin(distinct))]
    return _DrawOrder(
        max(lag),
        max(rising) > _MOST,
        min(distinct),
        max(lag) > least,
        few and not _on_a_grid(data.q[rows, 0, at]),
    )


def _draws(data: PosteriorTable, fine: NDArray[np.intp]) -> Iterator[str]:
    """Draws that are sorted, a chain, or repeated: ranks take them for independent."""
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


def _smooth(theta: Array) -> NDArray[np.intp]:
    """Parameters that vary and do not lie on a grid, of the first hundred that vary."""
    moving = np.flatnonzero(theta.max(axis=0) > theta.min(axis=0))[:_PARAMETERS]
    return np.array([j for j in moving if not _on_a_grid(theta[:, j])], np.intp)


def faults(data: PosteriorTable) -> tuple[Fault, ...]:
    """What a user is warned of that can look like a defect of q: the warnings, typed.

    Sorted draws are none: their ranks are those of the same draws in any order.
    """
    fine = _smooth(data.theta)
    if len(data) < 2 or not len(fine):
        return ()
    pattern, (n, k) = _order(data, fine), data.q.shape[:2]
    known = _codes(data.theta)
    there = (data.q[..., fine[0]] == data.theta[:, None, fine[0]]).any(axis=1).sum()
    checks: dict[Fault, bool] = {
        "chain": pattern is not None and pattern.correlated and not pattern.sorted_,
        "repeated draws": pattern is not None and pattern.repeated,
        "repeated simulations": n - len(np.unique(known)) > _SHARE * n,
        "truth among draws": k > 1 and there > max(1, _SHARE * n),
    }
    return tuple(fault for fault, yes in checks.items() if yes)


def _order_within(column: Array) -> tuple[float, float, float]:
    """Of draws (rows, K) that vary: their lag-1 correlation, and the share of rows that are
    sorted and of draws that are distinct."""
    if not len(column):
        return 0.0, 0.0, 1.0
    off = column - column.mean(axis=1, keepdims=True)
    lag = (off[:, 1:] * off[:, :-1]).sum(axis=1) / (off**2).sum(axis=1)
    rising = (np.diff(column, axis=1).min(axis=1) >= 0).mean()
    tied = (np.diff(np.sort(column, axis=1), axis=1) == 0).mean()
    return float(lag.mean()), float(rising), 1 - float(tied)


# ---- Rows that were given one set of draws: q sampled once, and pasted at several rows ----


Words = NDArray[np.uint64]

_FEWEST = 3  # draws: of one or two an equal set tells nothing
_CHANCE = 1e-6  # that a table of independent rows is said to share any
_NUMBERS = 1 << 16  # of theta_q looked at together, so that they stay in the cache
_GOLDEN, _MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_SALT = np.array([0xD1CE], np.uint64)


def _shared(data: PosteriorTable) -> NDArray[np.int64] | None:
    """The group (N,) of each row, numbered from 0; None where every row has draws of its own.

    Rows of one group hold the same K draws, in any order. Discrete parameters repeat sets by
    chance: a row whose K draws fall on values c_1, c_2, ... times has such a set with probability
    at most K! / prod c_i! prod (c_i / K)^c_i, whatever its posterior is. Rows are said to share
    a set where more hold it than N rows of that chance explain (binomial, 1e-6 for the table).
    So a point mass, or a single binary parameter at any K, is never said to be shared; K distinct
    draws have K! / K^K, and 10 of them are in two rows at once only if they were pasted. With
    K < 3 nothing can be told, and None is given; from 3 to 9 draws many rows must hold one set.
    """
    n, k, _ = data.q.shape
    if k < _FEWEST or n < 2:
        return None
    suspects = _repeating(_sums(data.q))
    if not len(suspects):
        return None
    words = _sets(data.q, suspects)
    _, first, inverse, count = np.unique(
        words, return_index=True, return_inverse=True, return_counts=True
    )
    several = np.flatnonzero(count > 1)
    if not len(several):
        return None
    chance = _chances(data.q[suspects[first[several]]])
    pasted = several[scipy.special.bdtrc(count[several] - 1, n, chance) * n < _CHANCE]
    if not len(pasted):
        return None
    of_set = np.full(len(count), -1)
    of_set[pasted] = suspects[first[pasted]]
    label = np.arange(n)
    inverse = inverse.reshape(-1)
    label[suspects] = np.where(of_set[inverse] >= 0, of_set[inverse], suspects)
    return np.unique(label, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _sums(q: Array) -> Words:
    """(N,): the bits of each row's draws, added up: equal sets, equal sums."""
    n = len(q)
    out = np.empty(n, np.uint64)
    for part in _parts(q):
        block = np.ascontiguousarray(q[part])
        bits = block.reshape(len(block), -1).view(f"u{block.dtype.itemsize}")
        out[part] = bits.sum(axis=1, dtype=np.uint64)
    return out


def _repeating(words: Words) -> NDArray[np.int64]:
    """Places of the words (N,) that another one equals."""
    _, inverse, count = np.unique(words, return_inverse=True, return_counts=True)
    return np.flatnonzero(count[inverse.reshape(-1)] > 1)


def _sets(q: Array, rows: NDArray[np.int64]) -> Words:
    """One word for the set of draws of each of these rows: the same in any order."""
    k, d = q.shape[1:]
    odd = (_GOLDEN * np.arange(1, d + 1, dtype=np.uint64)) | np.uint64(1)
    out = np.empty(len(rows), np.uint64)
    for part in _parts(q, len(rows)):
        block = np.ascontiguousarray(q[rows[part]])
        bits = block.view(f"u{block.dtype.itemsize}").reshape(-1, d).astype(np.uint64, copy=False)
        # Of simple numbers only the highest bits are set, which a product would lose.
        _draws = (bits ^ (bits >> np.uint64(32))) @ odd
        _draws ^= _draws >> np.uint64(29)
        _draws *= _MIXER
        _draws ^= _draws >> np.uint64(32)
        out[part] = _draws.reshape(-1, k).sum(axis=1, dtype=np.uint64)
    return out


def _parts(q: Array, rows: int | None = None) -> Iterator[slice]:
    """Pieces of the rows of q (N, K, D), or of so many rows of its size."""
    count = len(q) if rows is None else rows
    step = max(1, _NUMBERS // (q.shape[1] * q.shape[2]))
    for first in range(0, count, step):
        yield slice(first, min(first + step, count))


def _chances(q: Array) -> NDArray[np.float64]:
    """(G,): the largest probability that any law gives to the set of each row (G, K, D)."""
    g, k, d = q.shape
    words = np.sort(hashed(q.reshape(-1, d), _SALT).reshape(g, k), axis=1)
    new = np.ones((g, k), dtype=bool)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, g * k)).astype(np.float64)
    each = counts * np.log(counts / k) - scipy.special.gammaln(counts + 1)
    log = scipy.special.gammaln(k + 1.0) + np.bincount(starts // k, weights=each, minlength=g)
    return np.minimum(np.exp(log), 1.0)
