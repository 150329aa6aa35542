"""Expected coverage: how often the truth lies in q's regions of a stated mass, and the area
between coverage and that mass.

Everything works on the last axis: ranks u (..., n) give curves (..., G). A rank is q's mass
nearer to the reference than the truth is, so that the share of ranks up to a level is how often
q's region of that level covers the truth.

References:
    Sampling-based accuracy testing of posterior estimators for general inference, Lemos, Coogan,
    Hezaveh & Perreault-Levasseur (2023), Section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from validation_core.statistics.uniformity import GRID, ecdf_difference
from validation_core.types import Float

_LEVEL = 0.95
_ENDS = (1 - _LEVEL) / 2, (1 + _LEVEL) / 2  # of an interval
_RESAMPLES = 399
"""Bootstrap samples behind an interval: (399 + 1) x 2.5% is a whole number."""
SIMULATIONS_AT_ONCE = 1 << 20  # simulations drawn again at a time


class AreaToCurve(NamedTuple):
    """Area between coverage and level, above level 1/2: (...) each."""

    estimate: Float
    low: Float
    high: Float


def coverage(u: ArrayLike, levels: ArrayLike = GRID) -> Float:
    """Expected coverage: share of ranks up to each level (Lemos et al. 2023, Section 3).

    Args:
        u: randomised ranks (..., n) in [0, 1].
        levels: ascending levels (G,) in [0, 1].

    Returns:
        Shares (..., G).

    Raises:
        ValueError: if the levels do not ascend within [0, 1], or u is not a set of ranks.
    """
    return ecdf_difference(u, levels) + np.asarray(levels, dtype=np.float64)


def bootstrap_band(
    u: ArrayLike, rng: np.random.Generator, levels: ArrayLike = GRID, resamples: int = 999
) -> tuple[Float, Float]:
    """Pointwise 95% bootstrap band of the coverage curve.

    Simulations are drawn again with replacement, all resamples from one generator. How many of
    them fall between two levels is a multinomial count: simulations need not be drawn one by one.

    Args:
        u: randomised ranks (..., n) in [0, 1].
        rng: draws the resamples.
        levels: ascending levels (G,) in [0, 1].
        resamples: number of bootstrap samples.

    Returns:
        low (..., G), high (..., G).

    Raises:
        ValueError: as `coverage`.
    """
    share = coverage(u, levels)
    ends = np.concatenate([share, np.ones((*share.shape[:-1], 1))], axis=-1)
    between = np.maximum(np.diff(ends, axis=-1, prepend=0.0), 0.0)
    n, shape = np.shape(u)[-1], (*share.shape[:-1], resamples)
    resampled = rng.multinomial(n, between[..., None, :], size=shape)  # (..., resamples, G + 1)
    curves = resampled.cumsum(axis=-1)[..., :-1] / n
    low, high = np.quantile(curves, _ENDS, axis=-2)
    return low, high


def atc(u: ArrayLike, rng: np.random.Generator) -> AreaToCurve:
    """Area to curve: the integral of coverage less level from 1/2 to 1, with a 95% interval.

    Positive where q's regions cover more than they state (too wide: under-confident), negative
    where they cover less. Exact, as an average over ranks: each adds 5/8 - max(u, 1/2). The
    interval is the percentile bootstrap over simulations, a little narrow where these are fewer
    than about 50; leading indices share the resamples.

    Args:
        u: randomised ranks (..., n) in [0, 1].
        rng: draws the resamples.

    Returns:
        Estimate, low and high (...) each.

    Raises:
        ValueError: if there are fewer than two ranks or one lies outside [0, 1].
    """
    ranks = np.asarray(u, dtype=np.float64)
    if ranks.ndim == 0 or ranks.shape[-1] < 2 or not ((ranks >= 0) & (ranks <= 1)).all():
        raise ValueError(
            f"an area needs at least two ranks within [0, 1]; got shape {ranks.shape}; give u as "
            "(..., n), counts divided by k + 1"
        )
    areas = 5 / 8 - np.maximum(ranks, 0.5)
    n = ranks.shape[-1]
    means = np.concatenate(
        [areas @ times.T / n for times in bootstrap_counts(n, _RESAMPLES, rng)], axis=-1
    )
    low, high = np.quantile(means, _ENDS, axis=-1)
    return AreaToCurve(areas.mean(axis=-1), low, high)


CoverageReading = Literal["covers more than stated", "covers less than stated", "as stated"]


def reading(low: float, high: float) -> CoverageReading:
    """Reading of an interval of the area: coverage of q's regions above level 1/2, on average.

    That is not yet a width: a bias, or a mode that q misses, may move truths nearer to a
    reference as well as farther from it.
    """
    if low > 0:
        return "covers more than stated"
    return "covers less than stated" if high < 0 else "as stated"


def bootstrap_counts(n: int, resamples: int, rng: np.random.Generator) -> Iterator[Float]:
    """Counts of each of n simulations in each bootstrap resample, in pieces (b, n)."""
    step = max(1, SIMULATIONS_AT_ONCE // n)
    for first in range(0, resamples, step):
        rows = min(step, resamples - first)
        which = rng.integers(n, size=(rows, n))
        which += n * np.arange(rows)[:, None]
        yield np.bincount(which.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
