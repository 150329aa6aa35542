"""The slots of a table: at each x the truth and q's draws, any of which could play the truth.

If q is right, truth and draws at one x are exchangeable. Rows that share one set of draws form one
pool: all of its truths and draws are exchangeable together. A labelling says, for every row, which
slot of its pool plays the truth; the observed one is as likely as any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices
from validation_core.relabelling.magnitudes import Magnitudes, magnitudes
from validation_core.relabelling.norms import norms
from validation_core.statistics.ranks import midranks
from validation_core.types import Array, Integers, PosteriorTable

SlotNumbers = NDArray[np.int32]

PLAYERS = 63
"""Draws of each row that may play the truth: more would change no rank, only how often each of
them is tried."""
_PLAYED = 100_000  # draws that may play the truth, of all rows
_RANKED = 2_500_000  # numbers of q's draws that are ranked; of larger tables fewer draws a row
_FEWEST_DRAWS = 20  # draws of a row that are ranked, whatever the size
_POOLED = 2000  # slots of a pool that rows share, at most
_NUMBERS = 1_000_000  # of slots worked on at a time
_DRAWN = 64  # labellings drawn at a time
_FARTHEST = 50.0  # nats below the largest: no log ratio is lower
_INFINITE = 1e30


@dataclass(frozen=True, eq=False)
class Pools:
    """Slots that may play the truth of each row, numbered within the row's pool."""

    size: Integers
    """(N,) slots of each row's pool."""
    observed: SlotNumbers
    """(N,) the slot that is the truth."""
    first: Integers
    """(N,) where the row's pool begins among all slots."""
    shared: tuple[Integers, ...] = ()
    """Rows of each pool that several rows share."""

    @cached_property
    def distinct(self) -> tuple[Integers, Integers, Integers]:
        """First slot (G,) and number of slots (G,) of each pool, and the pool of each row (N,)."""
        first, pool = np.unique(self.first, return_inverse=True)
        return first, np.diff(np.append(first, self.total)), pool

    @cached_property
    def total(self) -> int:
        """Slots of all pools."""
        return int((self.first + self.size).max())

    def labellings(self, count: int, rng: np.random.Generator) -> SlotNumbers:
        """Slots (count, N) that play the truth: in a shared pool each row has another one.

        Pools of unequal sizes, and rows that share one, are beyond `played_truths.pick_slots`.
        """
        slots = np.empty((count, len(self.size)), np.int32)
        size, last = self.size.astype(np.float32), (self.size - 1).astype(np.int32)
        for part in slices(count, _DRAWN):
            some = slots[part]
            some[:] = rng.random(some.shape, np.float32) * size
            np.minimum(some, last, out=some)  # a float32 may round up
        for rows in self.shared:
            order = rng.random((count, int(self.size[rows[0]]))).argsort(axis=1)
            slots[:, rows] = order[:, : len(rows)]
        return slots


class PoolSizes(NamedTuple):
    """True values and draws of q that are exchanged with one another, in each pool of a table."""

    truths: Integers
    """(G,)."""
    draws: Integers
    """(G,)."""

    @property
    def variances(self) -> Array:
        """(G,) of the sum of a pool's r truths' scores of variance 1, drawn without replacement
        from its r + k: r k / (r + k - 1), 1 for a row with draws of its own and at most k
        however many rows share them."""
        return np.asarray(self.truths * self.draws / (self.truths + self.draws - 1))

    @property
    def independent(self) -> float:
        """How many rows with draws of their own tell as much as one of these, of its place."""
        return float(self.variances.sum() / self.truths.sum())


@dataclass(frozen=True, eq=False)
class SlotRanks:
    """One score of all slots as mid-ranks u in (0, 1) within the pool."""

    of: str
    """Whose score it is: theta, norm, log_q, log_ratio, normal_ratio, own, or the learned score's
    name."""
    which: int
    """The parameter or own quantity, from 0; -1 for a score of all parameters."""
    u: NDArray[np.float32]
    """(E,) of all slots, pool after pool; NaN for rows without a score."""
    raw: NDArray[np.float32] | None = None
    """(E,) the score itself where it is a log ratio of p and q, up to a function of x."""
    magnitude: Magnitudes | None = None
    """A parameter's values (E,), how far out and how near to others they lie."""

    def of_rows(self, rows: Integers) -> SlotRanks:
        """Scores of some rows' truths (T, n), of those of all rows (T, N) or of these alone."""
        if self.u.shape[-1] == len(rows):
            return self
        return self.select(rows)

    def select(self, places: Integers) -> SlotRanks:
        """The scores at some places of the last axis."""
        raw = None if self.raw is None else self.raw[..., places]
        magnitude = None if self.magnitude is None else self.magnitude.at(places)
        return SlotRanks(self.of, self.which, self.u[..., places], raw, magnitude)


def max_players(n: int) -> int:
    """Draws of each of n rows that may play the truth, at most: fewer where rows are many."""
    return max(_FEWEST_DRAWS, min(PLAYERS, _PLAYED // max(n, 1)))


def players(k: int, most: int = PLAYERS) -> Integers:
    """Columns of k draws that may play the truth, evenly spaced, chosen without reading them.

    Neither end is nearer than the other, so that sorted draws have no bias.
    """
    few = min(k, most)
    return (2 * np.arange(few) + 1) * k // max(2 * few, 1)


def ranked_columns(n: int, k: int, d: int) -> Integers:
    """Columns of k draws that truths are ranked among: all, or of large tables some."""
    return players(k, max(_FEWEST_DRAWS, _RANKED // (n * d)))


def halves(k: int) -> tuple[Integers, Integers]:
    """Every other of k draws, and the rest."""
    return np.arange(0, k, 2), np.arange(1, k, 2)


def _pools_of(n: int, slots: int) -> Pools:
    """Every row its own pool; the first slot is the truth."""
    return Pools(np.full(n, slots), np.zeros(n, np.int32), np.arange(n) * slots)


def mid_ranks(values: Array, columns: Integers | None = None) -> NDArray[np.float32]:
    """Mid-ranks u (..., C) in (0, 1) of values (..., P); equal values share one.

    Ties are not broken at random: the null is that of labellings, not a law of ranks.

    Args:
        values: of all slots of a pool.
        columns: slots to compute; None for all.
    """
    u = ((midranks(values) - 0.5) / values.shape[-1]).astype(np.float32)
    return u if columns is None else np.ascontiguousarray(u[..., columns])


@dataclass(frozen=True, eq=False)
class ScoredPools:
    """A table's pools and the scores of their slots."""

    pools: Pools
    scores: tuple[SlotRanks, ...]
    mean: Array
    """(N, D) means of each row's pool, equal whichever slot is the truth."""
    spread: Array
    """(N, D) variance within the pool."""


def pooled_scores(
    table: PosteriorTable,
    parameters: Integers,
    groups: Integers | None,
    *,
    truths: bool = True,
    rows: Integers | None,
    aside: int = 0,
) -> ScoredPools:
    """Every parameter's score and, of several parameters, that of their norm.

    Args:
        table: theta (N, D), q (N, K, D).
        parameters: those that are looked at.
        groups: (N,) of each row, the same for rows that share one set of draws; None where none
            do.
        truths: whether the truth is a slot; else pools are q's draws alone, and all of them.
        rows: those that are tested; None for all. Where others chose the parameters, their
            truths, and the draws they were compared with, are no slots of a shared pool.
        aside: so many first draws are left out.
    """
    if groups is not None:
        tested = np.ones(len(table), bool)
        if rows is not None:
            tested[:] = False
            tested[rows] = True
        return _shared_pools(table, parameters, groups, tested, aside)
    n, k, _ = table.q.shape
    among = ranked_columns(n, k, len(parameters)) if truths else np.arange(k)
    playing = among[players(len(among), max_players(n))] if truths else among
    among = among[among >= aside]
    chosen = np.flatnonzero(np.isin(among, playing))
    ahead = int(truths)
    values = np.empty(
        (n, ahead + len(among), len(parameters)), np.result_type(table.theta, table.q)
    )
    values[:, ahead:] = table.q[:, among[:, None], parameters]
    if truths:
        values[:, 0] = table.theta[:, parameters]
        chosen = np.append(0, 1 + chosen)
    scores = slot_scores(values, parameters, chosen)
    return ScoredPools(_pools_of(n, len(chosen)), scores, *_moments(values))


def in_units(values: Array) -> Array:
    """Columns (..., C), scaled by a power of two where squares would overflow or underflow."""
    large = np.abs(values).max(axis=tuple(range(values.ndim - 1)), initial=0.0).astype(np.float64)
    far = (large > 1e100) | ((large < 1e-100) & (large > 0))
    if not far.any():
        return values
    unit = np.where(far, np.exp2(np.floor(np.log2(np.where(far, large, 1.0)))), 1.0)
    return np.asarray(values / unit)


def _moments(values: Array) -> tuple[Array, Array]:
    """Mean and variance (n, D) of pools (n, P, D), in units of each column."""
    own = in_units(values)
    return own.mean(axis=1, dtype=np.float64), own.var(axis=1, dtype=np.float64)


def slot_scores(values: Array, parameters: Integers, chosen: Integers) -> tuple[SlotRanks, ...]:
    """Scores of pools (n, P, D) at the chosen slots."""
    n, points, d = values.shape
    step = max(1, _NUMBERS // points)
    scores = []
    for column, which in enumerate(parameters):
        u, parts = np.empty((n, len(chosen)), np.float32), []
        for part in slices(n, step):
            own = np.ascontiguousarray(values[part, :, column])
            u[part] = mid_ranks(own, chosen)
            parts.append(magnitudes(own, chosen))
        magnitude = Magnitudes(
            *(np.concatenate(some).ravel() for some in zip(*parts, strict=True))
        )
        scores.append(SlotRanks("theta", int(which), u.ravel(), magnitude=magnitude))
    if d > 1:
        scores.append(SlotRanks("norm", -1, mid_ranks(norms(values), chosen).ravel()))
    return tuple(scores)


def _shared_pools(
    table: PosteriorTable,
    parameters: Integers,
    groups: Integers,
    tested: NDArray[np.bool_],
    aside: int,
) -> ScoredPools:
    """Pools of rows that share their draws: every tested truth of a group, then its draws."""
    n, k, _ = table.q.shape
    free = _free_draws(k, tested)
    free = free[free >= aside]
    _, group = np.unique(groups, return_inverse=True)
    rows_of = [np.flatnonzero(group == label) for label in range(group.max() + 1)]
    size, observed, first = np.zeros(n, np.int64), np.zeros(n, np.int32), np.zeros(n, np.int64)
    mean, spread = (np.zeros((n, len(parameters))) for _ in range(2))
    parts: list[tuple[SlotRanks, ...]] = []
    shared: list[Integers] = []
    begin = 0
    for rows in rows_of:
        own = rows[tested[rows]]
        draws = free[players(len(free), _most_draws(len(rows)))]
        among = table.q[rows[0]][draws] if len(draws) or len(own) else table.q[rows[0]][:1]
        values = np.concatenate([table.theta[own], among])[None, :, parameters]
        chosen = np.arange(values.shape[1])
        parts.append(slot_scores(values, parameters, chosen))
        size[rows], observed[own], first[rows] = len(chosen), np.arange(len(own)), begin
        mean[rows], spread[rows] = (moment[0] for moment in _moments(values))
        begin += len(chosen)
        if len(own) > 1:
            shared.append(own)
    joined = tuple(_joined(some) for some in zip(*parts, strict=True))
    return ScoredPools(Pools(size, observed, first, tuple(shared)), joined, mean, spread)


def _joined(pools: tuple[SlotRanks, ...]) -> SlotRanks:
    """One score of all pools, from that of each."""
    each = [score.magnitude for score in pools if score.magnitude is not None]
    magnitude = None
    if each:
        magnitude = Magnitudes(*(np.concatenate(some) for some in zip(*each, strict=True)))
    u = np.concatenate([score.u for score in pools])
    return SlotRanks(pools[0].of, pools[0].which, u, magnitude=magnitude)


def _free_draws(k: int, tested: NDArray[np.bool_]) -> Integers:
    """Draws (J,) of k that rows share and that are slots: where other rows chose the parameters
    those are left out that their truths were compared with."""
    return np.arange(k) if tested.all() else halves(k)[1]


def pool_sizes(k: int, tested: NDArray[np.bool_], groups: Integers | None) -> PoolSizes:
    """Sizes of the pools that hold a truth.

    Args:
        k: draws of q at each x.
        tested: (N,) whether each row is.
        groups: (N,) of each row, the same for rows that share one set of draws; None where none
            do.
    """
    if groups is None:
        rows = int(tested.sum())
        return PoolSizes(np.ones(rows, np.int64), np.full(rows, k))
    _, group = np.unique(groups, return_inverse=True)
    members = np.bincount(group)
    truths = np.bincount(group[tested], minlength=len(members))
    most = np.array([_most_draws(rows) for rows in members])
    draws = np.minimum(len(_free_draws(k, tested)), most)
    return PoolSizes(truths[truths > 0], draws[truths > 0])


def _most_draws(rows: int) -> int:
    """Draws of a pool of so many rows, at most: a row of its own has as many as elsewhere."""
    return PLAYERS if rows == 1 else max(_FEWEST_DRAWS, _POOLED - rows)


def score_at_rows(
    name: str, pools: Pools, rows: Integers, values: Array, *, which: int, ratio: bool
) -> SlotRanks:
    """A score that is known at some rows.

    Args:
        name: whose it is.
        pools: of the table.
        rows: (n,) at which it is known.
        values: (n, P) of the slots.
        which: number of an own quantity.
        ratio: whether it is a log ratio of p and q, up to a function of x.
    """
    u = np.full(pools.total, np.nan, np.float32)
    places = pools.first[rows][:, None] + np.arange(values.shape[1])
    u[places] = mid_ranks(values)
    raw = None
    if ratio:
        raw = np.full(pools.total, np.nan, np.float32)
        raw[places] = log_ratios(values, values.max(axis=1))
    return SlotRanks(name, which, u, raw)


def log_ratios(values: Array, largest: Array) -> NDArray[np.float32]:
    """Log ratios (n, S) less the largest (n,) of their rows, clipped for single precision."""
    top = np.clip(largest, -_INFINITE, _INFINITE)[:, None]
    off = np.clip(values, -_INFINITE, _INFINITE) - top
    return np.asarray(np.clip(off, -_FARTHEST, _FARTHEST), np.float32)
