"""An epidemic (SIR): ten counts of infected people tell its infection and recovery rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from validation_core.pieces import find_equal_runs
from validation_core.simulators.base import Simulator
from validation_core.simulators.epidemic_curve import DAYS, infected_share
from validation_core.simulators.sir_grid import ASKED, MEDIANS, SPREADS, densities
from validation_core.simulators.sources import LUECKMANN
from validation_core.types import Array, Paper


@dataclass(frozen=True, kw_only=True)
class SIR(Simulator):
    """Log-normal rates beta and gamma a day; on ten days the infected among 1,000 are counted.

    theta holds the logarithms of the rates, x log(1 + count): what lies between two posteriors
    is the same as for the rates and the counts.
    """

    name: ClassVar[str] = "sir"
    title: ClassVar[str] = "Epidemic (SIR)"
    paper: ClassVar[Paper] = LUECKMANN
    quasi: ClassVar[str] = (
        "The posterior is summed over a grid, on a spline of the epidemics' course: its log "
        "density is right to about 0.001 nats (0.004 at most of 1,000 epidemics)."
    )

    @property
    def summary(self) -> str:
        return "two rates of an epidemic, seen in counts of infected people on ten days"

    @property
    def names(self) -> tuple[str, ...]:
        return "log infection rate", "log recovery rate"

    @property
    def dims(self) -> tuple[int, int]:
        return 2, len(DAYS)

    def prior(self, n: int, rng: np.random.Generator) -> Array:
        return MEDIANS + SPREADS * rng.standard_normal((n, 2))

    def simulate(self, theta: Array, rng: np.random.Generator) -> Array:
        return np.log1p(count_infected(np.exp(theta), rng))

    def log_prior(self, theta: Array) -> Array:
        z = (theta - MEDIANS) / SPREADS
        return np.asarray(-(z**2).sum(1) / 2 - np.log(2 * math.pi * SPREADS.prod()))

    def posterior(self, x: Array, rng: np.random.Generator) -> Array:
        starts, lengths = find_equal_runs(x)
        drawn = [
            density.draw(length, rng)
            for density, length in zip(densities(_counts(x[starts])), lengths, strict=True)
        ]
        return np.concatenate(drawn) if drawn else np.empty((0, 2))

    def log_posterior(self, theta: Array, x: Array) -> Array:
        """The likelihood is solved at each theta; the evidence is summed over the grid."""
        starts, lengths = find_equal_runs(x)
        evidence = np.array([density.log_evidence for density in densities(_counts(x[starts]))])
        counts = _counts(x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = infected_share(np.exp(theta))
            log = (counts * np.log(share) + (ASKED - counts) * np.log1p(-share)).sum(1)
        log = np.where(np.isnan(log), -np.inf, log)
        return self.log_prior(theta) + log - np.repeat(evidence, lengths)


def count_infected(rates: Array, rng: np.random.Generator) -> Array:
    """Infected among 1,000 people drawn at random on each day, of rates (n, 2): (n, 10)."""
    share = np.clip(infected_share(rates), 0, 1)
    return rng.binomial(ASKED, share).astype(np.float64)


def _counts(x: Array) -> Array:
    return np.rint(np.expm1(x))
