"""Where a truth lies among its row's draws: normal scores in several coordinates, for many truths.

Everything rests on the pool of a row, its K draws and the truth together. A point of the pool is
ranked among the others, so that under p = q the truth is one of K + 1 exchangeable points and
whatever is computed for it may be computed for any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, chdtri, fdtrc, ndtr, ndtri

from validation_core.diagnosis.injections import DrawPool
from validation_core.diagnosis.questions.base import Json, as_numbers
from validation_core.rng import stream
from validation_core.statistics import wilson
from validation_core.types import Array, PosteriorTable

_ROUNDS, _DEGREES = 4, 4.0  # of Student's t, whose scatter a minority of far draws hardly moves
_MOST = 4.0  # what a score gains at most by how far outside all others its point lies
_UNIT = 0.25  # of a log radius: what counts as one, a factor of 1.28
_HELD = 20.0  # sd at which draws are held fast before they are grouped
_ROWS = 256  # worked on at a time
_MOVES = 8  # of the two means
_START = 0.97  # share of points nearer to the middle one than the second centre's start
_CLEAR = 2.0  # distance of the centres, in sums of both groups' sd along it: two modes
_LEAST = 0.05  # share of points that makes a group of them a mode
_LESS_SKEWED = 0.1  # by so much, of 1, rows are less skewed where a logarithm is taken


class _Scores(NamedTuple):
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
        for start in range(0, n, _ROWS):
            rows = slice(start, start + _ROWS)
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
        for start in range(0, len(self.points), _ROWS):
            yield slice(start, start + _ROWS)

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
        """What counts as one when a point lies outside, below and above: (n, C) each."""
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

    def pooled(self, which: NDArray[np.intp], rng: np.random.Generator) -> _Scores:
        """Scores of points of the pool (T, n), each among the others; 0 is the table's truth."""
        row, last = np.arange(len(self.points)), self.ordered.shape[2] - 1
        at = np.swapaxes(self.coordinates, 1, 2)[row, which]
        rank = np.swapaxes(self.ranks, 1, 2)[row, which]
        highest = np.where(rank == last, self.ordered[..., last - 1], self.ordered[..., last])
        lowest = np.where(rank == 0, self.ordered[..., 1], self.ordered[..., 0])
        placed = _PlacedTruths(at, rank, last, highest, lowest)
        return self._scores(self.points[row, which], placed, rng)

    def moved(self, theta: Array, which: NDArray[np.intp], rng: np.random.Generator) -> _Scores:
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
        origin = np.swapaxes(self.ranks, 1, 2)[np.arange(n), which + 1]
        truth = np.broadcast_to(self.ranks[..., 0], origin.shape)
        rank = (below - (origin < below) - (truth < below)).astype(np.int32)
        high = size - 1 - _outermost_taken(size - 1 - origin, size - 1 - truth)
        highest, lowest = (
            np.take_along_axis(self.ordered[None], place[..., None], axis=3)[..., 0]
            for place in (high, _outermost_taken(origin, truth))
        )
        return self._scores(theta, _PlacedTruths(at, rank, size - 2, highest, lowest), rng)

    def _scores(self, theta: Array, placed: _PlacedTruths, rng: np.random.Generator) -> _Scores:
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
        return _Scores(score[..., :d], score[..., d : 2 * d], radius, minor, theta)


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
class _StandardisedDraws(DrawPool):
    """A pool whose injections are sized by the middle of the rows, so that a few draws far off
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


ROWS, DRAWS, PARAMETERS = 1500, 200, 16
"""What is looked at of a larger table: bounds the time."""
NUMBERS, FEWER = 2_000_000, 40
"""Numbers of q's draws beyond which fewer draws are looked at, and how many then: the table
itself is large, and what is worked out from these draws is 15 times as large as they are."""
_SMALL = 1e-4  # variances are never taken for less
_EDGES = np.array([-1.645, -0.8416, 0.0, 0.8416, 1.645, 2.326])  # 5, 20, 50, 80, 95, 99%
_FAR = (3.5, 5.0, 6.5)  # scores beyond all draws by some units of their spread
_MODES = 0.02  # share of rows with two modes that makes two modes a matter of the table
_LOOKED = 50_000  # draws of q that say how much of it lies beyond the truths
_CROWD = 0.02  # of the true values' range: where they stand close if it ends sharply


@dataclass(frozen=True, eq=False)
class _CauseFeatures:
    """The features of truths in one table: what depends on no truth is worked out once."""

    ranked: RankedRows
    x: Array

    @cached_property
    def directions(self) -> tuple[Array, Array]:
        """Uncorrelated directions of x (n, r) and of the rows' means (n, s)."""
        means = self.ranked.points.mean(1)
        return tuple(DrawPool(self.ranked.points, a).followed for a in (self.x, means))  # type: ignore[return-value]

    @cached_property
    def linear(self) -> Array:
        """Orthonormal columns (n, p): linear functions of x and of the rows' means."""
        return _columns(np.concatenate(self.directions, axis=1))

    @cached_property
    def bent(self) -> Array:
        """Orthonormal columns (n, p): products of the leading directions, beyond `linear`."""
        lead = np.clip(np.concatenate([a[:, :4] for a in self.directions], axis=1), -3, 3)
        i, j = np.triu_indices(lead.shape[1])
        products = lead[:, i] * lead[:, j]
        return _columns(products - self.linear @ (self.linear.T @ products))

    @cached_property
    def beside(self) -> NDArray[np.intp]:
        """The row whose x and mean are nearest: (n,)."""
        from scipy.spatial import cKDTree

        at = np.concatenate(self.directions, axis=1)
        if not at.shape[1]:
            return np.roll(np.arange(len(at)), 1)
        return np.asarray(np.asarray(cKDTree(at).query(at, k=2)[1])[:, 1])

    @cached_property
    def modes(self) -> Array:
        """1 for rows with two modes, where the table has such rows to speak of: (n,)."""
        clear = self.ranked.groups.clear
        return clear * float(clear.mean() > _MODES)

    def of(self, scores: _Scores) -> dict[str, Array]:
        """Each feature of T sets of truths: (T,) by name."""
        left = {}
        features: dict[str, Array] = {}
        for name, score in (("w", scores.marginal), ("v", scores.white)):
            mean = score.mean(1)
            fit = self.linear.T @ score
            left[name] = score - mean[:, None] - self.linear @ fit
            features |= _named(name, self._place(mean, fit, left[name]))
            features |= _named(name, _shape(left[name]))
        features |= self._width(left["w"], left["v"]) | self._correlation(left["w"], left["v"])
        features |= self._radius(scores.radius) | self._modes(scores.minor)
        features |= self._edges(scores.theta)
        for name, score in (("w", scores.marginal), ("v", scores.white)):
            features[f"far_{name}"] = np.sqrt((np.abs(score) > 4.5).mean((1, 2)))
        return features

    def _place(self, mean: Array, fit: Array, left: Array) -> dict[str, Array]:
        """Where scores lie: on average, along linear functions of x, along products."""
        n, var = left.shape[1], np.maximum(left.var(1), _SMALL)
        share = np.square(fit).sum(1) / n
        follow = share / (share + var)
        bent = np.square(self.bent.T @ left).sum(1) / n
        beside = np.square(left - left[:, self.beside]).mean(1) / 2
        return {
            "bias": np.sqrt(np.square(mean).mean(1)),
            "bias_max": np.abs(mean).max(1),
            "follow": follow.mean(1),
            "follow_max": follow.max(1),
            "bent": (bent / var).mean(1),
            "near": np.log(np.maximum(beside, _SMALL)).mean(1),
        }

    def _width(self, w: Array, v: Array) -> dict[str, Array]:
        """How wide scores are: per parameter, along the sample's axes, along each row's own."""
        log_w, log_v = (np.log(np.maximum(a.var(1), _SMALL)) for a in (w, v))
        eigen = np.log(
            np.maximum(np.linalg.eigvalsh(np.swapaxes(v, 1, 2) @ v / v.shape[1]), _SMALL)
        )
        turned = np.swapaxes(v, 0, 1) @ self.ranked.whitening.axes
        frame = np.log(np.maximum(np.square(turned).mean(0), _SMALL))  # (T, D)
        return {
            "width_w": log_w.mean(1),
            "width_w_min": log_w.min(1),
            "width_w_max": log_w.max(1),
            "width_v": log_v.mean(1),
            "eigen_low": eigen[:, 0],
            "eigen_high": eigen[:, -1],
            "eigen_spread": eigen.std(1),
            "narrowest": frame[:, 0],
            "widest": frame[:, -1],
            "frame_low": frame.min(1),
            "frame_high": frame.max(1),
            "frame_spread": frame.std(1),
        }

    def _correlation(self, w: Array, v: Array) -> dict[str, Array]:
        """How far correlations are from those among q's own draws; none for one parameter."""
        i, j = np.triu_indices(w.shape[2], 1)
        if not len(i):
            return {}
        usual = self.usual[i, j]
        off = _correlations(w)[:, i, j] - usual
        return {
            "cor_w": np.sqrt(np.square(off).mean(1)),
            "cor_w_max": np.abs(off).max(1),
            "cor_w_more": (off * np.sign(usual)).mean(1),
            "cor_v": np.sqrt(np.square(_correlations(v)[:, i, j]).mean(1)),
        }

    def _radius(self, r: Array) -> dict[str, Array]:
        """The law of the radius' scores, and whether it depends on x."""
        above = (r[..., None] > _EDGES).mean(1)  # (T, 6)
        off = r - r.mean(1, keepdims=True)
        total = np.maximum(np.square(off).sum(1), 1e-9)
        return {
            "radius": r.mean(1),
            "radius_sd": np.log(np.maximum(r.std(1), 1e-3)),
            **{f"radius_{k}": above[:, k] for k in range(len(_EDGES))},
            "radius_inner": above[:, 0] - above[:, 2],
            **{f"far_{k}": np.sqrt((r > far).mean(1)) for k, far in enumerate(_FAR)},
            "radius_follow": np.square(off @ self.linear).sum(1) / total,
            "radius_bent": np.square(off @ self.bent).sum(1) / total,
        }

    def _modes(self, minor: NDArray[np.bool_]) -> dict[str, Array]:
        """Truths in the smaller of two modes beside the share of q's points there."""
        weight, share = self.modes, self.ranked.groups.share
        if not weight.any():
            return {}
        sd = np.sqrt(max((weight * share * (1 - share)).sum(), 1.0))
        return {
            "minor": ((minor - share) * weight).sum(1) / sd,
            "minor_ratio": (minor * weight).sum(1) / (weight * share).sum(),
        }

    def _edges(self, theta: Array) -> dict[str, Array]:
        """q's mass beyond the truths' range, truths that stand close where it ends, and how far
        they spread beside all points."""
        low, high, points = theta.min(1), theta.max(1), self._looked
        beyond = np.stack(
            [
                points[:, j].searchsorted(low[:, j])
                + len(points)
                - points[:, j].searchsorted(high[:, j], side="right")
                for j in range(theta.shape[2])
            ],
            axis=1,
        ) / len(points)
        spread = np.log(np.maximum(theta.std(1) / np.maximum(points.std(0), 1e-300), _SMALL))
        room = (high - low) * _CROWD
        crowd = np.stack(
            [(theta < (low + room)[:, None]).mean(1), (theta > (high - room)[:, None]).mean(1)]
        )
        return {
            "leak": np.sqrt(beyond.mean(1)),
            "leak_max": np.sqrt(beyond.max(1)),
            "edge": np.sqrt(crowd.mean((0, 2))),
            "edge_max": np.sqrt(crowd.max((0, 2))),
            "spread": spread.mean(1),
            "spread_min": spread.min(1),
        }

    @cached_property
    def _looked(self) -> Array:
        """Points of all rows, each parameter in order: (L, D)."""
        points = self.ranked.points.reshape(-1, self.ranked.points.shape[2])
        return np.sort(points[:: max(1, len(points) // _LOOKED)], axis=0)

    @cached_property
    def usual(self) -> Array:
        """Correlation of the normal scores of a row's points, over all rows: (D, D)."""
        d, size = self.ranked.points.shape[2], self.ranked.ranks.shape[2]
        w = ndtri((self.ranked.ranks[:, :d] + 0.5) / size)  # (n, D, K + 1)
        return np.asarray(np.mean(w @ np.swapaxes(w, 1, 2) / np.square(w).sum(2)[:, :1, None], 0))


def _named(suffix: str, numbers: dict[str, Array]) -> dict[str, Array]:
    return {f"{name}_{suffix}": feature for name, feature in numbers.items()}


def _shape(left: Array) -> dict[str, Array]:
    """Tails, centre and skewness of standardised scores (T, n, D), over parameters."""
    z = left / np.sqrt(np.maximum(left.var(1, keepdims=True), _SMALL))
    square = z * z
    fourth, third = np.log(np.square(square).mean(1) / 3), np.abs((square * z).mean(1))
    return {
        "tails": fourth.mean(1),
        "tails_min": fourth.min(1),
        "tails_max": fourth.max(1),
        "centre": (square < 0.25).mean((1, 2)),
        "skew": np.sqrt(np.square(third).mean(1)),
        "skew_max": third.max(1),
    }


def _correlations(a: Array) -> Array:
    """(T, D, D) of (T, n, D)."""
    cov = np.swapaxes(a, 1, 2) @ a / a.shape[1]
    sd = np.sqrt(np.maximum(np.einsum("tdd->td", cov), _SMALL))
    return cov / (sd[:, :, None] * sd[:, None])


def _columns(a: Array) -> Array:
    """An orthonormal basis (n, p) of centred columns (n, c)."""
    a = a - a.mean(0)
    if not a.size:
        return a
    left, size, _ = np.linalg.svd(a, full_matrices=False)
    return np.asarray(left[:, size > 1e-3 * max(size[0], 1e-12)])


def subsample(
    table: PosteriorTable, seed: int, columns: NDArray[np.intp] | None = None
) -> tuple[PosteriorTable, NDArray[np.intp]]:
    """What is looked at of a table, and the parameters that are; all of it where it is small.

    Args:
        table: the whole.
        seed: fixes which rows are looked at.
        columns: the parameters to look at; all of them, at most as many as can be.
    """
    n, k, d = table.q.shape
    rows = np.sort(stream(seed, "cause", "rows").permutation(n)[:ROWS])
    if columns is None:
        columns = np.linspace(0, d - 1, min(d, PARAMETERS)).astype(int)
    most = DRAWS if len(rows) * len(columns) * min(k, DRAWS) <= NUMBERS else FEWER
    draws = np.linspace(0, k - 1, min(k, most)).astype(int)
    q = table.q[np.ix_(rows, draws, columns)]
    return PosteriorTable(table.theta[rows][:, columns], table.x[rows], q), columns


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table made ready: its points without ties, q's draws among them, its features."""

    ranked: RankedRows
    pool: DrawPool
    features: _CauseFeatures
    seed: int

    @classmethod
    def of(cls, table: PosteriorTable, seed: int) -> PreparedTable:
        """Prepare a table."""
        ranked = RankedRows.of(table, stream(seed, "cause", "ties"))
        pool = _StandardisedDraws(ranked.points[:, 1:], table.x, ranked=ranked)
        return cls(ranked, pool, _CauseFeatures(ranked, table.x), seed)

    @cached_property
    def errors(self) -> Array:
        """(q's mean - theta) / q's sd: (n, D)."""
        return np.asarray((self.pool.mean - self.ranked.points[:, 0]) / self.pool.sd)

    @cached_property
    def ranks(self) -> Array:
        """Randomised ranks of the truth in each coordinate: (n, C)."""
        size = self.ranked.ranks.shape[2]
        noise = stream(self.seed, "cause", "ranks").random(self.ranked.ranks.shape[:2])
        return np.asarray((self.ranked.ranks[..., 0] + noise) / size)

    @property
    def radius(self) -> Array:
        """Ranks of the radius: (n,)."""
        return np.asarray(self.ranks[:, -1])

    @cached_property
    def halves(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """NDArray[np.integer] of the rows that choose and of those that are quoted."""
        order = stream(self.seed, "cause", "halves").permutation(len(self.errors))
        return order[: len(order) // 2], order[len(order) // 2 :]

    @cached_property
    def widths(self) -> Array:
        """ln of q's sd by the spread of its errors: (D,)."""
        return -np.log(np.maximum(self.errors.std(0), 1e-6))


_Places = NDArray[np.integer]

_BOOTSTRAP = 400
_TAIL, _OUTER = 0.05, 0.01
_KINDS = 6  # of departures: each is charged for all
_EDGE = 0.02
_CLEAR_FORECAST = 3.5  # standard errors of a forecast's correlation, of the largest of a few
_Z = 1.959963984540054


@dataclass(frozen=True)
class Finding:
    """One number with its 95% interval that speaks for or against a defect."""

    what: str
    """Its kind, which the text has words for."""
    value: float
    low: float
    high: float
    right: float | None
    """What it would be if q were correct; None where nothing is known of that."""
    at: tuple[int, ...] = ()
    """The parameters that it is of."""
    level: float | None = None
    """Of a central interval."""
    share: float | None = None
    """Of q's outermost draws."""
    room: float | None = None
    """Of the truth's range, at either end."""
    rows: float | None = None
    """Share of the rows that it is of."""

    def to_json(self) -> Json:
        """Its numbers; settings that it has no use for are left out."""
        fields: Json = as_numbers(self)
        settings = ("level", "share", "room", "rows")
        return {n: field for n, field in fields.items() if field is not None or n not in settings}


@dataclass(frozen=True)
class Departure:
    """A finding that is read whatever the cause."""

    finding: Finding
    pvalue: float
    """Adjusted for all that was looked at."""

    def to_json(self) -> Json:
        """Its numbers, flat."""
        return {**self.finding.to_json(), "pvalue": self.pvalue}


def cause_findings(cause: str, table: PreparedTable) -> tuple[Finding, ...]:
    """Two to four findings for a cause."""
    return tuple(_CAUSE_FINDINGS[cause](table))


def find_departures(table: PreparedTable, chosen_of: int | None = None) -> tuple[Departure, ...]:
    """What a table shows whatever its cause: shift, width, tails, dependence, change over x.

    Everything is read off the truth's ranks among its row's draws, which are uniform if q is
    right, whatever shape q has. The least likely by chance comes first.

    Args:
        table: the rows.
        chosen_of: so many parameters, of which those looked at are the clearest: all are
            charged for.
    """
    d = table.errors.shape[1]
    charge = max(1.0, (chosen_of or d) / d)
    adjusted = [
        Departure(worst.finding, min(1.0, worst.pvalue * worst.places * charge**2 * _KINDS))
        if worst.finding.what == "pair"
        else Departure(worst.finding, min(1.0, worst.pvalue * worst.places * charge * _KINDS))
        for worst in _worst(table)
    ]
    return tuple(sorted(adjusted, key=lambda departure: departure.pvalue))


def _share(inside: NDArray[np.bool_]) -> tuple[float, float, float]:
    low, high = wilson(inside.sum(), inside.size)
    return float(inside.mean()), float(low), float(high)


def _sd_ratio(table: PreparedTable, errors: Array) -> tuple[float, float, float]:
    """How many times q is too wide for standardised errors (n,), by bootstrap."""
    n = len(errors)
    rng = stream(table.seed, "cause", "bootstrap")
    again = errors[rng.integers(n, size=(_BOOTSTRAP, n))].std(1)
    low, high = np.quantile(1 / np.maximum(again, 1e-6), [0.025, 0.975])
    return float(1 / max(errors.std(), 1e-6)), float(low), float(high)


def _correlated(a: Array, b: Array) -> tuple[float, float, float]:
    """Correlation of two columns with Fisher's interval; 0 with no interval for a constant."""
    if not (a.std() > 0 and b.std() > 0):
        return 0.0, -1.0, 1.0
    r = float(np.clip(np.corrcoef(a, b)[0, 1], -0.999999, 0.999999))
    reach = _Z / np.sqrt(max(len(a) - 3, 1))
    return r, float(np.tanh(np.arctanh(r) - reach)), float(np.tanh(np.arctanh(r) + reach))


def _follows(table: PreparedTable, score: Array | None = None) -> Finding:
    """How well errors of some rows are forecast from x and q's mean by the others.

    Args:
        table: the rows.
        score: normal scores (n, c) of the ranks to foretell; those in each parameter unless given.
    """
    if score is None:
        u = np.clip(table.ranks[:, : table.errors.shape[1]], 1e-4, 1 - 1e-4)
        score = ndtri(u)
    basis = np.concatenate([table.features.linear, table.features.bent], 1)
    basis = np.concatenate([np.ones((len(basis), 1)), basis * np.sqrt(len(basis))], axis=1)
    fold = stream(table.seed, "cause", "folds").integers(5, size=len(score))
    forecast = np.empty_like(score)
    for k in range(5):
        out = fold == k
        gram = basis[~out].T @ basis[~out] + 1e-2 * len(score) * np.eye(basis.shape[1])
        forecast[out] = basis[out] @ np.linalg.solve(gram, basis[~out].T @ score[~out])
    correlations = [_correlated(forecast[:, j], score[:, j]) for j in range(score.shape[1])]
    j = int(np.argmax([correlation[0] for correlation in correlations]))
    return Finding("follows_x", *correlations[j], 0.0, (j,))


def _bias(table: PreparedTable) -> list[Finding]:
    mean, se = table.errors.mean(0), table.errors.std(0) / np.sqrt(len(table.errors))
    j = int(np.argmax(np.abs(mean) / np.maximum(se, 1e-12)))
    numbers = (float(mean[j]), float(mean[j] - _Z * se[j]), float(mean[j] + _Z * se[j]))
    follows = _follows(table)
    sure = np.arctanh(follows.value) * np.sqrt(len(table.errors)) > _CLEAR_FORECAST
    return [Finding("bias", *numbers, 0.0, (j,)), *((follows,) if sure else ())]


def _width(table: PreparedTable, way: int) -> list[Finding]:
    j = int(np.argmax(way * table.widths))
    u = table.ranks[:, j]
    inside = np.abs(u - 0.5) < 0.4
    return [
        Finding("width", *_sd_ratio(table, table.errors[:, j]), 1.0, (j,)),
        Finding("covered", *_share(inside), 0.8, (j,), level=0.8),
        Finding("inner_half", *_share(table.radius < 0.5), 0.5),
    ]


def _correlation(table: PreparedTable) -> list[Finding]:
    choose, quote = table.halves
    d = table.errors.shape[1]
    if d < 2:
        return []
    i, j = np.triu_indices(d, 1)
    r = table.pool.chol @ np.swapaxes(table.pool.chol, 1, 2)
    own = np.asarray(r.mean(0))[i, j]
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.asarray(np.nan_to_num(np.corrcoef(table.errors[choose].T)))[i, j] - own
    k = int(np.argmax(np.abs(off)))
    pair = (int(i[k]), int(j[k]))
    correlation = _correlated(*(table.errors[quote][:, parameter] for parameter in pair))
    white = table.pool.white(table.ranked.points[None, :, 0])[0]
    values, vectors = np.linalg.eigh(np.cov(np.clip(white[choose], -10, 10).T))
    worst = vectors[:, int(np.argmax(np.abs(np.log(np.maximum(values, 1e-6)))))]
    return [
        Finding("pair", *correlation, float(own[k]), pair),
        Finding("along", *_sd_ratio(table, white[quote] @ worst), 1.0),
    ]


OUTER = 0.93
"""Share of true values whose reach, beside that of half of them, says how heavy tails are."""
_RESAMPLED = 100


def reach_beside(table: PreparedTable) -> tuple[Array, Array]:
    """How much farther true values reach than q's draws beside half of each, in logarithms, and
    its standard error by bootstrap: of each parameter and on average, (D + 1,) each.

    No width decides it. What linear functions of x foretell is taken out.
    """
    middle, scale = table.ranked.scale
    off = (table.ranked.points - middle) / scale
    basis, truth = table.features.linear, off[:, 0] - np.median(off[:, 0], axis=0)
    truth = np.abs(truth - basis @ (basis.T @ np.clip(truth, -4, 4)))
    theirs = _reach(np.abs(off[:, 1:].reshape(-1, off.shape[2])))
    n, rng = len(truth), stream(table.seed, "cause", "tails")
    again = np.stack([_reach(truth[rng.integers(n, size=n)]) for _ in range(_RESAMPLED)])
    return _reach(truth) - theirs, np.maximum(again.std(0), 1e-12)


def _reach(off: Array) -> Array:
    """Log ratio of two quantiles of distances (n, D), and its mean over parameters: (D + 1,)."""
    middle, end = np.maximum(np.quantile(off, [0.5, OUTER], axis=0), 1e-6)
    ratio = np.log(end / middle)
    return np.append(ratio, ratio.mean())


def reaching(table: PreparedTable) -> Finding:
    """The parameter whose tails are clearest off."""
    apart, error = (a[:-1] for a in reach_beside(table))
    j = int(np.argmax(np.abs(apart) / error))
    value, low, high = np.exp(apart[j] + np.array([0.0, -_Z, _Z]) * error[j]).tolist()
    return Finding("reach", value, low, high, 1.0, (j,))


def _tails(table: PreparedTable) -> list[Finding]:
    u = table.radius
    return [
        reaching(table),
        Finding("tail", *_share(u > 1 - _TAIL), _TAIL, share=_TAIL),
        Finding("tail", *_share(u > 1 - _OUTER), _OUTER, share=_OUTER),
        Finding("inner_half", *_share(u < 0.5), 0.5),
    ]


def _standardised_scores(table: PreparedTable) -> Array:
    """Normal scores (n, D) of the truth's ranks without what x foretells, of variance 1."""
    score = ndtri(np.clip(table.ranks[:, : table.errors.shape[1]], 1e-9, 1 - 1e-9))
    score = score - score.mean(0)
    score = score - table.features.linear @ (table.features.linear.T @ score)
    return np.asarray(score / np.maximum(score.std(0), 1e-6))


def _moment(table: PreparedTable, power: int, right: float) -> tuple[int, float, float, float]:
    """The parameter whose moment of standardised scores is farthest off, and it, by bootstrap."""
    moments = _standardised_scores(table) ** power
    j = int(np.argmax(np.abs(moments.mean(0) - right) / np.maximum(moments.std(0), 1e-12)))
    n = len(moments)
    rng = stream(table.seed, "cause", "moments", power)
    again = moments[rng.integers(n, size=(_BOOTSTRAP, n)), j].mean(1)
    low, high = np.quantile(again, [0.025, 0.975])
    return j, float(moments[:, j].mean()), float(low), float(high)


def _skew(table: PreparedTable) -> list[Finding]:
    j, value, low, high = _moment(table, 3, 0.0)
    below = table.ranks[:, j] < 0.5
    return [
        Finding("skew", value, low, high, 0.0, (j,)),
        Finding("below", *_share(below), 0.5, (j,)),
    ]


def _spread(table: PreparedTable) -> list[Finding]:
    theta, q = table.ranked.points[:, 0], table.pool.q
    ratio = theta.std(0) / np.maximum(q.reshape(-1, q.shape[2]).std(0), 1e-300)
    j = int(np.argmin(ratio))
    rng, n = stream(table.seed, "cause", "spread"), len(theta)
    rows = rng.integers(n, size=(200, n))
    own, square = q[..., j].mean(1), np.square(q[..., j]).mean(1)
    wide = np.sqrt(np.maximum(square[rows].mean(1) - np.square(own[rows].mean(1)), 1e-300))
    low, high = np.quantile(theta[rows, j].std(1) / wide, [0.025, 0.975])
    return [Finding("spread", float(ratio[j]), float(low), float(high), 1.0, (j,))]


def _missing(table: PreparedTable) -> list[Finding]:
    size = table.ranked.ranks.shape[2]
    beyond = table.ranked.ranks[:, -1, 0] == size - 1
    pieces = [Finding("beyond_all", *_share(beyond), 1 / size)]
    if beyond.sum() >= 5:
        edge = np.quantile(table.ranked.coordinates[:, -1, 1:], 0.95, axis=1)
        times = np.sort(np.exp(np.minimum(table.ranked.coordinates[:, -1, 0] - edge, 20))[beyond])
        m, reach = len(times), _Z * np.sqrt(len(times)) / 2
        ends = (max(int(m / 2 - reach), 0), min(int(np.ceil(m / 2 + reach)), m - 1))
        median = (float(np.median(times)), float(times[ends[0]]), float(times[ends[1]]))
        pieces.append(Finding("how_far", *median, None))
    if not beyond.all():
        pieces.append(Finding("inner_half", *_share(table.radius[~beyond] < 0.5), 0.5))
    return pieces


def _spurious(table: PreparedTable) -> list[Finding]:
    groups = table.ranked.groups
    rows = groups.clear
    pieces = []
    if rows.mean() > 0.02:
        minor = table.ranked.minor(table.ranked.points[None, :, 0])[0]
        pieces.append(
            Finding(
                "minor",
                *_share(minor[rows]),
                float(groups.share[rows].mean()),
                rows=float(rows.mean()),
            )
        )
    choose, quote = table.halves
    truth = np.clip(table.pool.white(table.ranked.points[None, :, 0])[0], -10, 10)
    way = -truth[choose].mean(0)
    way = way / max(float(np.linalg.norm(way)), 1e-12)
    at = np.einsum("nkd,d->nk", _white_rows(table, quote), way)
    beyond = truth[quote] @ way > np.quantile(at, 0.9, axis=1)
    pieces.append(Finding("outer_tenth", *_share(beyond), 0.1))
    pieces.append(Finding("inner_half", *_share(table.radius < 0.5), 0.5))
    # A gap that q fills leaves more truths elsewhere: what lies above speaks for something else.
    own = [piece for piece in pieces if piece.right is None or piece.value <= piece.right]
    return own or pieces


def _white_rows(table: PreparedTable, rows: _Places) -> Array:
    u = (table.pool.q[rows] - table.pool.mean[rows, None]) / table.pool.sd[rows, None]
    return np.asarray(u @ np.swapaxes(table.pool.inverse[rows], 1, 2))


def _blind(table: PreparedTable) -> list[Finding]:
    n = len(table.errors)
    rng = stream(table.seed, "cause", "contraction")
    k = table.pool.q.shape[1]
    within, mean = np.square(table.pool.sd), table.pool.mean

    def contraction(rows: _Places) -> Array:
        inner = np.median(within[rows], axis=0)
        outer = np.maximum(mean[rows].var(0) - within[rows].mean(0) / k, 0)
        return np.asarray(outer / np.maximum(outer + inner, 1e-300))

    own = contraction(np.arange(n))
    j = int(np.argmin(own))
    again = [contraction(rng.integers(n, size=n))[j] for _ in range(100)]
    low, high = np.quantile(again, [0.025, 0.975])
    agrees = _correlated(table.ranked.points[:, 0, j], mean[:, j])
    return [
        Finding("contraction", float(own[j]), float(low), float(high), None, (j,)),
        Finding("agrees", *agrees, float(np.sqrt(own[j])), (j,)),
        _follows(table),
    ]


def _leak(table: PreparedTable) -> list[Finding]:
    theta, q = table.ranked.points[:, 0], table.pool.q
    outside = ((q < theta.min(0)) | (q > theta.max(0))).mean((0, 1))
    return list(leaking(table, int(np.argmax(outside))))


def leaking(table: PreparedTable, j: int) -> tuple[Finding, ...]:
    """Draws of a parameter beyond the range of its true values, which may crowd at its ends."""
    theta, q = table.ranked.points[:, 0, j], table.pool.q[..., j]
    low, high = theta.min(), theta.max()
    outside = ((q < low) | (q > high)).mean(1)
    n = len(outside)
    again = outside[stream(table.seed, "cause", "leak").integers(n, size=(_BOOTSTRAP, n))].mean(1)
    ends = np.quantile(again, [0.025, 0.975])
    room = _EDGE * (high - low)
    crowd = (theta < low + room) | (theta > high - room)
    numbers = (float(outside.mean()), float(ends[0]), float(ends[1]))
    return (
        Finding("leak", *numbers, 2 / (n + 1), (j,)),
        Finding("edge", *_share(crowd), None, (j,), room=_EDGE),
    )


def in_minor(j: int, rows: float, there: NDArray[np.bool_], share: float) -> Finding:
    """True values in the smaller of two modes that q has in a parameter, at a share of rows."""
    return Finding("minor", *_share(there), share, (j,), rows=rows)


_CAUSE_FINDINGS: Mapping[str, Callable[[PreparedTable], list[Finding]]] = {
    "bias": _bias,
    "too_wide": lambda table: _width(table, 1),
    "too_narrow": lambda table: _width(table, -1),
    "wrong_correlation": _correlation,
    "heavy_tails": _tails,
    "light_tails": _tails,
    "missing_mode": _missing,
    "spurious_mode": _spurious,
    "wrong_skew": _skew,
    "proposal": _spread,
    "ignores_x": _blind,
    "support_leak": _leak,
}


class _Worst(NamedTuple):
    """One kind at its worst place: a finding, its p-value there, places looked at."""

    finding: Finding
    pvalue: float
    places: int = 1


def _worst(table: PreparedTable) -> Iterator[_Worst]:
    d = table.errors.shape[1]
    scores = ndtri(np.clip(table.ranks, 1e-9, 1 - 1e-9))  # (n, C), normal if q is right
    yield _shift_departure(scores[:, :d])
    yield _width_departure(scores[:, :d])
    yield _tails_departure(table)
    if d > 1:
        yield _pair_departure(table, scores[:, :d])
    yield _over_x_departure(table, scores[:, :d])
    spread = _over_x_departure(table, scores[:, -1:])
    yield spread._replace(finding=replace(spread.finding, what="spread_x", at=()))


def _two_sided(z: float) -> float:
    return 2 * float(ndtr(-abs(z)))


def _shift_departure(score: Array) -> _Worst:
    """q's centre against the truth's, in posterior sd of a normal q."""
    mean = -score.mean(0)
    # What varies more than it should is no shift: the larger error counts.
    error = np.maximum(score.std(0), 1.0) / np.sqrt(len(score))
    j = int(np.abs(mean / error).argmax())
    numbers = (float(mean[j]), float(mean[j] - _Z * error[j]), float(mean[j] + _Z * error[j]))
    finding = Finding("bias", *numbers, 0.0, (j,))
    return _Worst(finding, _two_sided(float(mean[j] / error[j])), score.shape[1])


def _width_departure(score: Array) -> _Worst:
    """q's width by the one it needs: 1 over the sd of the scores."""
    n, square = len(score), np.square(score - score.mean(0))
    var = np.maximum(square.mean(0), 1e-6)
    z = np.log(var) * np.sqrt(n / 2)
    j = int(np.abs(z).argmax())
    reach = _Z * float(square[:, j].std()) / np.sqrt(n) / float(var[j]) / 2  # of the log sd
    value = float(var[j]) ** -0.5
    numbers = (value, value * float(np.exp(-reach)), value * float(np.exp(reach)))
    finding = Finding("width", *numbers, 1.0, (j,))
    return _Worst(finding, _two_sided(float(z[j])), score.shape[1])


def _tails_departure(table: PreparedTable) -> _Worst:
    """Truths among the outermost draws, or in the inner half of them: the least likely count."""
    candidates = [
        (
            Finding("tail", *_share(table.radius > 1 - part), part, share=part),
            binomial_pvalue(table.radius > 1 - part, part),
        )
        for part in (_TAIL, _OUTER)
    ]
    inner = table.radius < 0.5
    candidates.append((Finding("inner_half", *_share(inner), 0.5), binomial_pvalue(inner, 0.5)))
    finding, pvalue = min(candidates, key=lambda pair: pair[1])
    return _Worst(finding, pvalue, len(candidates))


def binomial_pvalue(inside: NDArray[np.bool_], chance: float) -> float:
    """Two-sided binomial p-value."""
    n, count = len(inside), int(inside.sum())
    above = float(bdtrc(count - 1, n, chance)) if count else 1.0
    return min(1.0, 2 * min(float(bdtr(count, n, chance)), above))


def _pair_departure(table: PreparedTable, score: Array) -> _Worst:
    """The pair of parameters whose errors are least as q's own draws correlate them."""
    i, j = np.triu_indices(score.shape[1], 1)
    own = np.clip(table.features.usual[i, j], -0.999, 0.999)
    r = np.clip(np.asarray(np.corrcoef(score.T))[i, j], -0.999999, 0.999999)
    apart = np.arctanh(r) - np.arctanh(own)
    worst = int(np.abs(apart).argmax())
    pair = (int(i[worst]), int(j[worst]))
    numbers = _correlated(score[:, pair[0]], score[:, pair[1]])
    finding = Finding("pair", *numbers, float(own[worst]), pair)
    z = float(apart[worst]) * np.sqrt(max(len(score) - 3, 1))
    return _Worst(finding, _two_sided(z), len(i))


def _over_x_departure(table: PreparedTable, score: Array) -> _Worst:
    """What x and q's mean say of scores (n, c), by the F test of all their functions at once.

    The scores are normal and independent of x if q is right, so that F holds at any size; the
    number quoted is the correlation on rows not learnt from.
    """
    finding = _follows(table, score)
    basis = np.concatenate([table.features.linear, table.features.bent], axis=1)
    n, p = basis.shape
    rest = n - p - 1
    if p == 0 or rest < 1:
        return _Worst(finding, 1.0)
    off = score - score.mean(0)
    explained, total = np.square(basis.T @ off).sum(0), np.square(off).sum(0)
    ratio = explained / p / np.maximum(total - explained, 1e-300) * rest
    return _Worst(finding, float(fdtrc(p, rest, ratio).min()), score.shape[1])
