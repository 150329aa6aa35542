"""Ranks of true values among their row's draws, as normal scores in several coordinates.

Everything rests on the pool of a row, its K draws and the truth together. A point of the pool is
ranked among the others, so that under p = q the truth is one of K + 1 exchangeable points and
whatever is computed for it may be computed for any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtri

from validation_core.diagnosis.injections.draw_pool import DrawPool
from validation_core.pieces import slices
from validation_core.types import Array, PosteriorTable

_ROUNDS, _DEGREES = 4, 4.0  # of Student's t, whose scatter a minority of far draws hardly moves
_MOST = 4.0  # what a score gains at most by how far outside all others its point lies
_UNIT = 0.25  # of a log radius: what counts as one, a factor of 1.28
_HELD = 20.0  # sd at which draws are held fast before they are grouped
_ROWS = 256  # worked on at a time
_AT_ONCE = 1 << 18  # numbers of truths that are ranked at a time
_MOVES = 8  # of the two means
_START = 0.97  # share of points nearer to the middle one than the second centre's start
_CLEAR = 2.0  # distance of the centres, in sums of both groups' sd along it: two modes
_LEAST = 0.05  # share of points that makes a group of them a mode
_LESS_SKEWED = 0.1  # by so much, of 1, rows are less skewed where a logarithm is taken


class PointScores(NamedTuple):
    """Normal scores of T truths of n rows."""

    marginal: Array
    """In each parameter: (T, n, D)."""
    white: Array
    """In the row's whitened coordinates: (T, n, D)."""
    radius: Array
    """Of the distance from the row's centre in them: (T, n)."""
    minor: NDArray[np.bool_]
    """Whether it lies in the smaller of two groups of draws: (T, n)."""
    theta: Array
    """The truths themselves: (T, n, D)."""

    @classmethod
    def joined(cls, blocks: Iterable[PointScores]) -> PointScores:
        """Those of all truths, from blocks of them."""
        return cls(*(np.concatenate(part) for part in zip(*blocks, strict=True)))


class _RowWhitening(NamedTuple):
    """Centre and scatter of rows, as their middle has them: far draws hardly count."""

    centre: Array
    """(n, 1, D)."""
    scatter: Array
    """(n, D, D), the covariance of a normal row."""
    root: Array
    """Symmetric root of its inverse: (n, D, D)."""
    axes: Array
    """Its axes as columns, from the narrowest to the widest: (n, D, D)."""


class _PlacedTruths(NamedTuple):
    """Coordinates (T, n, C) of truths, how many of `others` lie below, and their extremes."""

    at: Array
    rank: NDArray[np.int32]
    others: int
    highest: Array
    lowest: Array


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows of a table made ready to rank truths in them."""

    points: Array
    """The truth, then the draws, without ties: (n, K + 1, D)."""
    logs: tuple[int, ...] = ()
    """Parameters that are looked at in their logarithm."""

    @classmethod
    def of(cls, table: PosteriorTable, rng: np.random.Generator) -> RankedRows:
        """Ready rows of a table; tied values are parted by noise below their smallest gap.

        Positive parameters that are less skewed in their logarithm are taken in it: on a linear
        scale a posterior over decades looks like a mode with a long tail. All points of a row
        choose alike, so that the truth stays one of K + 1 exchangeable ones.
        """
        points = np.concatenate([table.theta[:, None], table.q], axis=1).astype(np.float64)
        for j in range(points.shape[2]):
            values = np.unique(points[..., j])
            if len(values) == 1:
                points[..., j] = rng.standard_normal(points.shape[:2])
            elif len(values) < 0.999 * points[..., j].size:
                points[..., j] += np.diff(values).min() * (rng.random(points.shape[:2]) - 0.5)
        logs = [j for j in range(points.shape[2]) if _over_decades(points[..., j])]
        points[..., logs] = np.log(points[..., logs])
        return cls(points, tuple(logs))

    @cached_property
    def scale(self) -> tuple[Array, Array]:
        """Median and robust sd of each row and parameter: (n, 1, D) each."""
        low, middle, high = np.quantile(self.points, [0.16, 0.5, 0.84], axis=1)[:, :, None]
        robust, sd = (high - low) / 2, self.points.std(1, keepdims=True)
        return middle, np.where(robust > 0, robust, np.where(sd > 0, sd, 1.0))

    @cached_property
    def whitening(self) -> _RowWhitening:
        """Of the rows' standardised coordinates."""
        n, _, d = self.points.shape
        whitening = _RowWhitening(np.empty((n, 1, d)), *np.empty((3, n, d, d)))
        for rows in slices(n, _ROWS):
            whitening.centre[rows], whitening.scatter[rows] = _scatter(
                (self.points[rows] - self.scale[0][rows]) / self.scale[1][rows]
            )
            values, axes = np.linalg.eigh(whitening.scatter[rows])
            whitening.axes[rows] = axes
            whitening.root[rows] = axes / np.sqrt(values)[:, None] @ np.swapaxes(axes, 1, 2)
        return whitening

    def coordinates_of(self, points: Array, rows: slice = slice(None)) -> Array:
        """Parameters, whitened coordinates and log radius: (n, t, 2 D + 1) of (n, t, D)."""
        centre, root = self.whitening.centre[rows], self.whitening.root[rows]
        white = ((points - self.scale[0][rows]) / self.scale[1][rows] - centre) @ root
        radius = np.log(np.maximum(np.linalg.norm(white, axis=2, keepdims=True), 1e-12))
        return np.concatenate([points, white, radius], axis=2)

    @cached_property
    def coordinates(self) -> Array:
        """Of the pool: (n, C, K + 1)."""
        n, size, d = self.points.shape
        coordinates = np.empty((n, 2 * d + 1, size))
        for rows in self._blocks():
            coordinates[rows] = np.swapaxes(self.coordinates_of(self.points[rows], rows), 1, 2)
        return coordinates

    def _blocks(self) -> Iterator[slice]:
        return slices(len(self.points), _ROWS)

    @cached_property
    def ordered(self) -> Array:
        """The pool's coordinates in order: (n, C, K + 1)."""
        return np.sort(self.coordinates, axis=2)

    @cached_property
    def ranks(self) -> NDArray[np.int32]:
        """How many of the pool lie below each of its points: (n, C, K + 1)."""
        ranks = np.empty(self.coordinates.shape, np.int32)
        for rows in self._blocks():
            order = self.coordinates[rows].argsort(axis=2)
            places = np.broadcast_to(np.arange(order.shape[2], dtype=np.int32), order.shape)
            np.put_along_axis(ranks[rows], order, places, axis=2)
        return ranks

    @cached_property
    def units(self) -> tuple[Array, Array]:
        """The unit in which a point lies outside, below and above: (n, C) each."""
        low, middle, high = np.quantile(self.ordered, [0.05, 0.5, 0.95], axis=2)
        below, above = (np.maximum(a, 1e-9) / 1.645 for a in (middle - low, high - middle))
        below[:, -1] = above[:, -1] = _UNIT
        return below, above

    @cached_property
    def groups(self) -> _Groups:
        """Two groups of each row's points in whitened coordinates."""
        d = self.points.shape[2]
        blocks = [
            two_groups(
                np.clip(np.swapaxes(self.coordinates[rows, d : 2 * d], 1, 2), -_HELD, _HELD)
            )
            for rows in self._blocks()
        ]
        return _Groups(*(np.concatenate(part) for part in zip(*blocks, strict=True)))

    def minor(self, theta: Array) -> NDArray[np.bool_]:
        """Whether truths (T, n, D) lie in the smaller group of their row: (T, n)."""
        d = theta.shape[2]
        white = self.coordinates_of(np.swapaxes(theta, 0, 1))[..., d : 2 * d]
        return _second(np.clip(white, -_HELD, _HELD), self.groups.centres).T

    def pooled(self, which: NDArray[np.intp], rng: np.random.Generator) -> PointScores:
        """Scores of points of the pool (T, n), each among the others; 0 is the table's truth."""
        row, last = np.arange(len(self.points)), self.ordered.shape[2] - 1

        def block(which: NDArray[np.intp]) -> PointScores:
            at = np.swapaxes(self.coordinates, 1, 2)[row, which]
            rank = np.swapaxes(self.ranks, 1, 2)[row, which]
            highest = np.where(rank == last, self.ordered[..., last - 1], self.ordered[..., last])
            lowest = np.where(rank == 0, self.ordered[..., 1], self.ordered[..., 0])
            placed = _PlacedTruths(at, rank, last, highest, lowest)
            return self._scores(self.points[row, which], placed, rng)

        return PointScores.joined(block(which[part]) for part in self._truths(len(which)))

    def moved(
        self, theta: Array, which: NDArray[np.intp], rng: np.random.Generator
    ) -> PointScores:
        """Scores of truths theta (T, n, D) that stem from q's draws `which` (T, n).

        They are ranked among the other draws: neither the draw that they stem from nor the
        table's own truth counts.
        """
        at = np.swapaxes(self.coordinates_of(np.swapaxes(theta, 0, 1)), 0, 1)  # (T, n, C)
        n, c, size = self.ordered.shape
        below = np.empty(at.shape, np.int32)
        for i in range(n):
            for j in range(c):
                below[:, i, j] = self.ordered[i, j].searchsorted(at[:, i, j])

        def block(part: slice) -> PointScores:
            origin = np.swapaxes(self.ranks, 1, 2)[np.arange(n), which[part] + 1]
            truth = np.broadcast_to(self.ranks[..., 0], origin.shape)
            rank = (below[part] - (origin < below[part]) - (truth < below[part])).astype(np.int32)
            high = size - 1 - _outermost_taken(size - 1 - origin, size - 1 - truth)
            highest, lowest = (
                np.take_along_axis(self.ordered[None], place[..., None], axis=3)[..., 0]
                for place in (high, _outermost_taken(origin, truth))
            )
            placed = _PlacedTruths(at[part], rank, size - 2, highest, lowest)
            return self._scores(theta[part], placed, rng)

        return PointScores.joined(block(part) for part in self._truths(len(which)))

    def _truths(self, count: int) -> Iterator[slice]:
        """So many of `count` truths of all rows at a time as are ranked in little memory."""
        n, c, _ = self.ordered.shape
        return slices(count, max(1, _AT_ONCE // (n * c)))

    def _scores(
        self, theta: Array, placed: _PlacedTruths, rng: np.random.Generator
    ) -> PointScores:
        at, rank, others, highest, lowest = placed
        score = ndtri((rank + rng.random(rank.shape)) / (others + 1))
        below, above = self.units
        over, under = (np.nonzero(rank == end) for end in (others, 0))
        high = _outside(at[over] - highest[over], above[over[1:]])
        low = _outside(lowest[under] - at[under], below[under[1:]])
        score[over] = np.maximum(score[over], 0) + high
        score[under] = np.minimum(score[under], 0) - low
        d = theta.shape[2]
        radius = np.maximum(score[..., -1], -_MOST)  # at the very centre nothing is far
        white = np.clip(np.swapaxes(at[..., d : 2 * d], 0, 1), -_HELD, _HELD)
        minor = _second(white, self.groups.centres).T
        return PointScores(score[..., :d], score[..., d : 2 * d], radius, minor, theta)


def _over_decades(points: Array) -> bool:
    """Whether rows (n, K + 1) of positive points are clearly less skewed in their logarithm."""
    if not points.min() > 0:
        return False
    linear, log = (abs(_skewed(a)) for a in (points, np.log(points)))
    return log < linear - _LESS_SKEWED


def _skewed(points: Array) -> float:
    """Bowley's skewness of rows (n, K + 1) from their tenths, on average: -1 to 1."""
    low, middle, high = np.quantile(points, [0.1, 0.5, 0.9], axis=1)
    width = np.where(high > low, high - low, 1.0)
    return float(((high + low - 2 * middle) / width).mean())


def _scatter(u: Array) -> tuple[Array, Array]:
    """Centre (n, 1, D) and scatter (n, D, D) of Student's t by reweighting: u (n, K, D)."""
    n, k, d = u.shape
    centre, scatter = np.zeros((n, 1, d)), np.broadcast_to(np.eye(d), (n, d, d))
    shrink = min(0.5, (d / k) ** 2) + 1e-6
    for _ in range(_ROUNDS):
        off = u - centre
        weight = (_DEGREES + d) / (
            _DEGREES + (off @ np.linalg.inv(scatter) * off).sum(2, keepdims=True)
        )
        centre = (weight * u).sum(1, keepdims=True) / weight.sum(1, keepdims=True)
        off = u - centre
        scatter = np.swapaxes(off * weight, 1, 2) @ off / k
        typical = np.trace(scatter, axis1=1, axis2=2)[:, None, None] / d
        scatter = (1 - shrink) * scatter + shrink * typical * np.eye(d)
    far = np.median((off @ np.linalg.inv(scatter) * off).sum(2), axis=1)  # of a normal: chi2's
    return centre, scatter * (np.maximum(far, 1e-12) / chdtri(d, 0.5))[:, None, None]


def _outside(by: Array, unit: Array) -> Array:
    return np.minimum(np.maximum(by, 0) / unit, _MOST)


def _outermost_taken(first: NDArray[np.integer], then: NDArray[np.integer]) -> NDArray[np.intp]:
    """How many of the outermost places, counted from 0, two points take together: 0, 1 or 2."""
    outermost = (first == 0) | (then == 0)
    both = outermost & ((first == 1) | (then == 1))
    return outermost.astype(np.intp) + both


@dataclass(frozen=True, eq=False)
class StandardisedDraws(DrawPool):
    """Draws with their robust centre and scale, by which injections are sized: a few draws far off
    do not make a shift of a tenth of an sd one of many widths.
    """

    ranked: RankedRows = field(kw_only=True)

    @cached_property
    def mean(self) -> Array:
        """(n, D)."""
        middle, scale = self.ranked.scale
        return np.asarray((middle + scale * self.ranked.whitening.centre)[:, 0])

    @cached_property
    def sd(self) -> Array:
        """(n, D)."""
        spread = np.sqrt(np.einsum("ndd->nd", self.ranked.whitening.scatter))
        return np.asarray(self.ranked.scale[1][:, 0] * spread)

    @cached_property
    def chol(self) -> Array:
        """Lower factor of each row's correlation matrix: (n, D, D)."""
        scatter = self.ranked.whitening.scatter
        spread = np.sqrt(np.einsum("ndd->nd", scatter))
        return np.linalg.cholesky(scatter / (spread[:, :, None] * spread[:, None]))


class _Groups(NamedTuple):
    """Of n rows; the smaller group comes second."""

    centres: Array
    """(n, 2, D)."""
    apart: Array
    """Distance of the centres by the groups' sd along it: (n,)."""
    share: Array
    """Of the smaller: (n,)."""

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Rows with two modes: (n,)."""
        return (self.apart > _CLEAR) & (self.share >= _LEAST)


def two_groups(points: Array) -> _Groups:
    """Two means of each row's points (n, K, D), from the most central one and one far from it."""
    n, k, _ = points.shape
    row = np.arange(n)
    near = points[row, np.square(points).sum(2).argmin(1)]
    order = np.square(points - near[:, None]).sum(2).argsort(1)
    centres = np.stack([near, points[row, order[:, int(_START * (k - 1))]]], axis=1)
    for _ in range(_MOVES):
        far = _second(points, centres)
        for g, mask in enumerate((~far, far)):
            mean = (points * mask[..., None]).sum(1) / np.maximum(mask.sum(1), 1)[:, None]
            centres[:, g] = np.where(np.any(mask, axis=1, keepdims=True), mean, centres[:, g])
    larger = np.asarray(_second(points, centres).mean(1) > 0.5)
    centres[larger] = centres[larger][:, ::-1]
    far = _second(points, centres)
    line = centres[:, 1] - centres[:, 0]
    length = np.maximum(np.linalg.norm(line, axis=1), 1e-12)
    along = np.einsum("nkd,nd->nk", points, line / length[:, None])
    apart = length / np.maximum(_sd(along, ~far) + _sd(along, far), 1e-6)
    return _Groups(centres, apart, far.mean(1))


def _second(points: Array, centres: Array) -> NDArray[np.bool_]:
    """Whether points (n, k, D) are nearer to their row's second centre (n, 2, D): (n, k)."""
    to_first, to_second = (np.square(points - centres[:, None, g]).sum(2) for g in (0, 1))
    return np.asarray(to_second < to_first)


def _sd(values: Array, mask: NDArray[np.bool_]) -> Array:
    """Of the marked values of each row: (n,) of (n, k)."""
    count = np.maximum(mask.sum(1), 1)
    mean = (values * mask).sum(1) / count
    return np.sqrt((np.square(values - mean[:, None]) * mask).sum(1) / count)
