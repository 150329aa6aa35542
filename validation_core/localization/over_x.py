"""Where along x a discrepancy lives: the local rate of 1{U <= u*} - u*, and whether it varies.

F(u) - u of the ranks at one x is p(B) - q(B) of the ball there (Chen, Bansal, Scott, CoLT,
Theorem 1). The map is a picture with pointwise intervals; the permutation p-value beside it is a
test, of one thing only: that the rate is the same at every x.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import statistics
from validation_core.rng import stream
from validation_core.types import Array, Integers

FEWEST = 15
"""Effective neighbours below which a place of a heat map is left blank."""
SHOWN = 6
"""Coordinates of x whose curves are drawn, where x has more than two."""
_CURVE, _HEAT = 101, 25  # places of a curve; of a heat map, a side
_TAIL = 0.01
_PERMUTATIONS = 1999
_MOST = 99_999
_CELLS = 4_000_000  # numbers permuted at a time


class RateCurve(NamedTuple):
    """Rate of 1{U <= u*} - u* along one coordinate, with pointwise 95% intervals: (G,) each."""

    at: Array
    rate: Array
    low: Array
    high: Array
    neighbours: Array
    """Effective simulations behind each place."""


class RateHeatmap(NamedTuple):
    """The same rate over two coordinates of x, nan where few simulations lie: (G, G), rows y."""

    grid_x: Array
    grid_y: Array
    rate: Array
    low: Array
    high: Array
    neighbours: Array


class LocalRate(NamedTuple):
    """Where along x the ball is wrong, and whether that is beyond chance."""

    pvalue: float
    """Of the permutation test that the rate is the same at every x; over all coordinates."""
    coordinates: Integers
    """Coordinates of x (C,), those on which the rate depends most first; empty for a heat map."""
    pvalues: Array
    """(C,) each coordinate's own, adjusted by Holm over the C."""
    curves: tuple[RateCurve, ...]
    """Of the first of them."""
    heat: RateHeatmap | None
    """Where x has two coordinates."""
    permutations: int

    def of(self, coordinates: Integers) -> LocalRate:
        """Of some coordinates of x alone, in that order; every curve must be there."""
        place = [int(np.flatnonzero(self.coordinates == c)[0]) for c in coordinates]
        return self._replace(
            coordinates=self.coordinates[place],
            pvalues=self.pvalues[place],
            curves=tuple(self.curves[i] for i in place),
        )


def local_rate(
    x: Array,
    u: Array,
    u_star: float,
    *,
    seed: int = 0,
    permutations: int | None = None,
    shown: int = SHOWN,
) -> LocalRate:
    """How the rate of 1{U <= u*} - u* changes over x.

    Ranks must not have chosen u*. One coordinate: a curve. Two: a heat map. More: every
    coordinate by itself, ranked, and the curves of the first ones.

    Args:
        x: data (n, M).
        u: ranks (n,).
        u_star: q's mass in the ball.
        seed: fixes the permutations and the order of equal x.
        permutations: how many; by default 1999, or 400 a coordinate if that is more, up to
            99,999: with few of them Holm could never reject.
        shown: curves at most.

    Raises:
        ValueError: unless x (n, M) has a row for each of at least two ranks.
    """
    x, inside = _checked(x, u, u_star)
    m = x.shape[1]
    count = permutations or min(max(_PERMUTATIONS, 400 * m - 1), _MOST)
    rng = stream(seed, "local rate")
    if m == 2:
        pvalue = _plane_pvalue(x, inside, count, rng)
        nothing = np.zeros(0, dtype=np.int64)
        return LocalRate(pvalue, nothing, np.zeros(0), (), _heat(x, inside, float(u_star)), count)
    raw, strength = _line_pvalues(x, inside, count, rng)
    order = np.argsort(-strength, kind="stable")
    adjusted = statistics.holm(raw[order])
    curves = tuple(_curve(x[:, c], inside, float(u_star)) for c in order[:shown])
    return LocalRate(float(adjusted.min()), order, adjusted, curves, None, count)


def _curve(x: Array, inside: NDArray[np.bool_], u_star: float, places: int = _CURVE) -> RateCurve:
    """The smoothed rate along x (n,): the nearest neighbours by tricube weights.

    The intervals are binomial, from the effective number of neighbours: they hold the smoothed
    rate at each place by itself.
    """
    at, weights = line(x, places)
    rate, low, high, effective = rates(weights, inside, u_star)
    return RateCurve(at, rate, low, high, effective)


def _heat(x: Array, inside: NDArray[np.bool_], u_star: float, places: int = _HEAT) -> RateHeatmap:
    """The smoothed rate over x (n, 2): simulations within one radius, the nearer the more."""
    grid_x, grid_y, weights = plane(x, places)
    rate, low, high, effective = rates(weights, inside, u_star)
    few = effective < FEWEST
    rate, low, high = (np.where(few, np.nan, values) for values in (rate, low, high))
    sides = (places, places)
    return RateHeatmap(
        grid_x,
        grid_y,
        rate.reshape(sides),
        low.reshape(sides),
        high.reshape(sides),
        effective.reshape(sides),
    )


def _checked(x: Array, u: Array, u_star: float) -> tuple[Array, NDArray[np.bool_]]:
    x, u = np.asarray(x, dtype=np.float64), np.asarray(u)
    if x.ndim != 2 or u.ndim != 1 or len(x) != len(u) or len(u) < 2 or not x.shape[1]:
        raise ValueError(
            "A local rate needs x (n, M) with a row for each of at least two ranks u (n,); got "
            f"{x.shape} and {u.shape}. Give one x for each rank."
        )
    return x, u <= u_star


def _neighbours(n: int) -> int:
    """The k of the nearest neighbours: a slowly falling share of n, an eighth of 1000."""
    return min(n, max(20, round(0.5 * n**0.8)))


def line(x: Array, places: int = _CURVE) -> tuple[Array, Array]:
    """Places (G,) along x (n,) and the tricube weights (G, n) of each one's nearest neighbours."""
    ends = np.quantile(x, [_TAIL, 1 - _TAIL])
    at = np.linspace(ends[0], ends[1], places)
    return at, nearest_rows(np.abs(at[:, None] - x))


def nearest_rows(far: Array) -> Array:
    """Tricube weights (G, n) of the nearest neighbours, from distances (G, n)."""
    k = _neighbours(far.shape[1])
    reach = np.partition(far, k - 1, axis=1)[:, k - 1, None] * (1 + 1e-3)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        scaled = np.where(far == 0, 0.0, far / reach)
    return np.asarray(np.maximum(1 - scaled**3, 0.0) ** 3)


def rates(
    weights: Array, inside: NDArray[np.bool_], u_star: float
) -> tuple[Array, Array, Array, Array]:
    """Rate, its interval and the effective number of neighbours (G,) of weights (G, n)."""
    total, effective = totals(weights)
    some = total > 0
    share = np.where(some, weights @ inside / np.where(some, total, 1.0), np.nan)
    share = np.clip(share, 0.0, 1.0)
    trials = np.maximum(effective, 1.0)
    low, high = statistics.wilson(np.where(some, share, 0.0) * trials, trials)
    low, high = np.where(some, low, np.nan), np.where(some, high, np.nan)
    return share - u_star, low - u_star, high - u_star, effective


def totals(weights: Array) -> tuple[Array, Array]:
    """Sum and effective number of neighbours (G,) of weights (G, n): their square over squares."""
    total = weights.sum(1)
    square = np.einsum("gn,gn->g", weights, weights)
    some = total > 0
    return total, np.where(some, total**2 / np.where(some, square, 1.0), 0.0)


def plane(x: Array, places: int = _HEAT) -> tuple[Array, Array, Array]:
    """Grid axes and the kernel's weights (G G, n) over two coordinates."""
    low, high = np.quantile(x, [_TAIL, 1 - _TAIL], axis=0)
    grid_x, grid_y = (np.linspace(*ends, places) for ends in zip(low, high, strict=True))
    quarter, three = np.quantile(x, [0.25, 0.75], axis=0)
    scale = np.where(three > quarter, three - quarter, x.std(0))
    scale = np.where(scale > 0, scale, 1.0)
    across, up = np.meshgrid(grid_x, grid_y)
    at = np.stack([across.ravel(), up.ravel()], axis=1)
    some = x[:: max(1, len(x) // 300)]
    k = _neighbours(len(x))
    reach = np.partition(_squares(some / scale, x / scale), k - 1, axis=1)[:, k - 1]
    radius = max(float(np.median(reach)), 1e-12)
    return grid_x, grid_y, np.maximum(1 - _squares(at / scale, x / scale) / radius, 0.0)


def _squares(a: Array, b: Array) -> Array:
    return (a[:, None, 0] - b[:, 0]) ** 2 + (a[:, None, 1] - b[:, 1]) ** 2


def _line_pvalues(
    x: Array, inside: NDArray[np.bool_], count: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """p-value and strength (M,): the range of the cumulative sum of 1{inside} along each x.

    Its law over permutations depends on the order of x alone, so that one set of permutations
    serves every coordinate; equal x are put in a random order, and a coordinate that never varies
    tells nothing.
    """
    jitter = rng.random(len(x))
    observed = np.array(
        [
            _ranges(inside[np.lexsort((jitter, column))][None])[0] if np.ptp(column) > 0 else 0
            for column in x.T
        ]
    )
    at_least = np.zeros(x.shape[1])
    for shuffled in _shuffles(inside, count, rng):
        null = np.sort(_ranges(shuffled))
        at_least += len(null) - np.searchsorted(null, observed)
    return (1 + at_least) / (count + 1), observed / len(x) ** 2


def _ranges(inside: NDArray[np.bool_]) -> Integers:
    """n^2 times the range of the cumulative sums of inside less its mean, in rows (B, n): (B,).

    Whole numbers, so that equal sums are equal.
    """
    n = inside.shape[1]
    sums = n * np.cumsum(inside, axis=1, dtype=np.int64)
    sums -= inside.sum(1, keepdims=True) * np.arange(1, n + 1)
    return np.maximum(sums.max(1), 0) - np.minimum(sums.min(1), 0)


def _plane_pvalue(
    x: Array, inside: NDArray[np.bool_], count: int, rng: np.random.Generator
) -> float:
    """p-value of the heat map as a whole: its squared deviations, each in its own sds, summed."""
    weights = plane(x)[2]
    effective = weights.sum(1) ** 2 / np.maximum((weights**2).sum(1), 1e-300)
    weights = weights[effective >= FEWEST]
    if not len(weights):
        return 1.0
    scale = np.sqrt(effective[effective >= FEWEST]) / weights.sum(1)
    smoother = (weights * scale[:, None]).T.astype(np.float32)  # (n, C)
    mean = inside.mean()

    def away(rows: NDArray[np.bool_]) -> Array:
        return np.square((rows - mean).astype(np.float32) @ smoother).sum(1, dtype=np.float64)

    # A permutation that repeats the observed order may differ from it where a product rounds.
    observed = float(away(inside[None])[0]) * (1 - 1e-5)
    at_least = sum(int((away(rows) >= observed).sum()) for rows in _shuffles(inside, count, rng))
    return (1 + at_least) / (count + 1)


def _shuffles(
    inside: NDArray[np.bool_], count: int, rng: np.random.Generator
) -> Iterator[NDArray[np.bool_]]:
    """`count` permutations of inside (n,), some rows (B, n) at a time."""
    step = max(1, _CELLS // len(inside))
    for first in range(0, count, step):
        rows = np.tile(inside, (min(step, count - first), 1))
        yield rng.permuted(rows, axis=1)
