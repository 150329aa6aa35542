"""Largest departure of ranks from uniform, measured on ranks that did not choose its place.

References:
    CoLT, Chen, Bansal & Scott (2025), Theorems 1 to 3: F(u) - u = p(ball of q-mass u) - u.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from validation_core.statistics.intervals import wilson
from validation_core.statistics.two_sample_laws import kolmogorov_quantile
from validation_core.statistics.uniformity import ks, ks_location
from validation_core.types import Float


class BallMass(NamedTuple):
    """The ball of q-mass u_star around the centre, and the truth's mass in it: (...) each."""

    u_star: Float
    """q's mass in the ball."""
    inside: Float
    """The truth's share in it, among ranks that did not choose u_star."""
    low: Float
    high: Float
    """Its 95% Wilson interval."""

    @property
    def difference(self) -> Float:
        """p(B) - q(B): positive where q misses mass, negative where it puts too much."""
        return self.inside - self.u_star


class _KolmogorovDistance(NamedTuple):
    """Kolmogorov distance of the ranks' law from uniform: (...) each."""

    estimate: Float
    low: Float
    high: Float


def ball_mass(choose: ArrayLike, quote: ArrayLike) -> BallMass:
    """Ball with the largest departure from uniform, and the truth's share in it.

    Quoted on the ranks that chose it, the difference would be too large: the place was taken
    where it happens to be largest.

    Args:
        choose: ranks (..., n) of the truth's distance that choose the ball.
        quote: independent ranks (..., n') that estimate the share.

    Returns:
        q's mass u_star of the ball, and the truth's mass with its 95% interval, (...) each.

    Raises:
        ValueError: if either has fewer than two ranks.
    """
    u_star, _ = ks_location(choose)
    ranks = np.asarray(quote, dtype=np.float64)
    count = (ranks <= u_star[..., None]).sum(axis=-1)
    low, high = wilson(count, np.full(count.shape, ranks.shape[-1]))
    return BallMass(u_star, count / ranks.shape[-1], low, high)


def kolmogorov(u: ArrayLike, level: float = 0.95) -> _KolmogorovDistance:
    """Kolmogorov distance sup |F - u| of the ranks' law from uniform, with an exact interval.

    The empirical distribution function is nowhere farther than the quantile of Kolmogorov's law
    from F, so that neither are the two suprema; ranks must not have shaped the score.

    Args:
        u: randomised ranks (..., n) in [0, 1].
        level: coverage of the interval.

    Returns:
        Estimate and interval, (...) each.

    Raises:
        ValueError: if there are fewer than two ranks.
    """
    uniformity = ks(u)
    reach = _reach(np.shape(u)[-1], level)
    low, high = (
        np.maximum(uniformity.statistic - reach, 0.0),
        np.minimum(uniformity.statistic + reach, 1.0),
    )
    return _KolmogorovDistance(uniformity.statistic, low, high)


@lru_cache(maxsize=64)
def _reach(n: int, level: float) -> float:
    return kolmogorov_quantile(1 - level, n)  # a root to find: dearer than all the rest of a test
