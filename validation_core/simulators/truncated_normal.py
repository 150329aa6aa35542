"""Normal laws cut to an interval: draws, and the log of the mass that the interval holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from validation_core.types import Array


def log_interval_mass(low: Array, high: Array) -> Array:
    """Log of a standard normal's mass between low and high, right in either tail."""
    low, high = _to_lower_tail(low, high)[:2]
    top = log_ndtr(high)
    return np.asarray(top + np.log1p(-np.exp(log_ndtr(low) - top)))


def draw_between(low: Array, high: Array, rng: np.random.Generator) -> Array:
    """Standard normal numbers between low and high, by the inverse of their distribution."""
    low, high, upper = _to_lower_tail(low, high)
    share = rng.random(np.broadcast_shapes(low.shape, high.shape))
    with np.errstate(divide="ignore"):  # a share of 0
        log_cdf = np.logaddexp(log_ndtr(low) + np.log1p(-share), log_ndtr(high) + np.log(share))
    z = np.clip(ndtri_exp(np.minimum(log_cdf, 0.0)), low, high)
    return np.asarray(np.where(upper, -z, z))


def _to_lower_tail(low: Array, high: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """The interval, mirrored where it lies above 0, and where that is."""
    upper = low > 0
    return np.where(upper, -high, low), np.where(upper, -low, high), upper
