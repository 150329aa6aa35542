"""Pareto-smoothed importance weights and their tail's shape k.

References:
    Vehtari, Simpson, Gelman, Yao, Gabry (2024), Pareto smoothed importance sampling.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from validation_core.statistics import pareto_tail
from validation_core.types import Array, Float


class SmoothedWeights(NamedTuple):
    """Importance weights of K draws, their largest ones smoothed."""

    log_weights: Float
    """(K,), their exponentials add up to 1."""
    k: float
    """Shape of the tail: weights have a finite variance below 0.5; infinite without a tail."""
    effective: float
    """Effective sample size 1 / sum w^2."""

    @property
    def reliable_below(self) -> float:
        """The k below which means over so many draws can be trusted: min(1 - 1 / log10 K, 0.7)."""
        return min(1 - 1 / math.log10(max(len(self.log_weights), 11)), 0.7)


def pareto_smoothed(log_weights: Array) -> SmoothedWeights:
    """Replace the largest weights by quantiles of a generalised Pareto law fitted to them.

    Args:
        log_weights: log weights (K,) up to a constant; none NaN or +inf.
    """
    raw = np.asarray(log_weights, dtype=np.float64)
    raw = raw - raw.max()
    count = len(raw)
    tail = int(min(math.ceil(0.2 * count), math.ceil(3 * math.sqrt(count))))
    order = np.argsort(raw, kind="stable")
    k = math.inf
    smooth = raw.copy()
    if pareto_tail.FEWEST <= tail < count:
        last = order[-tail:]
        cutoff = max(float(raw[order[-tail - 1]]), math.log(np.finfo(float).tiny))
        beyond = np.exp(raw[last]) - math.exp(cutoff)
        if beyond[-1] <= np.finfo(float).eps:  # equal weights have no tail to fit
            k = 0.0
        elif (law := pareto_tail.fitted(beyond)) is not None:
            k = law.k
            places = (np.arange(tail) + 0.5) / tail
            quantiles = _quantiles(places, *law) + math.exp(cutoff)
            smooth[last] = np.minimum(np.log(np.maximum(quantiles, 1e-300)), 0.0)
    smooth -= logsumexp(smooth)
    return SmoothedWeights(smooth, k, float(np.exp(-logsumexp(2 * smooth))))


def _quantiles(places: Array, k: float, scale: float) -> Float:
    if abs(k) < 1e-12:
        return -scale * np.log1p(-places)
    return np.asarray(scale * np.expm1(-k * np.log1p(-places)) / k)
