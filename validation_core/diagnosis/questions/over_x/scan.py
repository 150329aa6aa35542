"""Stretches of x, two tests of all features and all stretches together, and the worst stretch.

`varies`: is a feature the same at every x? Rows are permuted, all features alike (Westfall,
Young, Resampling-based multiple testing, 1993, Algorithm 4.1: max statistics, stepping down).
Exact for each feature over all its stretches. Over several features it is exact where what ties
them together is the same at every x; where that changes, permuted rows are tied less than the
real ones and the test rejects less.

`right`: are the values those of a right q? In every row one of the K + 1 exchangeable values
plays the truth: exact for all features and stretches together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from validation_core import statistics
from validation_core.localization import over_x
from validation_core.relabelling.battery import step_down
from validation_core.rng import stream
from validation_core.statistics import effects
from validation_core.statistics.effects import BEYOND, WIDEST
from validation_core.types import Array, PosteriorTable

MOST = 50
"""Parameters that are looked at; of more, those that half of the rows point at."""
STAND_INS = 31
"""Draws of each row that may play the truth in a null table."""
FEWEST = 5
"""Rows below which no size is estimated."""
_LEVEL = 0.95
_EDGE = 1e-9  # a uniform draw may be 0
_ROWS_AT_ONCE = 4_000_000  # numbers of q's draws ranked with one another's tie-breakers
_COPIED = 500_000  # of them copied at a time: stay in the cache


Kind = Literal["shift", "width", "learned"]


class OverXFeatures(NamedTuple):
    """Scores of the truth, and of the draws that may stand in for it.

    u is the randomised rank of the truth among q's K draws and itself, uniform at every x if q is
    right. Three scores of it are standard normal then:

        shift   Phi^-1(u): above 0 where the truth lies above q's draws, so that q sits too low
        width   Phi^-1(|2 u - 1|): above 0 where the truth lies in q's tails, so q is too narrow
        learned Phi^-1(u) of its rank under a classifier's logit: above 0 where it is noticed
    """

    scores: NDArray[np.float32]
    """(F, J + 1, n): F features, the truth first, then J stand-ins."""
    kinds: tuple[Kind, ...]
    """(F,)."""
    parameters: tuple[int, ...]
    """(F,) of which parameter; -1 for the learned score."""

    @property
    def truth(self) -> NDArray[np.float32]:
        """(F, n)."""
        return self.scores[:, 0]

    def raw(self, feature: int) -> Array:
        """The scores (n,) that a feature is quoted by: of a width, those of its shift."""
        wide = self.kinds[feature] == "width"
        return np.asarray(self.truth[feature - wide * (len(self.kinds) // 2)], np.float64)


@dataclass(frozen=True)
class FeatureSize:
    """The size of a feature among n rows with its 95% interval; None where they are too few."""

    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    """None too for the width of rows that do not vary."""
    open: bool = False
    """Whether the rows lie beyond all draws at one end: of a shift an end is None, and the value
    is that of q's mean and sd; of a width nothing is told."""

    def excludes(self, null: float) -> bool:
        """Whether the interval does not hold this number."""
        if self.value is None:
            return False
        above = self.low is not None and self.low > null
        return above or (self.high is not None and self.high < null)


def select_parameters_and_rows(
    table: PosteriorTable, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which parameters and which rows are looked at: all of them, up to MOST parameters.

    Of more, one half of the rows chooses those whose ranks are farthest from uniform and the
    other half is looked at, so that the choice costs the tests nothing but rows.
    """
    n, d = table.theta.shape
    if d <= MOST:
        return np.arange(d), np.arange(n)
    rng = stream(seed, "over x", "parameters")
    order = rng.permutation(n)
    choose, rest = order[: n // 2], np.sort(order[n // 2 :])
    u = np.concatenate(
        [
            stand_in_ranks(
                PosteriorTable(
                    table.theta[choose, a : a + MOST],
                    table.x[choose, :0],
                    table.q[choose, :, a : a + MOST],
                ),
                0,
                rng,
            )[:, 0]
            for a in range(0, d, MOST)
        ]
    )
    off = np.maximum(np.abs(ndtri(u).mean(1)), np.abs(ndtri(np.abs(2 * u - 1)).mean(1)))
    return np.sort(np.argsort(-off, kind="stable")[:MOST]), rest


def parameter_features(table: PosteriorTable, seed: int) -> OverXFeatures:
    """Shift and width of every parameter of a table (n, D): F = 2 D."""
    u = stand_in_ranks(table, STAND_INS, stream(seed, "over x", "ranks"))
    d = len(u)
    scores = np.empty((2 * d, *u.shape[1:]), np.float32)
    for parameter in range(d):
        scores[parameter] = ndtri(u[parameter])
        scores[d + parameter] = ndtri(np.clip(np.abs(2 * u[parameter] - 1), _EDGE, 1 - _EDGE))
    kinds: list[Kind] = ["shift"] * d
    kinds += ["width"] * d
    return OverXFeatures(scores, tuple(kinds), (*range(d), *range(d)))


def learned_score_features(truth: Array, draws: Array, seed: int) -> OverXFeatures:
    """The learned score of a table: truth (n,), draws (n, K)."""
    table = PosteriorTable(truth[:, None], np.zeros((len(truth), 0)), draws[:, :, None])
    u = stand_in_ranks(table, STAND_INS, stream(seed, "over x", "learned"))
    return OverXFeatures(ndtri(u).astype(np.float32), ("learned",), (-1,))


def stand_in_ranks(table: PosteriorTable, stand_ins: int, rng: np.random.Generator) -> Array:
    """Randomised ranks of the truth and of `stand_ins` draws among all K + 1: (D, J + 1, n).

    Which draws stand in is drawn for each row and shared by its parameters, so that what ties
    the parameters together stays.
    """
    n, k, d = table.q.shape
    j = min(k, stand_ins)
    who = np.zeros((n, j + 1), dtype=np.int64)
    for rows in _row_parts(n, k) if j else ():
        draws = np.tile(np.arange(1, k + 1), (len(who[rows]), 1))
        who[rows, 1:] = rng.permuted(draws, axis=1)[:, :j]
    u = np.empty((d, j + 1, n))
    for rows in _row_parts(n, (k + 1) * d):
        below, equal = _counts(table, who, rows)
        for slot in range(j + 1):
            # Each is one of the K + 1 itself: what else equals it is one fewer.
            u[:, slot, rows] = statistics.randomised_ranks(
                below[:, slot], equal[:, slot] - 1, k, rng
            )
    return np.clip(u, _EDGE, 1 - _EDGE, out=u)


def estimate_size(kind: Kind, w: Array, k: int, z: Array | None = None) -> FeatureSize:
    """Size of a feature among rows with the truth's normal scores w (m,).

    shift and width: q's bias and its width by the width it needs, as `effects.sizes` has them;
    learned: the mean of the scores, by Student's t.

    Args:
        kind: of the feature.
        w: scores of the truth's ranks among k draws.
        k: draws.
        z: z-scores (m,) of the same rows; without them a shift has no estimate beyond all draws.
    """
    m = len(w)
    if m < FEWEST:
        return FeatureSize(m)
    if kind == "learned":
        reach = float(stdtrit(m - 1, (1 + _LEVEL) / 2))
        size, half = float(w.mean()), reach * float(w.std(ddof=1)) / m**0.5
        return FeatureSize(m, size, size - half, size + half)
    sizes = effects.sizes(ndtr(w), np.full(m, np.nan) if z is None else z, k)
    opened = bool(sizes.open)
    interval = sizes.bias if kind == "shift" else sizes.ratio
    value, low, high = (float(end) if np.isfinite(end) else None for end in interval)
    if kind == "width" and high is not None and high > WIDEST * (1 - 1e-9):
        value, low, high = min(value or WIDEST, WIDEST), low, None
    if value is None:
        return FeatureSize(m, open=opened)
    return FeatureSize(m, value, low, high, opened)


def smooth_feature(kind: Kind, w: Array, weights: Array, k: int = 0) -> Array:
    """Smoothed size of a feature (4, G): value, low, high, and half the room of a correct q.

    Signs and ratios are those of `estimate_size`: above 0 q sits too high, above 1 it is too wide.
    Where truths pile up beyond all k draws at one end, a shift is open at that end (infinite),
    and a width is NaN.

    Intervals are pointwise, normal, by the effective number of neighbours; for width all are
    ratios, and the room is a factor's logarithm.
    """
    total, effective = over_x.totals(weights)
    shares = weights / np.where(total > 0, total, 1.0)[:, None]
    w = np.asarray(w, np.float64)
    mean = shares @ w
    variance = np.maximum(shares @ w**2 - mean**2, 0.0)
    root = np.sqrt(np.maximum(effective, 1.0))
    far = np.zeros(len(mean), dtype=bool)
    if k and kind != "learned":
        edge = -ndtri(1 / (k + 1))
        ends = np.stack([shares @ (w > edge), shares @ (w < -edge)])
        far = (ends.max(0) - 1 / (k + 1) > BEYOND) & (ends.min(0) < 2 / (k + 1))
    if kind != "width":
        half, size = 1.96 * np.sqrt(variance) / root, -mean if kind == "shift" else mean
        low = np.where(far & (size < 0), -np.inf, size - half)
        high = np.where(far & (size >= 0), np.inf, size + half)
        return np.stack([size, low, high, 1.96 / root])
    ratio = np.where(far, np.nan, 1 / np.maximum(np.sqrt(variance), 1 / WIDEST))
    fourth = shares @ w**4 - 4 * mean * (shares @ w**3) + 6 * mean**2 * (shares @ w**2)
    fourth = fourth - 3 * mean**4
    kurtosis = fourth / np.where(variance > 0, variance, 1.0) ** 2
    half = 1.96 * np.sqrt(np.maximum(kurtosis - 1, 0.1)) / (2 * root)
    return np.stack([ratio, ratio * np.exp(-half), ratio * np.exp(half), 1.96 / (root * 2**0.5)])


def _row_parts(n: int, each: int, most: int = _ROWS_AT_ONCE) -> Iterator[slice]:
    """Rows with so many numbers each, as many as come to `most`."""
    step = max(1, most // each)
    for first in range(0, n, step):
        yield slice(first, min(first + step, n))


def _counts(table: PosteriorTable, who: NDArray[np.int64], rows: slice) -> tuple[Array, Array]:
    """Of the K + 1 in some rows, those below and equal to each that plays the truth: (D, J, m)."""
    d, j = table.q.shape[2], who.shape[1]
    theta, q, who = table.theta[rows], table.q[rows], who[rows]
    below, equal = np.empty((2, d, j, len(who)))
    for part in _row_parts(len(who), q[0].size, _COPIED):
        points = np.concatenate([theta[part, None], q[part]], axis=1)  # (m, K + 1, D)
        ours = np.take_along_axis(points, who[part, :, None], axis=1)
        across = np.ascontiguousarray(points.transpose(2, 0, 1))  # (D, m, K + 1)
        for slot in range(j):
            test = np.ascontiguousarray(ours[:, slot].T)
            below[:, slot, part], equal[:, slot, part] = statistics.count(test, across)
    return below, equal


_BLOCKS = 20  # of equally many rows that a coordinate is cut into
_FEWEST = 10  # rows that a stretch, and what is outside it, have at least
_SHARE = 0.05  # of all rows, at least
_CENTRES = 48
_DISCS = (0.08, 0.16, 0.3)  # shares of all rows that discs hold
_PER_BLOCK = 5
_NUMBERS = 2_000_000  # of all stretches at a time


class ScanWindows(NamedTuple):
    """W stretches of each of C coordinates, as sums of blocks; and V discs, one coordinate more.

    The last stretch of every coordinate is all of x.
    """

    blocks: NDArray[np.float32]
    """(n, C G) 1 where a row is in a block."""
    edges: Array
    """(C, G + 1); -inf and inf at the ends."""
    first: NDArray[np.int64]
    """(W,) blocks `first` to `last` - 1 are a stretch."""
    last: NDArray[np.int64]
    counts: Array
    """(C, W) rows in each."""
    discs: NDArray[np.float32]
    """(n, V) 1 where a row is in a disc; (n, 0) unless x has two columns."""
    centres: Array
    """(V, 2)."""
    radii: Array
    """(V,) in units of `scale`."""
    scale: Array
    """(2,)."""
    range: Array
    """(2, 2) the least and the largest of both columns of the plane."""

    @property
    def least(self) -> float:
        """Rows a stretch has at least."""
        return max(_FEWEST, _SHARE * len(self.blocks))

    def sums(self, values: NDArray[np.float32]) -> list[Array]:
        """Sums of values (R, n) over every stretch: (R, C, W), and over discs (R, 1, V)."""
        c = len(self.edges)
        by_block = (values @ self.blocks).reshape(len(values), c, -1)
        below = np.zeros((len(values), c, by_block.shape[2] + 1), np.float32)
        np.cumsum(by_block, axis=2, out=below[:, :, 1:])
        sums = [below[:, :, self.last] - below[:, :, self.first]]
        if self.discs.shape[1]:
            sums.append((values @ self.discs)[:, None])
        return sums

    def sizes(self) -> list[Array]:
        """Rows in each, as `sums` has them: (C, W), (1, V)."""
        sizes = [self.counts]
        return [*sizes, self.discs.sum(0)[None]] if self.discs.shape[1] else sizes


def build_scan_windows(
    values: Array, rng: np.random.Generator, plane: Array | None = None
) -> ScanWindows:
    """The stretches along coordinates (n, C), and discs over a plane (n, 2).

    Equal values stay together: a coordinate of few values has fewer blocks with rows in them.
    """
    n, c = values.shape
    g = max(2, min(_BLOCKS, n // _PER_BLOCK))
    edges = np.full((c, g + 1), np.inf)
    edges[:, 0] = -np.inf
    blocks = np.zeros((n, c, g), np.float32)
    for coordinate in range(c):
        ordered = np.sort(values[:, coordinate])
        inner = ordered[np.round(np.arange(1, g) * n / g).astype(int)]
        inner = np.where(inner > ordered[0], inner, -np.inf)  # nothing lies below the smallest
        edges[coordinate, 1:-1] = inner
        at = np.searchsorted(inner, values[:, coordinate], side="right")
        blocks[np.arange(n), coordinate, at] = 1
    first, last = np.triu_indices(g + 1, 1)
    whole = (first == 0) & (last == g)
    first, last = np.append(first[~whole], 0), np.append(last[~whole], g)
    below = np.zeros((c, g + 1))
    below[:, 1:] = blocks.sum(0, dtype=np.float64).cumsum(1)
    return ScanWindows(
        blocks.reshape(n, c * g),
        edges,
        first,
        last,
        below[:, last] - below[:, first],
        *_discs(plane, n, rng),
    )


def _discs(
    plane: Array | None, n: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], Array, Array, Array, Array]:
    if plane is None or n < 2 * _FEWEST:
        nothing = np.zeros((n, 0), np.float32), np.zeros((0, 2)), np.zeros(0)
        return *nothing, np.ones(2), np.zeros((2, 2))
    scale = plane.std(0)
    z = plane / scale
    centres = z[rng.permutation(len(z))[:_CENTRES]]
    far = np.sqrt(np.square(z[:, None] - centres).sum(2))  # (n, V)
    ordered = np.sort(far, axis=0)
    reach = np.concatenate([ordered[round(share * (len(z) - 1))] for share in _DISCS])
    inside = np.tile(far, (1, len(_DISCS))) <= reach
    around = np.tile(centres * scale, (len(_DISCS), 1))
    ends = np.stack([plane.min(0), plane.max(0)])
    return inside.astype(np.float32), around, reach, scale, ends


class ScanTest(NamedTuple):
    """Of F features over C coordinates (the discs as one more)."""

    statistic: Array
    """(F, C) the largest |z| over the stretches of a coordinate."""
    adjusted: Array
    """(F, C) p, adjusted for all of them."""
    null: Array
    """(B,) the largest of all in each null table."""

    @property
    def pvalue(self) -> float:
        """Of the largest of all."""
        return float(self.adjusted.min())


def scan_variation(
    truth: NDArray[np.float32],
    over: ScanWindows,
    count: int,
    rng: np.random.Generator,
    progress: Callable[[float], None] = lambda done: None,
) -> ScanTest:
    """Whether the features (F, n) of the truth change over x."""
    n = truth.shape[1]
    mean = truth.mean(axis=1, dtype=np.float64)
    sd = truth.std(axis=1, dtype=np.float64)
    centred = ((truth - mean[:, None]) / np.where(sd > 0, sd, np.inf)[:, None]).astype(np.float32)
    factors = [_within(size, n, over.least) for size in over.sizes()]
    observed = _largest(centred[:, None], over, factors)[:, 0]

    def shuffled(size: int) -> NDArray[np.int64]:
        return rng.permuted(np.tile(np.arange(n), (size, 1)), axis=1)

    return _against(observed, centred, shuffled, over, factors, count, progress)


def scan_correctness(
    scores: NDArray[np.float32],
    over: ScanWindows,
    count: int,
    rng: np.random.Generator,
    progress: Callable[[float], None] = lambda done: None,
) -> ScanTest:
    """Whether the features are those of a right q; scores (F, J + 1, n), the truth first."""
    f, j, n = scores.shape
    factors = [_alone(size, over.least) for size in over.sizes()]
    observed = _largest(scores[:, :1], over, factors)[:, 0]

    def swapped(size: int) -> NDArray[np.int64]:
        return rng.integers(j, size=(size, n)) * n + np.arange(n)

    return _against(observed, scores.reshape(f, j * n), swapped, over, factors, count, progress)


def _z(values: NDArray[np.float32], over: ScanWindows) -> list[Array]:
    """Signed z (F, C, W), (F, 1, V) of standardised features (F, n) in every stretch."""
    factors = [_within(size, values.shape[1], over.least) for size in over.sizes()]
    return [sums * factor for sums, factor in zip(over.sums(values), factors, strict=True)]


def _within(size: Array, n: int, least: float) -> NDArray[np.float32]:
    """What a centred sum over so many of n rows is multiplied by: 1 / its sd, 0 where too few."""
    enough = (size >= least) & (n - size >= least)
    spread = np.sqrt(size * (1 - size / n))
    return np.where(enough, 1 / np.where(enough, spread, 1), 0).astype(np.float32)


def _alone(size: Array, least: float) -> NDArray[np.float32]:
    enough = size >= least
    return np.where(enough, 1 / np.sqrt(np.where(enough, size, 1)), 0).astype(np.float32)


def _largest(
    values: NDArray[np.float32], over: ScanWindows, factors: list[NDArray[np.float32]]
) -> Array:
    """The largest |z| of values (F, B, n) over each coordinate's stretches: (F, B, C)."""
    f, b, n = values.shape
    sums = over.sums(values.reshape(f * b, n))
    best = []
    for part, factor in zip(sums, factors, strict=True):
        part *= factor
        best.append(np.maximum(part.max(axis=2), -part.min(axis=2)))
    return np.concatenate(best, axis=1).reshape(f, b, -1)


def _against(
    observed: Array,
    source: NDArray[np.float32],
    draw: Callable[[int], NDArray[np.int64]],
    over: ScanWindows,
    factors: list[NDArray[np.float32]],
    count: int,
    progress: Callable[[float], None],
) -> ScanTest:
    """The observed (F, C) against null tables whose rows `draw` picks from source (F, S)."""
    nulls = np.empty((len(observed), count, observed.shape[1]), np.float32)
    for part in _null_parts(count, len(observed), over):
        resampled = np.take(source, draw(part.stop - part.start), axis=1)  # (F, b, n)
        nulls[:, part] = _largest(resampled, over, factors)
        progress(part.stop / count)
    flat = nulls.transpose(1, 0, 2).reshape(count, -1)
    adjusted = step_down(observed.ravel(), flat).reshape(observed.shape)
    return ScanTest(np.asarray(observed, np.float64), adjusted, flat.max(1).astype(np.float64))


def _null_parts(count: int, features: int, over: ScanWindows) -> Iterator[slice]:
    n, columns = over.blocks.shape[0], over.counts.size + over.discs.shape[1]
    step = max(1, min(_NUMBERS // max(1, features * columns), _NUMBERS // max(1, features * n)))
    for first in range(0, count, step):
        yield slice(first, min(first + step, count))


@dataclass(frozen=True)
class Stretch:
    """A coordinate from `low` to below `high`, each None where it has no end."""

    low: float | None
    high: float | None
    outside_of: bool = False
    """Whether all of x but this is meant."""


@dataclass(frozen=True)
class Disc:
    """An ellipse in the plane of two columns of x."""

    centre: tuple[float, ...]
    radius: tuple[float, ...]
    """Along each of the two columns."""
    ends: tuple[tuple[float | None, float | None], ...] = ((None, None), (None, None))
    """Where it ends along each column, None at an end beyond all rows: an axis with two of them
    excludes nothing."""
    outside_of: bool = False
    """Whether all of x but this is meant."""


Region = Stretch | Disc


def worst_region(
    over: ScanWindows, feature: NDArray[np.float32], coordinate: int, choose: NDArray[np.bool_]
) -> tuple[Region, NDArray[np.bool_]]:
    """The stretch of a coordinate in which the chosen rows are off most, and its rows (n,).

    A stretch and what is outside it differ equally from one another: of the two, the one told of
    is farther from 0, which is where all features are if q is right.

    Args:
        over: the stretches of all rows.
        feature: (n,).
        coordinate: which; one more than there are means the discs.
        choose: (n,) the rows that choose.
    """
    part = _only(over, choose)
    few = feature[choose]
    sd = float(few.std())
    off = ((few - few.mean()) / (sd if sd > 0 else np.inf)).astype(np.float32)
    strength = _z(off[None], part)
    if coordinate < len(over.edges):
        best = int(np.abs(strength[0][0, coordinate]).argmax())
        first, last = int(over.first[best]), int(over.last[best])
        low, high = over.edges[coordinate, [first, last]]
        g = over.edges.shape[1] - 1
        inside = over.blocks[:, coordinate * g + first : coordinate * g + last].sum(axis=1) > 0
        return _farther(Stretch(_finite(low), _finite(high)), inside, feature, choose)
    best = int(np.abs(strength[1][0, 0]).argmax())
    at = over.centres[best]
    across = over.radii[best] * over.scale
    disc = Disc(
        tuple(float(c) for c in at), tuple(float(c) for c in across), _ends(over, at, across)
    )
    return _farther(disc, over.discs[:, best] > 0, feature, choose)


def _ends(
    over: ScanWindows, centre: Array, radius: Array
) -> tuple[tuple[float | None, float | None], ...]:
    """Where a disc ends along both columns, None where no row lies beyond."""
    low, high = over.range
    return tuple(
        (
            float(at - reach) if at - reach > first else None,
            float(at + reach) if at + reach < last else None,
        )
        for at, reach, first, last in zip(centre, radius, low, high, strict=True)
    )


def _farther(
    region: Region,
    inside: NDArray[np.bool_],
    feature: NDArray[np.float32],
    choose: NDArray[np.bool_],
) -> tuple[Region, NDArray[np.bool_]]:
    """The region, or all outside it where that is farther from 0 by the rows that choose."""
    within, without = feature[inside & choose], feature[~inside & choose]
    if not len(within) or not len(without) or abs(without.mean()) <= abs(within.mean()):
        return region, inside
    if isinstance(region, Stretch) and (region.low is None or region.high is None):
        return Stretch(region.high, region.low), ~inside
    return replace(region, outside_of=True), ~inside


def _only(over: ScanWindows, rows: NDArray[np.bool_]) -> ScanWindows:
    """The same stretches of some of the rows."""
    blocks = over.blocks[rows]
    c, g = len(over.edges), over.edges.shape[1] - 1
    below = np.zeros((c, g + 1))
    below[:, 1:] = blocks.sum(0, dtype=np.float64).reshape(c, g).cumsum(1)
    counts = below[:, over.last] - below[:, over.first]
    return over._replace(blocks=blocks, counts=counts, discs=over.discs[rows])


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
