"""The generalised Pareto law of the largest of some values: which of their moments are finite.

References:
    A new and efficient estimation method for the generalized Pareto distribution, Zhang &
    Stephens (2009); weak prior and tail length of Pareto smoothed importance sampling, Vehtari
    et al. (2024).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from validation_core.types import Array

HEAVY = 0.5
"""Shape of the tail from which on a variance is infinite, so that intervals say too little."""
FEWEST = 5
"""Values of a tail that has a shape."""
_PRIOR = 10  # weak prior on k: as many values with k = 0.5


class ParetoTail(NamedTuple):
    """A generalised Pareto law."""

    k: float
    """Shape: the 1/k-th moment is infinite."""
    scale: float


def fitted(over: Array) -> ParetoTail | None:
    """The law of exceedances (n,) in rising order, by its posterior mean; None where a quarter of
    them is 0.

    >>> tail = fitted(-np.log1p(-(np.arange(400) + 0.5) / 400))  # exponential: k is 0
    >>> round(tail.k, 1), round(tail.scale, 1)
    (0.0, 1.0)
    """
    n = len(over)
    quarter = float(over[int(n / 4 + 0.5) - 1])
    if not quarter > 0:
        return None
    points = 30 + int(np.sqrt(n))
    rates = 1 / over[-1] + (1 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))) / (3 * quarter)
    shapes = np.log1p(-rates[:, None] * over).mean(1)
    # At a rate of 0 the law is exponential: its scale is the mean.
    scales = np.full_like(rates, over.mean())
    np.divide(-shapes, rates, out=scales, where=shapes != 0)
    likelihood = n * (-np.log(scales) - shapes - 1)
    weights = np.exp(likelihood - likelihood.max())
    rate = float((rates * weights).sum() / weights.sum())
    shape = float(np.log1p(-rate * over).mean())
    scale = -shape / rate if shape else float(over.mean())
    return ParetoTail((n * shape + _PRIOR * HEAVY) / (n + _PRIOR), scale)


def tail_shape(values: ArrayLike) -> float:
    """Shape k of the tail of the largest values (n,); NaN with fewer than 25 values, or where the
    largest do not differ."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    m = int(min(0.2 * len(ordered), 3 * np.sqrt(len(ordered))))
    if m < FEWEST or not ordered[-1] > ordered[-m]:
        return float("nan")
    tail = fitted(ordered[-m:] - ordered[-m - 1])
    return float("nan") if tail is None else tail.k
