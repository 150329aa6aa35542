"""Symmetric divergence between p(theta | x) and q(theta | x), within each x, in nats.

With r = log p(theta, x) - log q(theta | x), the truth theta_i and q's draws theta_ik at x_i,
d_i = r(theta_i) - mean_k r(theta_ik) has the mean KL(p || q) + KL(q || p), averaged over x. What
depends on x alone cancels in each row; rows are never pooled before that.

References:
    An easy to interpret diagnostic for approximate inference: symmetric divergence over
    simulations, Domke (2021), Algorithms 1 and 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

HEAVY = 0.5
"""Shape of the tail from which on a variance is infinite, so that intervals say too little."""


def tail_shape(values: ArrayLike) -> float:
    """Shape k of the generalised Pareto law of the largest values (n,); the 1/k-th moment is
    infinite. NaN with fewer than 25 values, or where the largest do not differ.

    References:
        A new and efficient estimation method for the generalized Pareto distribution, Zhang &
        Stephens (2009); weak prior and tail length of Pareto smoothed importance sampling,
        Vehtari et al. (2024).
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    m = int(min(0.2 * n, 3 * np.sqrt(n)))
    if m < 5 or not ordered[-1] > ordered[-m]:
        return float("nan")
    over = ordered[-m:] - ordered[-m - 1]
    quarter = over[int(m / 4 + 0.5) - 1]
    if not quarter > 0:
        return float("nan")
    points = 30 + int(np.sqrt(m))
    rates = 1 / over[-1] + (1 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))) / (3 * quarter)
    shapes = np.log1p(-rates[:, None] * over).mean(1)
    # At a rate of 0 the law is exponential: its scale is the mean.
    scales = np.full_like(rates, 1 / over.mean())
    np.divide(-rates, shapes, out=scales, where=shapes != 0)
    likelihood = m * (np.log(scales) - shapes - 1)
    weights = np.exp(likelihood - likelihood.max())
    rate = float((rates * weights).sum() / weights.sum())
    shape = float(np.log1p(-rate * over).mean())
    return (m * shape + 5) / (m + 10)
