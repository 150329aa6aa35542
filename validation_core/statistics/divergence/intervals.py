"""The mean of d over rows, with intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from validation_core.statistics.divergence.tails import HEAVY, tail_shape

Float = NDArray[np.float64]

_RESAMPLES = 1999
_NUMBERS = 1 << 20  # rows drawn again at a time


class Divergence(NamedTuple):
    """The mean of d over rows, and what to think of it."""

    estimate: float
    low: float
    """Normal interval of the mean; it may be below 0, which a divergence is not."""
    high: float
    boot_low: float
    boot_high: float
    """Percentile bootstrap over rows."""
    sd: float
    """Of d, over rows."""
    median: float
    largest: float
    positive: float
    """Share of rows with d > 0."""
    tail: float
    """Shape of the generalised Pareto law of the largest |d|; NaN with too few rows."""
    infinite: int
    """Rows left out because d is not finite: q gives no density where the truth is, say."""

    @property
    def heavy(self) -> bool:
        """Whether the variance of d may be infinite."""
        return self.tail > HEAVY


def divergence(d: ArrayLike, rng: np.random.Generator, level: float = 0.95) -> Divergence:
    """The symmetric divergence that d (n,) estimate, with intervals.

    Raises:
        ValueError: if fewer than two of them are finite.
    """
    every = np.asarray(d, dtype=np.float64)
    kept = every[np.isfinite(every)]
    n = len(kept)
    if n < 2:
        raise ValueError(
            f"a divergence is a mean over rows with finite log densities; got {n} of "
            f"{every.size}; bring two or more"
        )
    mean, sd = float(kept.mean()), float(kept.std(ddof=1))
    reach = float(ndtri((1 + level) / 2)) * sd / np.sqrt(n)
    low, high = np.quantile(_means(kept, rng), [(1 - level) / 2, (1 + level) / 2])
    return Divergence(
        mean, mean - reach, mean + reach, float(low), float(high), sd, float(np.median(kept)),
        float(kept.max()), float((kept > 0).mean()), tail_shape(np.abs(kept)), every.size - n,
    )  # fmt: skip


class Means(NamedTuple):
    """Means over the last axis, with their normal intervals."""

    estimate: Float
    low: Float
    high: Float


def means(d: ArrayLike, level: float = 0.95) -> Means:
    """The mean of d (..., n) and the normal interval about it, formed before any logarithm: its
    low end may be below 0. NaN where a d is.

    Raises:
        ValueError: with fewer than two rows.
    """
    values = np.asarray(d, dtype=np.float64)
    n = values.shape[-1] if values.ndim else 0
    if n < 2:
        raise ValueError(f"an interval needs d of two rows or more; got {n}; bring more")
    with np.errstate(invalid="ignore"):
        mean = values.mean(axis=-1)
        reach = ndtri((1 + level) / 2) * values.std(axis=-1, ddof=1) / np.sqrt(n)
        return Means(mean, mean - reach, mean + reach)


def _means(values: Float, rng: np.random.Generator) -> Float:
    """Means of resamples of the rows."""
    n = len(values)
    step = max(1, _NUMBERS // n)
    pieces = [
        values[rng.integers(n, size=(min(step, _RESAMPLES - start), n))].mean(1)
        for start in range(0, _RESAMPLES, step)
    ]
    return np.concatenate(pieces)
