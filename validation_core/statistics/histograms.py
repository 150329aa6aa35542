"""Histograms of ranks in equal bins, and their simultaneous band under uniformity."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from validation_core.statistics.intervals import binomial_quantile
from validation_core.types import Float, Integers


def bins(n: int, k: int) -> int:
    """Number of equal bins for n ranks among k draws: about 20, at least 10 ranks in each.

    The divisor of k + 1 nearest to that, so that every bin holds equally many of the ranks 0 to
    k. Where none is within a factor of two (k + 1 a prime, say), that number itself: randomised
    ranks fill any equal bins evenly, a rank that an edge cuts falls on either side by its share.

    Raises:
        ValueError: without a rank or a draw.
    """
    if n < 1 or k < 1:
        raise ValueError(
            f"a histogram shows n >= 1 ranks among k >= 1 draws; got n = {n}, k = {k}; draw more"
        )
    wanted = min(20, max(4, n // 10))
    if k + 1 <= wanted:
        return k + 1
    near = [b for b in range(2, 2 * wanted + 1) if (k + 1) % b == 0 and 2 * b >= wanted]
    return min(near, key=lambda b: abs(np.log(b / wanted)), default=wanted)


def histogram(u: ArrayLike, bins: int) -> Integers:
    """Counts (..., bins) of ranks u (..., n) in equal bins of [0, 1].

    Raises:
        ValueError: if a rank lies outside [0, 1] or there is no bin.
    """
    ranks = np.asarray(u, dtype=np.float64)
    if bins < 1 or not ((ranks >= 0) & (ranks <= 1)).all():
        raise ValueError(
            f"ranks lie in [0, 1] and there is a bin for them; got {ranks.min():.6g} to "
            f"{ranks.max():.6g} and {bins} bins; divide counts by k + 1 (randomised_ranks)"
        )
    rows = ranks.reshape(-1, ranks.shape[-1])
    places = np.minimum((rows * bins).astype(np.int64), bins - 1)
    places += bins * np.arange(len(rows))[:, None]
    counts = np.bincount(places.ravel(), minlength=bins * len(rows))
    return counts.reshape(*ranks.shape[:-1], bins)


@lru_cache(maxsize=256)
def histogram_band(n: int, bins: int, level: float = 0.95) -> tuple[float, float]:
    """Simultaneous band for the counts of n uniform ranks in equal bins.

    A binomial interval, narrowed until the joint coverage of all bins, computed exactly, is the
    wanted one; being counts, it can only be met from above.

    Returns:
        The smallest and the largest count within the band.

    Raises:
        ValueError: without a rank or a bin, or for a level outside (0, 1).
    """
    if n < 1 or bins < 1 or not 0 < level < 1:
        raise ValueError(
            "a band needs n >= 1 ranks, a bin and a level within (0, 1); got "
            f"n = {n}, {bins} bins, level = {level}; change them"
        )
    low, high = np.log((1 - level) / bins), np.log(1 - level)  # Bonferroni to a single bin
    for _ in range(16):
        middle = (low + high) / 2
        covered = _coverage(n, bins, *_limits(n, bins, np.exp(middle)))
        low, high = (middle, high) if covered >= level else (low, middle)
    least, most = _limits(n, bins, np.exp(low))
    return float(least), float(most)


def _limits(n: int, bins: int, outside: float) -> tuple[int, int]:
    """Counts between which a Binomial(n, 1/bins) falls but for `outside`."""
    low, high = binomial_quantile([outside / 2, 1 - outside / 2], n, 1 / bins)
    return int(low), int(high)


def _coverage(n: int, bins: int, least: int, most: int) -> float:
    """Probability that all counts of n uniforms lie in [least, most], exactly.

    The counts are independent Poisson numbers of mean n / bins given their total n.
    """
    if not bins * least <= n <= bins * most:
        return 0.0
    law = _poisson(np.arange(least, most + 1), n / bins)
    size = bins * (most - least) + 1  # of the law of the total, counted from bins * least
    total = np.fft.irfft(np.fft.rfft(law, size) ** bins, size)
    return float(total[n - bins * least] / _poisson(n, n))


def _poisson(count: ArrayLike, mean: float) -> Float:
    """The chance of these counts (...)."""
    k = np.asarray(count, dtype=np.float64)
    return np.asarray(np.exp(xlogy(k, mean) - gammaln(k + 1) - mean))
