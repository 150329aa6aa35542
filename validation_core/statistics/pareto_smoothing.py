"""Pareto-smoothed importance weights and their tail's shape k.

References:
    Vehtari, Simpson, Gelman, Yao, Gabry (2024), Pareto smoothed importance sampling.
    Zhang, Stephens (2009), A new and efficient estimation method for the generalized Pareto
    distribution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from validation_core.types import Array, Float

_FEWEST = 5  # weights of a tail that has a shape
_PRIOR = 10  # weak prior on k: as many tail weights with k = 0.5


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
    if _FEWEST <= tail < count:
        last = order[-tail:]
        cutoff = max(float(raw[order[-tail - 1]]), math.log(np.finfo(float).tiny))
        beyond = np.exp(raw[last]) - math.exp(cutoff)
        if beyond[-1] <= np.finfo(float).eps:  # equal weights have no tail to fit
            k = 0.0
        elif beyond[len(beyond) // 4] > 0:
            k, sigma = _generalised_pareto(beyond)
            places = (np.arange(tail) + 0.5) / tail
            quantiles = _quantiles(places, k, sigma) + math.exp(cutoff)
            smooth[last] = np.minimum(np.log(np.maximum(quantiles, 1e-300)), 0.0)
    smooth -= logsumexp(smooth)
    return SmoothedWeights(smooth, k, float(np.exp(-logsumexp(2 * smooth))))


def _quantiles(places: Array, k: float, sigma: float) -> Float:
    if abs(k) < 1e-12:
        return -sigma * np.log1p(-places)
    return np.asarray(sigma * np.expm1(-k * np.log1p(-places)) / k)


def _generalised_pareto(beyond: Array) -> tuple[float, float]:
    """Shape k and scale of exceedances (n,) in rising order, by their posterior mean."""
    n = len(beyond)
    grid = 30 + int(math.sqrt(n))
    quarter = float(beyond[int(n / 4 + 0.5) - 1])
    steps = 1 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = 1 / float(beyond[-1]) + steps / (3 * quarter)  # (grid,)
    shapes = np.log1p(-b[:, None] * beyond).mean(1)
    loglik = n * (np.log(-b / shapes) - shapes - 1)
    weight = np.exp(loglik - logsumexp(loglik))
    best = float((b * weight).sum())
    k = float(np.log1p(-best * beyond).mean())
    sigma = -k / best
    return (n * k + _PRIOR * 0.5) / (n + _PRIOR), sigma
