"""Regions of theta: how often the truth lies there beside q's draws, and maps of their ratio.

Shares have exact intervals; maps average the learned ratio of p to q over q's draws in strips and
cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from validation_core.statistics import PooledLaw
from validation_core.types import Array

_DECILES = 10
STRIPS = (-1.5, -0.5, 0.5, 1.5)
"""Edges of the strips of a parameter, in q's sds around its mean."""
FACTOR = 2.0
"""A truth so many times as frequent, or as rare, is told of."""
_CELLS = 20  # a side of a map
FEWEST = 10
"""Draws of q below which a cell of a map is blank."""
_REACH = 3.0  # sds around q's mean
_TAIL = 0.005
_STRIPS = 8
_AT_ONCE = 64  # parameters
_CLIP = 5.0  # one draw far out shall not stand for its cell


@dataclass(frozen=True)
class Share:
    """The truth's share of a region against q's, with an exact interval."""

    count: int
    """Truths in the region."""
    n: int
    """Truths in all."""
    q: float
    truth: float
    low: float
    high: float
    ratio: float | None
    """How many times as frequent the truth is; None where q has no draw."""
    ratio_low: float | None
    ratio_high: float | None

    @classmethod
    def of(cls, count: int, n: int, k: int, q_share: float, tests: int) -> Share:
        """With an interval that holds for all `tests`.

        q's share is itself an average over k draws a row: as if of n k / (k + 1) rows rather
        than n.

        Args:
            count: truths in the region.
            n: truths in all.
            k: draws of q at each.
            q_share: share of q's draws there.
            tests: regions that share the 5%.
        """
        worth = k / (k + 1)
        low, high = clopper(count * worth, n * worth, 1 - 0.05 / tests)
        shares = (count / n, low, high)
        ratios = [share / q_share if q_share > 0 else None for share in shares]
        return cls(int(count), int(n), float(q_share), *shares, *ratios)

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out q's share."""
        return not self.low <= self.q <= self.high

    @property
    def apart(self) -> float:
        """How far q's share lies outside the interval; below 0 inside."""
        return max(self.low - self.q, self.q - self.high)


@dataclass(frozen=True)
class Tenth:
    """A tenth of q's draws by learned ratio."""

    share: Share
    claimed: float
    """How many times as frequent the truth is there, as the score claims."""


@dataclass(frozen=True)
class Strip:
    """A strip of one parameter."""

    parameter: int
    strip: int
    """Which, from 0, between the edges STRIPS."""
    share: Share


def clopper(count: float, n: float, level: float) -> tuple[float, float]:
    """Clopper and Pearson's exact interval of a rate from `count` in `n`."""
    outside = (1 - level) / 2
    low = float(betaincinv(count, n - count + 1, outside)) if count > 0 else 0.0
    return low, float(betaincinv(count + 1, n - count, 1 - outside)) if count < n else 1.0


def deciles(truth: Array, draws: Array, k: int, rng: np.random.Generator) -> tuple[Tenth, ...]:
    """The truth's share in each tenth of q's draws by score, lowest first.

    Args:
        truth: scores (n,).
        draws: scores (n, K').
        k: draws that the table has.
        rng: parts what is tied.
    """
    below, equal = PooledLaw(draws).cdf(truth)
    u = below + rng.random(len(truth)) * equal
    cell = np.minimum((u * _DECILES).astype(int), _DECILES - 1)
    counts = np.bincount(cell, minlength=_DECILES)
    ordered = np.array_split(np.sort(draws, axis=None).astype(np.float64), _DECILES)
    return tuple(
        Tenth(Share.of(int(count), len(truth), k, 1 / _DECILES, _DECILES), _mean_ratio(part))
        for count, part in zip(counts, ordered, strict=True)
    )


def region(inside: NDArray[np.bool_], q_inside: NDArray[np.bool_], k: int, tests: int) -> Share:
    """A region by which truths (n,) and which draws (n, K') lie in it."""
    return Share.of(int(inside.sum()), len(inside), k, float(q_inside.mean()), tests)


def strips(truth: Array, draws: Array, k: int, parameters: NDArray[np.int64]) -> tuple[Strip, ...]:
    """The truth's share in each strip of some parameters, in q's sds around its mean.

    Args:
        truth: (n, P) standardised.
        draws: (n, K', P) standardised.
        k: draws that the table has.
        parameters: (P,) which they are.
    """
    count = len(STRIPS) + 1
    regions = []
    for at, which in enumerate(parameters):
        own = np.searchsorted(STRIPS, truth[:, at])
        theirs = np.searchsorted(STRIPS, draws[:, :, at])
        for strip in range(count):
            share = region(own == strip, theirs == strip, k, count * len(parameters))
            regions.append(Strip(int(which), strip, share))
    return tuple(regions)


def _mean_ratio(logits: Array) -> float:
    """The mean of exp(logit): p's share over q's, if the score is the log ratio."""
    if not len(logits):
        return 1.0
    return float(np.exp(np.minimum(logits, 50.0)).mean())


def strongest(z: Array, ratio: Array, most: int) -> NDArray[np.int64]:
    """Up to `most` parameters, those over whose strips the mean log ratio varies most first.

    Args:
        z: draws (P, D).
        ratio: log ratios (P,).
        most: how many.
    """
    clipped = np.clip(ratio, -_CLIP, _CLIP)
    strength = np.zeros(z.shape[1])
    for first in range(0, z.shape[1], _AT_ONCE):
        part = z[:, first : first + _AT_ONCE]
        edges = np.quantile(part, np.arange(1, _STRIPS) / _STRIPS, axis=0)
        cell = (part[None] >= edges[:, None]).sum(0)
        for at in range(part.shape[1]):
            strength[first + at] = _between(cell[:, at], clipped)
    return np.argsort(-strength, kind="stable")[:most]


def pairs(z: Array, ratio: Array, parameters: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Pairs of some parameters, that over whose cells the mean log ratio varies most first."""
    clipped = np.clip(ratio, -_CLIP, _CLIP)
    strips = {}
    for parameter in parameters:
        edges = np.quantile(z[:, parameter], np.arange(1, _STRIPS) / _STRIPS)
        strips[int(parameter)] = np.searchsorted(edges, z[:, parameter], side="right")
    combinations = [(a, b) for i, a in enumerate(strips) for b in list(strips)[i + 1 :]]
    strength = [_between(_STRIPS * strips[a] + strips[b], clipped) for a, b in combinations]
    return [
        combinations[i] for i in np.argsort([-variance for variance in strength], kind="stable")
    ]


def edges(values: Array, standardised: bool) -> Array:
    """Edges (C + 1,) of cells over draws (P,): within 3 sds, or where nearly all lie."""
    if standardised:
        return np.linspace(-_REACH, _REACH, _CELLS + 1)
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, _CELLS + 1)


def plane(across: Array, up: Array, ratio: Array, sides: tuple[Array, Array]) -> Array:
    """Log of the mean ratio (C, C), rows up; nan where fewer than FEWEST draws lie.

    The mean of p/q over q's draws in a cell is p's mass there over q's; a mean of logarithms
    would be below 0 wherever the ratio varies within a cell.
    """
    bins = sides[1], sides[0]
    counts, _, _ = np.histogram2d(up, across, bins=bins)
    sums, _, _ = np.histogram2d(up, across, bins=bins, weights=_times(ratio))
    few = counts < FEWEST
    return np.where(few, np.nan, np.log(np.where(few, 1, sums) / np.maximum(counts, 1)))


def line(values: Array, ratio: Array, side: Array) -> Array:
    """Log of the mean ratio along one parameter, and half of its 95% interval: (2, C)."""
    times = _times(ratio)
    counts, _ = np.histogram(values, side)
    sums, _ = np.histogram(values, side, weights=times)
    squares, _ = np.histogram(values, side, weights=times**2)
    few, some = counts < FEWEST, np.maximum(counts, 1)
    mean = np.where(few, 1, sums) / some
    half = 1.96 * np.sqrt(np.maximum(squares / some - mean**2, 0) / some) / mean
    return np.where(few, np.nan, np.stack([np.log(mean), half]))


def _times(ratio: Array) -> Array:
    return np.exp(np.clip(ratio, -_CLIP, _CLIP))


def _between(cell: NDArray[np.int64], ratio: Array) -> float:
    """Variance of the mean log ratio between cells."""
    counts = np.bincount(cell)
    mean = np.bincount(cell, ratio) / np.maximum(counts, 1)
    return float(counts @ (mean - ratio.mean()) ** 2 / len(ratio))
