"""Expected coverage of q's highest-density regions, from log q."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from validation_core.statistics.coverage import AreaToCurve, atc, coverage
from validation_core.statistics.effects import LEVELS, IntervalEstimate, rate_estimate
from validation_core.statistics.ranks import conformal_ranks
from validation_core.statistics.uniformity import GRID, ecdf_band, ks
from validation_core.types import Float


class _RegionCoverage(NamedTuple):
    """How often highest-density regions hold the truth."""

    needed: Float
    """Mass of the smallest region that holds each truth (n,): uniform if q is right."""
    rates: IntervalEstimate
    """True coverage of the nominal levels (L,)."""
    area: AreaToCurve
    """Coverage less level, integrated from 1/2 to 1: positive is under-confident."""
    pvalue: float
    """Exact KS test that `needed` is uniform."""


def regions(
    log_q: ArrayLike, log_q_draws: ArrayLike, rng: np.random.Generator, levels: ArrayLike = LEVELS
) -> _RegionCoverage:
    """Expected coverage of the highest-density regions of q.

    Args:
        log_q: log density of q at the truth (n,); constants that depend on x alone do not matter.
        log_q_draws: at q's own draws (n, K).
        rng: breaks ties, and draws the bootstrap of the area.
        levels: nominal levels (L,).

    Raises:
        ValueError: if shapes do not fit, there are fewer than two rows, or one is NaN.
    """
    needed = 1 - conformal_ranks(log_q, log_q_draws, rng)
    inside = np.array([(needed <= nominal).sum() for nominal in np.asarray(levels, float)])
    return _RegionCoverage(
        needed, rate_estimate(inside, len(needed)), atc(needed, rng), float(ks(needed).pvalue)
    )


def curve(needed: ArrayLike, level: float = 0.95) -> tuple[Float, Float, Float, Float]:
    """Expected coverage by level, and the band it stays in as a whole if q is right.

    Returns:
        levels (G,), coverage (G,), low (G,) and high (G,).
    """
    masses = np.asarray(needed, dtype=np.float64)
    low, high = ecdf_band(masses.shape[-1], level)
    return np.array(GRID), coverage(masses), GRID + low, GRID + high
