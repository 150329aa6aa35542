"""The mean of d over rows, with intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from validation_core.statistics.intervals import binomial_bounds
from validation_core.statistics.pareto_tail import HEAVY, tail_shape
from validation_core.types import Float

_RESAMPLES = 1999
_NUMBERS = 1 << 20  # rows drawn again at a time


class Divergence(NamedTuple):
    """The mean of d over rows, with intervals and diagnostics."""

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
    """Symmetric divergence estimated by the mean of d (n,), in nats, with intervals.

    Raises:
        ValueError: if fewer than two of them are finite.
    """
    terms = np.asarray(d, dtype=np.float64)
    finite = terms[np.isfinite(terms)]
    n = len(finite)
    if n < 2:
        raise ValueError(
            f"a divergence is a mean over rows with finite log densities; got {n} of "
            f"{terms.size}; bring two or more"
        )
    mean, sd = float(finite.mean()), float(finite.std(ddof=1))
    reach = float(ndtri((1 + level) / 2)) * sd / np.sqrt(n)
    low, high = np.quantile(_means(finite, rng), [(1 - level) / 2, (1 + level) / 2])
    return Divergence(
        estimate=mean,
        low=mean - reach,
        high=mean + reach,
        boot_low=float(low),
        boot_high=float(high),
        sd=sd,
        median=float(np.median(finite)),
        largest=float(finite.max()),
        positive=float((finite > 0).mean()),
        tail=tail_shape(np.abs(finite)),
        infinite=terms.size - n,
    )


class MeanInterval(NamedTuple):
    """Means or medians over the last axis, with their intervals."""

    estimate: Float
    low: Float
    high: Float


def means(d: ArrayLike, level: float = 0.95) -> MeanInterval:
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
        return MeanInterval(mean, mean - reach, mean + reach)


def medians(d: ArrayLike, level: float = 0.95) -> MeanInterval:
    """The median of d (..., n) and its interval between two of the ordered d, which holds whatever
    their law. NaN where a d is; ends are NaN with too few rows for any such interval, 5 at 95%.

    Raises:
        ValueError: without any row.
    """
    values = np.sort(np.asarray(d, dtype=np.float64), axis=-1)
    n = values.shape[-1] if values.ndim else 0
    if n < 1:
        raise ValueError(f"a median needs d of a row or more; got {n}; bring more")
    values = np.where(np.isnan(values[..., -1:]), np.nan, values)  # NaN is sorted last
    outside, _ = binomial_bounds(n, 0.5, level)
    middle = np.median(values, axis=-1)
    if not outside:
        return MeanInterval(middle, *np.full((2, *middle.shape), np.nan))
    return MeanInterval(middle, values[..., outside - 1], values[..., n - outside])


def _means(values: Float, rng: np.random.Generator) -> Float:
    """Means of resamples of the rows."""
    n = len(values)
    step = max(1, _NUMBERS // n)
    pieces = [
        values[rng.integers(n, size=(min(step, _RESAMPLES - start), n))].mean(1)
        for start in range(0, _RESAMPLES, step)
    ]
    return np.concatenate(pieces)
