"""Are ranks uniform? Statistics, their p-values, where they deviate, and a simultaneous band.

Everything works on the last axis: u (..., n) gives statistics (...).

References:
    Graphical test for discrete uniformity and its applications in goodness-of-fit evaluation and
    multiple sample comparison, Saeilynoja, Buerkner & Vehtari (2022).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from validation_core.shared_arrays import read_only
from validation_core.statistics.intervals import binomial_quantile
from validation_core.statistics.uniformity_laws import (
    anderson_darling_sf,
    cramer_von_mises_sf,
    kolmogorov_sf,
)
from validation_core.types import Float, Integers

GRID: Float = np.linspace(0.0, 1.0, 101)
"""Where empirical distribution functions are drawn and their band is simultaneous."""
GRID.flags.writeable = False


class Uniformity(NamedTuple):
    """A test of uniformity: statistic (...) and p-value (...)."""

    statistic: Float
    pvalue: Float


def _ordered(u: ArrayLike) -> Float:
    """u in ascending order along the last axis, as float64."""
    ranks = np.asarray(u, dtype=np.float64)
    if ranks.ndim == 0 or ranks.shape[-1] < 2:
        raise ValueError(
            f"uniformity is tested on at least two ranks; got shape {ranks.shape}; "
            "give u as (..., n)"
        )
    values = np.sort(ranks, axis=-1)
    if values.size and not (values[..., 0].min() >= 0 and values[..., -1].max() <= 1):
        raise ValueError(
            f"ranks lie in [0, 1]; got {values[..., 0].min():.6g} to {values[..., -1].max():.6g}; "
            "divide counts by m + 1 (randomised_ranks)"
        )
    return values


def _gaps(ordered: Float) -> tuple[Float, Float]:
    """F_n(u) - u at each point, and u - F_n(u-) just before it."""
    n = ordered.shape[-1]
    i = np.arange(1, n + 1)
    return i / n - ordered, ordered - (i - 1) / n


def ks(u: ArrayLike) -> Uniformity:
    """Two-sided Kolmogorov-Smirnov test of uniformity, by its exact law.

    A p-value too small for a double is given as the smallest one, never as 0.

    Args:
        u: randomised ranks (..., n) in [0, 1].

    Returns:
        Statistic (...) and p-value (...).

    Raises:
        ValueError: if n < 2 or a rank lies outside [0, 1].
    """
    ordered = _ordered(u)
    above, below = _gaps(ordered)
    distance = np.maximum(above.max(axis=-1), below.max(axis=-1))
    pvalue = kolmogorov_sf(distance, ordered.shape[-1])
    return Uniformity(distance, _positive(pvalue))


def _positive(pvalue: Float) -> Float:
    return np.maximum(pvalue, np.finfo(np.float64).tiny)


def anderson_darling(u: ArrayLike) -> Uniformity:
    """Anderson-Darling test of uniformity, most sensitive at both ends; p is never 0.

    Args:
        u: randomised ranks (..., n) in [0, 1].

    Returns:
        Statistic (...) and p-value (...).

    Raises:
        ValueError: if n < 2 or a rank lies outside [0, 1].
    """
    tiny = 2.0**-54  # a rank of exactly 0 or 1 is rounding: U is continuous
    ordered = np.clip(_ordered(u), tiny, 1 - 2 * tiny)
    n = ordered.shape[-1]
    odd = 2 * np.arange(1, n + 1) - 1
    logs = np.log(ordered) + np.log1p(-ordered[..., ::-1])
    statistic = -n - (logs * odd).mean(axis=-1)
    return Uniformity(statistic, _positive(anderson_darling_sf(statistic, n)))


def cramer_von_mises(u: ArrayLike) -> Uniformity:
    """Cramér-von Mises test of uniformity: mean squared deviation of F_n; p is never 0.

    Args:
        u: randomised ranks (..., n) in [0, 1].

    Returns:
        Statistic (...) and p-value (...).

    Raises:
        ValueError: if n < 2 or a rank lies outside [0, 1].
    """
    ordered = _ordered(u)
    n = ordered.shape[-1]
    middle = (2 * np.arange(1, n + 1) - 1) / (2 * n)
    statistic = 1 / (12 * n) + ((middle - ordered) ** 2).sum(axis=-1)
    return Uniformity(statistic, _positive(cramer_von_mises_sf(statistic, n)))


def ks_location(u: ArrayLike) -> tuple[Float, Float]:
    """Where |F_n(u) - u| is largest, and the signed difference there: (...), (...).

    A negative difference is reached just before a point, where F_n has not yet jumped.

    Raises:
        ValueError: if n < 2 or a rank lies outside [0, 1].
    """
    ordered = _ordered(u)
    above, below = _gaps(ordered)
    larger = np.where(above >= below, above, -below)
    place = np.abs(larger).argmax(axis=-1)[..., None]
    u_star = np.take_along_axis(ordered, place, axis=-1)[..., 0]
    return u_star, np.take_along_axis(larger, place, axis=-1)[..., 0]


def ecdf_difference(u: ArrayLike, grid: ArrayLike = GRID) -> Float:
    """Empirical distribution function less the uniform one: F_n(g) - g.

    Args:
        u: randomised ranks (..., n) in [0, 1].
        grid: ascending points g (G,) in [0, 1].

    Returns:
        Differences (..., G).

    Raises:
        ValueError: if the grid does not ascend or leaves [0, 1], or u is not a set of ranks.
    """
    ordered, points = _ordered(u), np.array(_grid(grid))
    n, width = ordered.shape[-1], len(points) + 1
    rows = ordered.reshape(-1, n)
    # A rank is counted from the first grid point on that is not below it.
    first = np.searchsorted(points, rows) + width * np.arange(len(rows))[:, None]
    counts = np.bincount(first.ravel(), minlength=width * len(rows)).reshape(-1, width)
    share = counts.cumsum(axis=-1)[:, :-1] / n
    difference: Float = share - points
    return difference.reshape(*ordered.shape[:-1], len(points))


def _grid(grid: ArrayLike) -> tuple[float, ...]:
    points = np.asarray(grid, dtype=np.float64)
    fits = points.ndim == 1 and points.size and points[0] >= 0 and points[-1] <= 1
    if not fits or not (np.diff(points) > 0).all():
        raise ValueError(
            f"a grid ascends strictly within [0, 1]; got {points}; give np.linspace(0, 1, G)"
        )
    return tuple(points.tolist())


def ecdf_band(n: int, level: float = 0.95, grid: ArrayLike = GRID) -> tuple[Float, Float]:
    """Band that F_n(g) - g of n uniforms leaves nowhere on the grid with probability `level`.

    Pointwise binomial intervals of one common level, raised until their joint coverage, computed
    exactly, is the wanted one; being counts, it can only be met from above.

    Args:
        n: number of ranks.
        level: joint coverage.
        grid: ascending points (G,).

    Returns:
        lower (G,) and upper (G,), read-only and remembered.

    Raises:
        ValueError: if n < 1, the level is not within (0, 1) or the grid does not ascend.
    """
    if n < 1 or not 0 < level < 1:
        raise ValueError(
            f"a band needs n >= 1 ranks and a level within (0, 1); got n = {n}, level = {level}; "
            "change them"
        )
    return ecdf_band_on_grid(int(n), float(level), _grid(grid))


@lru_cache(maxsize=64)
@read_only
def ecdf_band_on_grid(n: int, level: float, grid: tuple[float, ...]) -> tuple[Float, Float]:
    """`ecdf_band` at the points of a grid, worked out once for each n, level and grid."""
    points = np.array(grid)
    low, high = np.log((1 - level) / len(points)), np.log(1 - level)  # Bonferroni to pointwise
    log_factorial = gammaln(np.arange(n + 1) + 1.0)
    for _ in range(16):
        middle = (low + high) / 2
        covered = _coverage(*_limits(n, np.exp(middle), points), points, log_factorial)
        low, high = (middle, high) if covered >= level else (low, middle)
    least, most = _limits(n, np.exp(low), points)
    return least / n - points, most / n - points


def _limits(n: int, outside: float, points: Float) -> tuple[Integers, Integers]:
    """Counts between which a Binomial(n, g) falls but for `outside`, at each g."""
    least = binomial_quantile(outside / 2, n, points)
    return least, binomial_quantile(1 - outside / 2, n, points)


def _coverage(least: Integers, most: Integers, points: Float, log_factorial: Float) -> float:
    """Probability that n F_n stays within [least, most] at all points, exactly.

    n uniforms are a Poisson process of rate n given its total n: the increments between points
    are independent Poisson counts, so that the law moves on by a convolution.
    """
    n = len(log_factorial) - 1
    law, start, time = np.ones(1), 0, 0.0
    ends = zip((*points, 1.0), (*least, n), (*most, n), strict=True)
    for point, low, high in ends:
        rise = np.arange(high - start + 1)
        rate = n * (point - time)
        jump = np.exp(rise * np.log(max(rate, 1e-300)) - rate - log_factorial[rise])
        law = np.convolve(law, jump)[low - start : high - start + 1]
        start, time = low, point
    return float(law[0] / np.exp(n * np.log(n) - n - log_factorial[n]))
