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

_EQUAL = 1e-3  # of the largest weight: what rounding log densities of 1e4 to single precision does
_LEAST = 1e-300  # of the largest weight, below which one is nothing


class SmoothedWeights(NamedTuple):
    """Importance weights of K draws, their largest ones smoothed."""

    log_weights: Float
    """(K,), their exponentials add up to 1."""
    k: float
    """Shape of the tail: weights have a finite variance below 0.5. 0 where the largest are equal,
    infinite where fewer than five draws have all weight, NaN where draws, or different weights,
    are too few to tell."""
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
    k = math.nan
    smooth = raw.copy()
    if pareto_tail.FEWEST <= tail < count:
        last = order[-tail:]
        cutoff = math.exp(max(float(raw[order[-tail - 1]]), math.log(np.finfo(float).tiny)))
        beyond = np.exp(raw[last]) - cutoff
        above = beyond > _LEAST  # those that tie with the cutoff, as of a discrete q, are no tail
        if cutoff >= 1 - _EQUAL:
            k = 0.0
        elif above.sum() < pareto_tail.FEWEST:
            k = math.inf if _effective(raw - logsumexp(raw)) < pareto_tail.FEWEST else math.nan
        else:
            law = pareto_tail.fitted(beyond[above])
            assert law is not None, "all are above 0"
            k = law.k
            places = (np.arange(above.sum()) + 0.5) / above.sum()
            quantiles = _quantiles(places, *law) + cutoff
            smooth[last[above]] = np.minimum(np.log(np.maximum(quantiles, _LEAST)), 0.0)
    smooth -= logsumexp(smooth)
    return SmoothedWeights(smooth, k, _effective(smooth))


def _effective(log_weights: Array) -> float:
    """Effective sample size 1 / sum w^2 of weights that add up to 1."""
    return float(np.exp(-logsumexp(2 * log_weights)))


def _quantiles(places: Array, k: float, scale: float) -> Float:
    if abs(k) < 1e-12:
        return -scale * np.log1p(-places)
    return np.asarray(scale * np.expm1(-k * np.log1p(-places)) / k)
