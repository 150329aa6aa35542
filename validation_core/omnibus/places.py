"""The slots of a table that may play the truth, and where over x a feature of them is looked at.

Coordinates are x's columns and, where there are many, what q makes of it. q's means come from
draws that no truth is ranked among: given x they are independent of the ranks, whether q is right
or wrong. With means of the ranked draws, ranks would depend on x even if q were correct.

Along each coordinate: its rank, the rank's sign and square, and every stretch of 5% to 50% of the
rows; products of two ranks; balls around rows. All are contrasts: what is the same at every x
cancels from them and is looked at by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core.statistics.ranks import midranks
from validation_core.types import Array, PosteriorTable

# ---- The slots of a table ----
#
# At each x the truth and q's draws, any of which could play the truth.
#
# If q is right, truth and draws at one x are exchangeable. Rows that share one set of draws form
# one pool: all of its truths and draws are exchangeable together. A labelling says, for every row,
# which slot of its pool plays the truth; the observed one is as likely as any other.


Slots = NDArray[np.int32]

PLAYERS = 63
"""Draws of each row that may play the truth: more would change no rank, only how often each of
them is tried."""
_PLAYED = 100_000  # draws that may play the truth, of all rows
_RANKED = 2_500_000  # numbers of q's draws that are ranked; of larger tables fewer draws a row
_FEWEST_DRAWS = 20  # draws of a row that are ranked, whatever the size
_POOLED = 2000  # slots of a pool that rows share, at most
_WHITENED = 60  # parameters up to which a row's covariance is worth its time
_NUMBERS = 1_000_000  # of slots worked on at a time
_DRAWN = 64  # labellings drawn at a time
_FARTHEST = 50.0  # nats below the largest: no evidence is stronger
_INFINITE = 1e30
_OUT = 1e6  # sds: no point lies farther out


@dataclass(frozen=True, eq=False)
class _Pools:
    """Which slots may play the truth of each row: slot numbers within the row's pool."""

    size: NDArray[np.int64]
    """(N,) slots of each row's pool."""
    observed: Slots
    """(N,) the slot that is the truth."""
    first: NDArray[np.int64]
    """(N,) where the row's pool begins among all slots."""
    shared: tuple[NDArray[np.int64], ...] = ()
    """Rows of each pool that several rows share."""

    @cached_property
    def total(self) -> int:
        """Slots of all pools."""
        return int((self.first + self.size).max())

    def labellings(self, count: int, rng: np.random.Generator) -> Slots:
        """Slots (count, N) that play the truth: in a shared pool each row has another one."""
        slots = np.empty((count, len(self.size)), np.int32)
        size, last = self.size.astype(np.float32), (self.size - 1).astype(np.int32)
        for begin in range(0, count, _DRAWN):
            some = slots[begin : begin + _DRAWN]
            some[:] = rng.random(some.shape, np.float32) * size
            np.minimum(some, last, out=some)  # a float32 may round up
        for rows in self.shared:
            order = rng.random((count, int(self.size[rows[0]]))).argsort(axis=1)
            slots[:, rows] = order[:, : len(rows)]
        return slots


@dataclass(frozen=True, eq=False)
class SlotRanks:
    """One score of all slots as mid-ranks u in (0, 1) within the pool."""

    of: str
    """Whose score it is: theta, norm, log_q, log_ratio, or the learned score's name."""
    which: int
    """The parameter, from 0; -1 for a score of all of them."""
    u: NDArray[np.float32]
    """(E,) of all slots, pool after pool; NaN for those of rows that it says nothing of."""
    raw: NDArray[np.float32] | None = None
    """(E,) the score itself where it is a log ratio of p and q, up to a function of x."""

    def at(self, rows: NDArray[np.int64]) -> SlotRanks:
        """Of tables' truths (T, N) those of some rows (T, n); all where it speaks of no others."""
        if self.u.shape[-1] == len(rows):
            return self
        raw = None if self.raw is None else self.raw[..., rows]
        return SlotRanks(self.of, self.which, self.u[..., rows], raw)


def _able(n: int) -> int:
    """Draws of each of n rows that may play the truth, at most: fewer where rows are many."""
    return max(_FEWEST_DRAWS, min(PLAYERS, _PLAYED // max(n, 1)))


def _players(k: int, most: int = PLAYERS) -> NDArray[np.int64]:
    """Columns of k draws that may play the truth, evenly spaced: chosen without a look at them.

    Neither end is nearer than the other, so that sorted draws have no bias.
    """
    few = min(k, most)
    return (2 * np.arange(few) + 1) * k // max(2 * few, 1)


def _ranked(n: int, k: int, d: int) -> NDArray[np.int64]:
    """Columns of k draws that truths are ranked among: all, or of large tables some."""
    return _players(k, max(_FEWEST_DRAWS, _RANKED // (n * d)))


def _halves(k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every other of k draws, and the rest."""
    return np.arange(0, k, 2), np.arange(1, k, 2)


def _pools_of(n: int, slots: int) -> _Pools:
    """Every row its own pool; the first slot is the truth."""
    return _Pools(np.full(n, slots), np.zeros(n, np.int32), np.arange(n) * slots)


def _mid_ranks(values: Array, columns: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
    """Mid-ranks u (..., C) in (0, 1) of values (..., P); equal values share one.

    Nothing is drawn to break ties: labellings, not a law of ranks, say what is unusual.

    Args:
        values: of all slots of a pool.
        columns: slots that are asked for; None for all.
    """
    u = ((midranks(values) - 0.5) / values.shape[-1]).astype(np.float32)
    return u if columns is None else np.ascontiguousarray(u[..., columns])


def _normal(u: Array) -> Array:
    """Normal scores of ranks in (0, 1)."""
    return np.asarray(ndtri(u), np.float32)


def norms(values: Array, points: Array | None = None) -> Array:
    """Squared Mahalanobis norms (n, P) of values (n, P, D) in the pool's own mean and covariance.

    Both treat all slots alike. Few slots leave the covariance singular: it is shrunk to its
    diagonal by (D / P)^2, at most to half; beyond _WHITENED parameters the diagonal stands alone.
    In single precision.

    Args:
        values: of all slots of a pool.
        points: (n, T, D) whose norms are asked for; None for the slots themselves.
    """
    n, slots, d = values.shape
    targets = values if points is None else points
    out = np.empty(targets.shape[:2])
    step = max(1, _NUMBERS // (max(slots, targets.shape[1]) * d))
    for begin in range(0, n, step):
        part = slice(begin, begin + step)
        off: Array = values[part].astype(np.float64)
        # Of any size: norms are the same in any unit, squares are not.
        unit = np.abs(off).max(axis=1, keepdims=True)
        unit = np.where(unit > 0, unit, 1.0)
        off /= unit
        mean = off.mean(axis=1, keepdims=True)
        off -= mean
        sd = np.sqrt(np.square(off).mean(axis=1, keepdims=True))
        sd = np.where(sd > 0, sd, 1.0)
        off /= sd
        to = off
        if points is not None:  # truths that were moved may lie anywhere
            with np.errstate(over="ignore"):
                to = (points[part].astype(np.float64) / unit - mean) / sd
            to = np.clip(to, -_OUT, _OUT)
        if 1 < d <= _WHITENED:
            shrink = min(0.5, (d / slots) ** 2) + 1e-4
            covariance = (1 - shrink) / slots * (off.transpose(0, 2, 1) @ off)
            covariance[:, np.arange(d), np.arange(d)] = 1.0
            white = np.linalg.solve(np.linalg.cholesky(covariance), to.transpose(0, 2, 1))
            out[part] = np.square(white).sum(axis=1)
        else:
            out[part] = np.square(to).sum(axis=2)
    # Equal points are worked out in different lanes: single precision makes them ties again.
    return out.astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Slotted:
    """A table's pools and the scores of their slots."""

    pools: _Pools
    scores: tuple[SlotRanks, ...]
    mean: Array
    """(N, D) of each row's pool: what q makes of x, alike whichever slot is the truth."""
    spread: Array
    """(N, D) variance within the pool."""


def _slotted(
    table: PosteriorTable,
    parameters: NDArray[np.int64],
    groups: NDArray[np.int64] | None = None,
    *,
    truths: bool = True,
    rows: NDArray[np.int64] | None = None,
) -> _Slotted:
    """Every parameter's score and, of several parameters, that of their norm.

    Args:
        table: theta (N, D), q (N, K, D).
        parameters: those that are looked at.
        groups: (N,) of each row, the same for rows that share one set of draws; None where none
            do.
        truths: whether the truth is a slot; else pools are q's draws alone, and all of them.
        rows: those that are tested; None for all. Where others chose the parameters, their
            truths, and the draws they were compared with, are no slots of a shared pool.
    """
    if groups is not None:
        tested = np.ones(len(table), bool)
        if rows is not None:
            tested[:] = False
            tested[rows] = True
        return _shared(table, parameters, groups, tested)
    n, k, _ = table.q.shape
    among = _ranked(n, k, len(parameters)) if truths else np.arange(k)
    chosen = _players(len(among), _able(n)) if truths else np.arange(len(among))
    ahead = int(truths)
    values = np.empty(
        (n, ahead + len(among), len(parameters)), np.result_type(table.theta, table.q)
    )
    values[:, ahead:] = table.q[:, among[:, None], parameters]
    if truths:
        values[:, 0] = table.theta[:, parameters]
        chosen = np.append(0, 1 + chosen)
    scores = _scores(values, parameters, chosen)
    return _Slotted(_pools_of(n, len(chosen)), scores, *_moments(values))


def _in_units(values: Array) -> Array:
    """Columns (..., C) that no square leaves the floats of, as they are or by a power of two."""
    large = np.abs(values).max(axis=tuple(range(values.ndim - 1)), initial=0.0).astype(np.float64)
    far = (large > 1e100) | ((large < 1e-100) & (large > 0))
    if not far.any():
        return values
    unit = np.where(far, np.exp2(np.floor(np.log2(np.where(far, large, 1.0)))), 1.0)
    return np.asarray(values / unit)


def _moments(values: Array) -> tuple[Array, Array]:
    """Mean and variance (n, D) of pools (n, P, D), in units of each column."""
    own = _in_units(values)
    return own.mean(axis=1, dtype=np.float64), own.var(axis=1, dtype=np.float64)


def _scores(
    values: Array, parameters: NDArray[np.int64], chosen: NDArray[np.int64]
) -> tuple[SlotRanks, ...]:
    """Scores of pools (n, P, D) at the chosen slots."""
    n, points, d = values.shape
    u = np.empty((d, n, len(chosen)), np.float32)
    step = max(1, _NUMBERS // points)
    for column in range(d):
        for begin in range(0, n, step):
            part = slice(begin, begin + step)
            u[column, part] = _mid_ranks(np.ascontiguousarray(values[part, :, column]), chosen)
    scores = [
        SlotRanks("theta", int(which), u[column].ravel())
        for column, which in enumerate(parameters)
    ]
    if d > 1:
        scores.append(SlotRanks("norm", -1, _mid_ranks(norms(values), chosen).ravel()))
    return tuple(scores)


def _shared(
    table: PosteriorTable,
    parameters: NDArray[np.int64],
    groups: NDArray[np.int64],
    tested: NDArray[np.bool_],
) -> _Slotted:
    """Pools of rows that share their draws: every tested truth of a group, then its draws."""
    n, k, _ = table.q.shape
    free = np.arange(k) if tested.all() else _halves(k)[1]
    _, group = np.unique(groups, return_inverse=True)
    rows_of = [np.flatnonzero(group == label) for label in range(group.max() + 1)]
    size, observed, first = np.zeros(n, np.int64), np.zeros(n, np.int32), np.zeros(n, np.int64)
    mean, spread = (np.zeros((n, len(parameters))) for _ in range(2))
    parts: list[tuple[SlotRanks, ...]] = []
    shared: list[NDArray[np.int64]] = []
    begin = 0
    for rows in rows_of:
        own = rows[tested[rows]]
        draws = free[_players(len(free), _most(len(rows)))]
        among = table.q[rows[0]][draws] if len(draws) or len(own) else table.q[rows[0]][:1]
        values = np.concatenate([table.theta[own], among])[None, :, parameters]
        chosen = np.arange(values.shape[1])
        parts.append(_scores(values, parameters, chosen))
        size[rows], observed[own], first[rows] = len(chosen), np.arange(len(own)), begin
        mean[rows], spread[rows] = (moment[0] for moment in _moments(values))
        begin += len(chosen)
        if len(own) > 1:
            shared.append(own)
    joined = tuple(
        SlotRanks(some[0].of, some[0].which, np.concatenate([score.u for score in some]))
        for some in zip(*parts, strict=True)
    )
    return _Slotted(_Pools(size, observed, first, tuple(shared)), joined, mean, spread)


def _most(rows: int) -> int:
    """Draws of a pool of so many rows, at most: a row of its own has as many as elsewhere."""
    return PLAYERS if rows == 1 else max(_FEWEST_DRAWS, _POOLED - rows)


def _of_rows(
    name: str, pools: _Pools, rows: NDArray[np.int64], values: Array, *, ratio: bool = False
) -> SlotRanks:
    """A score that is known at some rows.

    Args:
        name: whose it is.
        pools: of the table.
        rows: (n,) at which it is known.
        values: (n, P) of the slots.
        ratio: whether it is a log ratio of p and q, up to a function of x.
    """
    u = np.full(pools.total, np.nan, np.float32)
    places = pools.first[rows][:, None] + np.arange(values.shape[1])
    u[places] = _mid_ranks(values)
    raw = None
    if ratio:
        raw = np.full(pools.total, np.nan, np.float32)
        raw[places] = log_ratios(values, values.max(axis=1))
    return SlotRanks(name, -1, u, raw)


def log_ratios(values: Array, largest: Array) -> NDArray[np.float32]:
    """Log ratios (n, S) less the largest (n,) of their rows, within what single precision sums."""
    top = np.clip(largest, -_INFINITE, _INFINITE)[:, None]
    off = np.clip(values, -_INFINITE, _INFINITE) - top
    return np.asarray(np.clip(off, -_FARTHEST, _FARTHEST), np.float32)


# ---- Coordinates of x, and fixed functions of them ----


Mask = NDArray[np.bool_]

COLUMNS = 20
"""Columns of x up to which each is a coordinate."""
CHOSEN = 10
"""Columns that are kept of more: those that q's means follow most."""
COMPONENTS = 5
MEANS = 10
ASIDE = 50
"""Draws of q that means are taken from, at most: a quarter of those there are."""
_FEWEST_ASIDE = 5
_AT_ONCE = 2_000_000  # numbers of x worked on at a time
_BLOCKS = (40, 20, 10)
_SECONDS = 1.2  # that a battery may take over x, about; then fewer blocks, then fewer coordinates
_MULTIPLIED, _STRETCHED = 2e-11, 2.5e-9  # seconds for a multiplication, and for one stretch's sum
_FEWEST = 4  # coordinates, whatever the time
_SHORTEST, _LONGEST = 0.05, 0.5
_LEAST_ROWS = 10
_PRODUCTS = 6  # coordinates whose products are looked at
_CENTRES = 48
_SHARES = (0.05, 0.1, 0.2)
_TINY = 1e-9


class XCoordinates(NamedTuple):
    """C coordinates of n rows."""

    values: Array
    """(n, C)."""
    kinds: tuple[str, ...]
    """(C,) x: a column; component: a principal component of x; mean: q's mean of a parameter."""
    which: tuple[int, ...]
    """(C,) which column, component or parameter, from 0."""


def aside(k: int, columns: int) -> int:
    """How many of k draws are kept from the ranks to give q's means; 0: means are not read."""
    few = min(ASIDE, k // 4)
    return few if columns > 2 and few >= _FEWEST_ASIDE else 0


def coordinates(x: Array, means: Array, spread: Array) -> XCoordinates:
    """What rows x (n, M) are ordered along; columns that never vary are left out.

    One or two columns: these. Up to COLUMNS: these, and q's mean of up to MEANS parameters.
    More: CHOSEN columns, COMPONENTS principal components of the standardised columns, and q's
    means. Where x never varies its first column stands for it.

    Args:
        x: data (n, M).
        means: what q makes of each x (n, D); (n, 0) where they are not read.
        spread: q's variances (n, D).
    """
    n, m = x.shape
    columns, projected = (
        (np.arange(m), np.zeros((n, 0)))
        if m <= COLUMNS
        else _many(x, means[:, _told(means, spread)])
    )
    parts: list[tuple[str, NDArray[np.int64], Array]] = [
        ("x", columns, np.asarray(x[:, columns], np.float64)),
        ("component", np.arange(projected.shape[1]), projected),
    ]
    if m > 2 and means.shape[1]:
        parameters = _told(means, spread)
        parts.append(("mean", parameters, means[:, parameters]))
    values = np.concatenate([part[2] for part in parts], axis=1)
    kinds = [kind for kind, which, _ in parts for _ in which]
    which = [int(place) for _, places, _ in parts for place in places]
    varies = np.flatnonzero(np.ptp(values, axis=0) > 0)
    varies = varies if len(varies) else np.zeros(1, int)
    return XCoordinates(
        values[:, varies], tuple(kinds[i] for i in varies), tuple(which[i] for i in varies)
    )


def moments(draws: Array) -> tuple[Array, Array]:
    """Mean and variance (n, D) of draws (n, A, D); (n, 0) of none."""
    if not draws.shape[1]:
        nothing = np.zeros((len(draws), 0))
        return nothing, nothing
    return draws.mean(axis=1, dtype=np.float64), draws.var(axis=1, dtype=np.float64)


def _told(means: Array, spread: Array) -> NDArray[np.int64]:
    """Up to MEANS parameters, those that x says most of first chosen, in their own order."""
    if means.shape[1] <= MEANS:
        return np.arange(means.shape[1])
    inside = spread.mean(0)
    ratio = means.var(0) / np.where(inside > 0, inside, np.inf)
    return np.sort(np.argsort(-ratio, kind="stable")[:MEANS])


def _many(x: Array, means: Array) -> tuple[NDArray[np.int64], Array]:
    """CHOSEN columns that the means follow most (without means, evenly spaced); components (n, C).

    The n x n Gram matrix has the components of any number of columns; x is read in pieces.
    """
    n, m = x.shape
    follow = _standard(means)
    gram, closest = np.zeros((n, n)), np.zeros(m)
    step = max(1, _AT_ONCE // n)
    for first in range(0, m, step):
        part = _standard(np.asarray(x[:, first : first + step], np.float64))
        gram += part @ part.T
        if follow.size:
            closest[first : first + step] = np.abs(part.T @ follow).max(axis=1)
    value, vector = np.linalg.eigh(gram)
    some = np.flatnonzero(value > 1e-9 * max(value[-1], 1e-300))[::-1][:COMPONENTS]
    projected = vector[:, some] * np.sqrt(value[some])
    projected = projected * np.sign(projected[np.abs(projected).argmax(0), range(len(some))])
    if not follow.size:
        return np.linspace(0, m - 1, CHOSEN).astype(int), projected
    return np.sort(np.argsort(-closest, kind="stable")[:CHOSEN]), projected


def _standard(values: Array) -> Array:
    off = values - values.mean(0)
    scale = off.std(0)
    return off / np.where(scale > 0, scale, np.inf)


@dataclass(frozen=True, eq=False)
class _XFunctions:
    """Functions of the x of n rows: H columns that sums are taken with."""

    columns: NDArray[np.float32]
    """(n, H): blocks of every coordinate, then smooth functions, products and balls."""
    coordinates: int
    blocks: int
    """Blocks of each coordinate."""
    first: NDArray[np.int64]
    """(W,) blocks `first` to `last` - 1 are a stretch; all of one length, then of the next."""
    last: NDArray[np.int64]
    along: NDArray[np.int64]
    """(H - C G,) of the other columns: the coordinate; -1 of products, -2 of balls."""

    @property
    def labels(self) -> list[int]:
        """What a cell is along, in the order of `largest`: coordinates, then -1 and -2."""
        others = sorted({int(axis) for axis in self.along if axis < 0}, reverse=True)
        return [*range(self.coordinates), *others]

    def of(self, rows: NDArray[np.int64]) -> _XFunctions:
        """At some of the rows."""
        if np.array_equal(rows, np.arange(len(self.columns))):
            return self
        return replace(self, columns=self.columns[rows])

    def largest(
        self,
        sums: NDArray[np.float32],
        whole: NDArray[np.float32],
        weight: _ContrastWeights,
        one_sided: Mask,
    ) -> NDArray[np.float32]:
        """The largest standardised contrast (A, F, B) along each coordinate, products and balls.

        Args:
            sums: with the columns, of features, (H, F, B).
            whole: of features over all rows, (F, B).
            weight: what `weights` gave.
            one_sided: (F,) features of which only large contrasts count.
        """
        blocks = self.coordinates * self.blocks
        best = self._stretched(sums[:blocks], whole, weight, one_sided)
        other = sums[blocks:] - weight.other_mean[..., None] * whole
        other *= weight.other_scale[..., None]
        _unsigned(other, one_sided)
        out = [best]
        for at in self.labels[self.coordinates :]:
            out.append(other[self.along == at].max(axis=0)[None])
        for at in range(self.coordinates):
            np.maximum(best[at], other[self.along == at].max(axis=0), out=best[at])
        return np.concatenate(out)

    def _stretched(
        self,
        sums: NDArray[np.float32],
        whole: NDArray[np.float32],
        weight: _ContrastWeights,
        one_sided: Mask,
    ) -> NDArray[np.float32]:
        """The largest contrast (C, F, B) of all stretches, those of one length at a time.

        A length's contrasts are a difference of two slices: no gather, and small enough to stay
        in a core's cache.
        """
        c, g = self.coordinates, self.blocks
        _, f, b = sums.shape
        inside = np.zeros((c, g + 1, f, b), np.float32)
        np.cumsum(sums.reshape(c, g, f, b), axis=1, out=inside[:, 1:])
        inside -= weight.share[..., None] * whole
        best = np.full((c, f, b), -np.inf, np.float32)
        work = np.empty((g, f, b), np.float32)
        for at in range(c):
            begin = 0
            for length in np.unique(self.last - self.first):
                count = g + 1 - length
                off = work[:count]
                np.subtract(inside[at, length:], inside[at, :count], out=off)
                off *= weight.scale[at, begin : begin + count, :, None]
                _unsigned(off, one_sided)
                np.maximum(best[at], off.max(axis=0), out=best[at])
                begin += count
        return best

    def weights(self, variance: Array) -> _ContrastWeights:
        """Variances of the sums, from those of features (F, n) in each row."""
        f = len(variance)
        blocks = self.coordinates * self.blocks
        whole = variance.sum(axis=1, dtype=np.float64)
        safe = np.where(whole > _TINY, whole, 1.0)
        by = np.zeros((f, self.coordinates, self.blocks + 1))
        rows = np.zeros((self.coordinates, self.blocks + 1))
        counted = self.columns[:, :blocks]
        by[..., 1:] = (variance @ counted).reshape(f, self.coordinates, -1).cumsum(axis=-1)
        rows[:, 1:] = counted.sum(axis=0, dtype=np.float64).reshape(self.coordinates, -1).cumsum(1)
        by /= safe[:, None, None]
        share = by[..., self.last] - by[..., self.first]
        count = rows[..., self.last] - rows[..., self.first]
        n = len(self.columns)
        enough = (count >= max(_LEAST_ROWS, 0.9 * _SHORTEST * n)) & (n - count >= _LEAST_ROWS)
        spread = safe[:, None, None] * share * (1 - share)
        enough = enough & (spread > _TINY) & (whole > _TINY)[:, None, None]
        scale = np.where(enough, 1 / np.sqrt(np.where(enough, spread, 1.0)), 0.0)
        other = self.columns[:, blocks:].astype(np.float64)
        mean = variance @ other / safe[:, None]
        squares = variance @ np.square(other) - safe[:, None] * mean**2
        good = (squares > _TINY * safe[:, None]) & (whole > _TINY)[:, None]
        other_scale = np.where(good, 1 / np.sqrt(np.where(good, squares, 1.0)), 0.0)
        turned = (by.transpose(1, 2, 0), scale.transpose(1, 2, 0), mean.T, other_scale.T)
        return _ContrastWeights(*(np.ascontiguousarray(array, np.float32) for array in turned))


@dataclass(frozen=True, eq=False)
class _ContrastWeights:
    """What turns sums into standardised contrasts."""

    share: NDArray[np.float32]
    """(C, G + 1, F) of the variance before each block."""
    scale: NDArray[np.float32]
    """(C, W, F) one over the sd; 0 where too few rows."""
    other_mean: NDArray[np.float32]
    """(H', F) weighted means of the other columns."""
    other_scale: NDArray[np.float32]
    """(H', F)."""


def _unsigned(contrasts: NDArray[np.float32], one_sided: Mask) -> None:
    """Absolute values, in place, of the two-sided features of contrasts (H, F, B)."""
    if not one_sided.any():
        np.abs(contrasts, out=contrasts)
    elif not one_sided.all():
        np.abs(contrasts, out=contrasts, where=~one_sided[:, None])


def _affordable(n: int, coordinates: int, features: int, labellings: int) -> tuple[int, int]:
    """Blocks of each coordinate, and how many coordinates, that take no more than their time."""

    def seconds(c: int, g: int) -> float:
        columns = c * (g + 3) + _CENTRES * len(_SHARES)
        work = _MULTIPLIED * n * columns + _STRETCHED * c * len(_stretches(g)[0])
        return features * labellings * work

    for g in _BLOCKS:
        if seconds(coordinates, g) <= _SECONDS:
            return g, coordinates
    c = coordinates
    while c > _FEWEST and seconds(c, g) > _SECONDS:
        c -= 1
    return g, c


def _stretches(g: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last block of every stretch of 5% to 50% of g blocks, the shortest first."""
    lengths = range(max(1, round(_SHORTEST * g)), int(np.ceil(_LONGEST * g)) + 1)
    first = [np.arange(g + 1 - length) for length in lengths]
    last = [length + starts for length, starts in zip(lengths, first, strict=True)]
    return np.concatenate(first), np.concatenate(last)


def places(values: Array, rng: np.random.Generator, blocks: int = _BLOCKS[0]) -> _XFunctions:
    """Functions of coordinates (n, C).

    Equal values stay together: a coordinate of few values has fewer blocks with rows in them.
    """
    n, c = values.shape
    g = max(2, min(blocks, n // _LEAST_ROWS))
    rank = _mid_ranks(values.T).T.astype(np.float64)
    r = np.sqrt(12) * (rank - 0.5)
    inside = np.zeros((n, c, g), np.float32)
    at = np.minimum((rank * g).astype(int), g - 1)
    np.put_along_axis(inside, at[..., None], 1.0, axis=2)
    smooth = [r, np.sign(r), np.square(r)]
    along = [*range(c)] * 3
    several = list(combinations(range(min(c, _PRODUCTS)), 2))
    if several:
        a, b = np.array(several).T
        smooth.append(r[:, a] * r[:, b])
        along += [-1] * len(several)
        discs = _balls(r[:, :_PRODUCTS], rng)
        smooth.append(discs)
        along += [-2] * discs.shape[1]
    parts = [inside.reshape(n, c * g), *(functions.astype(np.float32) for functions in smooth)]
    columns = np.concatenate(parts, axis=1)
    return _XFunctions(columns, c, g, *_stretches(g), np.array(along))


def _balls(r: Array, rng: np.random.Generator) -> Array:
    """1 where a row lies among the nearest to a centre: (n, V)."""
    n = len(r)
    centres = r[rng.permutation(n)[:_CENTRES]]
    far = np.square(r[:, None] - centres).sum(axis=2)
    counts = [max(_LEAST_ROWS, round(share * n)) for share in _SHARES]
    ordered = np.sort(far, axis=0)
    balls = [far <= ordered[min(count, n) - 1] for count in counts]
    return np.concatenate(balls, axis=1).astype(np.float64)
