"""Quantiles of the binomial law and of Kolmogorov's, as scipy.stats has them.

Importing scipy.stats takes half a second and 50 MB, which a first result waits for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrik

from validation_core.statistics.laws import kolmogorov_sf

_HALVINGS = 45


def binomial_quantile(q: ArrayLike, n: int, rate: ArrayLike) -> NDArray[np.int64]:
    """The smallest counts (...) that Binomial(n, rate) exceeds with a chance of at most 1 - q."""
    q, rate = np.broadcast_arrays(np.asarray(q, np.float64), np.asarray(rate, np.float64))
    near = np.clip(np.nan_to_num(np.ceil(bdtrik(q, n, rate))), 0, n)
    near -= (near > 0) & (bdtr(np.maximum(near - 1, 0), n, rate) >= q)  # rounded up by a hair
    # Without chance there is one count.
    near = np.where(rate <= 0, 0, np.where(rate >= 1, n, near))
    return near.astype(np.int64)


def kolmogorov_quantile(level: float, n: int) -> float:
    """The distance that an empirical distribution function of n draws exceeds with this chance."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = float(kolmogorov_sf(np.asarray(middle), n))
        low, high = (middle, high) if beyond > level else (low, middle)
    return high
